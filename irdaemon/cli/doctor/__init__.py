"""The doctor: what is wrong on this machine, and the command that fixes it.

Each check is a function that takes the configuration and yields findings; what it measures is
judged by pure functions beside it. `CHECKS` is the one list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from irclient.errors import IRError
from irdaemon.cli.doctor.finding import Finding, note, ok, wrong
from irdaemon.config.config import Config
from irdaemon.runtime.plugins import load

__all__ = ["CHECKS", "Finding", "examine", "note", "ok", "wrong"]

Check = Callable[[Config], Iterable[Finding]]

CHECKS: dict[str, str] = {
    "versions": "irdaemon.cli.doctor.versions:check",
    "embedders": "irdaemon.cli.doctor.embedders:check",
    "models": "irdaemon.cli.doctor.models:check",
    "backends": "irdaemon.contrib.backends.doctor:check",
    "readers": "irdaemon.cli.doctor.readers:check",
    "limits": "irdaemon.cli.doctor.kernel:check",
    "places": "irdaemon.cli.doctor.directories:check",
    "roots": "irdaemon.cli.doctor.roots:check",
    "ledger": "irdaemon.cli.doctor.database:check",
    "daemon": "irdaemon.cli.doctor.endpoint:check",
    "hooks": "irdaemon.cli.doctor.hooks:check",
    "service": "irdaemon.cli.doctor.unit:check",
}


def examine(config: Config) -> Iterator[tuple[str, Finding]]:
    """Run every check and yield its findings under its name; one that fails is a finding too."""
    for name in CHECKS:
        check: Check = load("check", name, CHECKS)
        try:
            for finding in check(config):
                yield name, finding
        except IRError as error:
            yield name, wrong(error.message, fix=error.hint)
        except Exception as error:  # a check must not keep the others from being made
            yield name, wrong(f"could not be checked: {error!r}")
