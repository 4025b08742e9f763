from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies import handbooks, ids

from skillctl.errors import InputError, InvalidHandbookError
from skillctl.model.handbook import Agent, Competence, Handbook, Mode, Profile, Skill
from skillctl.store.agent_codec import encode_agent
from skillctl.store.codec import encode_handbook_file, encode_mode, encode_playbook, encode_skills
from skillctl.store.handbook_dir import find_problems, handbook_files, load_handbook, save_handbook

PROJECT = Path(__file__).resolve().parents[2]
VALID = sorted((PROJECT / "tests" / "data" / "valid").iterdir())
COMMITTED = [*VALID, *sorted(path.parent for path in (PROJECT / "handbooks").glob("*/handbook.yaml"))]
# Shrinking a handbook takes minutes; test_canonical_yaml finds small examples of what a scalar does wrong.
few = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def _bytes(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


class _Core12Loader(yaml.SafeLoader):
    """Reads plain scalars by the core schema of YAML 1.2."""

    yaml_implicit_resolvers: dict = {}  # noqa: RUF012 - as PyYAML declares it


def _resolve_as_1_2() -> None:
    import re

    add = _Core12Loader.add_implicit_resolver
    add("tag:yaml.org,2002:null", re.compile(r"^(?:null|Null|NULL|~|)$"), ["n", "N", "~", ""])
    add("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    add("tag:yaml.org,2002:int", re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789"))
    number = r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    add("tag:yaml.org,2002:float", re.compile(number), list("-+0123456789."))


_resolve_as_1_2()


@few
@given(handbooks())
def test_a_saved_handbook_loads_as_it_was(handbook: Handbook) -> None:
    with _temporary() as folder:
        root = Path(folder) / "h"
        save_handbook(handbook, root)
        assert load_handbook(root) == handbook


@few
@given(handbooks())
def test_saving_twice_changes_no_byte_and_writes_nothing_outside(handbook: Handbook) -> None:
    with _temporary() as folder:
        root = Path(folder) / "h"
        save_handbook(handbook, root)
        before = _bytes(Path(folder))
        assert save_handbook(handbook, root) == []
        assert save_handbook(load_handbook(root), root) == []
        assert _bytes(Path(folder)) == before
        assert all(name.startswith("h/") for name in before)


@few
@given(handbooks())
def test_yaml_1_1_and_1_2_readers_read_the_same_values(handbook: Handbook) -> None:
    wanted = [encode_handbook_file(handbook)]
    wanted += [encode_mode(mode) for mode in handbook.modes.values()]
    wanted += [encode_skills(mode, skills) for mode, skills in handbook.skills.items()]
    wanted += [encode_playbook(playbook) for playbook in handbook.playbooks.values()]
    wanted += [encode_agent(agent) for agent in handbook.agents.values()]
    with _temporary() as folder:
        save_handbook(handbook, Path(folder))
        texts = [path.read_bytes() for path in handbook_files(Path(folder))]
    for loader in (yaml.SafeLoader, _Core12Loader):
        found = [yaml.load(text, loader) for text in texts]  # noqa: S506 - both are safe loaders
        assert sorted(map(repr, map(_sorted, found))) == sorted(map(repr, map(_sorted, wanted)))


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return sorted((key, _sorted(part)) for key, part in value.items())
    return [_sorted(part) for part in value] if isinstance(value, list) else value


@few
@given(st.lists(ids, max_size=8, unique=True))
def test_agents_with_any_ids_live_side_by_side(names: list[str]) -> None:
    with _temporary() as folder:
        agents = {name: Agent(name) for name in sorted(names)}  # type: ignore[arg-type]
        handbook = Handbook("h", agents=agents)  # type: ignore[arg-type]
        save_handbook(handbook, Path(folder) / "h")
        assert load_handbook(Path(folder) / "h") == handbook
        stored = [path.name.casefold() for path in (Path(folder) / "h" / "agents").glob("*")]
        assert len(set(stored)) == len(names)


