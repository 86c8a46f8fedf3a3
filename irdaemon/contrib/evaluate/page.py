"""Write an evaluation as one HTML page: `python -m irdaemon.contrib.evaluate.page FILE`.

`irc eval report` runs this program with the evaluation on stdin: drawing needs numpy and matplotlib
(the extra `report`), which neither the client nor the daemon loads.
"""

from __future__ import annotations

import html
import io
import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irdaemon.contrib.evaluate.choice import keep_unbeaten
from irdaemon.contrib.evaluate.ranking import PRIMARY_K, ndcg
from irdaemon.contrib.evaluate.report import Comparison, compare_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Figures are SVG with CSS variables as colours: matplotlib draws with placeholder colours, which
# are then replaced by variables, so one figure serves light and dark. Text stays text.

# The placeholder colour of each variable of the page.
_STAND_INS = {
    "ink": "#0a0b0c",
    "faint": "#1a1b1c",
    "first": "#2a2b2c",
    "second": "#3a3b3c",
    "floor": "#4a4b4c",
}
VARIABLES = tuple(_STAND_INS)
_SIZE_IN = (6.4, 3.4)
_BINS = 24
_SHARES = (0, 1.05)
_APART = 1.4
_STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _STAND_INS["faint"],
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    **dict.fromkeys(
        (
            *("text.color", "axes.labelcolor", "axes.edgecolor"),
            *("xtick.color", "ytick.color", "legend.labelcolor"),
        ),
        _STAND_INS["ink"],
    ),
}
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.S)
_FONT = re.compile(r"(font-family: )[^;\"]*")


def draw_frontier(cells: Sequence[Mapping[str, Any]]) -> str:
    """Draw recall and precision of every selector of a sweep, and highlight the unbeaten ones."""
    points = [(cell, cell["recall"], cell["precision"]) for cell in cells]
    scored = [(x, y) for _, x, y in points if x is not None and y is not None]
    best = keep_unbeaten(points)

    def draw(axes: Axes) -> None:
        recalls, precisions = [x for x, _ in scored], [y for _, y in scored]
        axes.scatter(recalls, precisions, s=16, color=_STAND_INS["second"])
        places = {(cell["recall"], cell["precision"]): cell for cell in reversed(best)}
        line = [[cell[name] for cell in best] for name in ("recall", "precision")]
        axes.plot(*line, "o-", color=_STAND_INS["first"], ms=5)
        for place, cell in places.items():
            text = f"{cell['max_k']} / {cell['rel']:g}"
            axes.annotate(text, place, xytext=(4, 5), textcoords="offset points")
        axes.set(xlabel="recall of retrieved gold", ylabel="precision", xlim=_SHARES, ylim=_SHARES)

    return _draw("frontier", draw)


def draw_scores(cases: Sequence[Mapping[str, Any]], floor: float | None) -> str:
    """Draw the distribution of the best scores of both kinds of cases, with the floor between.

    Of the cases with gold only those that it was found for: the others say nothing about a floor.
    """
    inside = [c["top_score"] or 0.0 for c in cases if c["gold"] and c["rank"]]
    outside = [c["top_score"] or 0.0 for c in cases if not c["gold"]]

    def draw(axes: Axes) -> None:
        most = max([1.0, *inside, *outside])
        bins = [most * at / _BINS for at in range(_BINS + 1)]
        for values, name, label in (
            (inside, "first", "gold found"),
            (outside, "second", "no gold"),
        ):
            if values:
                axes.hist(values, bins, color=_STAND_INS[name], alpha=0.7, label=label)
        if floor is not None:
            axes.axvline(floor, color=_STAND_INS["floor"], linestyle="--", label="best floor")
        axes.set(xlabel="best score of a case", ylabel="cases")
        axes.legend()

    return _draw("scores", draw)


