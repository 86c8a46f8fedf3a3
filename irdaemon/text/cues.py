"""Find which of many fixed strings a text may contain, in one pass over its bytes.

    cues = CueTable([("pip install", "uv add"), ("npx",)])
    cues.possible(text)  # [True, False]: neither of the first group is ruled out, the second is

A text contains a string only if it contains each three bytes of it; those of the text are marked in
a table by their hash. numpy is imported at the first text that is long enough: commands that read
none must start without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_GRAM = 3
_HASHES = 1 << 16
# The hash of three bytes, in 16 bits: the first two as a number, times this, and the last two.
_FACTOR = 40_503
# In a shorter text a search for each string costs less. A longer one is not kept.
_SHORTEST, _LONGEST_KEPT = 1_000, 100_000


class CueTable:
    """Groups of strings to search together. Raises ValueError for a string under 3 bytes."""

    def __init__(self, groups: Sequence[Sequence[str]]):
        self._cues = [cue.encode() for group in groups for cue in group]
        if any(len(cue) < _GRAM for cue in self._cues):
            raise ValueError(f"a cue of fewer than {_GRAM} bytes: {groups!r:.200}")
        self._starts = [0, *accumulate(map(len, groups))][:-1]
        self._untold = [True] * len(groups)

    def find_possible(self, text: str) -> list[bool]:
        """Return for each group whether a text may contain one of its strings.

        It is False only if the text contains none. For a short text all are True.
        """
        if len(text) < _SHORTEST:
            return self._untold
        import numpy as np

        whole = _mark_grams(text)[self._grams].all(axis=1)
        return [bool(each) for each in np.logical_or.reduceat(whole, self._starts)]

    @cached_property
    def _grams(self) -> NDArray[np.intp]:
        """Return the hashes of each string, one row each, padded with its own."""
        import numpy as np

        hashes = [_hash_grams(cue) for cue in self._cues]
        longest = max(map(len, hashes))
        return np.array([np.resize(each, longest) for each in hashes])


# The last marked text and its marks: the same text is searched for secrets and for packages.
_last: tuple[str, NDArray[np.bool_]] | None = None


def _mark_grams(text: str) -> NDArray[np.bool_]:
    """Return a table in which the hash of each three bytes of a text is marked."""
    global _last
    import numpy as np

    if (last := _last) and last[0] is text:
        return last[1]
    marked = np.zeros(_HASHES, np.bool_)
    marked[_hash_grams(text.encode("utf-8", "surrogatepass"))] = True
    _last = (text, marked) if len(text) <= _LONGEST_KEPT else None
    return marked


def _hash_grams(data: bytes) -> NDArray[np.intp]:
    import numpy as np

    # Each two bytes as one number, at every place.
    pairs = np.ndarray((len(data) - 1,), np.uint16, data, strides=(1,))
    hashes: NDArray[np.intp] = (pairs[:-1] * np.uint16(_FACTOR) + pairs[1:]).astype(np.intp)
    return hashes