@pytest.mark.parametrize("root", COMMITTED, ids=lambda root: root.name)
def test_every_committed_handbook_is_valid_and_saving_keeps_its_meaning(root: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(root, tmp_path / "h"))
    assert find_problems(copy) == []
    before = load_handbook(copy)
    save_handbook(before, copy)
    assert load_handbook(copy) == before


@pytest.mark.parametrize("root", [root for root in COMMITTED if root.name != "handmade"], ids=lambda root: root.name)
def test_canonical_text_is_written_back_byte_for_byte(root: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(root, tmp_path / "h"))
    before = {path: path.read_bytes() for path in handbook_files(copy)}
    save_handbook(load_handbook(copy), copy)
    assert {path: path.read_bytes() for path in handbook_files(copy)} == before


@pytest.fixture
def basic(tmp_path: Path) -> Path:
    root = Path(shutil.copytree(PROJECT / "tests" / "data" / "valid" / "basic", tmp_path / "basic"))
    save_handbook(load_handbook(root), root)  # brings the copies of the schemas
    return root


def test_one_changed_number_changes_one_line(basic: Path) -> None:
    handbook = load_handbook(basic)
    agent = handbook.agents["gpt-4o"]  # type: ignore[index]
    profile = agent.profiles["answer"]  # type: ignore[index]
    competence = {**profile.competence, "answer.math": Competence(9.5, 2.5, 8.0, 1.0)}
    changed = replace(agent, profiles={"answer": replace(profile, competence=competence)})
    path = basic / "agents" / "gpt-4o.yaml"
    before = path.read_text(encoding="utf-8").splitlines()
    assert save_handbook(replace(handbook, agents={**handbook.agents, agent.id: changed}), basic) == [path]
    after = path.read_text(encoding="utf-8").splitlines()
    assert len(before) == len(after)
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_a_file_keeps_the_name_that_a_person_gave_it(basic: Path) -> None:
    (basic / "agents" / "gpt-4o.yaml").rename(basic / "agents" / "my favourite.yaml")
    handbook = load_handbook(basic)
    agent = replace(handbook.agents["gpt-4o"], model="other")  # type: ignore[index]
    written = save_handbook(replace(handbook, agents={**handbook.agents, agent.id: agent}), basic)
    assert written == [basic / "agents" / "my favourite.yaml"]


def test_a_new_agent_steps_aside_for_a_file_that_has_its_name(basic: Path) -> None:
    (basic / "agents" / "gpt-4o.yaml").rename(basic / "agents" / "new.yaml")
    handbook = load_handbook(basic)
    both = replace(handbook, agents={**handbook.agents, "new": Agent("new")})  # type: ignore[arg-type, dict-item]
    save_handbook(both, basic)
    assert load_handbook(basic) == both


def test_the_file_of_a_removed_agent_goes(basic: Path) -> None:
    gone = basic / "agents" / "gpt-4o.yaml"
    assert save_handbook(replace(load_handbook(basic), agents={}), basic)[-1] == basic / "agents" / "no.yaml"
    assert not gone.exists()
    assert load_handbook(basic).agents == {}


def test_a_new_agent_may_take_the_file_of_a_removed_one(basic: Path) -> None:
    (basic / "agents" / "gpt-4o.yaml").rename(basic / "agents" / "new.yaml")
    handbook = replace(load_handbook(basic), agents={"new": Agent("new")})  # type: ignore[arg-type, dict-item]
    save_handbook(handbook, basic)
    assert load_handbook(basic) == handbook


def test_selections_are_left_alone(basic: Path) -> None:
    selection = basic / "selections" / "embedded.yaml"
    selection.parent.mkdir()
    selection.write_text("orchestrator: embedded   # mine\nchoice: {skills: [answer.math]}\n", encoding="utf-8")
    before = selection.read_bytes()
    (basic / "agents" / "gpt-4o.yaml").unlink()
    handbook = load_handbook(basic)
    (basic / "handbook.yaml").unlink()
    save_handbook(handbook, basic)
    assert selection.read_bytes() == before
    assert load_handbook(basic) == handbook


