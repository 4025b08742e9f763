"""skillctl in a process of its own, with a cache of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def skillctl(folder: Path, *args: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; replies are cached there."""
    return subprocess.run(
        [sys.executable, "-m", "skillctl", *map(str, args)],
        cwd=folder,
        env={**os.environ, "SKILLCTL_CACHE_DIR": str(folder / "cache")},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
