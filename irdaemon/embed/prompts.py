"""The vector of a text with its expected prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irdaemon.embed import Embedder


class PromptedText(NamedTuple):
    """A text to embed, its expected prompts with their weights, and their vectors' share.

    `common` is the key of the part subtracted from the prompts, or "".
    """

    text: str
    prompts: Sequence[tuple[str, float]] = ()
    share: float = 0.0
    common: str = ""


@dataclass(frozen=True, slots=True)
class Common:
    """The common part of prompts of any kind: some of them, and the share of it to subtract.

    Prompts have similar wordings. Their vectors are nearer to any request than a description is, so
    items with prompts would come before items that fit; subtracting the prompts' mean prevents
    this.
    """

    prompts: tuple[str, ...] = ()
    taken_off: float = 0.0

    @property
    def key(self) -> str:
        """Return a digest that differs between different common parts."""
        packed = "\0".join((str(self.taken_off), *self.prompts)).encode("utf-8", "replace")
        return blake2b(packed, digest_size=8).hexdigest() if self.prompts else ""


NOTHING_COMMON = Common()
# The largest part of an item's prompt weight that its near misses may take away.
_MOST_MISSED = np.float32(0.5)


def embed_prompted(
    embedder: Embedder, texts: Sequence[PromptedText], common: Common = NOTHING_COMMON
) -> NDArray[np.float32]:
    """Return one row per text, of unit length: (1 - share) * its own + share * its prompts'.

    The prompts' vector is their weighted sum, less the `common` part if that is subtracted, scaled
    to unit length, so that ten count no more than two.
    """
    every = [each.text for each in texts] + [text for each in texts for text, _ in each.prompts]
    vectors = embedder.embed(every)
    rows, place = np.array(vectors[: len(texts)], np.float32), len(texts)
    if place == len(every):
        return rows
    mean = np.zeros(rows.shape[1], np.float32)
    if common.prompts:
        mean = np.float32(common.taken_off) * embedder.embed(list(common.prompts)).mean(axis=0)
    for row, each in enumerate(texts):
        if each.prompts:
            weights = np.array([weight for _, weight in each.prompts], np.float32)
            if not (weights > 0).any():  # near misses alone say nothing about the item
                place += len(weights)
                continue
            weights = _limit_misses(weights)
            typed = vectors[place : place + len(weights)]
            theirs = _normalize(weights @ (typed - (mean if each.common else np.float32(0))))
            rows[row] = _normalize((1 - each.share) * rows[row] + each.share * theirs)
            place += len(weights)
    return rows


def _limit_misses(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weights, those of near misses scaled to at most half of the others."""
    meant, missed = weights[weights > 0].sum(), -weights[weights < 0].sum()
    if missed <= _MOST_MISSED * meant:
        return weights
    return np.where(weights < 0, weights * (_MOST_MISSED * meant / missed), weights)


def _normalize(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    unit: NDArray[np.float32] = vector / np.float32(length or 1)
    return unit
