"""Format an evaluation for people, and draw its progress."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.client import Client
from irclient.counts import format_count
from irclient.errors import IRError
from irclient.terminal.columns import Table
from irclient.terminal.output import ProgressLine

_LOOKED_EVERY_S = 0.3


class EvaluationProgress:
    """Draw a progress bar on stderr during a block, if stderr is a terminal.

    A thread with a client of its own follows the daemon's events.
    """

    def __init__(self, endpoint: str):
        self._endpoint = endpoint
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self) -> EvaluationProgress:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _draw(self) -> None:
        line = ProgressLine()
        try:
            with Client(self._endpoint) as client:
                while not self._ended.is_set():
                    self._follow(client, line)
        except IRError:
            pass  # the daemon publishes no events there: no bar
        finally:
            line.clear()

    def _follow(self, client: Client, line: ProgressLine) -> None:
        for event in client.events(["evaluation"], _LOOKED_EVERY_S):
            if self._ended.is_set():
                return
            if "todo" in event.data:
                line.draw("cases", event.data["done"], event.data["todo"])


_IN_SWEEP = ("f1", "precision", "recall", "commit_rate", "mean_committed")


def format_report(measured: Mapping[str, Any], *, sweep: bool = False) -> Iterator[str | Table]:
    """Yield the report of `irc eval run`."""
    yield from _format_discovery(measured["discovery"])
    yield from format_selection(measured["selection"])
    yield from format_floor(measured["floor"])
    yield from _format_drift(measured["drift"])
    if "baseline" in measured:
        yield from _format_baseline(measured["baseline"])
    if measured.get("compared"):
        yield from _format_comparison(measured["compared"])
    if measured.get("curve"):
        yield ""
        yield from format_curve(measured["curve"])
    if sweep:
        yield from ("", _format_cells(measured["sweep"], "f1"))


def _format_discovery(found: Mapping[str, Any]) -> Iterator[str | Table]:
    yield f"{format_count(found['n'], 'case')}, {found['n_gold']} of them with gold"
    measures, spread = found["measures"], found.get("intervals", {})
    cuts = sorted({int(name.partition("@")[2]) for name in measures})
    names = list(dict.fromkeys(name.partition("@")[0] for name in measures))
    rows = [
        [
            name,
            *(f"{measures[f'{name}@{k}']:.3f}" for k in cuts),
            _format_interval(spread, name, cuts[-1]),
        ]
        for name in names
    ]
    if rows:
        yield Table(("measure", *(f"@{k}" for k in cuts), f"95% of @{cuts[-1]}"), rows)
    yield ", ".join(f"{count} {name}" for name, count in sorted(found["outcomes"].items()))
    if (share := found.get("abstention_accuracy")) is not None:
        yield f"below the best floor: {share:.3f} of the cases without gold"


def _format_interval(spread: Mapping[str, Sequence[float]], name: str, k: int) -> str:
    low_high = spread.get(f"{name}@{k}")
    return f"{low_high[0]:.3f} to {low_high[1]:.3f}" if low_high else "-"


def _format_baseline(measures: Mapping[str, float]) -> Iterator[str]:
    names = ("ndcg@10", "recall@10", "precision@1")
    figures = [f"{name} {measures[name]:.3f}" for name in names if name in measures]
    yield f"plain BM25 on the same cases: {', '.join(figures) or 'no cases with gold'}"


def _format_comparison(found: Mapping[str, Any]) -> Iterator[str]:
    spread = found.get("interval")
    between = f" [{spread[0]:+.3f}, {spread[1]:+.3f}]" if spread else ""
    yield (
        f"against it: {found['measure']} {found['difference']:+.3f}{between}, p {found['p']:.4f},"
        f" {found['better']} better and {found['worse']} worse of {found['n']}"
    )


def format_curve(points: Sequence[Mapping[str, float]]) -> Iterator[str | Table]:
    """Yield how often the gold comes first, by size of the catalogue, as a table."""
    rows = [[f"{point['size']:,}", f"{point['first']:.3f}"] for point in points]
    yield Table(("artifacts", "gold first"), rows) if rows else "no artifacts"


def format_selection(chosen: Mapping[str, Any]) -> Iterator[str]:
    """Yield the measures of the selection as lines of text."""
    names = ("f1", "precision", "recall", "commit_rate", "mean_committed", "acted")
    figures = [f"{name} {chosen[name]:.3f}" for name in names if chosen[name] is not None]
    n = chosen["n_retrieved"]
    yield f"selection over {format_count(n, 'case')} with the gold retrieved: {', '.join(figures)}"
    if chosen["abstention_accuracy"] is not None:
        j = f", J {chosen['j']:.3f}" if chosen["j"] is not None else ""
        yield f"abstained on {chosen['abstention_accuracy']:.3f} of the cases without gold{j}"


def format_floor(floor: Mapping[str, Any]) -> Iterator[str]:
    """Yield the floor that separates the cases best, or why there is none."""
    if floor["floor"] is None and floor.get("reason"):
        yield f"no floor from these labels: {floor['reason']}"
    if floor["floor"] is not None:
        yield (
            f"best floor on the score by these labels: {floor['floor']:.3f}, J {floor['j']:.3f}"
            f" (answers {floor['sensitivity']:.3f}, abstains {floor['specificity']:.3f})"
        )


def _format_drift(drift: Mapping[str, Any]) -> Iterator[str]:
    if drift["cases"]:
        shown = ", ".join(drift["missing"])
        yield f"drift: gold of {format_count(drift['cases'], 'case')} is not in the corpus: {shown}"


def format_sweep(cells: Sequence[Mapping[str, Any]], objective: str) -> Iterator[str | Table]:
    """Yield the tried selectors as a table, the best by a measure first."""
    if not cells:
        yield "no selector was tried"
        return
    best = _order_cells(cells, objective)[0]
    yield f"best by {objective}: max_k {best['max_k']}, rel {best['rel']:g}"
    yield _format_cells(cells, objective)


def _format_cells(cells: Sequence[Mapping[str, Any]], objective: str) -> Table:
    floors = any(cell.get("min_score") is not None for cell in cells)
    names = _IN_SWEEP if objective in _IN_SWEEP else (objective, *_IN_SWEEP)
    rows = [
        [
            *(str(cell["max_k"]), f"{cell['rel']:g}"),
            *([_format_figure(cell["min_score"])] if floors else []),
            *(_format_figure(cell[name]) for name in names),
        ]
        for cell in _order_cells(cells, objective)
    ]
    return Table(("max_k", "rel", *(["min_score"] if floors else []), *names), rows)


def _order_cells(cells: Sequence[Mapping[str, Any]], objective: str) -> list[Mapping[str, Any]]:
    """Sort the cells, best first; on ties those that commit to less."""
    sign = 1 if objective == "mean_committed" else -1

    def place(cell: Mapping[str, Any]) -> tuple[float, float, int, float]:
        value = cell[objective]
        worst = float("inf") if value is None else sign * value
        return worst, cell["mean_committed"] or 0.0, cell["max_k"], -cell["rel"]

    return sorted(cells, key=place)


def _format_figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
