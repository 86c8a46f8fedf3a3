"""The configuration file and the keys beside it: config, keys."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace

from irclient.errors import IRError, NotFound, QueryError
from irclient.keys import Keys
from irclient.nearest import did_you_mean
from irclient.terminal.ending import report_error
from irclient.terminal.exits import DONE, WRONG
from irclient.terminal.help import add_exclusive, add_repeated, argument, command, flag
from irclient.terminal.output import note, print_line
from irclient.types import LEVELS
from irdaemon.config.clients import ClientConfig
from irdaemon.config.config import config_path, load_config, read_text
from irdaemon.config.edit import ConfigFile, write_privately
from irdaemon.config.origin import DEFAULT, EffectiveSetting, list_settings
from irdaemon.config.sections import KNOWN_KINDS, Config
from irdaemon.runtime import pool

_ORIGIN = flag("--show-origin", "also list defaults, each setting with its origin")
_KEY = argument("key KEY", "such as embedder or watch.settle_ms")


@command(argument("--config FILE", "this file, not the usual one"))
def manage_configuration(options: argparse.Namespace) -> int:
    """Show or change the configuration file.

    Show or change the configuration file, whether or not the daemon runs. Comments
    and order stay. A change that the daemon could not start with is refused, and
    nothing is written. irdaemon reload (or SIGHUP) makes a running daemon read it.

    examples:
    # where it is, and what is set in it
    irdaemon config path
    irdaemon config list

    # every setting, each with where its value comes from
    irdaemon config list --show-origin

    # one setting
    irdaemon config set watch.settle_ms 50
    irdaemon config get watch.settle_ms

    # back to its default
    irdaemon config unset watch.settle_ms

    # in your editor
    irdaemon config edit
    """
    path = os.path.abspath(options.config) if options.config else config_path()
    done: int = options.act(path, options)
    return done


@manage_configuration.action("path")
def _print_path(path: str, options: argparse.Namespace) -> int:
    """Print where the file is."""
    print_line(path)
    return DONE


@manage_configuration.action("edit")
def _edit_copy(path: str, options: argparse.Namespace) -> int:
    """Open it in $VISUAL or $EDITOR, and check it.

    A copy is edited. It replaces the file once the daemon can start with it.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not editor and not sys.stdin.isatty():
        raise QueryError("an editor needs a terminal", "irdaemon config set KEY VALUE")
    editor = editor or "vi"
    before = read_text(path)
    if before is None:
        raise NotFound(f"there is no {path} yet", "irdaemon init writes one")
    descriptor, copy = tempfile.mkstemp(".toml", ".irdaemon-", os.path.dirname(path))
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(before)
    while True:
        try:
            failed = pool.run_on_terminal([*shlex.split(editor), copy])
        except IRError:
            os.unlink(copy)
            raise
        if failed:
            os.unlink(copy)
            raise QueryError(f"{editor} exited with an error", "set EDITOR to another editor")
        try:
            _open_file(path).exchange(before, read_text(copy) or "")
        except IRError as error:
            report_error("irdaemon", error)
            if sys.stdin.isatty() and sys.stderr.isatty():
                note("          edit it again? [Y/n]")
                if sys.stdin.readline().strip().lower() in ("", "y", "yes"):
                    continue
            note(f"          your text is kept in {copy}")
            return WRONG
        os.unlink(copy)
        return _note_reload()


@manage_configuration.action("list", _ORIGIN)
def _list_settings(path: str, options: argparse.Namespace) -> int:
    """Print every setting in the file."""
    for key, setting in _read_settings(path, options).items():
        print_line(_format_setting(f"{key} = {setting.value}", setting, options))
    return DONE


@manage_configuration.action("get", _ORIGIN, _KEY)
def _get_setting(path: str, options: argparse.Namespace) -> int:
    """Print one setting."""
    found = _read_settings(path, options)
    if options.key not in found:
        message = f"{path} does not set {options.key!r}{did_you_mean(options.key, found)}"
        raise NotFound(message, "irdaemon config list --show-origin shows every setting")
    setting = found[options.key]
    print_line(_format_setting(setting.value, setting, options))
    return DONE


def _read_settings(path: str, options: argparse.Namespace) -> dict[str, EffectiveSetting]:
    """Return the settings of the file and the environment; with --show-origin also defaults."""
    found = list_settings(path, os.environ)
    return {
        key: setting
        for key, setting in found.items()
        if options.show_origin or setting.origin != DEFAULT
    }


def _format_setting(text: str, setting: EffectiveSetting, options: argparse.Namespace) -> str:
    return f"{text}  # {setting.origin}" if options.show_origin else text


@manage_configuration.action(
    "set",
    _KEY,
    argument("value VALUE", "as in TOML; anything else is a string"),
)
def _change_setting(path: str, options: argparse.Namespace) -> int:
    """Change one setting."""
    _open_file(path).set(options.key, options.value)
    return _note_reload()


@manage_configuration.action("unset", _KEY)
def _unset_setting(path: str, options: argparse.Namespace) -> int:
    """Remove one setting, or a whole table."""
    _open_file(path).unset(options.key)
    return _note_reload()


def _open_file(path: str) -> ConfigFile:
    from irdaemon.daemon.active_config import check_startable

    return ConfigFile(path, check_startable)


def _note_reload() -> int:
    note("irdaemon reload makes a running daemon read it")
    return DONE


