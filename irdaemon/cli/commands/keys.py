"""`irdaemon keys`: manage the keys of the daemon and of its clients."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irclient.errors import IRError, NotFound
from irclient.terminal.exits import DONE, WRONG
from irclient.terminal.output import note, print_line

if TYPE_CHECKING:
    from irclient.keys import Keys
    from irdaemon.config.clients import ClientConfig
    from irdaemon.config.config import Config

HELP = "manage the keys and tokens of clients"
ABOUT = """
Manage the keys and tokens of clients. Over TCP the daemon answers only clients
whose key it has; a key or a token can be limited to some corpora, to some
levels of disclosure, and to reading.
"""
EXAMPLES = """
# the daemon's own keys, then a laptop's; copy its file there
irdaemon keys make
irdaemon keys add laptop

# an agent on this machine that may read one corpus
irdaemon keys add agent --token --corpus skills --read-only
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what to do, and with which client."""
    parser.add_argument("--config", metavar="FILE", help="read and write this configuration")
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", help="what to do"
    )
    make = actions.add_parser("make", help="make the daemon's own keys")
    make.add_argument("--force", action="store_true", help="replace existing keys")
    actions.add_parser("show", help="print the daemon's public key, and its clients")
    add = actions.add_parser("add", help="admit a client, and write its key file")
    add.add_argument("name", metavar="NAME", help="a name for the client")
    how = add.add_mutually_exclusive_group()
    how.add_argument("--key", metavar="KEY", help="the client's own public key: write no file")
    how.add_argument("--token", action="store_true", help="a token for a socket, not a key for TCP")
    add.add_argument(
        "--corpus",
        action="append",
        metavar="NAME",
        help="show it only this corpus; may be repeated",
    )
    add.add_argument(
        "--level",
        action="append",
        metavar="LEVEL",
        help="disclose only this level; may be repeated",
    )
    add.add_argument("--read-only", action="store_true", help="deny it all changes")
    remove = actions.add_parser("rm", help="admit a client no longer")
    remove.add_argument("name", metavar="NAME", help="the client's name")


def run(options: argparse.Namespace) -> int:
    """Do one of the actions."""
    from irdaemon.config.config import load_config

    config = load_config(options.config)
    return {"make": _make, "show": _show, "add": _add, "rm": _remove}[options.action](
        config, options
    )


def _make(config: Config, options: argparse.Namespace) -> int:
    from irdaemon.config.edit import write_privately
    from irdaemon.serve.listen import server_keys_path

    path = server_keys_path(config)
    if os.path.exists(path) and not options.force:
        note(f"irdaemon: {path} exists already")
        note("          --force replaces it; every client then needs a new file")
        return WRONG
    keys = _new_keys()
    write_privately(path, keys.to_toml())
    print_line(keys.public)
    note(f'the secret one is in {path}; [serve] tcp = "HOST:PORT" serves')
    return DONE


def _show(config: Config, options: argparse.Namespace) -> int:
    from irdaemon.serve.listen import server_keys_path

    has_keys = os.path.exists(server_keys_path(config))
    print_line(f"daemon: {_own(config).public if has_keys else 'no keys; irdaemon keys make'}")
    for client in config.clients:
        known_by = client.key or client.token or f"uid {client.uid}"
        corpora = "all corpora" if client.corpora is None else ", ".join(client.corpora) or "none"
        limits = f"{corpora}; {', '.join(client.levels)}{'; read only' * client.read_only}"
        print_line(f"{client.name}: {known_by} ({limits})")
    return DONE


def _add(config: Config, options: argparse.Namespace) -> int:
    from irdaemon.daemon.active_config import config_file

    _check_corpora(config, options.corpus or ())
    client, text = _new_client(config, options)
    path = client.token or _beside(config, f"{client.name}.client")
    new = bool(text) and all(each.name != client.name for each in config.clients)
    with _file_first(path, text if new else ""):
        config_file(options.config).add_client(client)
    if text:
        print_line(path)
        variable = "IRDAEMON_TOKEN" if client.token else "IRDAEMON_KEYS"
        note(f"the client sets {variable} to its copy of this file")
    return _applied()


@contextlib.contextmanager
def _file_first(path: str, text: str) -> Iterator[None]:
    """Write a client's file before the configuration names it; where that is refused, undo it."""
    from irdaemon.config.edit import write_privately

    if text:
        write_privately(path, text)
    try:
        yield
    except IRError:
        if text:
            os.unlink(path)
        raise


def _check_corpora(config: Config, names: Sequence[str]) -> None:
    """Raise NotFound for a corpus that is neither configured nor found here."""
    from irclient.nearest import did_you_mean
    from irdaemon.config.config import KNOWN_KINDS

    known = {corpus.name for corpus in config.corpora if corpus.enabled}
    known |= set(KNOWN_KINDS if config.known else ())
    for name in names:
        if name not in known:
            message = f"the configuration has no corpus {name!r}{did_you_mean(name, known)}"
            raise NotFound(message, f"corpora: {', '.join(sorted(known))}")


def _new_client(config: Config, options: argparse.Namespace) -> tuple[ClientConfig, str]:
    """Return a client as the options describe it, and the text of the file that it needs."""
    from irclient.types import LEVELS
    from irdaemon.config.clients import ClientConfig

    client = ClientConfig(
        options.name,
        corpora=tuple(options.corpus) if options.corpus else None,
        levels=tuple(options.level or LEVELS),
        read_only=options.read_only,
    )
    if options.token:
        path = _beside(config, f"{client.name}.token")
        return replace(client, token=path), secrets.token_urlsafe(32) + "\n"
    if options.key:
        return replace(client, key=options.key), ""
    keys = _new_keys(_own(config).public)
    return replace(client, key=keys.public), keys.to_toml()


def _beside(config: Config, name: str) -> str:
    return os.path.join(os.path.dirname(config.path), name)


def _remove(config: Config, options: argparse.Namespace) -> int:
    from irdaemon.daemon.active_config import config_file

    files = [_beside(config, f"{options.name}.{kind}") for kind in ("client", "token")]
    config_file(options.config).remove_client(options.name)
    for path in files:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            note(f"{path} removed")
    return _applied()


def _applied() -> int:
    note("irdaemon reload has a running daemon read it")
    return DONE


def _own(config: Config) -> Keys:
    from irdaemon.serve.listen import server_keys

    return server_keys(config)


def _new_keys(server: str = "") -> Keys:
    import zmq

    from irclient.keys import Keys

    try:
        public, secret = zmq.curve_keypair()
    except zmq.ZMQError as error:
        raise IRError("this ZeroMQ was built without CURVE", "install pyzmq's wheel") from error
    return Keys(public.decode(), secret.decode(), server)
