"""Write what a person sees of an answer: `python -m tests.golden.terminal` rewrites it.

Escapes are written as ␛, so that the file can be read, and its diffs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from irclient.invisible import make_safe as as_shown
from irclient.terminal.hits import format_answer, format_footer
from irclient.terminal.width import Terminal
from irclient.testing import hit, selection
from irclient.types import RelatedItem, Round

HERE = Path(__file__).parent
WIDTHS = (40, 80, 200)
_LONG = (
    "Fill, check and flatten PDF forms. Use it whenever a person brings a form, or a table in one."
)

ANSWERS = {
    "hits": selection(
        hit("fill-pdf-form", 0.93, summary=_LONG),
        replace(
            hit("ask-the-people-who-wrote-the-service-about-their-intentions", 0.41),
            corpus="notes",
            pointer="/home/ann/Documents/my notes/2026/Über die Dienste.md",
            duplicates=("notes/services.md", "old/services.md"),
        ),
    ),
    "hits in other scripts": selection(
        hit(
            "表单填写", 0.66, summary="填写、检查并展平 PDF 表单。每当有人带来一份表单时使用。" * 3
        ),
        hit("cafe\u0301 ❤\ufe0f", 0.05, summary="e\u0301" * 150),
        hit("drives\x1b[31m the\u202e terminal\x07", 1.0, summary="one\n\nline\tonly\x9b"),
    ),
    "rounds that left something out": replace(
        selection(hit("fill-pdf-form", 0.93)),
        signals={
            "unserved": ["bake a chocolate cake", "book a table in Rome for the evening after"]
        },
        rounds=(Round("fill a form and bake", 10), Round("bake a chocolate cake", 20)),
    ),
    "hits with what belongs to them": selection(
        replace(
            hit("fill-pdf-form", 0.93),
            related=(
                RelatedItem("packages", "~/code/pypdf", "pypdf", "package", "names"),
                RelatedItem(
                    "sessions", "5c2e:81", "Fill in the tax form", "session", "used_in", via="pdf"
                ),
            ),
        ),
        replace(hit("write-changelog", 0.41), related=()),
    ),
    "an abstention": selection(reason="below_floor"),
    "an answer to a query with respelled words": replace(
        selection(hit("fill-pdf-form", 0.62)),
        signals={"respelled": {"linestrng": "linestring", "geojosn": "geojson"}},
    ),
}


def text() -> str:
    """Return every answer at every width, with colours and links and without."""
    return "".join(f"{line}\n".replace("\x1b", "␛") for line in _lines())


def _lines() -> Iterator[str]:
    for name, answer in ANSWERS.items():
        for width in WIDTHS:
            for shown in (False, True):
                yield f"== {name}, {width} cells{', colours and links' if shown else ''}"
                yield ""
                told = as_shown(answer.to_dict())
                to = Terminal(width, shown, "here" if shown else "")
                yield from format_answer(told, to)
                yield format_footer(told, to)
                yield ""


def main() -> None:
    """Write the file."""
    (HERE / "terminal.txt").write_text(text(), "utf-8")


if __name__ == "__main__":
    main()
