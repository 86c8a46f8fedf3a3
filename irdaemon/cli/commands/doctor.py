"""`irdaemon doctor`: find what is wrong on this machine, and how to fix it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from irclient.terminal.columns import paragraph
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.output import printed
from irclient.terminal.width import terminal

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
    from irdaemon.cli.doctor import examine, wrong
    from irdaemon.config.config import ConfigError, load_config, parse_config

    try:
        config, found = load_config(options.config), []
    except ConfigError as error:
        # The rest is examined as if there were none.
        config = parse_config("", options.config or "")
        found = [("configuration", wrong(error.message, fix=error.hint))]
    found += list(examine(config))
    printed(options, [{"check": name, **each.to_dict()} for name, each in found], _text)
    return UNHEALTHY if any(each.level == "wrong" for _, each in found) else DONE


def _text(findings: Sequence[dict[str, str]]) -> str:
    """Return a line or two for each finding, and how many things are wrong."""
    broken = sum(each["level"] == "wrong" for each in findings)
    verdict = (
        f"{broken} thing{'s are' if broken > 1 else ' is'} wrong" if broken else "nothing is wrong"
    )
    width = terminal().width
    lines = [paragraph(line, width) for each in findings for line in _lines(each)]
    return "\n".join([*lines, "", verdict])


def _lines(finding: dict[str, str]) -> list[str]:
    where = f"{finding['where']}: " if finding["where"] else ""
    line = f"{finding['level']:<5}  {finding['check']}: {where}{finding['what']}"
    return [line, f"         -> {finding['fix']}"] if finding["fix"] else [line]
