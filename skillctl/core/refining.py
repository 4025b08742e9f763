"""Refinement of a handbook: proposals by evidence, each through the gate of validation, until none is left."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from skillctl.core.half_life import parse_half_life
from skillctl.core.mode_bench import ModeBench
from skillctl.core.proposing import Drawing, propose_edits
from skillctl.core.refinement import Proposal, Verdict
from skillctl.core.validation_gate import compare_standings
from skillctl.model.handbook import Refined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillctl.core.features import WordEmbedder
    from skillctl.core.mode_bench import OpenOrchestrator, Standing
    from skillctl.model.handbook import Handbook, ModeId, SkillId
    from skillctl.model.trace import Trace

_DIGEST_SIZE = 16
# More edits of a mode in one run than this are no refinement: discover anew instead.
MOST_PROPOSALS = 200


def find_overlap(training: Sequence[Trace], validation: Sequence[Trace]) -> list[str]:
    """Return the ids of validation queries whose id or text is also in the training traces, each once."""
    ids = {(type(trace.query_id), trace.query_id) for trace in training}
    texts = {trace.query for trace in training}
    return list(
        dict.fromkeys(
            str(trace.query_id)
            for trace in validation
            if (type(trace.query_id), trace.query_id) in ids or trace.query in texts
        )
    )


def refine_skills(
    handbook: Handbook,
    training: Sequence[Trace],
    validation: Sequence[Trace],
    embedder: WordEmbedder,
    *,
    seed: int = 0,
    open_orchestrator: OpenOrchestrator | None = None,
) -> Iterator[Verdict]:
    """Yield what comes of each proposal, mode by mode; the handbook of the last verdict is the result.

    Args:
        handbook: To refine; its profiles are not read.
        training: The traces that are its evidence.
        validation: Traces of other queries.
        embedder: Word vectors.
        seed: Of partitions and resamples.
        open_orchestrator: Opens what names the skills of texts; the embedded orchestrator without it.
    """
    half_life = None if handbook.settings.half_life is None else parse_half_life(handbook.settings.half_life)
    taken = {*handbook.modes, *(skill.id for skills in handbook.skills.values() for skill in skills)}
    for mode in sorted(handbook.modes):
        bench = ModeBench(
            handbook,
            mode,
            training,
            validation,
            embedder=embedder,
            half_life=half_life,
            open_orchestrator=open_orchestrator,
        )
        if not bench.training.texts:
            continue
        for verdict in _refine_mode(bench, bench.assess(handbook.skills.get(mode, ())), seed, taken):
            handbook = _with_mode(handbook, mode, verdict.handbook)
            yield replace(verdict, handbook=handbook)


def _refine_mode(bench: ModeBench, standing: Standing, seed: int, taken: set[str]) -> Iterator[Verdict]:
    tried: set[tuple[object, ...]] = set()
    fresh: dict[SkillId, str] = {}
    anchor = standing  # what merges may not lose against together, each by no more than chance
    while len(tried) < MOST_PROPOSALS:
        proposals = propose_edits(
            bench, standing, Drawing(seed, taken, [key for key, kind in fresh.items() if kind == "split"])
        )
        left = [one for one in proposals if one.key not in tried and not _undoes(one, fresh)]
        if not left:
            return
        for proposal in left:
            tried.add(proposal.key)
            after = bench.assess(proposal.edited)
            found = compare_standings(standing, after, proposal.kind, seed)
            if proposal.kind == "merge" and not compare_standings(anchor, after, "merge", seed).passes:
                found = found._replace(passes=False)
            if found.passes:
                standing = after
                anchor = anchor if proposal.kind == "merge" else after
                taken.update(proposal.made)
                fresh.update(dict.fromkeys(proposal.made, proposal.kind))
            yield Verdict(proposal, found.passes, found.gain, found.moved, found.queries, standing.handbook)
            if found.passes:
                break


def _undoes(proposal: Proposal, fresh: dict[SkillId, str]) -> bool:
    """Tell whether a proposal takes back what this run did: the run must come to an end."""
    undone = {"merge": {"split", "addition"}, "split": {"merge"}, "addition": set[str]()}[proposal.kind]
    return any(fresh.get(skill) in undone for skill in proposal.skills)


def _with_mode(handbook: Handbook, mode: ModeId, part: Handbook) -> Handbook:
    """Return the handbook with the skills and profiles of one mode of another."""
    agents = {
        name: replace(agent, profiles={**agent.profiles, mode: part.agents[name].profiles[mode]})
        if mode in part.agents[name].profiles
        else agent
        for name, agent in handbook.agents.items()
    }
    return replace(handbook, skills={**handbook.skills, mode: part.skills[mode]}, agents=agents)


def digest_skills(handbook: Handbook) -> str:
    """Return the digest of everything in all skills that refinement depends on, and of the settings of routing."""
    content: list[object] = [
        [handbook.settings.cost_weight, asdict(handbook.settings.orchestrator)],
        *(
            [mode, s.id, s.parent, s.description, [[i.text, i.is_regex] for i in s.indicators], s.examples, s.playbook]
            for mode, skills in sorted(handbook.skills.items())
            for s in skills
        ),
    ]
    return f"blake2b:{blake2b(json.dumps(content).encode(), digest_size=_DIGEST_SIZE).hexdigest()}"


def is_refined(handbook: Handbook, traces: str, validation: str, orchestrator: str | None = None) -> bool:
    """Tell whether nothing is left to refine for an orchestrator with the traces of these digests."""
    return Refined(traces, validation, digest_skills(handbook), orchestrator) in handbook.refined


def note_refined(handbook: Handbook, traces: str, validation: str, orchestrator: str | None = None) -> Handbook:
    """Return the handbook with a note that nothing is left to refine with these traces; older notes on them go."""
    note = Refined(traces, validation, digest_skills(handbook), orchestrator)
    others = [entry for entry in handbook.refined if _subject(entry) != _subject(note)]
    ordered = sorted([*others, note], key=lambda entry: (*_subject(entry), entry.skills))
    return replace(handbook, refined=tuple(ordered))


def _subject(entry: Refined) -> tuple[str, str, str]:
    return entry.traces, entry.validation, entry.orchestrator or ""
