"""What a mode may find out: as the examples of skills tell that are written as states of a conversation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillctl.model.handbook import Handbook

# Of each mode; more would cost time in every turn and say little more.
MOST_FINDS = 8


def list_finds(handbook: Handbook, mode: str) -> list[str]:
    """Return what a mode found in the examples of the handbook, spread over all of them.

    An example of a state is a query and, on lines that begin with ``[mode]``, what was found out.
    """
    names = "|".join(re.escape(name) for name in sorted(handbook.modes))
    found = re.compile(rf"^\[{re.escape(mode)}\] (.+?)(?=\n\[(?:{names})\] |\Z)", re.DOTALL | re.MULTILINE)
    texts = dict.fromkeys(
        match[1]
        for skills in handbook.skills.values()
        for skill in skills
        for example in skill.examples
        for match in found.finditer(example)
    )
    finds = list(texts)
    step = max(1, -(-len(finds) // MOST_FINDS))
    return finds[::step]
