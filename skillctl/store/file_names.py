"""Safe file names for any id: reversible, and without collisions on a disk that ignores case."""

from __future__ import annotations

import re
from hashlib import blake2b
from string import digits
from urllib.parse import unquote_to_bytes

_SAFE = re.compile(rb"[a-z0-9_.+,=@#-]")
# Windows opens a device for these names, whatever the extension.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|~|$)")
_MAX_BYTES = 200
_KEPT = 120
_DIGEST_BYTES = 16
_BASE36 = digits + "abcdefghijklmnopqrstuvwxyz"


def file_name_of(name: str) -> str:
    """Return the file name, without extension, for an id.

    Lower case, with every byte that some system treats specially percent-encoded; ``~`` and a number in base 36 say
    which ASCII letters were capitals; a name that would be too long is cut and ends in ``~~`` and a digest.
    """
    capitals = sum(1 << place for place, letter in enumerate(name) if "A" <= letter <= "Z")
    encoded = _encode(name) + (f"~{_to_base36(capitals)}" if capitals else "")
    if len(encoded) <= _MAX_BYTES:
        return encoded
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{_whole_escapes(encoded[:_KEPT])}~~{digest}"


def id_of(file_name: str) -> str | None:
    """Return the id that a file name stands for, or ``None`` if it was too long to be kept or is not of our making."""
    stem, mark, number = file_name.partition("~")
    if number.startswith("~"):
        return None
    try:
        text = unquote_to_bytes(stem).decode("utf-8", "surrogatepass")
        capitals = int(number, 36) if mark else 0
    except ValueError:
        return None
    name = "".join(_upper(letter) if capitals >> place & 1 else letter for place, letter in enumerate(text))
    return name if file_name_of(name) == file_name else None


def _encode(name: str) -> str:
    raw = _ascii_lower(name).encode("utf-8", "surrogatepass")
    text = "".join(chr(byte) if _SAFE.fullmatch(bytes([byte])) else f"%{byte:02x}" for byte in raw)
    if text.startswith(".") or _RESERVED.match(text):
        text = f"%{ord(text[0]):02x}{text[1:]}"
    return f"{text[:-1]}%2e" if text.endswith(".") else text


def _ascii_lower(name: str) -> str:
    return "".join(letter.lower() if "A" <= letter <= "Z" else letter for letter in name)


def _upper(letter: str) -> str:
    return letter.upper() if "a" <= letter <= "z" else letter


def _to_base36(number: int) -> str:
    text = ""
    while number:
        number, place = divmod(number, 36)
        text = _BASE36[place] + text
    return text


def _whole_escapes(text: str) -> str:
    """Drop a percent escape that was cut in the middle."""
    return re.sub(r"%[0-9a-f]?$", "", text)
