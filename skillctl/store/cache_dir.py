"""Where skillctl keeps what it can compute again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """Return the user's cache folder; it need not exist and is safe to delete at any time."""
    own = os.environ.get("SKILLCTL_CACHE_DIR")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    # The base directory specification says to ignore a relative path.
    if shared and Path(shared).is_absolute():
        return Path(shared) / "skillctl"
    return Path.home() / ".cache" / "skillctl"