@command(argument("--config FILE", "read and write this configuration"))
def manage_keys(options: argparse.Namespace) -> int:
    """Manage the keys and tokens of clients.

    Manage the keys and tokens of clients. Over TCP the daemon answers only clients
    whose key it has; a key or a token can be limited to some corpora, to some
    levels of disclosure, and to reading.

    examples:
    # the daemon's own keys, then a laptop's; copy its file there
    irdaemon keys make
    irdaemon keys add laptop

    # an agent on this machine that may read one corpus
    irdaemon keys add agent --token --corpus skills --read-only
    """
    done: int = options.act(load_config(options.config), options)
    return done


@manage_keys.action("make", flag("--force", "replace existing keys"))
def _make_keys(config: Config, options: argparse.Namespace) -> int:
    """Make the daemon's own keys."""
    from irdaemon.serve.listen import find_server_keys

    path = find_server_keys(config)
    if os.path.exists(path) and not options.force:
        hint = "--force replaces it; every client then needs a new file"
        raise QueryError(f"{path} exists already", hint)
    made = _generate_keys()
    write_privately(path, made.to_toml())
    print_line(made.public)
    note(f'the secret key is in {path}; set [serve] tcp = "HOST:PORT" to listen')
    return DONE


@manage_keys.action("show")
def _show_keys(config: Config, options: argparse.Namespace) -> int:
    """Print the daemon's public key, and its clients."""
    keys = _read_own_keys(config)
    print_line(f"daemon: {keys.public if keys else 'no keys; irdaemon keys make'}")
    for client in config.clients:
        known_by = client.key or client.token or f"uid {client.uid}"
        corpora = "all corpora" if client.corpora is None else ", ".join(client.corpora) or "none"
        limits = f"{corpora}; {', '.join(client.levels)}{'; read only' * client.read_only}"
        print_line(f"{client.name}: {known_by} ({limits})")
    return DONE


@manage_keys.action(
    "add",
    argument("name NAME", "a name for the client"),
    add_exclusive(
        argument("--key KEY", "the client's own public key; no file is written"),
        flag("--token", "a token for a socket, not a key for TCP"),
    ),
    add_repeated("--corpus NAME", "show it only this corpus; may be repeated"),
    add_repeated("--level LEVEL", "disclose only this level; may be repeated"),
    flag("--read-only", "deny it any change"),
)
def _add_client(config: Config, options: argparse.Namespace) -> int:
    """Add a client, and write its key file."""
    from irdaemon.daemon.active_config import open_config_file

    _check_corpora(config, options.corpus)
    client, text = _make_client(config, options)
    path = client.token or _find_beside(config, f"{client.name}.client")
    new = bool(text) and all(each.name != client.name for each in config.clients)
    with _write_file_first(path, text if new else ""):
        open_config_file(options.config).add_client(client)
    if text:
        print_line(path)
        variable = "IRDAEMON_TOKEN" if client.token else "IRDAEMON_KEYS"
        note(f"the client sets {variable} to its copy of this file")
    return _note_reload()


@contextlib.contextmanager
def _write_file_first(path: str, text: str) -> Iterator[None]:
    """Write a client's file before the configuration names it; remove it if that is refused."""
    if text:
        write_privately(path, text)
    try:
        yield
    except IRError:
        if text:
            os.unlink(path)
        raise


def _check_corpora(config: Config, names: Sequence[str]) -> None:
    """Raise NotFound for an unknown corpus."""
    known = {corpus.name for corpus in config.corpora if corpus.enabled}
    known |= set(KNOWN_KINDS if config.known else ())
    for name in names:
        if name not in known:
            message = f"the configuration has no corpus {name!r}{did_you_mean(name, known)}"
            raise NotFound(message, f"corpora: {', '.join(sorted(known))}")


def _make_client(config: Config, options: argparse.Namespace) -> tuple[ClientConfig, str]:
    """Return the client that the options describe, and the text of the file it needs."""
    client = ClientConfig(
        options.name,
        corpora=tuple(options.corpus) if options.corpus else None,
        levels=tuple(options.level or LEVELS),
        read_only=options.read_only,
    )
    if options.token:
        path = _find_beside(config, f"{client.name}.token")
        return replace(client, token=path), secrets.token_urlsafe(32) + "\n"
    if options.key:
        return replace(client, key=options.key), ""
    if not (own := _read_own_keys(config)):
        raise QueryError("the daemon has no keys yet", "irdaemon keys make, or --token")
    made = _generate_keys(own.public)
    return replace(client, key=made.public), made.to_toml()


def _find_beside(config: Config, name: str) -> str:
    return os.path.join(os.path.dirname(config.path), name)


@manage_keys.action("rm", argument("name NAME", "the client's name"))
def _remove_client(config: Config, options: argparse.Namespace) -> int:
    """Remove a client."""
    from irdaemon.daemon.active_config import open_config_file

    files = [_find_beside(config, f"{options.name}.{kind}") for kind in ("client", "token")]
    open_config_file(options.config).remove_client(options.name)
    for path in files:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            note(f"{path} removed")
    return _note_reload()


def _read_own_keys(config: Config) -> Keys | None:
    """Return the daemon's own keys, None if it has none. Raises ConfigError for unusable ones."""
    from irdaemon.serve.listen import find_server_keys, load_server_keys

    return load_server_keys(config) if os.path.exists(find_server_keys(config)) else None


def _generate_keys(server: str = "") -> Keys:
    import zmq

    try:
        public, secret = zmq.curve_keypair()
    except zmq.ZMQError as error:
        raise IRError("this ZeroMQ was built without CURVE", "install pyzmq's wheel") from error
    return Keys(public.decode(), secret.decode(), server)
