"""The skill handbook: modes, a registry of skills, and a profile per agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NewType

ModeId = NewType("ModeId", str)
SkillId = NewType("SkillId", str)
AgentId = NewType("AgentId", str)
PlaybookId = NewType("PlaybookId", str)
ActionKind = Literal["answer", "code", "search", "command"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Competence:
    """One agent's evidence in one skill, and the Beta posterior that follows from it.

    ``alpha - successes`` and ``beta - failures`` are the prior. The evidence is fractional.
    """

    alpha: float
    beta: float
    successes: float
    failures: float


@dataclass(frozen=True, slots=True)
class CostStats:
    """What an agent's runs cost in one mode; ``None`` is unknown, 0.0 is free.

    Attributes:
        mean_usd: Mean cost of a run whose cost is known, in US dollars.
        sd_usd: Sample standard deviation of that cost, 0.0 for a single run.
        runs: How many runs had a known cost.
        prompt_tokens: Mean prompt tokens of a run.
        completion_tokens: Mean completion tokens of a run.
        latency_s: Mean latency in seconds.
        steps: Mean number of steps.
        prompt_tokens_runs: Runs of which the prompt tokens are known, where that is not every run with a verdict;
            likewise the three fields after it. They let means be merged exactly.
    """

    mean_usd: float | None = None
    sd_usd: float | None = None
    runs: int = 0
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    latency_s: float | None = None
    steps: float | None = None
    prompt_tokens_runs: int | None = None
    completion_tokens_runs: int | None = None
    latency_runs: int | None = None
    steps_runs: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of one agent in one mode.

    Attributes:
        runs: Number of runs with a verdict.
        cost: Cost statistics.
        competence: By skill; the mode's own id names the root of its skill tree.
        signals: When to use the agent and when not, in words.
        strengths: In words.
        weaknesses: In words.
        extra: Hand-written ``x-…`` fields, kept as they are.
    """

    runs: int = 0
    cost: CostStats = field(default_factory=CostStats)
    competence: Mapping[str, Competence] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Price:
    """Token prices in US dollars per million tokens; a field that is ``None`` is unknown."""

    prompt_usd_per_mtok: float | None = None
    completion_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent can take in, for gates before scoring; ``None`` is unknown."""

    modalities: tuple[str, ...] | None = None
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """A model with its tools, or a program.

    Attributes:
        id: Any text; never used as a path.
        model: The name that litellm calls, or ``None``.
        tools: Names of tools.
        modes: Modes in which the agent works.
        price: Token prices, or ``None`` for unknown.
        capabilities: For gates.
        api_base: Endpoint of the model, or ``None``.
        api_key_env: Name of the environment variable that holds the key, or ``None``.
        params: Passed to the model as they are.
        command: Program and arguments instead of a model, or ``()``.
        playbook: How the agent is instructed, or ``None`` for the playbook of the skill or mode.
        profiles: By mode.
        extra: Hand-written ``x-…`` fields, kept as they are.
    """

    id: AgentId
    model: str | None = None
    tools: tuple[str, ...] = ()
    playbook: PlaybookId | None = None
    modes: tuple[ModeId, ...] = ()
    price: Price | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)
    api_base: str | None = None
    api_key_env: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    profiles: Mapping[ModeId, Profile] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Indicator:
    """A sign that a skill is needed: a term that occurs as whole words, or a regular expression."""

    text: str
    is_regex: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a skill came from: how it was made, out of which skills, on which queries."""

    how: str
    source_skills: tuple[SkillId, ...] = ()
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """A reusable ability: a description, and indicators that say when it is needed.

    ``parent`` is ``None`` directly below the mode. A skill without a playbook is served by that of its parent.
    """

    id: SkillId
    description: str
    parent: SkillId | None = None
    indicators: tuple[Indicator, ...] = ()
    examples: tuple[str, ...] = ()
    playbook: PlaybookId | None = None
    origin: Origin | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def find_ancestors(skills: Sequence[Skill]) -> dict[SkillId, tuple[SkillId, ...]]:
    """Return the coarser skills above each skill of one mode, its parent first."""
    parents = {skill.id: skill.parent for skill in skills}
    found: dict[SkillId, tuple[SkillId, ...]] = {}
    for skill in skills:
        path: list[SkillId] = []
        above = skill.parent
        while above is not None:
            path.append(above)
            above = parents[above]
        found[skill.id] = tuple(path)
    return found


