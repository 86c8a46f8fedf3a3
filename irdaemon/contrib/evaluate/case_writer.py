"""Write cases with a language model: `python -m irdaemon.contrib.evaluate.case_writer FILE ...`.

`irc eval gen` runs this program with the corpus and the texts of its artifacts on stdin.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from irclient.counts import format_count
from irclient.errors import IRError, QueryError
from irclient.terminal.ending import run_program
from irclient.terminal.exits import COMMITTED, choose_error_exit
from irclient.terminal.output import ProgressLine, note, print_json, print_line
from irdaemon.contrib.evaluate.cases import corpus_signature
from irdaemon.contrib.evaluate.generate import (
    CaseMaking,
    MadeCases,
    ask_endpoint,
    find_host,
    generate_abstentions,
    make_cases,
)
from irdaemon.discovery.cases import Case, save_cases

_ABOUT_NAMES = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Ask the model, and write the cases; return the exit code."""
    options = _make_parser().parse_args(argv)
    try:
        return _write(options, json.load(sys.stdin))
    except IRError as error:
        note(f"irc: {error.message}")
        note(f"     {error.hint}")
        return choose_error_exit(error.code)


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Let a language model write cases.")
    parser.add_argument("output", help="a new file of cases")
    parser.add_argument("--model", required=True, help="URL#MODEL of the endpoint")
    parser.add_argument("--each", type=int, default=5, help="cases for each artifact")
    parser.add_argument("--abstain", type=float, default=0.15, help="share of cases without gold")
    parser.add_argument("--keep-names", action="store_true", help="do not mask names")
    parser.add_argument("--json", action="store_true", help="print data as JSON")
    return parser


def _write(options: argparse.Namespace, given: dict[str, Any]) -> int:
    corpus, artifacts = given["corpus"], given["artifacts"]
    ask, line = ask_endpoint(options.model), ProgressLine()
    note(
        f"irc: sending the text of {format_count(len(artifacts), 'artifact')}"
        f" to {find_host(options.model)}"
    )
    making = CaseMaking(
        mask_names=not options.keep_names,
        corpus=corpus,
        tell=lambda done, todo: line.draw("artifacts", done, todo),
    )
    try:
        made = make_cases(artifacts, ask, options.each, making)
        about = ", ".join(name for name, _ in list(artifacts.values())[:_ABOUT_NAMES])
        outside = generate_abstentions(len(made.cases), ask, about, options.abstain)
    finally:
        line.clear()
    meta = {"corpus": corpus, "corpus_signature": corpus_signature(artifacts)}
    _save(options.output, [*made.cases, *outside], meta)
    _report(options, made, outside)
    return COMMITTED


def _save(path: str, cases: Sequence[Case], meta: dict[str, str]) -> None:
    try:
        with open(path, "x", encoding="utf-8"):
            pass
        save_cases(path, cases, meta)
    except FileExistsError as error:
        raise QueryError(
            f"{path} exists", "it may have been reviewed; name another file"
        ) from error
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror or error}", "name another file") from error


def _report(options: argparse.Namespace, made: MadeCases, outside: Sequence[Case]) -> None:
    if made.skipped:
        note(f"irc: {made.skipped}")
    counts = {"gold": len(made.cases), "abstention": len(outside), "failed": len(made.failed)}
    if options.json:
        print_json({**counts, "too_short": len(made.too_short)})
        return
    n = counts["gold"] + counts["abstention"]
    told = f"{counts['gold']} with gold, {counts['abstention']} without"
    print_line(f"{format_count(n, 'case')} in {options.output}: {told}; review them before use")


if __name__ == "__main__":
    raise SystemExit(run_program("irc", main))
