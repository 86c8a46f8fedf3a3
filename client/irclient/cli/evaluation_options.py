"""The options of the actions of `irc eval`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from irclient.cli.query import add_query_shape, add_select_options, floor
from irclient.terminal.output import add_output_of_action

_OBJECTIVES = "f1, precision, recall, commit_rate, f1_all, j ..."


def add_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action, with its options."""
    listed = parser.add_subparsers(dest="action", required=True, metavar="ACTION", help="what")
    for name, (phrase, add) in ACTIONS.items():
        page = listed.add_parser(name, help=phrase, description=f"{phrase[0].upper()}{phrase[1:]}.")
        add(page)
        add_output_of_action(page)


def _add_run(page: argparse.ArgumentParser) -> None:
    _add_cases(page)
    page.add_argument("--sweep", action="store_true", help="try other max_k and rel as well")
    page.add_argument("--baseline", action="store_true", help="show plain BM25 beside it")
    page.add_argument("--curve", action="store_true", help="show smaller catalogues as well")
    page.add_argument("--save-run", default="", metavar="FILE", help="write a TREC run")
    page.add_argument("--save-qrels", default="", metavar="FILE", help="write TREC qrels")
    _add_fail_under(page)
    _add_asking(page)


def _add_select(page: argparse.ArgumentParser) -> None:
    _add_cases(page)
    _add_fail_under(page)
    _add_asking(page)


def _add_sweep(page: argparse.ArgumentParser) -> None:
    _add_cases(page)
    page.add_argument("--max-k-grid", type=_several(int), metavar="N,...", help="1,2,3,5,8")
    page.add_argument("--rel-grid", type=_several(float), metavar="F,...", help="0.4,0.5 to 0.9")
    page.add_argument(
        "--min-score-grid", type=_several(floor), metavar="F,...", help="none, or floors to try"
    )
    page.add_argument("--objective", default="f1", metavar="MEASURE", help=f"{_OBJECTIVES} (f1)")
    _add_asking(page)


def _add_calibrate(page: argparse.ArgumentParser) -> None:
    _add_cases(page)
    page.add_argument(
        "--persist", action="store_true", help="set the floors of --corpus by these cases"
    )
    _add_asking(page)


def _add_curve(page: argparse.ArgumentParser) -> None:
    _add_cases(page)
    _add_asking(page)


def _add_gen(page: argparse.ArgumentParser) -> None:
    page.add_argument("of", metavar="CORPUS", help="what the cases are about")
    page.add_argument("-o", "--output", required=True, metavar="FILE", help="a new file of cases")
    page.add_argument(
        "--model",
        required=True,
        metavar="URL#MODEL",
        help="an OpenAI-compatible endpoint; the text of artifacts is sent there",
    )
    page.add_argument("--each", type=_count, default=5, metavar="N", help="for each artifact (5)")
    page.add_argument(
        "--abstain", type=_share, default=0.15, metavar="F", help="share without gold (0.15)"
    )
    page.add_argument(
        "--max-artifacts", type=_count, default=50, metavar="N", help="of the first N by id (50)"
    )
    page.add_argument("--keep-names", action="store_true", help="let queries name the artifact")


def _add_mine(page: argparse.ArgumentParser) -> None:
    page.add_argument(
        "uses",
        nargs="?",
        default="",
        metavar="USES.jsonl",
        help='{"prompt", "gold", "at"} a line; -',
    )
    page.add_argument("-c", "--corpus", default="", help="of the uses that the daemon knows of it")
    page.add_argument("-o", "--output", required=True, metavar="FILE", help="the older cases")
    page.add_argument("--newer", required=True, metavar="FILE", help="the newest cases")
    page.add_argument(
        "--newest", type=_share, default=0.2, metavar="F", help="share of the newest uses (0.2)"
    )


def _add_report(page: argparse.ArgumentParser) -> None:
    _add_cases(page)
    page.add_argument("-o", "--output", required=True, metavar="FILE.html", help="the page")
    page.add_argument(
        "--against", default="", metavar="RUN", help="compare with a TREC run over the same cases"
    )
    _add_asking(page)


def _add_cases(page: argparse.ArgumentParser) -> None:
    page.add_argument(
        "cases", nargs="?", default="", metavar="CASES.jsonl", help='{"query", "gold"} a line; -'
    )
    page.add_argument("--qrels", default="", metavar="FILE", help="TREC qrels in place of cases")
    page.add_argument("--topics", default="", metavar="FILE", help="their topics: `query text`")


def _add_asking(page: argparse.ArgumentParser) -> None:
    add_query_shape(page)
    add_select_options(page)
    page.set_defaults(query=[])


def _add_fail_under(page: argparse.ArgumentParser) -> None:
    page.add_argument(
        "--fail-under",
        action="append",
        default=[],
        type=_least,
        metavar="MEASURE=F",
        help="end with 6 where a measure is less; may be repeated",
    )


def _least(text: str) -> tuple[str, float]:
    name, _, least = text.rpartition("=")
    try:
        if name:
            return name, float(least)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not MEASURE=F with a number F")


def _several(kind: Callable[[str], object]) -> Callable[[str], list[object]]:
    def read(text: str) -> list[object]:
        try:
            return [kind(each) for each in text.split(",")]
        except ValueError:
            message = f"{text!r} is no list of numbers with commas between"
            raise argparse.ArgumentTypeError(message) from None

    return read


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to below 1")
    return share


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return count


ACTIONS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "run": ("ask every case, and measure ranking, selection and floor", _add_run),
    "select": ("measure what is selected, where the gold was found", _add_select),
    "sweep": ("try other selectors on the same candidates", _add_sweep),
    "calibrate": ("find the floor that separates the cases best", _add_calibrate),
    "curve": ("how often the gold is first in smaller catalogues", _add_curve),
    "gen": ("let a language model write cases", _add_gen),
    "mine": ("make cases out of what was used", _add_mine),
    "report": ("draw a page of an evaluation", _add_report),
}
