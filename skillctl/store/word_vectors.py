"""The static word vectors that ship with ``wordllama``, read without importing that package (0.4 s)."""

from __future__ import annotations

import json
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skillctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_DTYPES = {"F16": np.float16, "F32": np.float32}
_HEADER_BYTES = 8  # a safetensors file starts with the length of its JSON header
_HINT = "install wordllama 0.4 or newer again: `pip install --force-reinstall wordllama`"


class WordVectors:
    """Sums of token vectors per word.

    The weights are mapped into memory, and the tokenizer is read when the first word is embedded.

    Args:
        folder: The package folder of ``wordllama``; found by its import name when not given.

    Raises:
        InputError: If the package or its files are missing or not what they were.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _find_package()
        self._matrix = _map_tensor(self._folder / _WEIGHTS)
        self.dim = self._matrix.shape[1]

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return for each word the sum of its token vectors, shape (n, dim).

        A punctuation mark that is a token of its own counts as that token, without the mark of a word's start
        that the tokenizer puts before every text: in running text it follows a word.
        """
        ids = self._tokenize(words)
        counts = np.fromiter(map(len, ids), np.int64, len(ids))
        flat = np.fromiter((token for row in ids for token in row), np.int64, int(counts.sum()))
        starts = np.cumsum(counts) - counts
        sums = np.zeros((len(words), self.dim), np.float32)
        filled = counts > 0
        if flat.size:
            vectors = self._matrix[np.minimum(flat, len(self._matrix) - 1)].astype(np.float32)
            sums[filled] = np.add.reduceat(vectors, starts[filled], axis=0)
        return sums

    def _tokenize(self, words: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch(list(words), add_special_tokens=False)
        return [
            row.ids if word[:1].isalnum() or (mark := self._tokenizer.token_to_id(word)) is None else [mark]
            for word, row in zip(words, encoded, strict=True)
        ]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        path = self._folder / _TOKENIZER
        if not path.is_file():
            message = "the tokenizer of wordllama is missing"
            raise InputError(message, where=str(path), hint=_HINT)
        return Tokenizer.from_file(str(path))


def _find_package() -> Path:
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        message = "the package wordllama is not installed"
        raise InputError(message, hint=_HINT)
    return Path(next(iter(spec.submodule_search_locations)))


def _map_tensor(path: Path) -> NDArray[np.float16] | NDArray[np.float32]:
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(_HEADER_BYTES), "little")
            entry = json.loads(file.read(size))[_TENSOR]
        return np.memmap(
            path,
            dtype=_DTYPES[entry["dtype"]],
            mode="r",
            offset=_HEADER_BYTES + size + entry["data_offsets"][0],
            shape=tuple(entry["shape"]),
        )
    except (OSError, ValueError, KeyError, OverflowError) as error:
        message = "the word vectors of wordllama cannot be read"
        raise InputError(message, where=str(path), hint=_HINT) from error
