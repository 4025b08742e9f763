"""Refinement of a handbook: proposals by evidence, each through the gate of validation, until none is left."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from skillctl.core.profile.half_life import parse_half_life
from skillctl.core.refine.mode_bench import ModeBench
from skillctl.core.refine.part_writing import Drawing
from skillctl.core.refine.proposing import propose_edits
from skillctl.core.refine.refinement import Proposal, Verdict
from skillctl.core.refine.rewording import reword_edit
from skillctl.core.refine.validation_gate import Comparison, compare_standings
from skillctl.model.handbook import Refined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillctl.core.discover.proposals import Proposal as Words
    from skillctl.core.orchestrate.features import WordEmbedder
    from skillctl.core.refine.advice import Adviser
    from skillctl.core.refine.mode_bench import OpenOrchestrator, Standing
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
    adviser: Adviser | None = None,
) -> Iterator[Verdict]:
    """Yield what comes of each proposal, mode by mode; the handbook of the last verdict is the result.

    Args:
        handbook: To refine; its profiles are not read.
        training: The traces that are its evidence.
        validation: Traces of other queries.
        embedder: Word vectors.
        seed: Of partitions and resamples.
        open_orchestrator: Opens what names the skills of texts; the embedded orchestrator without it.
        adviser: Gives a second opinion on each proposal, and names. It changes no verdict.
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
        for verdict in _Refiner(bench, seed, taken, adviser).run():
            handbook = _with_mode(handbook, mode, verdict.handbook)
            yield replace(verdict, handbook=handbook)


class _Trial(NamedTuple):
    """A proposal, how the skills stand after it, and what validation says."""

    proposal: Proposal
    after: Standing
    found: Comparison


class _Refiner:
    """Tries the edits of one mode.

    Attributes:
        taken: Ids that new skills must not have; those made are added.
    """

    def __init__(self, bench: ModeBench, seed: int, taken: set[str], adviser: Adviser | None) -> None:
        self.taken = taken
        self._bench = bench
        self._seed = seed
        self._adviser = adviser
        self._standing = bench.assess(bench.skills)
        self._anchor = self._standing  # what merges may not lose against together, each by no more than chance
        self._tried: set[tuple[object, ...]] = set()
        self._fresh: dict[SkillId, str] = {}

    def run(self) -> Iterator[Verdict]:
        """Yield a verdict on each proposal until none is left."""
        while left := self._propose():
            if self._adviser is not None:
                self._adviser.expect(left)
            for proposal in left:
                verdict = self._decide(proposal)
                yield verdict
                if verdict.applied:
                    break  # what the others are worth has changed

    def _propose(self) -> list[Proposal]:
        if len(self._tried) >= MOST_PROPOSALS:
            return []
        parts = [key for key, kind in self._fresh.items() if kind == "split"]
        proposals = propose_edits(self._bench, self._standing, Drawing(self._seed, self.taken, parts))
        return [one for one in proposals if one.key not in self._tried and not _undoes(one, self._fresh)]

    def _decide(self, proposal: Proposal) -> Verdict:
        self._tried.add(proposal.key)
        offline = self._judge(proposal)
        advice = None if self._adviser is None else self._adviser.advise(proposal)
        trial = offline if advice is None else self._judge_words(offline, advice.words)
        if trial.found.passes:
            self._apply(trial)
        return Verdict(
            trial.proposal,
            trial.found.passes,
            trial.found.gain,
            trial.found.moved,
            trial.found.queries,
            self._standing.handbook,
            None if advice is None else advice.opinion,
            is_named_by_model=trial is not offline,
        )

    def _judge(self, proposal: Proposal) -> _Trial:
        after = self._bench.assess(proposal.edited)
        found = compare_standings(self._standing, after, proposal.kind, self._seed)
        if proposal.kind == "merge" and not compare_standings(self._anchor, after, "merge", self._seed).passes:
            found = found._replace(passes=False)
        return _Trial(proposal, after, found)

    def _judge_words(self, trial: _Trial, words: Sequence[Words | None]) -> _Trial:
        """Return the trial in a model's words if it passes in them too, and they route as well as its own.

        So words never decide whether an edit is made, although the orchestrator reads them.
        """
        texts = self._bench.training.texts
        reworded = reword_edit(trial.proposal, words, texts, self.taken) if trial.found.passes else None
        if reworded is None:
            return trial
        again = self._judge(reworded)
        is_as_good = compare_standings(trial.after, again.after, "merge", self._seed).passes
        return again if again.found.passes and is_as_good else trial

    def _apply(self, trial: _Trial) -> None:
        self._standing = trial.after
        if trial.proposal.kind != "merge":
            self._anchor = trial.after
        self.taken.update(trial.proposal.made)
        self._fresh.update(dict.fromkeys(trial.proposal.made, trial.proposal.kind))


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