def test_handwritten_fields_survive_where_the_model_has_no_place_for_them(basic: Path) -> None:
    path = basic / "agents" / "gpt-4o.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("failures: 1.0}", "failures: 1.0, x-why: 'no'}"), encoding="utf-8")
    save_handbook(load_handbook(basic), basic)
    assert "failures: 1.0, x-why: 'no'}" in path.read_text(encoding="utf-8")


def test_a_result_that_would_not_validate_is_not_written(basic: Path) -> None:
    before = _bytes(basic)
    handbook = load_handbook(basic)
    bad = Agent("bad", profiles={"answer": Profile(competence={"answer.gone": Competence(1.0, 1.0, 0.0, 0.0)})})  # type: ignore[arg-type, dict-item]
    with pytest.raises(InvalidHandbookError) as caught:
        save_handbook(replace(handbook, agents={"bad": bad}), basic)  # type: ignore[dict-item]
    assert "there is no such skill in the mode `answer`" in caught.value.problems[0]
    assert _bytes(basic) == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
def test_a_posterior_that_is_not_finite_and_positive_is_never_written(value: float, tmp_path: Path) -> None:
    profile = Profile(competence={"answer": Competence(value, 1.0, 0.0, 0.0)})
    agent = Agent("a", profiles={"answer": profile})  # type: ignore[arg-type, dict-item]
    handbook = Handbook("h", modes={"answer": Mode("answer")}, agents={"a": agent})  # type: ignore[arg-type, dict-item]
    with pytest.raises(InvalidHandbookError, match="1 problem"):
        save_handbook(handbook, tmp_path / "h")
    assert not (tmp_path / "h").exists()


def test_a_cost_that_is_not_finite_is_never_written(tmp_path: Path) -> None:
    handbook = replace(Handbook("h"), settings=replace(Handbook("h").settings, cost_weight=float("nan")))
    with pytest.raises(InvalidHandbookError) as caught:
        save_handbook(handbook, tmp_path / "h")
    assert "$.settings.lambda: must be finite, not nan" in caught.value.problems[0]


def test_half_of_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="half of a pair"):
        save_handbook(Handbook("h", agents={"\ud800": Agent("\ud800")}), tmp_path / "h")  # type: ignore[arg-type, dict-item]
    assert not list(tmp_path.rglob("*.yaml"))


@pytest.mark.parametrize("text", ["a: [", "model: m\n", "agent: gpt-4o\nmodell: m\n"])
def test_an_old_file_with_problems_is_never_overwritten_or_removed(text: str, basic: Path) -> None:
    handbook = load_handbook(basic)
    (basic / "agents" / "gpt-4o.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidHandbookError, match="1 problem"):
        save_handbook(handbook, basic)
    assert (basic / "agents" / "gpt-4o.yaml").read_text(encoding="utf-8") == text


def test_a_missing_folder_points_to_init(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no such handbook \(make one with `skillctl init"):
        load_handbook(tmp_path / "none")


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "h").touch()
    with pytest.raises(InputError, match="is a file, but a handbook is a folder"):
        load_handbook(tmp_path / "h")


def test_skills_of_any_depth_load(tmp_path: Path) -> None:
    chain = tuple(
        Skill(f"s{n:04}", "d", parent=f"s{n - 1:04}" if n else None)  # type: ignore[arg-type]
        for n in range(1500)
    )
    handbook = Handbook("h", modes={"m": Mode("m")}, skills={"m": chain})  # type: ignore[arg-type, dict-item]
    save_handbook(handbook, tmp_path / "h")
    assert load_handbook(tmp_path / "h") == handbook


def test_the_folder_carries_the_schemas_that_its_files_name(basic: Path) -> None:
    for path in handbook_files(basic):
        link = path.read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
        assert (path.parent / link).is_file()
