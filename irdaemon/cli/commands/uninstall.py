"""`irdaemon uninstall`: take out of this machine all that was set up."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from irclient.agents.install.changes import to_uninstall
from irclient.agents.install.targets import SETTINGS_FILES, this_machine
from irclient.errors import IRError, SettingsError
from irclient.installation import make_removal_command
from irclient.terminal.exits import DONE, UNHEALTHY, WRONG
from irclient.terminal.output import find_lost_output, note, print_line
from irdaemon.cli.commands import SUPERVISED
from irdaemon.cli.commands.stop import stop_running
from irdaemon.config.config import (
    ConfigError,
    config_path,
    documents_dir,
    load_config,
    state_dir,
)
from irdaemon.contrib.documents.files import trash_beside
from irdaemon.daemon import service
from irdaemon.daemon.lock import holder
from irdaemon.source.opening import resolve_path

HELP = "take out the agents' entries, the service and the data"
ABOUT = """
Take out of this machine what was set up: what `irc install` wrote into the
settings of agents, the service, the running daemon, and the data (the ledger,
the log, the configuration, keys and tokens). All of it is listed first, and
nothing is done until you agree. Managed documents stay, and where they are is
said; --documents takes them out too. Copies of corpora in a backend stay, and
where they are is said: irc rm removes one while the daemon runs. Entries in
projects stay: irc uninstall AGENT --project takes those out.
"""
EXAMPLES = """
# list it, ask, take it out
irdaemon uninstall

# keep the ledger and the configuration
irdaemon uninstall --keep-data --yes
"""


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing to take out, in words, and what does it."""

    what: str
    remove: Callable[[], object]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what stays, and whether to ask."""
    parser.add_argument(
        "--keep-data", action="store_true", help="keep ledger, log, configuration and keys"
    )
    parser.add_argument(
        "--documents", action="store_true", help="delete the managed documents and their trash"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    """List what there is, ask, and take it out."""
    documents = list(_documents())
    removals = [*_agents(), *_daemon(), *(() if options.keep_data else _data())]
    for address in _backends():
        note(f"left: what was copied to {address} (irc rm CORPUS removes a corpus there, too)")
    if options.documents:
        removals += documents
    else:
        for each in documents:
            note(f"left: {each.what} (--documents)")
    if not removals:
        note("nothing is set up here")
        return DONE
    for each in removals:
        print_line(each.what)
    if not options.yes:
        if not sys.stdin.isatty() or find_lost_output():
            note("irdaemon: nothing was removed; --yes removes without asking")
            return WRONG
        if not _agreed():
            note("nothing was removed")
            return DONE
    return _remove(removals)


def _agreed() -> bool:
    try:
        return input("take all this out? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _remove(removals: Sequence[Removal]) -> int:
    """Take everything out; what cannot be ends it, as the rest may still be in use then."""
    for each in removals:
        try:
            if each.remove() == UNHEALTHY:  # the daemon did not stop
                return UNHEALTHY
        except (OSError, IRError) as error:
            note(f"irdaemon: {each.what}: {error}")
            note("          what is listed below it was left; run this again")
            return UNHEALTHY
    note(f"the programs go with {make_removal_command()}")
    return DONE


def _agents() -> Iterator[Removal]:
    try:
        machine = this_machine()
    except SettingsError as error:
        note(f"irdaemon: settings of agents are left alone: {error.message}")
        return
    for agent, files in SETTINGS_FILES.items():
        for file in files(machine, False):
            try:
                change = to_uninstall(file, file)
            except SettingsError as error:
                note(f"irdaemon: the settings of {agent} are left alone: {error.message}")
                continue
            if change is not None:
                yield Removal(f"{agent}: our entries in {file.path}", change.make)


def _daemon() -> Iterator[Removal]:
    path = service.agent_path() if sys.platform == "darwin" else service.unit_path()
    if path.exists():
        yield Removal(f"service: {path}", service.uninstall)
    locks = (os.path.join(state_dir(), name) for name in ("lock", SUPERVISED))
    if any(holder(lock) is not None for lock in locks):
        yield Removal("daemon: it runs, and is stopped", stop_running)


def _documents() -> Iterator[Removal]:
    """Yield the directory of managed documents, and the trash beside it."""
    managed = documents_dir()
    if os.path.islink(managed):
        note(f"irdaemon: {managed} is a link, and is left alone")
        return
    for what, path in (("documents", managed), ("trash", trash_beside(resolve_path(managed)))):
        if os.path.isdir(path):
            yield Removal(f"{what}: {path}", partial(shutil.rmtree, path))


def _backends() -> list[str]:
    """Return where copies of corpora lie that are not on this machine."""
    try:
        return [address.shown for address in load_config().backends()]
    except ConfigError:
        return []


def _data() -> Iterator[Removal]:
    from irdaemon.source.mcp_tools import find_dump_directory

    dumps = find_dump_directory(os.path.expanduser("~"), os.environ)
    for what, path in (("data", state_dir()), ("tools", dumps)):
        if os.path.isdir(path):
            yield Removal(f"{what}: {path}", partial(shutil.rmtree, path))
    config = config_path()
    directory, name = os.path.split(config)
    for path in (config, *(os.path.join(directory, each) for each in _beside(name))):
        if os.path.isfile(path):
            yield Removal(f"configuration: {path}", partial(os.unlink, path))


def _beside(name: str) -> Iterator[str]:
    """Yield the names of the files that may lie beside the configuration: its lock, and keys."""
    yield f".{name}.lock"
    yield "server.key"
    try:
        clients = load_config().clients
    except ConfigError as error:
        note(f"irdaemon: keys of clients are left alone: {error.message}")
        return
    for client in clients:
        yield from (f"{client.name}.client", f"{client.name}.token")
