"""Hypothesis strategies for valid handbooks, with the ids and texts that break other tools."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from skillctl.model.handbook import (
    Action,
    Agent,
    Capabilities,
    Competence,
    CostStats,
    EvidenceSource,
    Handbook,
    Indicator,
    Insight,
    Mode,
    OrchestratorSettings,
    Origin,
    Playbook,
    Price,
    Profile,
    Refined,
    Settings,
    Skill,
)

NASTY_TEXTS = [
    *(
        "no",
        "on",
        "y",
        "True",
        "null",
        "~",
        "=",
        "<<",
        "1e3",
        "0o17",
        "08",
        "0x1F",
        "1:30",
        "1.10",
        "2026-01-01",
        "4e-7",
    ),
    *(
        "../../x",
        "con",
        "NUL.txt",
        "GPT-4",
        "gpt-4",
        ".hidden",
        "a/b:free",
        "trailing.",
        "trailing ",
        " leading",
        "a~b",
    ),
    *(
        "- x",
        "? x",
        ": x",
        "a: b",
        "a #b",
        "#",
        "# no comment",
        "*a",
        "&a",
        "!t",
        "%d",
        "@x",
        "`x`",
        "{a}",
        "[a]",
        "a,b",
    ),
    *(
        "'",
        '"',
        "\\",
        "\\n",
        "a\nb",
        "a\tb",
        "\r\n",
        "\x00",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ufffe",
        "é",
        "e\u0301",
    ),
    *("🤖", "---", "...", "<<<<<<< HEAD", "=======", "{{x}}", "a" * 300, "😀" * 80, "X" * 300, "|", ">", "key:", "x-y"),
    *(".inf", "-.INF", ".nan", "1_000", "+1", "-1", ".5", "1.", "true", "oN", "\xa0", "a\xa0b", "日本語", "a\u200bb"),
]

any_text = st.one_of(
    st.sampled_from(NASTY_TEXTS),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
)
ids = any_text
texts = st.lists(any_text, max_size=3).map(tuple)
id_lists = st.lists(ids, max_size=3, unique=True).map(tuple)
amounts = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
maybe_amounts = st.none() | amounts
counts = st.integers(min_value=0, max_value=10**15)
shares = st.none() | st.floats(min_value=0, max_value=1)
positive = st.floats(min_value=1e-6, max_value=1e9)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=5,
)
extras = st.dictionaries(any_text.map(lambda text: f"x-{text}"), json_values, max_size=2)


@st.composite
def competences(draw: st.DrawFn) -> Competence:
    """Evidence that does not exceed its parameters."""
    successes, failures = draw(st.floats(0, 1e6)), draw(st.floats(0, 1e6))
    return Competence(successes + draw(positive), failures + draw(positive), successes, failures)


costs = st.builds(
    CostStats,
    mean_usd=maybe_amounts,
    sd_usd=maybe_amounts,
    runs=counts,
    prompt_tokens=maybe_amounts,
    completion_tokens=maybe_amounts,
    latency_s=maybe_amounts,
    steps=maybe_amounts,
)
prices = st.builds(
    Price,
    prompt_usd_per_mtok=maybe_amounts,
    completion_usd_per_mtok=maybe_amounts,
    cached_usd_per_mtok=maybe_amounts,
)
capabilities = st.builds(
    Capabilities,
    modalities=st.none() | id_lists,
    context_tokens=st.none() | st.integers(1, 10**9),
)
indicators = any_text.map(Indicator) | st.sampled_from([r"\b[xyz]\s*=", "^a'b$", "[0-9]{2}: #"]).map(
    lambda pattern: Indicator(pattern, is_regex=True)
)
origins = st.none() | st.builds(Origin, how=any_text, source_skills=id_lists, queries=id_lists)
digests = st.binary(min_size=16, max_size=16).map(lambda digest: f"blake2b:{digest.hex()}")
refined = st.builds(
    Refined, traces=digests, validation=digests, skills=digests, orchestrator=st.none() | st.just("openai/gpt-4o-mini")
)
sources = st.builds(
    EvidenceSource,
    name=any_text,
    digest=digests,
    bytes=counts,
    traces=counts,
    no_verdict=counts,
)


actions = st.one_of(
    st.builds(Action, kind=st.just("answer"), is_final=st.none() | st.booleans()),
    st.builds(
        Action, kind=st.just("code"), timeout_s=st.none() | positive, memory_mb=st.none() | st.integers(16, 10**6)
    ),
    st.builds(Action, kind=st.just("search"), corpus=any_text, results=st.none() | st.integers(1, 100)),
    st.builds(Action, kind=st.just("search"), url=st.just("http://127.0.0.1:1/search")),
    st.builds(Action, kind=st.just("command"), command=st.lists(any_text, min_size=1, max_size=3).map(tuple)),
)


def playbooks(name: str) -> st.SearchStrategy[Playbook]:
    """Return playbooks with this id."""
    return st.builds(
        Playbook,
        id=st.just(name),
        description=st.just("") | any_text,
        instructions=st.just("") | any_text,
        input=st.just("") | any_text,
        tools=id_lists,
        extra=extras,
    )


def profiles(known: list[str]) -> st.SearchStrategy[Profile]:
    """Return profiles whose competences are for known skills."""
    return st.builds(
        Profile,
        runs=counts,
        cost=costs,
        competence=st.dictionaries(st.sampled_from(known), competences(), max_size=3),
        signals=texts,
        strengths=texts,
        weaknesses=texts,
        extra=extras,
    )


@st.composite
def agents(draw: st.DrawFn, name: str, skills: dict[str, tuple[Skill, ...]], books: list[str]) -> Agent:
    """Return an agent of a handbook with these skills by mode."""
    modes = sorted(draw(st.sets(st.sampled_from(sorted(skills)))))
    profile_of = {mode: draw(profiles([mode, *(skill.id for skill in skills[mode])])) for mode in modes}
    is_program = draw(st.booleans())
    return Agent(
        id=name,  # type: ignore[arg-type]
        model=None if is_program else draw(st.none() | any_text),
        tools=draw(id_lists),
        playbook=draw(_maybe_one_of(books)),
        modes=tuple(modes),  # type: ignore[arg-type]
        price=draw(st.none() | prices),
        capabilities=draw(capabilities),
        api_base=draw(st.none() | any_text),
        api_key_env=draw(st.none() | st.just("MY_KEY")),
        params=draw(st.dictionaries(any_text, json_values, max_size=2)),
        command=draw(st.lists(any_text, min_size=1, max_size=3).map(tuple)) if is_program else (),
        profiles=profile_of,  # type: ignore[arg-type]
        extra=draw(extras),
    )


@st.composite
def skill_trees(draw: st.DrawFn, names: list[str], books: list[str]) -> tuple[Skill, ...]:
    """Return skills with these ids, each below an earlier one or directly below the mode."""
    skills: list[Skill] = []
    for name in names:
        parent = draw(st.none() | st.sampled_from([skill.id for skill in skills])) if skills else None
        skills.append(
            Skill(
                id=name,  # type: ignore[arg-type]
                parent=parent,
                description=draw(any_text),
                indicators=draw(st.lists(indicators, max_size=2).map(tuple)),
                examples=draw(texts),
                playbook=draw(_maybe_one_of(books)),
                origin=draw(origins),
                extra=draw(extras),
            )
        )
    return tuple(sorted(skills, key=lambda skill: skill.id))


@st.composite
def handbooks(draw: st.DrawFn) -> Handbook:
    """Return a valid handbook of one or two modes with up to three skills and agents."""
    names = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    modes, skill_names = sorted(names[:2]), names[2:]
    books = sorted(draw(st.lists(ids, max_size=2, unique=True)))
    skills = {mode: draw(skill_trees(skill_names[place :: len(modes)], books)) for place, mode in enumerate(modes)}
    agent_names = sorted(draw(st.lists(ids, max_size=3, unique=True)))
    values: dict[str, Any] = {
        "modes": {mode: draw(_modes(mode, modes, books)) for mode in modes},
        "skills": skills,
        "agents": {name: draw(agents(name, skills, books)) for name in agent_names},
        "playbooks": {name: draw(playbooks(name)) for name in books},
    }
    return Handbook(
        name=draw(any_text),
        description=draw(st.just("") | any_text),
        settings=draw(_settings(modes)),
        evidence=tuple(draw(st.lists(sources, max_size=2))),
        refined=tuple(draw(st.lists(refined, max_size=2, unique=True))),
        extra=draw(extras),
        **values,
    )


def _maybe_one_of(names: list[str]) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(names) if names else st.none()


def _modes(name: str, modes: list[str], books: list[str]) -> st.SearchStrategy[Mode]:
    insight = st.builds(
        Insight,
        text=any_text,
        after=st.none() | st.sampled_from(modes),
        support=st.none() | counts,
        confidence=shares,
    )
    return st.builds(
        Mode,
        id=st.just(name),
        description=st.just("") | any_text,
        action=st.none() | actions,
        playbook=_maybe_one_of(books),
        insights=st.lists(insight, max_size=2).map(tuple),
        extra=extras,
    )


def _settings(modes: list[str]) -> st.SearchStrategy[Settings]:
    return st.builds(
        Settings,
        default_mode=st.none() | st.sampled_from(modes),
        cost_weight=amounts,
        half_life=st.none() | st.sampled_from(["30d", "1.5h"]),
        prior_strength=st.none() | positive,
        orchestrator=st.builds(
            OrchestratorSettings,
            temperature=st.none() | positive,
            top_k=st.none() | st.integers(1, 100),
            min_similarity=st.none() | st.floats(-1, 1),
        ),
        extra=extras,
    )
