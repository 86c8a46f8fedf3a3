"""The figures of an evaluation, as SVG whose colours are CSS variables.

matplotlib draws with stand-in colours, which are then replaced by variables: so one figure serves
light and dark. Text stays text. The page sets the variables.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What stands for each variable of the page while matplotlib draws.
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


def frontier(cells: Sequence[Mapping[str, Any]]) -> str:
    """Draw recall and precision of every selector of a sweep, and those that none beats."""
    points = [(c, c["recall"], c["precision"]) for c in cells]
    scored = [(c, x, y) for c, x, y in points if x is not None and y is not None]
    best = [
        (c, x, y)
        for c, x, y in scored
        if not any(u >= x and v >= y and (u, v) != (x, y) for _, u, v in scored)
    ]
    best.sort(key=lambda each: each[1])

    def draw(axes: Axes) -> None:
        axes.scatter(
            [x for _, x, _ in scored], [y for *_, y in scored], s=16, color=_STAND_INS["second"]
        )
        axes.plot(
            [x for _, x, _ in best], [y for *_, y in best], "o-", color=_STAND_INS["first"], ms=5
        )
        seen = set()
        for cell, x, y in best:
            if (x, y) not in seen:
                axes.annotate(
                    f"{cell['max_k']} / {cell['rel']:g}",
                    (x, y),
                    xytext=(4, 5),
                    textcoords="offset points",
                )
            seen.add((x, y))
        axes.set(xlabel="recall of what was found", ylabel="precision", xlim=_SHARES, ylim=_SHARES)

    return _drawn("frontier", draw)


def scores(cases: Sequence[Mapping[str, Any]], floor: float | None) -> str:
    """Draw how the best scores of both kinds of cases are spread, with the floor between.

    Of those with gold the ones that it was found for: the others say nothing about a floor.
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

    return _drawn("scores", draw)


def curve(points: Sequence[Mapping[str, float]]) -> str:
    """Draw how often the gold is first, over the size of the catalogue."""

    def draw(axes: Axes) -> None:
        sizes = [point["size"] for point in points]
        axes.plot(sizes, [point["first"] for point in points], "o-", color=_STAND_INS["first"])
        axes.set_xscale("log", base=2)
        # The whole catalogue may be hardly larger than the size before it.
        named = [each for each in sizes[:-1] if each * _APART <= sizes[-1]] + sizes[-1:]
        axes.set_xticks(named, [f"{size:,}" for size in named])
        axes.minorticks_off()
        axes.set_ylim(*_SHARES)
        axes.set(xlabel="artifacts in the catalogue", ylabel="gold first")

    return _drawn("curve", draw)


def differences(values: Sequence[float], measure: str) -> str:
    """Draw the difference of each query, the greatest gain first."""
    ordered = sorted(values, reverse=True)

    def draw(axes: Axes) -> None:
        colours = [_STAND_INS["first" if value >= 0 else "floor"] for value in ordered]
        axes.bar(range(len(ordered)), ordered, width=1.0, color=colours)
        axes.axhline(0, color=_STAND_INS["ink"], linewidth=0.8)
        axes.set(xlabel="queries", ylabel=f"difference in {measure}")

    return _drawn("differences", draw)


def _drawn(name: str, draw: Callable[[Axes], None]) -> str:
    """Return a figure as an SVG element; `name` keeps its ids apart from those of others."""
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
    return _as_element(written.getvalue(), name)


def _as_element(svg: str, name: str) -> str:
    text = _METADATA.sub("", svg[svg.index("<svg") :])
    text = _FONT.sub(r"\1inherit", text)
    for variable, colour in _STAND_INS.items():
        text = text.replace(colour, f"var(--{variable})")
    # Ids are of the page as a whole: groups are named alike in every figure.
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(href="|url\()#', rf"\1#{name}-", text)
    return text.replace("<svg ", f'<svg role="img" class="{name}" ', 1)
