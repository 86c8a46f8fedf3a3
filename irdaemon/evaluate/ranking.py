"""How good rankings are: the measures, for each query and in the mean, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from irclient.counts import counted
from irclient.errors import QueryError
from irdaemon.evaluate.cases import query_id
from irdaemon.evaluate.intervals import Interval, intervals
from irdaemon.evaluate.measures import MEASURES
from irdaemon.evaluate.runs import Run, drift_of
from irdaemon.runtime.plugins import did_you_mean

K_VALUES = (1, 5, 10)
PRIMARY_K = 10
METRICS = tuple(MEASURES)


@dataclass(frozen=True, slots=True)
class DiscoveryReport:
    """The mean measures over cases with gold, and how often each outcome was.

    `measures` and their 95% `intervals` are named MEASURE@K; `per_query` has the values of each
    case with gold by its id (`query_id`). `primary_measure` is the first one asked for, at the
    primary k. `drift` is the gold that no artifact was: those cases count as missed.
    """

    n: int
    n_gold: int
    measures: Mapping[str, float]
    intervals: Mapping[str, Interval]
    outcomes: Mapping[str, int]
    per_query: Mapping[str, Mapping[str, float]]
    primary_measure: str
    drift: tuple[str, ...] = ()

    @property
    def primary(self) -> float | None:
        """Return the primary measure; None without a case that has gold."""
        return self.measures.get(self.primary_measure)

    @property
    def n_retrieval_miss(self) -> int:
        """Return how many cases had no gold among the first `primary_k`."""
        return self.outcomes.get("retrieval_miss", 0)

    @property
    def abstention_accuracy(self) -> float | None:
        """Return the share of cases without gold that scored below the threshold.

        None without a threshold, or without such a case.
        """
        right = self.outcomes.get("abstention_ok", 0)
        judged = right + self.outcomes.get("false_action", 0)
        return right / judged if judged else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            **asdict(self),
            "primary": self.primary,
            "n_retrieval_miss": self.n_retrieval_miss,
            "abstention_accuracy": self.abstention_accuracy,
        }

    def __str__(self) -> str:
        value = "n/a" if self.primary is None else f"{self.primary:.4f}"
        lines = [
            f"DiscoveryReport: {counted(self.n, 'case')}, {self.n_gold} with gold;"
            f" {self.primary_measure} {value}"
        ]
        for name, mean in self.measures.items():
            low_high = self.intervals.get(name)
            spread = f"  [{low_high[0]:.3f}, {low_high[1]:.3f}]" if low_high else ""
            lines.append(f"  {name:<16} {mean:.4f}{spread}")
        lines.append("  " + ", ".join(f"{n} {name}" for name, n in sorted(self.outcomes.items())))
        return "\n".join(lines)


def evaluate_discovery(
    runs: Sequence[Run],
    k_values: Sequence[int] = K_VALUES,
    primary_k: int = PRIMARY_K,
    abstain_threshold: float | None = None,
    metrics: Sequence[str] = METRICS,
) -> DiscoveryReport:
    """Return the measures of runs, in the mean and for each, and how often each outcome was.

    Outcomes: `hit_rank_1`, `surfaced_low_rank` (2 to `primary_k`), `retrieval_miss`; of cases
    without gold `abstention_ok`, `false_action`, or `abstention_unscored` without a threshold.
    Raises QueryError for an unknown measure, none, or a k that is no whole number above 0.
    """
    check_metrics(metrics, (*k_values, primary_k))
    cuts = sorted({*k_values, primary_k})
    per_query = {
        query_id(number): values_of(run, metrics, cuts)
        for number, run in enumerate(runs)
        if run.case.gold
    }
    series = {
        f"{name}@{k}": [values[f"{name}@{k}"] for values in per_query.values()]
        for name in metrics
        for k in cuts
        if per_query
    }
    outcomes = Counter(outcome(run, primary_k, abstain_threshold) for run in runs)
    return DiscoveryReport(
        n=len(runs),
        n_gold=len(per_query),
        measures={name: round(fmean(values), 4) for name, values in series.items()},
        intervals=intervals(series),
        outcomes=dict(outcomes),
        per_query=per_query,
        primary_measure=f"{metrics[0]}@{primary_k}",
        drift=drift_of(runs),
    )


def values_of(run: Run, metrics: Sequence[str], cuts: Sequence[int]) -> dict[str, float]:
    """Return the measures MEASURE@K of a case that has gold."""
    ranked, gold = run.ranked, run.case.relevance
    return {f"{name}@{k}": MEASURES[name](ranked, gold, k) for name in metrics for k in cuts}


def check_metrics(metrics: Sequence[str], cuts: Sequence[int]) -> None:
    """Raise QueryError for an unknown measure, none, or a k that is no whole number above 0."""
    for name in metrics:
        if name not in MEASURES:
            near = did_you_mean(name, MEASURES)
            raise QueryError(f"unknown measure {name!r}{near}", f"measures: {', '.join(MEASURES)}")
    if not metrics:
        raise QueryError("no measure is named", f"measures: {', '.join(MEASURES)}")
    for k in cuts:
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise QueryError(f"a measure is of the first k, a whole number above 0, not {k!r}")


def outcome(run: Run, primary_k: int = PRIMARY_K, threshold: float | None = None) -> str:
    """Return how a case went; see `evaluate_discovery`."""
    if run.case.gold:
        rank = run.rank
        if rank is None or rank > primary_k:
            return "retrieval_miss"
        return "hit_rank_1" if rank == 1 else "surfaced_low_rank"
    if threshold is None:
        return "abstention_unscored"
    below = run.top_score is None or run.top_score < threshold
    return "abstention_ok" if below else "false_action"
