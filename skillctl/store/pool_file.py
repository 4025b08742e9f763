"""A pool file: a list of agents, in the shape of a handbook's agent files, without a handbook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.errors import InvalidHandbookError
from skillctl.model.handbook import Agent, AgentId, Handbook, Mode
from skillctl.model.problem import Problem
from skillctl.store.agent_codec import decode_agent
from skillctl.store.schema import find_schema_problems, load_schema
from skillctl.store.strict_yaml import YamlFaultError, parse_yaml
from skillctl.store.typed_values import read_value, render_path
from skillctl.store.yaml_nodes import MappingNode, Node, SequenceNode, line_at, line_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skillctl.store.yaml_nodes import JsonPath


def load_pool(path: Path) -> Handbook:
    """Return the agents of a pool file, YAML or JSON, as a handbook without skills.

    Its modes are those that the agents name.

    Raises:
        InvalidHandbookError: With all problems of the file.
    """
    try:
        root = parse_yaml(path.read_bytes())
    except YamlFaultError as error:
        raise _invalid(path, [Problem(str(path), error.line, "$", error.message)]) from error
    problems = _find_shape_problems(path, root)
    if problems:
        raise _invalid(path, problems)
    agents, problems = _read_agents(path, root)
    if problems:
        raise _invalid(path, problems)
    modes = sorted({mode for agent in agents for mode in agent.modes})
    return Handbook(
        name=path.stem,
        modes={mode: Mode(mode) for mode in modes},
        agents={agent.id: agent for agent in agents},
    )


def _invalid(path: Path, problems: Sequence[Problem]) -> InvalidHandbookError:
    return InvalidHandbookError(tuple(str(problem) for problem in sorted(problems)), where=str(path))


def _find_shape_problems(path: Path, root: Node) -> list[Problem]:
    if not isinstance(root, MappingNode) or not isinstance(root.get("agents"), SequenceNode):
        return [Problem(str(path), 1, "$", "a pool file has the key `agents` with a list of agents")]
    return [
        Problem(str(path), line_of(key), "$", f"unknown key {name!r}: a pool file has `agents` only, and only once")
        for at, (key, _) in enumerate(root.entries)
        if (name := getattr(key, "value", None)) != "agents" or at > 0
    ]


def _read_agents(path: Path, root: Node) -> tuple[list[Agent], list[Problem]]:
    agents: dict[AgentId, Agent] = {}
    problems: list[Problem] = []
    nodes = root.get("agents") if isinstance(root, MappingNode) else None
    for index, node in enumerate(nodes.items if isinstance(nodes, SequenceNode) else []):
        data, found = _read_agent(path, node, index)
        problems += found
        if found:
            continue
        agent = decode_agent(data)
        if agent.id in agents:
            problems.append(_problem(path, node, index, ("agent",), f"the agent {agent.id!r} stands twice: keep one"))
        agents[agent.id] = agent
    return list(agents.values()), problems


def _read_agent(path: Path, node: Node, index: int) -> tuple[dict[str, object], list[Problem]]:
    value, faults = read_value(node, load_schema("agent"))
    bad = {fault.path for fault in faults}
    problems = [_problem(path, node, index, fault.path, fault.message) for fault in faults]
    problems += [
        _problem(path, node, index, fault.path, fault.message)
        for fault in find_schema_problems(value, "agent", known_bad=bad)
    ]
    return value, problems


def _problem(path: Path, node: Node, index: int, at: JsonPath, message: str) -> Problem:
    return Problem(str(path), line_at(node, at), render_path(("agents", index, *at)), message)