def draw_curve(points: Sequence[Mapping[str, float]]) -> str:
    """Draw how often the gold is first, by size of the catalogue."""

    def draw(axes: Axes) -> None:
        sizes = [point["size"] for point in points]
        axes.plot(sizes, [point["first"] for point in points], "o-", color=_STAND_INS["first"])
        axes.set_xscale("log", base=2)
        # The whole catalogue may be hardly larger than the previous size.
        named = [each for each in sizes[:-1] if each * _APART <= sizes[-1]] + sizes[-1:]
        axes.set_xticks(named, [f"{size:,}" for size in named])
        axes.minorticks_off()
        axes.set_ylim(*_SHARES)
        axes.set(xlabel="artifacts in the catalogue", ylabel="gold first")

    return _draw("curve", draw)


def draw_differences(values: Sequence[float], measure: str) -> str:
    """Draw the difference of each query, the largest gain first."""
    ordered = sorted(values, reverse=True)

    def draw(axes: Axes) -> None:
        colours = [_STAND_INS["first" if value >= 0 else "floor"] for value in ordered]
        axes.bar(range(len(ordered)), ordered, width=1.0, color=colours)
        axes.axhline(0, color=_STAND_INS["ink"], linewidth=0.8)
        axes.set(xlabel="queries", ylabel=f"difference in {measure}")

    return _draw("differences", draw)


