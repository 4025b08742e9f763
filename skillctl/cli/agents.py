"""``skillctl agents``: take agents into a handbook and out of it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillctl.cli.options import dry_run_option, handbook_argument
from skillctl.errors import InputError, UsageError
from skillctl.store.handbook_dir import handbook_lock, load_handbook, save_handbook

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillctl.model.handbook import Agent, Handbook

_NO_VALUE = (None, ())


@click.group("agents")
def agents_command() -> None:
    """Add, remove and replace agents.

    A new agent needs no training: until it has outcomes, it is expected to do as its relatives do, skill by skill.

    \b
      skillctl agents add my-handbook gpt-5-mini --model openai/gpt-5-mini --like gpt-4o-mini
      skillctl explore my-handbook --queries queries.jsonl --agent gpt-5-mini --plan 20 --out new.jsonl
      skillctl profile my-handbook --traces new.jsonl --update
      skillctl agents replace my-handbook gpt-4o-mini gpt-5-mini
      skillctl agents remove my-handbook gpt-4o-mini
    """


def _agent_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that describe an agent."""
    options = (
        click.option("--from", "source", type=click.Path(path_type=Path), help="Pool file that describes the agent."),
        click.option("--model", help="The name that litellm calls."),
        click.option("--command", help="Program instead of a model, such as 'python tools/calc.py'."),
        click.option("--tool", "tools", multiple=True, help="Name of a tool; repeatable."),
        click.option("--playbook", help="How it is instructed: the same model with another one is another agent."),
        click.option("--mode", "modes", multiple=True, help="Mode in which it works; repeatable [all]."),
        click.option(
            "--price", nargs=2, type=click.FloatRange(min=0), help="US dollars a million tokens read, written."
        ),
        click.option("--api-base", help="Endpoint of the model."),
        click.option("--api-key-env", help="Environment variable that holds the key."),
        click.option("--modality", "modalities", multiple=True, help="Such as text or image; repeatable."),
        click.option("--context-tokens", type=click.IntRange(min=1), help="Length of the context."),
        click.option("--like", multiple=True, help="Agent that it resembles; repeatable."),
        dry_run_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@agents_command.command("add")
@handbook_argument
@click.argument("agent")
@_agent_options
@click.pass_context
def add_command(ctx: click.Context, /, handbook: Path, agent: str, dry_run: bool, **fields: Any) -> None:  # noqa: ANN401
    """Add an agent, with priors that it inherits from those it resembles.

    \b
      skillctl agents add my-handbook mini --model openai/gpt-5-mini --price 0.25 2 --like gpt-4o-mini
    """

    def change(book: Handbook) -> Handbook:
        if agent in book.agents:
            message = f"there is an agent {agent!r} already"
            raise InputError(message, where=str(handbook), hint=f"use `skillctl agents replace {handbook} {agent} …`")
        _require_agents(book, fields["like"], handbook)
        return _with_agent(book, _describe(book, agent, fields), fields["like"])

    _apply(ctx, handbook, change, f"added {agent}", dry_run=dry_run)


@agents_command.command("remove")
@handbook_argument
@click.argument("agent")
@dry_run_option
@click.pass_context
def remove_command(ctx: click.Context, /, handbook: Path, agent: str, dry_run: bool) -> None:
    """Remove an agent and what is known of it; its runs stay in the logs.

    \b
      skillctl agents remove my-handbook gpt-4o-mini
    """

    def change(book: Handbook) -> Handbook:
        _require_agents(book, (agent,), handbook)
        return replace(book, agents={name: one for name, one in book.agents.items() if name != agent})

    _apply(ctx, handbook, change, f"removed {agent}", dry_run=dry_run)


@agents_command.command("replace")
@handbook_argument
@click.argument("old")
@click.argument("agent")
@_agent_options
@click.pass_context
def replace_command(
    ctx: click.Context,
    /,
    handbook: Path,
    old: str,
    agent: str,
    dry_run: bool,
    **fields: Any,  # noqa: ANN401
) -> None:
    """Put an agent in the place of another: what is not said otherwise, and its priors, are as the other's.

    \b
      skillctl agents replace my-handbook gpt-4o-mini gpt-5-mini --model openai/gpt-5-mini
    """

    def change(book: Handbook) -> Handbook:
        _require_agents(book, (old, *fields["like"]), handbook)
        if agent != old and agent in book.agents:
            message = f"there is an agent {agent!r} already"
            raise InputError(message, where=str(handbook), hint="remove one of them")
        before = next(one for name, one in book.agents.items() if name == old)
        new = replace(_describe(book, agent, fields, before), profiles={}, id=_id(agent))
        # It inherits while the other is still there, and under a name of its own for the time being.
        stranger = _inherit(book, replace(new, id=_id(f"\0{agent}")), (old, *fields["like"]))
        rest = replace(book, agents={name: one for name, one in book.agents.items() if name != old})
        return _put(rest, replace(stranger, id=new.id))

    _apply(ctx, handbook, change, f"replaced {old} by {agent}", dry_run=dry_run)


def _apply(ctx: click.Context, root: Path, change: Callable[[Handbook], Handbook], what: str, *, dry_run: bool) -> None:
    with handbook_lock(root):
        after = change(load_handbook(root))
        written = [] if dry_run else save_handbook(after, root)
    for path in written:
        click.echo(str(path))
    if ctx.obj["verbosity"] > 0:
        click.echo(f"would have {what}; nothing was written" if dry_run else what, err=True)


def _require_agents(book: Handbook, names: tuple[str, ...], root: Path) -> None:
    unknown = [name for name in names if name not in book.agents]
    if unknown:
        message = f"there is no agent {unknown[0]!r}"
        raise InputError(message, where=str(root), hint=f"it has {', '.join(book.agents)}")


def _describe(book: Handbook, name: str, fields: dict[str, Any], base: Agent | None = None) -> Agent:
    """Return the agent that the options describe, over one to start from."""
    from skillctl.model.handbook import Agent, Capabilities, Price

    if fields["source"] is not None:
        base = _read_pool(fields["source"], name)
    start = base or Agent(_id(name))
    given = {
        key: fields[key]
        for key in ("tools", "playbook", "modes", "api_base", "api_key_env")
        if fields[key] not in _NO_VALUE
    }
    if fields["model"] is not None:
        given |= {"model": fields["model"], "command": ()}
    if fields["command"] is not None:
        if fields["model"] is not None:
            message = "an agent has a model or a command"
            raise UsageError(message, hint="give one of --model and --command")
        given |= {"model": None, "command": tuple(shlex.split(fields["command"]))}
    if fields["price"] is not None:
        given["price"] = Price(*fields["price"])
    elif base is not None and fields["model"] is not None and fields["source"] is None:
        given["price"] = None  # another model's price is not known from this one's
    modalities, context = fields["modalities"], fields["context_tokens"]
    if modalities or context:
        old = start.capabilities
        given["capabilities"] = Capabilities(modalities or old.modalities, context or old.context_tokens)
    agent = replace(start, id=_id(name), **given)
    return agent if agent.modes else replace(agent, modes=tuple(sorted(book.modes)))


def _read_pool(path: Path, name: str) -> Agent:
    from skillctl.store.pool_file import load_pool

    agents = load_pool(path).agents
    found = next((agent for key, agent in agents.items() if key == name), None)
    if found is None:
        message = f"there is no agent {name!r}"
        raise InputError(message, where=str(path), hint=f"it has {', '.join(agents)}")
    return found


def _with_agent(book: Handbook, agent: Agent, like: tuple[str, ...]) -> Handbook:
    return _put(book, _inherit(book, agent, like))


def _inherit(book: Handbook, agent: Agent, like: tuple[str, ...]) -> Agent:
    from skillctl.core.agents.inheriting import inherit_profiles

    return inherit_profiles(book, agent, like)


def _put(book: Handbook, agent: Agent) -> Handbook:
    agents = {**book.agents, agent.id: agent}
    return replace(book, agents={name: agents[name] for name in sorted(agents)})


def _id(name: str) -> Any:  # noqa: ANN401 - an id is made of any text
    from skillctl.model.handbook import AgentId

    return AgentId(name)
