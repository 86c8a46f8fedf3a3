"""`irdaemon backend`: manage the backends that corpora are copied into."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from irclient.errors import Unavailable
from irclient.terminal.columns import Table, print_report
from irclient.terminal.ending import report_error
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.help import argument, command, flag
from irdaemon.config.backends import check_url, hide_password
from irdaemon.config.checking import ConfigError
from irdaemon.config.config import load_config

if TYPE_CHECKING:
    from irdaemon.contrib.backends.state import BackendAdmin

_OPTIONS = (
    argument("url URL", "this one, not those of the configuration", nargs="?"),
    argument("--config FILE", "read this configuration"),
    flag("--json", "print data as JSON"),
)


@command()
def manage_backends(options: argparse.Namespace) -> int:
    """Manage the backends that corpora are copied into.

    Manage the backends that corpora are copied into ([index] backend, or that of
    a corpus): whether each of their hosts answers and has what is needed, and what
    the corpora take there. `migrate` makes the tables, or brings them to the format
    of this version; it needs a role that owns them, whose URL can be given. Exit
    code 5 where something is not as it should be, or a server does not answer.

    examples:
    # can it be searched, and written?
    irdaemon backend check

    # make its tables, as their owner
    irdaemon backend migrate postgresql://owner@db.example/irdaemon

    # what each corpus takes
    irdaemon backend stats --json
    """
    found, well = [], True
    for name, admin in _open_admins(options):
        try:
            good, told = options.act(name, admin)
        except Unavailable as error:
            report_error("irdaemon", error)
            good, told = False, {"backend": name, "problem": error.message}
        well = well and good
        found.append(told)
    texts: dict[str, Callable[[Any], Iterator[str | Table]]]
    texts = {"check": _list_hosts, "migrate": _list_formats, "stats": _list_sizes}
    print_report(options, found, texts[options.action])
    return DONE if well else UNHEALTHY


def _open_admins(options: argparse.Namespace) -> Iterator[tuple[str, BackendAdmin]]:
    """Yield the admin of each backend, by display name. Raises ConfigError."""
    from irdaemon.contrib.backends.making import make_admin

    config = load_config(options.config)
    variable = config.index.backend_password_env
    if options.url:
        yield hide_password(options.url), make_admin(check_url(options.url), variable)
        return
    addresses = config.list_backends()
    if not addresses:
        raise ConfigError(
            f"{config.path} names no backend",
            '[index] backend = "postgresql://HOST/DATABASE", or give a URL',
        )
    for url in dict.fromkeys(url for each in addresses for url in each.urls):
        yield hide_password(url), make_admin(url, variable)


@manage_backends.action("check", *_OPTIONS)
def _check_hosts(name: str, admin: BackendAdmin) -> tuple[bool, dict[str, Any]]:
    """Check every host."""
    state = admin.check()
    return state.ok, {"backend": name, "ok": state.ok, "hosts": [asdict(h) for h in state.hosts]}


@manage_backends.action("migrate", *_OPTIONS)
def _migrate_tables(name: str, admin: BackendAdmin) -> tuple[bool, dict[str, Any]]:
    """Create the tables or bring them up to date."""
    return True, {"backend": name, "format": admin.migrate()}


@manage_backends.action("stats", *_OPTIONS)
def _measure_corpora(name: str, admin: BackendAdmin) -> tuple[bool, dict[str, Any]]:
    """Print the size of each corpus."""
    return True, {"backend": name, "corpora": [asdict(each) for each in admin.measure_corpora()]}


# -- for a person --------------------------------------------------------------------------------


def _list_hosts(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for host in (host for backend in found for host in backend.get("hosts", ())):
        yield f"{host['host']}:"
        for each in host["lines"]:
            yield f"  {'ok   ' if each['ok'] else 'wrong'}  {each['text']}"
            if each["hint"] and not each["ok"]:
                yield f"         -> {each['hint']}"


def _list_formats(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in found:
        if "format" in each:
            yield f"{each['backend']}: format {each['format']}"


def _list_sizes(found: Sequence[Mapping[str, Any]]) -> Iterator[str | Table]:
    counts = ("corpus", "artifacts", "records", "vectors", "postings")
    for backend in found:
        rows = [
            [
                *(each[name] for name in counts),
                round(each["size"] / 1e6, 1),
                each["generation"],
                time.strftime("%Y-%m-%d %H:%M", time.localtime(each["changed"])),
            ]
            for each in backend.get("corpora", ())
        ]
        if "corpora" in backend:
            yield f"{backend['backend']}:"
            yield Table((*counts, "MB", "generation", "changed"), rows) if rows else "no corpus yet"
