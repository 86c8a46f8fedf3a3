"""Set up this machine, and undo that: service, uninstall, fetch, completion."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from irclient.agents.install.changes import plan_uninstall
from irclient.agents.install.command_file import plan_command
from irclient.agents.install.targets import SETTINGS_FILES, find_machine
from irclient.errors import IRError, SettingsError, Unavailable
from irclient.installation import make_removal_command
from irclient.terminal.completion import SHELL, make_script
from irclient.terminal.exits import DONE, UNHEALTHY, UNREACHABLE, WRONG
from irclient.terminal.help import argument, command, flag
from irclient.terminal.output import find_lost_output, note, print_line, print_text
from irdaemon import __version__
from irdaemon.cli.running import SUPERVISED, stop_running
from irdaemon.config.addons import call_addons
from irdaemon.config.checking import ConfigError
from irdaemon.config.config import config_path, documents_dir, load_config, state_dir
from irdaemon.daemon import service
from irdaemon.daemon.lock import find_holder
from irdaemon.source.mcp_tools import find_dump_directory
from irdaemon.source.opening import resolve_path


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing to remove: its description, and the function that removes it."""

    what: str
    remove: Callable[[], object]


@command(
    flag("--keep-data", "keep ledger, log, configuration and keys"),
    flag("--documents", "delete the managed documents and their trash"),
    flag("--yes", "do not ask"),
)
def uninstall(options: argparse.Namespace) -> int:
    """Remove the agents' entries, the service and the data.

    Remove what was set up on this machine: what `irc install` wrote into the
    settings of agents, the service, the running daemon, and the data (the ledger,
    the log, the configuration, keys and tokens). Everything is listed first, and
    nothing is removed until you agree. Managed documents stay, unless you add
    --documents, and so do copies of corpora in a backend (irc rm removes one while
    the daemon runs); it says where both are. Entries in projects stay: irc
    uninstall AGENT --project removes them.

    examples:
    # list everything, ask, and remove it
    irdaemon uninstall

    # keep the ledger and the configuration
    irdaemon uninstall --keep-data --yes
    """
    documents = list(_find_documents())
    removals = [
        *_find_agent_entries(),
        *_find_daemon(),
        *(() if options.keep_data else _find_data()),
    ]
    for address in _list_backends():
        note(f"left: the copies in {address} (irc rm CORPUS also removes a corpus there)")
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
        try:
            agreed = input("remove all of this? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            agreed = False
        if not agreed:
            note("nothing was removed")
            return DONE
    removed = _remove(removals)
    directory = os.path.dirname(config_path())
    if removed == DONE and not options.keep_data and os.path.basename(directory) == "irdaemon":
        with suppress(OSError):  # what else lies there stays
            os.rmdir(directory)
    return removed


def _remove(removals: Sequence[Removal]) -> int:
    """Remove everything; stop at the first failure, as the rest may still be in use then."""
    for each in removals:
        try:
            if each.remove() == UNHEALTHY:  # the daemon did not stop
                return UNHEALTHY
        except (OSError, IRError) as error:
            note(f"irdaemon: {each.what}: {error}")
            note("          what is listed below it was not removed; run this again")
            return UNHEALTHY
    note(f"to remove the programs: {make_removal_command()}")
    return DONE


def _find_agent_entries() -> Iterator[Removal]:
    try:
        machine = find_machine()
    except SettingsError as error:
        note(f"irdaemon: settings of agents are left alone: {error.message}")
        return
    for agent, files in SETTINGS_FILES.items():
        try:
            command = plan_command(agent, machine, project=False, wanted=False)
        except SettingsError as error:
            note(f"irdaemon: the command of {agent} is left alone: {error.message}")
        else:
            if command is not None:
                yield Removal(f"{agent}: our command {command.path}", command.make)
        # The file that a directory was made for is the last of those in it to be taken away.
        for file in reversed(files(machine, False)):
            try:
                change = plan_uninstall(file, file)
            except SettingsError as error:
                note(f"irdaemon: the settings of {agent} are left alone: {error.message}")
                continue
            if change is not None:
                yield Removal(f"{agent}: our entries in {file.path}", change.make)


def _find_daemon() -> Iterator[Removal]:
    path = service.find_agent() if sys.platform == "darwin" else service.find_unit()
    if path.exists():
        yield Removal(f"service: {path}", service.uninstall)
    locks = (os.path.join(state_dir(), name) for name in ("lock", SUPERVISED))
    if any(find_holder(lock) is not None for lock in locks):
        yield Removal("daemon: it is running; it will be stopped", stop_running)


def _find_documents() -> Iterator[Removal]:
    """Yield the directory of managed documents, and the trash beside it."""
    managed = documents_dir()
    if os.path.islink(managed):
        note(f"irdaemon: {managed} is a link, and is left alone")
        return
    trash = call_addons("uninstall", resolve_path(managed))
    for what, path in (("documents", managed), *(("trash", each) for each in trash)):
        if os.path.isdir(path):
            yield Removal(f"{what}: {path}", partial(shutil.rmtree, path))


def _list_backends() -> list[str]:
    """List the backends that hold copies of corpora."""
    try:
        return [address.shown for address in load_config().list_backends()]
    except ConfigError:
        return []


def _find_data() -> Iterator[Removal]:

    dumps = find_dump_directory(os.path.expanduser("~"), os.environ)
    for what, path in (("data", state_dir()), ("tools", dumps)):
        if os.path.isdir(path):
            yield Removal(f"{what}: {path}", partial(shutil.rmtree, path))
    config = config_path()
    directory, name = os.path.split(config)
    for path in (config, *(os.path.join(directory, each) for each in _list_files_beside(name))):
        if os.path.isfile(path):
            yield Removal(f"configuration: {path}", partial(os.unlink, path))


def _list_files_beside(name: str) -> Iterator[str]:
    """Yield the names of the lock and the key files that may lie beside the configuration."""
    yield f".{name}.lock"
    yield "server.key"
    try:
        clients = load_config().clients
    except ConfigError as error:
        note(f"irdaemon: keys of clients are left alone: {error.message}")
        return
    for client in clients:
        yield from (f"{client.name}.client", f"{client.name}.token")


@command(
    argument(
        "action ACTION", "install, uninstall or status", choices=("install", "uninstall", "status")
    ),
)
def manage_service(options: argparse.Namespace) -> int:
    """Install, remove or show the user service.

    Run the daemon as a service of this user, from login on: a systemd user unit, or
    a launchd agent on macOS. A daemon that is already running is stopped first.

    examples:
    # install and start it
    irdaemon service install

    # show its state
    irdaemon service status

    # stop and remove it
    irdaemon service uninstall
    """
    if options.action == "status":
        found = service.read_status()
        print_text(found.output)
        return DONE if found.code == 0 else UNREACHABLE
    print_line(service.install(_make_way) if options.action == "install" else service.uninstall())
    return DONE


def _make_way() -> None:
    """Stop a daemon outside of the service, since the service could not start beside it."""
    pid = find_holder(os.path.join(state_dir(), "lock"))
    if pid is None or service.is_service(pid):
        return
    if stop_running() == UNHEALTHY:
        raise Unavailable(f"the running daemon (pid {pid}) does not stop", "irdaemon stop --kill")


@command(argument("embedder FAMILY:MODEL", "model2vec, fastembed or sentence-transformers"))
def fetch_model(options: argparse.Namespace) -> int:
    """Download an embedding model from the network.

    Download the model of an embedder, which turns texts into vectors. Only this
    command and `irdaemon tools`, which asks servers, use the network.

    examples:
    # a small one, without torch
    irdaemon fetch model2vec:minishlab/potion-base-8M

    # one of sentence-transformers
    irdaemon fetch sentence-transformers:all-MiniLM-L6-v2
    """
    from irdaemon.embed import make_embedder

    embedder = make_embedder(options.embedder, download=True)
    print_line(f"{options.embedder} is installed: {embedder.id}, {embedder.dim} dimensions")
    note(f'embedder = "{options.embedder}" in the configuration uses it')
    return DONE


@command()
def print_version(options: argparse.Namespace) -> int:
    """Print the version.

    Print the version and nothing else.

    examples:
    # which one is this?
    irdaemon version
    """
    print_line(f"irdaemon {__version__}")
    return DONE


@command(SHELL)
def print_completion(options: argparse.Namespace) -> int:
    """Print a shell completion script for irdaemon.

    Print a script that makes bash, zsh or fish complete commands, options and
    files. `irc completion` does the same for irc.

    examples:
    # bash: into the directory that bash-completion reads
    irdaemon completion bash > ~/.local/share/bash-completion/completions/irdaemon

    # zsh: into a directory of $fpath
    irdaemon completion zsh > ~/.zsh/completions/_irdaemon

    # fish
    irdaemon completion fish > ~/.config/fish/completions/irdaemon.fish
    """
    print_text(make_script(options.program, options.shell))
    return DONE
