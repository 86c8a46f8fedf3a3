"""What holds of a corpus in Qdrant: its lease, its generation, and which points are part of it.

Qdrant has no transaction over several requests. So points are never changed: each carries the
number of the attempt to write it, numbers that are given out once and grow, and one point, the
state, says up to which attempt all is whole. It is changed by conditional updates: the payload is
set where it still has the marks that were read. Points of an attempt that did not end, however late
they arrive, are of a number that the state has as failed, or not yet, and no reader sees them.

A reader reads the state, searches what is of it, and reads the state again: where that is another
it begins anew, as what was replaced is deleted after a state is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from qdrant_client import models

from irdaemon.index.backend import Totals
from irdaemon.index.backends.qdrant.points import unpacked_totals

# Attempts that failed are remembered until so many more did.
MOST_FAILED = 100


@dataclass(frozen=True, slots=True)
class CorpusState:
    """The point that tells of a corpus.

    `made` is when it was first written (Unix seconds), by which corpora are ordered. `fence`,
    `holder` and `until` are the lease's; `mark` is another after each change of it. `begun` is the
    last attempt there was, `committed` the last that is part of the corpus, `failed` those before
    it that are not, `epoch` the one that sent the corpus whole. `gone` are row numbers of artifacts
    that went with the last attempt and may not be deleted yet, `replaced` is whether points before
    the epoch may not be. `changed` is when the generation was made.
    `least_mean` and `most_mean` are the mean lengths that the stored weights were made with.
    `totals` is empty for a corpus that is not there.
    """

    corpus: str
    made: float = 0.0
    fence: int = 0
    holder: str = ""
    until: float = 0.0
    mark: str = ""
    begun: int = 0
    committed: int = 0
    failed: tuple[int, ...] = ()
    epoch: int = 0
    gone: tuple[int, ...] = ()
    replaced: bool = False
    generation: int = 0
    changed: float = 0.0
    least_mean: float = 0.0
    most_mean: float = 0.0
    totals: str = ""

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> CorpusState:
        """Return the state that a payload holds."""
        known = {field.name: payload[field.name] for field in fields(cls) if field.name in payload}
        lists = {name: tuple(known.get(name) or ()) for name in ("failed", "gone")}
        return cls(**{**known, **lists})

    def payload(self) -> dict[str, Any]:
        """Return it as it is stored."""
        plain = asdict(self)
        return {**plain, "failed": list(self.failed), "gone": list(self.gone)}

    @property
    def known(self) -> Totals:
        """Return the totals."""
        return unpacked_totals(self.totals)

    def unfinished(self) -> tuple[int, ...]:
        """Return the attempts that failed, those that were begun last among them."""
        return (*self.failed, *range(self.committed + 1, self.begun + 1))[-MOST_FAILED:]

    def visible(self) -> Any:
        """Return the filter that lets through what is part of the corpus."""
        return models.Filter(
            must=[
                equal("corpus", self.corpus),
                models.FieldCondition(
                    key="attempt", range=models.Range(gte=self.epoch, lte=self.committed)
                ),
            ],
            must_not=[*self._failed(), *self._gone()],
        )

    def _failed(self) -> list[Any]:
        return [among("attempt", self.failed)] if self.failed else []

    def _gone(self) -> list[Any]:
        if not self.gone:
            return []
        before = models.FieldCondition(key="attempt", range=models.Range(lt=self.committed))
        return [models.Filter(must=[among("number", self.gone), before])]


def equal(key: str, value: Any) -> Any:
    """Return the condition that a payload has a value."""
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def among(key: str, values: Any) -> Any:
    """Return the condition that a payload has one of some values."""
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def both(one: Any, *others: Any) -> Any:
    """Return the filter that asks for a filter and for further conditions."""
    return models.Filter(must=[*others, one])
