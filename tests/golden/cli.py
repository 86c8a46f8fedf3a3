"""Write docs/cli.md again: `python -m tests.golden.cli` collects every page of `--help`."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator

import irclient.cli.main
import irdaemon.cli.main
from tests.support.running import ROOT

PAGE = ROOT / "docs" / "cli.md"
_PROGRAMS = {"irc": irclient.cli.main, "irdaemon": irdaemon.cli.main}
_HEAD = """\
# Commands

What `--help` prints for every command of [irc](#irc), which asks the daemon, and of
[irdaemon](#irdaemon), which runs it. `python -m tests.golden.cli` writes this page; a test
compares the two.

"""


def render() -> str:
    """Return the page: for each program its list of commands, then the help of each command."""
    parts = [part for name in _PROGRAMS for part in _pages(name)]
    return _HEAD + "\n".join(parts)


def normalize(page: str) -> str:
    """Return a page without what differs between versions of argparse: line breaks and metavars."""
    words = " ".join(page.split())
    # Before Python 3.13: "-c CORPUS, --corpus CORPUS"; since then: "-c, --corpus CORPUS".
    return re.sub(r"(--?[\w-]+) (\S+), (?=--?[\w-]+ \2)", r"\1, ", words)


def _pages(name: str) -> Iterator[str]:
    module = _PROGRAMS[name]
    parser = module.make_program()
    yield f"## {name}\n\n{_fenced(parser.format_help())}"
    for command, page in _subparsers(parser):
        yield f"### {name} {command}\n\n{_fenced(page.format_help())}"
        for action, of_action in _subparsers(page):
            yield f"#### {name} {command} {action}\n\n{_fenced(of_action.format_help())}"


def _subparsers(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    """Return the commands below a parser by name, each once, in its order."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return list(action.choices.items())
    return []


def _fenced(text: str) -> str:
    return f"```\n{text.rstrip()}\n```\n"


def main() -> None:
    """Rewrite the page."""
    os.environ["COLUMNS"] = "80"
    PAGE.write_text(render(), "utf-8")


if __name__ == "__main__":
    main()
