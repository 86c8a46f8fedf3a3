"""`irdaemon doctor`: find what is wrong on this machine, and how to fix it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from irclient.errors import IRError
from irclient.terminal.columns import wrap_line
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.output import print_data
from irclient.terminal.width import detect_terminal

if TYPE_CHECKING:
    from irdaemon.cli.doctor import Finding
    from irdaemon.config.config import Config

HELP = "find what is wrong on this machine, and how to fix it"
ABOUT = """
Find what is wrong on this machine for the daemon: limits of the system,
directories and permissions, roots, versions, socket, agents' hooks, service,
ledger and disk space, each with the command that fixes it. Exit codes: 0
nothing is wrong, 5 something is.
"""
EXAMPLES = """
irdaemon doctor

# as data
irdaemon doctor --json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the output format, and which configuration."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--config", metavar="FILE", help="check with this configuration")


def run(options: argparse.Namespace) -> int:
    """Examine this machine; nothing wrong is exit code 0."""
    from irdaemon.cli.doctor import examine

    config, error = _configuration(options.config)
    found = list(examine(config))
    if error is not None:
        found = _told_once(error, config.path, found)
    print_data(options, [{"check": name, **each.to_dict()} for name, each in found], _text)
    return UNHEALTHY if any(each.level == "wrong" for _, each in found) else DONE


def _configuration(path: str | None) -> tuple[Config, IRError | None]:
    """Return the configuration to examine with, and why a daemon does not start with the file.

    Where no corpus could be made of it, that is the configuration without a file.
    """
    from irdaemon.config.config import config_path, load_config, parse_config
    from irdaemon.config.corpus import corpora_of
    from irdaemon.daemon.active_config import check_startable

    try:
        config = load_config(path)
        corpora_of(config)
    except IRError as error:
        return parse_config("", os.path.abspath(path or config_path())), error
    try:
        check_startable(config)
    except IRError as error:
        return config, error
    return config, None


def _told_once(
    error: IRError, path: str, found: Sequence[tuple[str, Finding]]
) -> list[tuple[str, Finding]]:
    """Return findings with a mistake of the configuration once: first, or by the file it names."""
    from irdaemon.cli.doctor import wrong

    others = [(name, each) for name, each in found if error.message not in each.what]
    files = {each.where for _, each in others if each.level == "wrong"} - {"", path}
    if any(file in error.message for file in files):
        return others
    return [("configuration", wrong(error.message, fix=error.hint)), *others]


def _text(findings: Sequence[dict[str, str]]) -> str:
    """Return a line or two for each finding, and how many things are wrong."""
    broken = sum(each["level"] == "wrong" for each in findings)
    verdict = (
        f"{broken} thing{'s are' if broken > 1 else ' is'} wrong" if broken else "nothing is wrong"
    )
    width = detect_terminal().width
    lines = [wrap_line(line, width) for each in findings for line in _lines(each)]
    return "\n".join([*lines, "", verdict])


def _lines(finding: dict[str, str]) -> list[str]:
    where = f"{finding['where']}: " if finding["where"] else ""
    line = f"{finding['level']:<5}  {finding['check']}: {where}{finding['what']}"
    return [line, f"         -> {finding['fix']}"] if finding["fix"] else [line]
