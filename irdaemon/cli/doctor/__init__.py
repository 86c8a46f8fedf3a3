"""The doctor: find what is wrong on this machine, and name the command that fixes it.

Each check takes the configuration and yields findings; pure functions beside it judge what it
measured. `CHECKS` lists them all.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from irclient.counts import format_count
from irclient.errors import IRError
from irclient.terminal.columns import print_report
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.help import argument, command, flag
from irclient.types import Plain
from irdaemon.config.config import config_path, load_config, parse_config
from irdaemon.config.corpus import make_corpora
from irdaemon.config.sections import Config
from irdaemon.runtime.plugins import load

# A `note` is worth knowing, but nothing is wrong.
Level = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding(Plain):
    """What a check found at `where` ("": this machine), and the command to run ("": none)."""

    level: Level
    what: str
    where: str = ""
    fix: str = ""


def ok(what: str, where: str = "") -> Finding:
    """Return the finding that something is as it should be."""
    return Finding("ok", what, where)


def note(what: str, where: str = "", fix: str = "") -> Finding:
    """Return a finding worth knowing."""
    return Finding("note", what, where, fix)


def wrong(what: str, where: str = "", fix: str = "") -> Finding:
    """Return the finding that something is wrong."""
    return Finding("wrong", what, where, fix)


Check = Callable[[Config], Iterable[Finding]]

_ROOM = "irdaemon.cli.doctor"
CHECKS: dict[str, str] = {
    "versions": f"{_ROOM}.machine:check_versions",
    "embedders": f"{_ROOM}.corpora:check_embedders",
    "models": f"{_ROOM}.models:check_models",
    "prompts": "irdaemon.contrib.prompts.doctor:check_prompts",
    "backends": "irdaemon.contrib.backends.doctor:check",
    "readers": f"{_ROOM}.corpora:check_readers",
    "limits": f"{_ROOM}.machine:check_limits",
    "places": f"{_ROOM}.machine:check_directories",
    "roots": f"{_ROOM}.corpora:check_roots",
    "projects": f"{_ROOM}.corpora:check_projects",
    "ledger": f"{_ROOM}.service:check_ledger_file",
    "daemon": f"{_ROOM}.service:check_daemon",
    "hooks": f"{_ROOM}.service:check_hooks",
    "service": f"{_ROOM}.service:check_service",
}


def examine(config: Config) -> Iterator[tuple[str, Finding]]:
    """Run every check and yield its name and findings; a failing check is a finding, too."""
    for name in CHECKS:
        check: Check = load("check", name, CHECKS)
        try:
            for finding in check(config):
                yield name, finding
        except IRError as error:
            yield name, wrong(error.message, fix=error.hint)
        except Exception as error:  # one check must not prevent the others
            yield name, wrong(f"could not be checked: {error!r}")


@command(
    flag("--json", "print the findings as JSON"),
    argument("--config FILE", "check with this configuration"),
)
def find_faults(options: argparse.Namespace) -> int:
    """Find what is wrong on this machine, and how to fix it.

    Find what is wrong on this machine for the daemon: system limits, directories
    and permissions, roots, versions, socket, agents' hooks, service, ledger and
    disk space, each with the command that fixes it. Exit codes: 0 nothing is
    wrong, 5 something is.

    examples:
    irdaemon doctor

    # as data
    irdaemon doctor --json
    """
    config, error = _load(options.config)
    found = list(examine(config))
    if error is not None:
        found = _merge_error(error, config.path, found)
    rows = [{"check": name, **each.to_dict()} for name, each in found]
    print_report(options, rows, _list_findings)
    return UNHEALTHY if any(each.level == "wrong" for _, each in found) else DONE


def _load(path: str | None) -> tuple[Config, IRError | None]:
    """Return the configuration to examine, and why the daemon cannot start with the file.

    If the file is unusable, the configuration is the default one.
    """
    from irdaemon.daemon.active_config import check_startable

    try:
        config = load_config(path)
        make_corpora(config)
    except IRError as error:
        return parse_config("", os.path.abspath(path or config_path())), error
    try:
        check_startable(config)
    except IRError as error:
        return config, error
    return config, None


def _merge_error(
    error: IRError, path: str, found: Sequence[tuple[str, Finding]]
) -> list[tuple[str, Finding]]:
    """Put an error of the configuration first, unless a finding about the file reports it."""
    others = [(name, each) for name, each in found if error.message not in each.what]
    files = {each.where for _, each in others if each.level == "wrong"} - {"", path}
    if any(file in error.message for file in files):
        return others
    return [("configuration", wrong(error.message, fix=error.hint)), *others]


def _list_findings(findings: Sequence[dict[str, str]]) -> Iterator[str]:
    """Yield each finding on a line or two, and count what is wrong."""
    for each in findings:
        where = f"{each['where']}: " if each["where"] else ""
        yield f"{each['level']:<5}  {each['check']}: {where}{each['what']}"
        if each["fix"]:
            yield f"         -> {each['fix']}"
    broken = sum(each["level"] == "wrong" for each in findings)
    yield ""
    yield f"{format_count(broken, 'thing', 'is') if broken else 'nothing is'} wrong"
