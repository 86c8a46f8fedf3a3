"""Check whether the hooks that `irc install` wrote into agents' settings can work."""

from __future__ import annotations

from collections.abc import Iterable

from irclient.agents.install.targets import missing_hooks
from irdaemon.cli.doctor.finding import Finding, ok, wrong
from irdaemon.config.config import Config


def check(config: Config) -> Iterable[Finding]:
    """Yield each agent whose hook cannot work, which the agent does not report."""
    missing = missing_hooks()
    yield from (wrong(str(each), each.settings, each.fix) for each in missing)
    if not missing:
        yield ok("every installed hook names files that exist, and speaks the daemon's protocol")