def _draw(name: str, draw: Callable[[Axes], None]) -> str:
    """Return a figure as an SVG element; `name` keeps its ids distinct from other figures' ids."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=_SIZE_IN, layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.subplots()
        axes.patch.set_alpha(0)
        draw(axes)
        written = io.StringIO()
        FigureCanvasSVG(figure).print_svg(written, metadata={"Date": None})
    svg = written.getvalue()
    text = _METADATA.sub("", svg[svg.index("<svg") :])
    text = _FONT.sub(r"\1inherit", text)
    for variable, colour in _STAND_INS.items():
        text = text.replace(colour, f"var(--{variable})")
    # Ids are global to the page, but every figure uses the same names for its groups.
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(href="|url\()#', rf"\1#{name}-", text)
    return text.replace("<svg ", f'<svg role="img" class="{name}" ', 1)


log = logging.getLogger(__name__)

_DONE, _INTERNAL = 0, 70
_MEASURE = f"ndcg@{PRIMARY_K}"
_FAILURES_SHOWN = 25
_RANKED_SHOWN = 3
_FIGURES = ("mean", "95% interval", "plain BM25", "cases")
_FAILED = ("retrieval_miss", "false_action", "surfaced_low_rank")
_OUTCOMES = {
    "hit_rank_1": "the gold is first",
    "surfaced_low_rank": "the gold is among the first ten, and not first",
    "retrieval_miss": "the gold is not among the first ten",
    "abstention_ok": "nothing applies, and the best score is below the floor",
    "false_action": "nothing applies, and the best score is above the floor",
    "abstention_unscored": "nothing applies; without a floor it cannot be judged",
}
_CSS = """
:root { --paper: #ffffff; --ink: #1c1e21; --muted: #5c6370; --faint: #dcdfe4; --first: #1f6fb2;
  --second: #b0762a; --floor: #b3263a; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e3e5e8; --muted: #9aa1ab;
  --faint: #33373d; --first: #6db3ee; --second: #d9a75c; --floor: #f0788a; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
p.about, caption, td.muted { color: var(--muted); } caption { text-align: left; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--faint); padding: .25rem .5rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page of the evaluation on stdin; return the exit code."""
    (path,) = sys.argv[1:] if argv is None else argv
    try:
        drawn = page(json.load(sys.stdin))
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(drawn)
    except Exception:
        log.exception("%s was not written", path)
        return _INTERNAL
    return _DONE


def page(made: Mapping[str, Any]) -> str:
    """Return the page of an `evaluation`.

    If given, the evaluation is compared with an earlier one, `before`, and with the ranking of
    another program: `against` has ids by query.
    """
    now = made["evaluation"]
    title = f"Evaluation of {', '.join(now['corpora'])}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p class='about'>{html.escape(_describe(now))}</p>",
        *_show_measures(now),
        *_show_frontier(now),
        *_show_scores(now),
        *_show_curve(now),
        *_show_comparisons(now, made.get("before"), made.get("against")),
        *_show_failures(now),
    ]
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{html.escape(title)}</title><style>{_CSS}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _describe(now: Mapping[str, Any]) -> str:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(now["at"]))
    found, asked = now["discovery"], now["asked"]
    return (
        f"{found['n']:,} cases, {found['n_gold']:,} of them with gold, asked of"
        f" {now['artifacts']:,} artifacts on {at}: mode {asked.get('mode')}, {asked.get('k')}"
        f" candidates, at most {asked.get('max_k')} committed. Generation {now['generation']},"
        f" set of artifacts {now['signature']}."
    )


def _show_measures(now: Mapping[str, Any]) -> Iterator[str]:
    found, plain = now["discovery"], now.get("baseline") or {}
    spread = found.get("intervals", {})
    yield "<h2>Ranking</h2>"
    head = ("measure", "mean", "95% interval", *(("plain BM25",) if plain else ()))
    rows = [
        (
            *(name, f"{mean:.3f}", _format_interval(spread.get(name))),
            *((f"{plain[name]:.3f}" if name in plain else "-",) if plain else ()),
        )
        for name, mean in found["measures"].items()
    ]
    yield _make_table(head, rows, "Means over the cases with gold.")
    outcomes = found["outcomes"].items()
    told = [(_OUTCOMES.get(name, name), f"{n:,}") for name, n in sorted(outcomes)]
    yield _make_table(("what became of a case", "cases"), told, "")
    chosen = now["selection"]
    names = [n for n, v in chosen.items() if isinstance(v, (int, float)) and not n.startswith("n")]
    within = chosen.get("intervals", {})
    rows = [(n, f"{chosen[n]:.3f}", _format_interval(within.get(n))) for n in names]
    yield "<h2>Selection</h2>"
    about = f"Over {chosen['n_retrieved']:,} cases whose gold was among the candidates."
    yield _make_table(("measure", "mean", "95% interval"), rows, about)


def _show_frontier(now: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Selectors</h2>"
    if not any(cell["recall"] is not None for cell in now["sweep"]):
        yield "<p>No case had its gold among the candidates: there is nothing to select.</p>"
        return
    yield "<p class='about'>Each point is a selector; the line joins those that none beats in both"
    yield "recall and precision, named by how many they commit at most / the share of the best"
    yield "score that they ask for.</p>"
    yield draw_frontier(now["sweep"])


def _show_scores(now: Mapping[str, Any]) -> Iterator[str]:
    floor = now["floor"]
    yield "<h2>Scores and the floor</h2>"
    if floor.get("floor") is None:
        yield f"<p>No floor can be found: {html.escape(str(floor.get('reason', '')))}.</p>"
    else:
        yield (
            f"<p class='about'>A floor of {floor['floor']:.3f} answers"
            f" {floor['sensitivity']:.1%} of the answerable cases and abstains on"
            f" {floor['specificity']:.1%} of the others (J {floor['j']:.3f}).</p>"
        )
    yield draw_scores(now["cases"], floor.get("floor"))


def _show_curve(now: Mapping[str, Any]) -> Iterator[str]:
    if not now.get("curve"):
        return
    yield "<h2>Accuracy as the catalogue grows</h2>"
    yield "<p class='about'>How often the gold is expected to be first in a catalogue of that size,"
    yield "drawn at random from all artifacts.</p>"
    yield draw_curve(now["curve"])


def _show_comparisons(
    now: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    against: Mapping[str, Sequence[str]] | None,
) -> Iterator[str]:
    if not now.get("compared") and before is None and against is None:
        return
    yield "<h2>Comparison</h2>"
    if now.get("compared"):
        known = {f: now["compared"].get(f) for f in Comparison.__slots__}
        yield f"<p>Against plain BM25: {html.escape(str(Comparison(**known)))}.</p>"
    if against is not None:
        theirs = str(_compare_with(now, against))
        yield f"<p>Against the run that was given: {html.escape(theirs)}.</p>"
    if before is None:
        return
    pairs = _pair_cases(now["cases"], before["cases"])
    if not pairs:
        yield "<p>The previous evaluation had none of these cases.</p>"
        return
    found = compare_values(_MEASURE, [new for new, _ in pairs], [old for _, old in pairs])
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(before["at"]))
    same = "the same" if before["signature"] == now["signature"] else "another"
    yield f"<p>Against the evaluation of {when}, over {same} set of artifacts, on the cases that"
    yield f"both have: {html.escape(str(found))}.</p>"
    yield draw_differences([new - old for new, old in pairs], _MEASURE)


def _compare_with(now: Mapping[str, Any], against: Mapping[str, Sequence[str]]) -> Comparison:
    """Compare the cases with another program's ranking for them."""
    cases = [case for case in now["cases"] if case["gold"]]
    theirs = [ndcg(against.get(case["id"], ()), case["gold"], PRIMARY_K) for case in cases]
    return compare_values(_MEASURE, [case["measures"][_MEASURE] for case in cases], theirs)


def _pair_cases(
    now: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]
) -> list[tuple[float, float]]:
    """Return the measure of each case that both evaluations have, now and before."""
    old = {
        (case["query"], tuple(sorted(case["gold"]))): case["measures"][_MEASURE]
        for case in before
        if case["gold"]
    }
    keyed = (((case["query"], tuple(sorted(case["gold"]))), case) for case in now if case["gold"])
    return [(case["measures"][_MEASURE], old[key]) for key, case in keyed if key in old]


