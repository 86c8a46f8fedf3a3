"""`irc eval`: how good the answers to labelled queries are."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from irclient.cli.evaluation import report
from irclient.cli.query import add_query_shape, add_select_options, query
from irclient.client import Client
from irclient.errors import QueryError
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed

HELP = "how good the answers to labelled queries are"
ABOUT = """
How good the answers to labelled queries are: ranking, selection, abstention.
A case a line: {"query": "...", "gold": ["name or id", ...]}; no gold means that
nothing applies, and nothing should be chosen.
"""
EXAMPLES = """
# the measures, with plain BM25 beside them
irc eval --baseline cases.jsonl

# would another max_k or rel be better?
irc eval --sweep cases.jsonl

# from another program
make-cases | irc eval --json -
"""

# Thousands of cases take seconds; hundreds of thousands are not for a terminal.
_WITHIN_S = 600.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the file of cases, and how they are asked."""
    parser.add_argument("cases", metavar="CASES.jsonl", help='{"query", "gold": [ids]} a line; -')
    parser.add_argument("--sweep", action="store_true", help="try other max_k and rel as well")
    parser.add_argument("--baseline", action="store_true", help="show plain BM25 beside it")
    add_query_shape(parser)
    add_select_options(parser)
    parser.set_defaults(query=[])


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the measures of the daemon's answers."""
    client.timeout = max(client.timeout, _WITHIN_S)
    measured = client.eval(read_cases(options.cases), query(options), options.baseline)
    printed(options, measured, lambda measured: report(measured, sweep=options.sweep))
    return COMMITTED


def read_cases(path: str) -> list[dict[str, Any]]:
    """Read a file of cases, or stdin for "-"; the daemon checks what is in them."""
    name = "stdin" if path == "-" else path
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{name}: {error}", "check the file") from error
    cases = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise QueryError(f"{name}:{number}: not JSON: {error}", "one case a line") from error
        if not isinstance(case, dict) or not (isinstance(case.get("query"), str) or number == 1):
            hint = 'write {"query": "...", "gold": ["id"]}'
            raise QueryError(f"{name}:{number}: the case has no query", hint)
        if "__meta__" not in case:
            cases.append(case)
    return cases
