"""A merge that git has just made, brought to what profiling both sides' logs gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.errors import SkillctlError

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.store.git import Repository

_PARENTS_OF_MERGE = 2


def settle_merge(repository: Repository, root: Path) -> str:
    """Fit the posteriors of a merged handbook anew and amend the merge commit; return what is worth saying.

    Git merges file by file, and a prior is fitted over all files. So the three whole handbooks are merged again; that
    also finds evidence that is equal in a file of both sides though it comes from different logs. Only a merge that
    git made without help is touched: one that a person had to resolve is theirs.
    """
    from skillctl.core.diff.handbook_merge import merge_handbooks
    from skillctl.store.handbook_dir import handbook_lock, load_handbook, save_handbook
    from skillctl.store.handbook_revision import load_handbook_at

    parents = repository.text("rev-list", "--parents", "-n", "1", "HEAD").split()[1:]
    if len(parents) != _PARENTS_OF_MERGE or not _is_made_here(repository):
        return ""
    if repository.run("status", "--porcelain", "-z", "--untracked-files=no"):
        return ""  # something else is under way
    try:
        base = repository.merge_base(*parents)
        sides = [load_handbook_at(root, commit) for commit in (base, *parents)]
        merged, conflicts = merge_handbooks(*sides)
        if conflicts:
            return f"{root}: both sides counted the same evidence; count all logs again with `skillctl profile`"
        with handbook_lock(root):
            if load_handbook(root) == merged:
                return ""
            changed = save_handbook(merged, root)
    except SkillctlError as error:
        return f"the posteriors were not fitted to the merged evidence: {error}"
    repository.run("add", "--", *(repository.path_of(path) for path in changed))
    _replace_commit(repository)
    return f"fitted the posteriors in {root} to the merged evidence"


def _replace_commit(repository: Repository) -> None:
    """Give the commit at HEAD the tree of the index; `git commit --amend` refuses while the merge is still ending."""
    head = repository.text("rev-parse", "HEAD")
    header, _, message = repository.run("cat-file", "commit", head).partition(b"\n\n")
    lines = [line for line in header.split(b"\n") if not line.startswith((b"tree ", b"gpgsig ", b" "))]
    tree = b"tree " + repository.run("write-tree").strip()
    commit = repository.run(
        "hash-object", "-t", "commit", "-w", "--stdin", data=b"\n".join([tree, *lines]) + b"\n\n" + message
    )
    repository.run(
        "update-ref", "-m", "skillctl: posteriors fitted after the merge", "HEAD", commit.decode().strip(), head
    )


def _is_made_here(repository: Repository) -> bool:
    """Tell a merge that was just made from a merge commit that was fetched: the latter is not ours to amend."""
    return "Fast-forward" not in repository.text("log", "-g", "-1", "--format=%gs", "HEAD")
