"""Opens orchestrators; the vectors of skills are cached by the content of the skills' texts."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, cast

from skillctl.core.orchestrate.embedded import EmbeddedOrchestrator
from skillctl.core.orchestrate.lexicon import Lexicon
from skillctl.core.orchestrate.skill_index import SkillIndex, build_skill_index
from skillctl.core.orchestrate.space import Space
from skillctl.store.array_cache import Arrays, pack_text, read_arrays, unpack_text, write_arrays
from skillctl.store.word_vectors import WordVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.route.routing_table import OrchestratorNumbers
    from skillctl.model.handbook import Handbook, ModeId, OrchestratorSettings, Skill

_KIND = "skills"
_FORMAT = "6"  # to be raised whenever the same texts give another index
_LEXICON_ARRAYS = (
    "idf", "posting_ptr", "posting_skill", "posting_weight", "edges", "targets", "hit_ptr", "hit_skill", "hit_weight",
)  # fmt: skip
_SPACE_ARRAYS = ("centre", "axes", "surface_mean", "surface_scale")
_INDEX_ARRAYS = ("vectors", "level_ptr", "level_skills", "level_spread")


def open_orchestrator(handbook: Handbook, mode: ModeId) -> Orchestrator:
    """Return the embedded orchestrator of one mode of a handbook."""
    skills = handbook.skills.get(mode, ())
    key = index_key(skills)
    cached = open_cached_orchestrator(key, handbook.settings.orchestrator)
    if cached is not None:
        return cached
    index = build_skill_index(skills, WordVectors())
    write_arrays(_KIND, key, _to_arrays(index))
    return EmbeddedOrchestrator(index, WordVectors, handbook.settings.orchestrator)


def open_cached_orchestrator(key: str, settings: OrchestratorSettings | OrchestratorNumbers) -> Orchestrator | None:
    """Return the orchestrator over the cached index of that key, or ``None`` when the cache does not have it."""
    arrays = read_arrays(_KIND, key)
    if arrays is None:
        return None
    try:
        index = _from_arrays(arrays)
    except (KeyError, ValueError):
        return None
    return EmbeddedOrchestrator(index, WordVectors, settings)


def index_key(skills: Sequence[Skill]) -> str:
    """Return the digest of everything in the skills that their index depends on."""
    content = [
        [skill.id, skill.parent, skill.description, [[i.text, i.is_regex] for i in skill.indicators], skill.examples]
        for skill in skills
    ]
    text = json.dumps([_FORMAT, content])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _to_arrays(index: SkillIndex) -> Arrays:
    words = sorted(index.lexicon.vocabulary, key=index.lexicon.vocabulary.__getitem__)
    numbers = {
        "unknown_idf": index.lexicon.unknown_idf,
        "depth": index.lexicon.depth,
        "skills": index.lexicon.skills,
        "patterns": index.patterns,
        "semantic_scale": index.space.semantic_scale,
    }
    return {
        "words": pack_text("\n".join(words)),
        "numbers": pack_text(json.dumps(numbers)),
        **{name: getattr(index.lexicon, name) for name in _LEXICON_ARRAYS},
        **{name: getattr(index.space, name) for name in _SPACE_ARRAYS},
        **{name: getattr(index, name) for name in _INDEX_ARRAYS},
    }


def _from_arrays(arrays: Arrays) -> SkillIndex:
    words = unpack_text(arrays["words"])
    numbers = json.loads(unpack_text(arrays["numbers"]))
    lexicon = Lexicon(
        vocabulary={word: column for column, word in enumerate(words.split("\n") if words else ())},
        unknown_idf=numbers["unknown_idf"],
        depth=numbers["depth"],
        skills=numbers["skills"],
        **{name: cast("np.ndarray", arrays[name]) for name in _LEXICON_ARRAYS},
    )
    space = Space(
        semantic_scale=numbers["semantic_scale"],
        **{name: cast("np.ndarray", arrays[name]) for name in _SPACE_ARRAYS},
    )
    return SkillIndex(
        space=space,
        lexicon=lexicon,
        patterns=tuple((pattern, skill) for pattern, skill in numbers["patterns"]),
        **{name: cast("np.ndarray", arrays[name]) for name in _INDEX_ARRAYS},
    )