def _show_failures(now: Mapping[str, Any]) -> Iterator[str]:
    failed = [case for case in now["cases"] if case["outcome"] in _FAILED]
    failed.sort(key=lambda case: _FAILED.index(case["outcome"]))
    yield "<h2>What went wrong</h2>"
    if drift := now.get("drift", {}).get("missing"):
        yield f"<p>Gold that is not in the corpus: {html.escape(', '.join(drift))}.</p>"
    if not failed:
        yield "<p>Nothing: every gold is first, and nothing unanswerable is above the floor.</p>"
        return
    shown = failed[:_FAILURES_SHOWN]
    rows = [
        (case["query"], _OUTCOMES[case["outcome"]], _list_gold(case), _list_ranked(case))
        for case in shown
    ]
    about = f"{len(shown):,} of {len(failed):,} cases, the gravest kind first."
    yield _make_table(("query", "outcome", "expected", "found first"), rows, about)


def _list_gold(case: Mapping[str, Any]) -> str:
    rank = f" (rank {case['rank']})" if case["rank"] else ""
    return (", ".join(case["gold"]) or "nothing") + rank


def _list_ranked(case: Mapping[str, Any]) -> str:
    score = "" if case["top_score"] is None else f" (best score {case['top_score']:.3f})"
    return (", ".join(case["ranked"][:_RANKED_SHOWN]) or "nothing") + score


def _format_interval(spread: Sequence[float] | None) -> str:
    return f"{spread[0]:.3f} to {spread[1]:.3f}" if spread else "-"


def _make_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table; columns with numeric headings are aligned as numbers."""
    classes = [" class=figure" if name in _FIGURES else "" for name in head]
    lines = [f"<table><caption>{html.escape(caption)}</caption>", _make_row("th", head, classes)]
    lines += [_make_row("td", row, classes) for row in rows]
    return "".join([*lines, "</table>"])


def _make_row(tag: str, texts: Sequence[str], classes: Sequence[str]) -> str:
    pairs = zip(texts, classes, strict=True)
    cells = (f"<{tag}{own}>{html.escape(text)}</{tag}>" for text, own in pairs)
    return f"<tr>{''.join(cells)}</tr>"


if __name__ == "__main__":
    raise SystemExit(main())
