"""The default embedder: wordllama's static 256-d model, read from its wheel without a network.

The wheel's two files are read directly: importing the package itself costs more time and memory
than the model, and its loader expects the tokenizer in a folder the wheel does not have. The
vectors are the library's own (a test compares them): the mean of the token rows, normalised.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from irclient.errors import Unavailable
from irdaemon.embed import Embedder

_MODEL = "l2_supercat"
_BATCH = 256
# A mean over a long text differs little from one over its beginning, and a line of megabytes must
# not stall the writer.
_CHARS = 8_000
_WORD_START = "\u2581"
_SHORT_PIECE = 2
_LENGTH_BYTES = 8
_BEYOND_LATIN = "\u0250"


class WordLlama(Embedder):
    """Embed with the 256-dimensional static model of the `wordllama` package."""

    id = f"wordllama-{_MODEL}-256"
    dim = 256
    instant = True

    def __init__(self) -> None:
        # The tokenizer's own threads would compete with queries for the same cores.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer

        folder = _find_folder()
        # Half precision, as in the file, and mapped: only the used pages are in memory.
        self._file, self._rows = _map_matrix(folder / "weights" / f"{_MODEL}_256.safetensors")
        names = folder / "tokenizers" / f"{_MODEL}_tokenizer_config.json"
        self._tokenizer = Tokenizer.from_file(str(names))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def release_pages(self) -> None:
        """Release the used pages of the model; they are mapped again when needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text; see Embedder."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), _BATCH):
            self._embed_batch(vectors[start : start + _BATCH], texts[start : start + _BATCH])
        return vectors

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return a text's vector, and the share of its letters and digits in known words.

        A word of an unknown script or language falls into pieces of one or two letters.
        """
        text = text[:_CHARS]
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        known = total = 0
        for piece, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
            part = text[start:end]
            size = len(part) if part.isalnum() else sum(map(str.isalnum, part))
            total += size
            whole = piece.startswith(_WORD_START) and not text[end : end + 1].isalnum()
            latin = part.isascii() or max(part) < _BEYOND_LATIN
            known += size if latin and (size > _SHORT_PIECE or whole) else 0
        return self._compute_mean(encoding.ids), known / total if total else 0.0

    def _embed_batch(self, out: NDArray[np.float32], texts: Sequence[str]) -> None:
        encoded = self._tokenizer.encode_batch_fast(
            [text[:_CHARS] for text in texts], add_special_tokens=False
        )
        self._sum_into(out, [encoding.ids for encoding in encoded])

    def _compute_mean(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the vector of one text, as `_sum_into` makes it."""
        summed = self._rows.take(ids, axis=0, mode="clip").astype(np.float32).sum(axis=0)
        norm = np.sqrt(summed.dot(summed))  # as np.linalg.norm, in a third of its time
        mean: NDArray[np.float32] = summed / norm if norm > 0 else summed
        return mean

    def _sum_into(self, out: NDArray[np.float32], pieces: Sequence[Sequence[int]]) -> None:
        # Widening a row takes five times as long as adding it: each is widened once a batch.
        every = np.fromiter(chain.from_iterable(pieces), np.int64)
        known, place = np.unique(every, return_inverse=True)
        words = self._rows.take(known, axis=0, mode="clip").astype(np.float32)
        end = 0
        for row, ids in zip(out, pieces, strict=True):
            start, end = end, end + len(ids)
            # The norm of the mean and of the sum differ only by a factor.
            row[:] = words[place[start:end]].sum(axis=0)
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        np.divide(out, norms, out=out, where=norms > 0)


def _map_matrix(path: Path) -> tuple[mmap.mmap, NDArray[np.float16]]:
    """Map the one matrix of a safetensors file: a header's length, the header, the numbers."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        described = json.loads(file.read(length))["embedding.weight"]
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = _LENGTH_BYTES + length + described["data_offsets"][0]
    return memory, np.ndarray(described["shape"], np.float16, memory, start)


def _find_folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        from irclient.installation import install_command

        raise Unavailable(
            "the embedder 'wordllama' is configured but its package is not installed",
            install_command("wordllama"),
        )
    return Path(spec.submodule_search_locations[0])
