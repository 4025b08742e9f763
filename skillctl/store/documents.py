"""Files of a handbook as checked data: everything up to what one file alone can say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillctl.model.problem import Problem
from skillctl.store.schema import find_schema_problems, load_schema
from skillctl.store.strict_yaml import YamlFaultError, parse_yaml
from skillctl.store.typed_values import Fault, read_value, render_path
from skillctl.store.yaml_nodes import line_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillctl.store.handbook_files import HandbookFile, Kind
    from skillctl.store.yaml_nodes import Node


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one file; faulty parts are ``None``, a file that is no YAML has no data at all."""

    file: HandbookFile
    data: Any
    problems: tuple[Problem, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of the file."""
        return self.file.kind

    @property
    def id(self) -> str | None:
        """The id that the file is about, if it names one."""
        found = self.data.get(self.kind.id_key) if isinstance(self.data, dict) else None
        return found if isinstance(found, str) else None


def read_document(file: HandbookFile) -> Document:
    """Read a file; whatever is wrong with it becomes a problem."""
    try:
        root = parse_yaml(file.path.read_bytes())
    except OSError as error:
        return Document(file, None, (Problem(str(file.path), 0, "$", f"cannot be read: {error.strerror}"),))
    except YamlFaultError as error:
        return Document(file, None, (Problem(str(file.path), error.line, "$", error.message),))
    value, faults = read_value(root, load_schema(file.kind.schema))
    newer = _newer_version(value, root)
    if newer:
        return Document(file, None, tuple(_to_problems(file, [newer])))
    bad = {fault.path for fault in faults}
    faults += [
        fault._replace(line=line_at(root, fault.path))
        for fault in find_schema_problems(value, file.kind.schema, known_bad=bad)
    ]
    return Document(file, value, tuple(_to_problems(file, faults)))


def check_data(file: HandbookFile, data: Any) -> Document:  # noqa: ANN401 - data to be checked
    """Check data that is about to be written."""
    return Document(file, data, tuple(_to_problems(file, find_schema_problems(data, file.kind.schema))))


def locate(file: HandbookFile, faults: Iterable[Fault]) -> list[Problem]:
    """Return problems with the lines of faults that have only a path: the file is read again, as faults are rare."""
    try:
        root: Node | None = parse_yaml(file.path.read_bytes())
    except (OSError, YamlFaultError):
        root = None
    return _to_problems(file, (fault._replace(line=line_at(root, fault.path)) for fault in faults))


def _to_problems(file: HandbookFile, faults: Iterable[Fault]) -> list[Problem]:
    return [Problem(str(file.path), fault.line, render_path(fault.path), fault.message) for fault in faults]


def _newer_version(value: Any, root: Node) -> Fault | None:  # noqa: ANN401
    supported = load_schema("handbook")["properties"]["schema_version"]["maximum"]
    version = value.get("schema_version") if isinstance(value, dict) else None
    if not isinstance(version, int) or version <= supported:
        return None
    message = f"version {version} was written by a newer skillctl, this one reads up to {supported}: upgrade skillctl"
    return Fault(line_at(root, ("schema_version",)), ("schema_version",), message)
