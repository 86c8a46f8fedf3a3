"""What a person sees of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irclient.terminal.columns import table


def report(measured: Mapping[str, Any], *, sweep: bool = False) -> str:
    """Return the report of `irc eval` as text."""
    lines = [*_discovery(measured["discovery"]), *_selection(measured["selection"])]
    lines += [*_floor(measured["floor"]), *_drift(measured["drift"])]
    if "baseline" in measured:
        lines += _baseline(measured["baseline"])
    if sweep:
        lines += ["", _sweep(measured["sweep"])]
    return "\n".join(lines)


def _discovery(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['n']} cases, {found['n_gold']} of them with gold"
    measures = found["measures"]
    cuts = sorted({int(name.partition("@")[2]) for name in measures})
    names = list(dict.fromkeys(name.partition("@")[0] for name in measures))
    rows = [[name, *(f"{measures[f'{name}@{k}']:.3f}" for k in cuts)] for name in names]
    if rows:
        yield table(("measure", *(f"@{k}" for k in cuts)), rows)
    yield ", ".join(f"{count} {name}" for name, count in sorted(found["outcomes"].items()))


def _baseline(measures: Mapping[str, float]) -> Iterator[str]:
    names = ("ndcg@10", "recall@10", "precision@1")
    figures = [f"{name} {measures[name]:.3f}" for name in names if name in measures]
    yield f"plain BM25 on the same cases: {', '.join(figures) or 'no cases with gold'}"


def _selection(chosen: Mapping[str, Any]) -> Iterator[str]:
    names = ("f1", "precision", "recall", "commit_rate", "mean_committed", "acted")
    figures = [f"{name} {chosen[name]:.3f}" for name in names if chosen[name] is not None]
    n = chosen["n_retrieved"]
    yield f"selection over {n} cases with the gold retrieved: {', '.join(figures)}"
    if chosen["abstention_accuracy"] is not None:
        j = f", J {chosen['j']:.3f}" if chosen["j"] is not None else ""
        yield f"abstained on {chosen['abstention_accuracy']:.3f} of the cases without gold{j}"


def _floor(floor: Mapping[str, Any]) -> Iterator[str]:
    if floor["floor"] is not None:
        yield (
            f"best floor on the score by these labels: {floor['floor']:.3f}, J {floor['j']:.3f}"
            f" (answers {floor['sensitivity']:.3f}, abstains {floor['specificity']:.3f})"
        )


def _drift(drift: Mapping[str, Any]) -> Iterator[str]:
    if drift["cases"]:
        shown = ", ".join(drift["missing"])
        yield f"drift: gold of {drift['cases']} cases is not in the corpus: {shown}"


def _sweep(cells: list[Mapping[str, Any]]) -> str:
    names = ("f1", "precision", "recall", "commit_rate", "mean_committed")
    best = sorted(cells, key=lambda cell: -(cell["f1"] or 0))
    rows = [
        [str(cell["max_k"]), f"{cell['rel']:g}", *(_figure(cell[name]) for name in names)]
        for cell in best
    ]
    return table(("max_k", "rel", *names), rows)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
