"""How good selections are, given that the gold was among the candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from irclient.counts import counted
from irdaemon.evaluate.intervals import Interval, intervals
from irdaemon.evaluate.measures import f1
from irdaemon.evaluate.runs import Run, drift_of


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """How good what was committed is. What cannot be computed is None.

    `commit_rate`: committed some gold; `precision` over cases that committed; `recall` of the gold
    that was retrieved; `f1`, 0 for an empty commit: all over the `n_retrieved` cases whose gold was
    among the candidates. `f1_all` is over every case with gold, and all of its gold: what was not
    retrieved counts as missed. `acted`: share of the cases with gold that committed anything;
    `abstention_accuracy`: share of those without that committed nothing; `j`: both together less 1.
    `drift` is the gold that no artifact was.
    """

    n: int
    n_gold: int
    n_retrieved: int
    commit_rate: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    f1_all: float | None = None
    mean_committed: float | None = None
    acted: float | None = None
    abstention_accuracy: float | None = None
    j: float | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    drift: tuple[str, ...] = ()

    @property
    def n_retrieval_miss(self) -> int:
        """Return how many cases with gold had none of it among the candidates."""
        return self.n_gold - self.n_retrieved

    def value(self, measure: str) -> float | None:
        """Return a measure by its name."""
        found: float | None = getattr(self, measure)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {**asdict(self), "n_retrieval_miss": self.n_retrieval_miss}

    def __str__(self) -> str:
        told = ((name, self.value(name)) for name in SELECTION_MEASURES)
        figures = [f"{name} {'n/a' if v is None else f'{v:.3f}'}" for name, v in told]
        return (
            f"SelectionReport: {counted(self.n, 'case')}, {self.n_gold} with gold,"
            f" {self.n_retrieved} with it among the candidates\n  {', '.join(figures)}"
        )


SELECTION_MEASURES = (
    *("commit_rate", "precision", "recall", "f1", "f1_all"),
    *("mean_committed", "acted", "abstention_accuracy", "j"),
)


def evaluate_selection(runs: Sequence[Run]) -> SelectionReport:
    """Return how good what was committed is, with 95% intervals; see SelectionReport."""
    return _report(runs, intervals(_series(runs)))


def selection_means(runs: Sequence[Run]) -> SelectionReport:
    """Return how good what was committed is, without intervals, which take time."""
    return _report(runs, {})


def _report(runs: Sequence[Run], spreads: Mapping[str, Interval]) -> SelectionReport:
    means = {name: _mean(values) for name, values in _series(runs).items()}
    full = [run for run in runs if run.case.gold]
    means["mean_committed"] = _mean([len(run.committed) for run in full if run.committed])
    acted, abstention = means["acted"], means["abstention_accuracy"]
    means["j"] = None if abstention is None or acted is None else acted + abstention - 1
    rounded = {name: None if v is None else round(v, 4) for name, v in means.items()}
    return SelectionReport(
        n=len(runs),
        n_gold=len(full),
        n_retrieved=sum(run.rank is not None for run in full),
        **rounded,
        intervals=spreads,
        drift=drift_of(runs),
    )


def _series(runs: Sequence[Run]) -> dict[str, list[float]]:
    """Return the values of each measure that is a mean over cases."""
    full = [run for run in runs if run.case.gold]
    rows = [row for row in map(_selected, full) if row is not None]
    return {
        "commit_rate": [row["hit"] for row in rows],
        "precision": [row["precision"] for row in rows if row["size"]],
        "recall": [row["recall"] for row in rows],
        "f1": [row["f1"] for row in rows],
        "f1_all": [_f1_of_all(run) for run in full],
        "acted": [float(bool(run.committed)) for run in full],
        "abstention_accuracy": [float(not run.committed) for run in runs if not run.case.gold],
    }


def _selected(run: Run) -> dict[str, float] | None:
    retrieved, chosen = set(run.case.gold) & set(run.ranked), set(run.committed)
    if not retrieved:
        return None
    good = len(chosen & set(run.case.gold))
    precise = good / len(chosen) if chosen else 0.0
    recalled = len(chosen & retrieved) / len(retrieved)
    return {
        "hit": float(good > 0),
        "size": len(chosen),
        "precision": precise,
        "recall": recalled,
        "f1": f1(precise, recalled),
    }


def _f1_of_all(run: Run) -> float:
    good = len(set(run.committed) & set(run.case.gold))
    return f1(good / len(run.committed) if run.committed else 0.0, good / len(set(run.case.gold)))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
