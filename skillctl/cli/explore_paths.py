"""``explore --path``: the agents of one mode take turns in conversations in which all else stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from skillctl.cli.run import split_fixes, split_path
from skillctl.cli.run_batch import run_batch
from skillctl.cli.run_parts import RunOptions
from skillctl.errors import EXIT_OK, UsageError
from skillctl.store.handbook_dir import load_handbook

if TYPE_CHECKING:
    from skillctl.model.handbook import Handbook


def explore_path(given: dict[str, Any], path: str, fixes: tuple[str, ...], *, verbosity: int) -> int:
    """Run the conversations for each agent of the mode, and return the largest exit code.

    Args:
        given: The options of ``explore``.
        path: Modes, with commas between them.
        fixes: Who works in the other modes.
        verbosity: Of the command.

    Raises:
        UsageError: If the mode that varies is not on the path, or stays fixed.
    """
    modes, fixed = split_path(path), split_fixes(fixes)
    varied = given["mode"] or modes[-1]
    if varied not in modes or varied in dict(fixed):
        message = f"the mode {varied!r} must be on the path, and not fixed"
        raise UsageError(message, hint="name the mode whose agents take turns with --mode")
    code = EXIT_OK
    for agent in _find_agents(load_handbook(given["handbook"]), varied, given["agents"]):
        if verbosity > 0:
            click.echo(f"{varied}: {agent}", err=True)
        options = _build_options(given, modes, (*fixed, (varied, agent)))
        code = max(code, run_batch(options, verbosity=verbosity))
    return code


def _find_agents(handbook: Handbook, mode: str, named: tuple[str, ...]) -> list[str]:
    agents = [
        agent.id for agent in handbook.agents.values() if mode in agent.modes and (not named or agent.id in named)
    ]
    if not agents:
        message = f"there is no agent to vary in mode {mode!r}"
        raise UsageError(message, hint="choose another with --mode or --agent")
    return [str(agent) for agent in agents]


def _build_options(given: dict[str, Any], path: tuple[str, ...], fixed: tuple[tuple[str, str], ...]) -> RunOptions:
    same = ("handbook", "queries", "out", "limit", "max_cost", "scoring", "scoring_command", "concurrency")
    more = ("agent_concurrency", "timeout", "retries", "retry_errors", "seed", "dry_run")
    return RunOptions(
        **{name: given[name] for name in (*same, *more)},
        agents=(),
        modes=(),
        path=path,
        fixed=fixed,
        policy="handbook",
        orchestrator="embedded",
        api_base=None,
        mode_chooser=None,
        cost_weight=None,
        max_turns=len(path),
        max_query_cost=None,
        checker=(),
        unsafe_sandbox=False,
    )
