"""What `skillctl git install` puts into a repository, and how it is taken out again."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from skillctl.store.atomic import write_atomic
from skillctl.store.git import GitError

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.store.git import Repository

ATTRIBUTES_FILE = ".gitattributes"
HOOK = "post-merge"
_BEGIN = "# >>> skillctl {name}"
_END = "# <<< skillctl {name}"
_DRIVEN = ("handbook.yaml", "modes/*.yaml", "skills/*.yaml", "agents/*.yaml")
_SHEBANG = "#!/bin/sh\n"
_EXECUTABLE = 0o755
# A driver that fails or is gone must never stop git: then files are compared and merged as text.
_TEXTCONV = 'f() {{ {command} git textconv "$1" 2>/dev/null || cat "$1"; }}; f'
_DIFF = 'f() {{ {command} git external-diff "$@" || true; }}; f'
_MERGE = "{command} git merge-driver %O %A %B %L %P || {{ test $? = 1 && exit 1; git merge-file %A %O %B; }}"


def driver_settings(*, external_diff: bool) -> dict[str, str]:
    """Return the git settings that name the drivers; they call this very installation of skillctl.

    Args:
        external_diff: Whether `git diff` shows what changed in meaning instead of a text diff of readable lines.
    """
    command = f"{shlex.quote(sys.executable)} -m skillctl"
    settings = {
        "diff.skillctl.textconv": _TEXTCONV.format(command=command),
        "merge.skillctl.name": "handbook files: evidence of both sides adds up",
        "merge.skillctl.driver": _MERGE.format(command=command),
    }
    if external_diff:
        settings["diff.skillctl.command"] = _DIFF.format(command=command)
    return settings


def install(repository: Repository, folder: str, *, external_diff: bool) -> list[str]:
    """Set up a handbook of a repository, and return what was changed; nothing the second time.

    Args:
        repository: Where.
        folder: Path of the handbook within the repository, empty for its root.
        external_diff: See `driver_settings`.
    """
    changed = _write_settings(repository, driver_settings(external_diff=external_diff))
    block = "".join(f"{quote_pattern(folder, name)} diff=skillctl merge=skillctl\n" for name in _DRIVEN)
    changed += _put_block(repository.root / ATTRIBUTES_FILE, folder or ".", block)
    settle = f'{shlex.quote(sys.executable)} -m skillctl git after-merge -- {shlex.quote(folder or ".")} "$@" || true\n'
    hook = hook_path(repository)
    hook.parent.mkdir(parents=True, exist_ok=True)
    changed += _put_block(hook, folder or ".", settle, head=_SHEBANG)
    hook.chmod(hook.stat().st_mode | _EXECUTABLE)
    return changed


def uninstall(repository: Repository, folder: str) -> list[str]:
    """Undo `install` for a handbook, and return what was changed; settings go with the last handbook."""
    changed = _remove_block(repository.root / ATTRIBUTES_FILE, folder or ".")
    changed += _remove_block(hook_path(repository), folder or ".", head=_SHEBANG)
    attributes = repository.root / ATTRIBUTES_FILE
    if attributes.exists() and _BEGIN.format(name="") in attributes.read_text(encoding="utf-8"):
        return changed
    for section in ("diff.skillctl", "merge.skillctl"):
        if repository.attempt("config", "--local", "--remove-section", section).returncode == 0:
            changed.append(f"git config {section}")
    return changed


def quote_pattern(folder: str, name: str) -> str:
    """Return a pattern of .gitattributes that matches the files of that name in exactly this folder."""
    escaped = "".join(f"\\{letter}" if letter in "\\*?[" else letter for letter in folder)
    pattern = f"/{escaped}/{name}" if folder else f"/{name}"
    if not any(letter.isspace() or letter in '"#!' or ord(letter) < ord(" ") for letter in pattern):
        return pattern
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return f'"{quoted}"'


def hook_path(repository: Repository) -> Path:
    """Return where git looks for the hook, be it a worktree, a submodule or a folder of hooks of its own."""
    return repository.root / repository.text("rev-parse", "--git-path", f"hooks/{HOOK}")


def _write_settings(repository: Repository, settings: dict[str, str]) -> list[str]:
    changed = []
    for name, value in settings.items():
        found = repository.attempt("config", "--local", "--get", name)
        if found.returncode or found.stdout.decode().removesuffix("\n") != value:
            repository.run("config", "--local", name, value)
            changed.append(f"git config {name}")
    return changed


def _put_block(path: Path, name: str, block: str, head: str = "") -> list[str]:
    before = _read(path)
    rest = _without_block(before, name, path)
    if rest and not rest.endswith("\n"):
        rest += "\n"
    after = f"{rest or head}{_BEGIN.format(name=name)}\n{block}{_END.format(name=name)}\n"
    return _replace(path, before, before if _has_block(before, name, block) else after)


def _has_block(text: str, name: str, block: str) -> bool:
    return f"{_BEGIN.format(name=name)}\n{block}{_END.format(name=name)}\n" in text


def _remove_block(path: Path, name: str, head: str = "") -> list[str]:
    before = _read(path)
    after = _without_block(before, name, path)
    if before and after in {"", head}:
        path.unlink()
        return [str(path)]
    return _replace(path, before, after)


def _without_block(text: str, name: str, path: Path) -> str:
    begin, end = f"{_BEGIN.format(name=name)}\n", f"{_END.format(name=name)}\n"
    if begin not in text:
        return text
    head, _, rest = text.partition(begin)
    _, mark, tail = rest.partition(end)
    if not mark:
        message = f"the line {end.strip()!r} is missing"
        raise GitError(message, where=str(path), hint="put it back, or remove the block by hand")
    return head + tail


def _replace(path: Path, before: str, after: str) -> list[str]:
    if after == before:
        return []
    write_atomic(path, after.encode())
    return [str(path)]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