@dataclass(frozen=True, slots=True)
class Insight:
    """A transition insight: after which mode, under what condition, this mode is worth entering."""

    text: str
    after: ModeId | None = None
    support: int | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """What a mode does with the reply of its agent; a field that is ``None`` has the default of its kind.

    Attributes:
        kind: ``answer`` gives the reply as it is, ``code`` runs it as Python in the sandbox, ``search`` looks it up,
            ``command`` hands it to a program.
        is_final: Whether what comes of it is an answer; the default only for ``answer``.
        timeout_s: Of a program that is run.
        memory_mb: Of code.
        corpus: Folder or file of documents to search, relative to the handbook.
        url: Endpoint to search instead of a corpus.
        results: How many passages a search gives.
        command: Program and arguments.
    """

    kind: ActionKind
    is_final: bool | None = None
    timeout_s: float | None = None
    memory_mb: int | None = None
    corpus: str | None = None
    url: str | None = None
    results: int | None = None
    command: tuple[str, ...] = ()

    @property
    def ends(self) -> bool:
        """Whether what comes of the action is an answer."""
        return self.kind == "answer" if self.is_final is None else self.is_final


@dataclass(frozen=True, slots=True)
class Playbook:
    """How an agent goes about a step: what a skill looks like when it is carried out.

    Attributes:
        id: Named by agents and skills.
        description: For people and language models.
        instructions: What the agent is told.
        input: Template of what it is given, with ``{query}`` and ``{observations}``; empty means both.
        tools: Tools without which an agent cannot carry it out.
        extra: Hand-written ``x-…`` fields, kept as they are.
    """

    id: PlaybookId
    description: str = ""
    instructions: str = ""
    input: str = ""
    tools: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mode:
    """A way of working, such as ``search``, ``code`` or ``answer``, with its insights.

    Without an action a mode answers.
    """

    id: ModeId
    description: str = ""
    action: Action | None = None
    playbook: PlaybookId | None = None
    insights: tuple[Insight, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrchestratorSettings:
    """The global numbers of the embedded orchestrator; ``None`` means its built-in default.

    Attributes:
        temperature: Of the softmax over similarities, calibrated on traces.
        top_k: At most so many skills are active for one state.
        min_similarity: Below it a state resembles no skill and falls back to the mode.
    """

    temperature: float | None = None
    top_k: int | None = None
    min_similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the whole handbook.

    Attributes:
        default_mode: Mode of queries and traces that name none; ``None`` means the first in order of id.
        cost_weight: The default λ of routing, in success per US dollar (key ``lambda``).
        half_life: Evidence halves after so much age, as given to ``profile --half-life``; ``None`` keeps all.
        prior_strength: Weight κ of the prior of a skill, in runs; ``None`` lets `profile` fit it.
        orchestrator: Numbers of the embedded orchestrator.
        extra: Hand-written ``x-…`` fields, kept as they are.
    """

    default_mode: ModeId | None = None
    cost_weight: float = 0.0
    half_life: str | None = None
    prior_strength: float | None = None
    orchestrator: OrchestratorSettings = field(default_factory=OrchestratorSettings)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvidenceSource:
    """One entry of the evidence ledger: a trace log that was counted, as far as it was read.

    Attributes:
        name: Base name of the file, or ``-`` for stdin; for people only.
        digest: ``blake2b:`` and 32 hexadecimal digits over the first ``bytes`` decompressed bytes.
        bytes: How many decompressed bytes were counted.
        traces: How many traces were counted.
        no_verdict: How many of them had no verdict.
        newest_s: Time of its newest trace in seconds since the epoch, where evidence decays by time.
    """

    name: str
    digest: str
    bytes: int
    traces: int
    no_verdict: int = 0
    newest_s: float | None = None


@dataclass(frozen=True, slots=True)
class Refined:
    """One entry of the refinement ledger: with these data, nothing is left to refine in these skills.

    Attributes:
        traces: Digest of the training traces.
        validation: Digest of the validation traces.
        skills: Digest of the skills of all modes.
        orchestrator: Who named the skills of queries, ``None`` for the embedded orchestrator.
    """

    traces: str
    validation: str
    skills: str
    orchestrator: str | None = None


@dataclass(frozen=True, slots=True)
class Handbook:
    """A whole handbook. All mappings are in order of id; skills are in order of id per mode."""

    name: str
    description: str = ""
    settings: Settings = field(default_factory=Settings)
    evidence: tuple[EvidenceSource, ...] = ()
    modes: Mapping[ModeId, Mode] = field(default_factory=dict)
    skills: Mapping[ModeId, tuple[Skill, ...]] = field(default_factory=dict)
    agents: Mapping[AgentId, Agent] = field(default_factory=dict)
    playbooks: Mapping[PlaybookId, Playbook] = field(default_factory=dict)
    refined: tuple[Refined, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def default_mode(self) -> ModeId:
        """Return the mode of a query or trace that names none.

        Raises:
            ValueError: If the handbook has no mode at all.
        """
        if self.settings.default_mode is not None:
            return self.settings.default_mode
        if not self.modes:
            message = "the handbook has no mode"
            raise ValueError(message)
        return min(self.modes)
