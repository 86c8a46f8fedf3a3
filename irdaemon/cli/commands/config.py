"""`irdaemon config`: show and change the configuration file."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from irclient.errors import IRError, NotFound
from irclient.nearest import did_you_mean
from irclient.terminal.exits import DONE, UNKNOWN, WRONG
from irclient.terminal.output import note, print_line
from irdaemon.runtime import pool

if TYPE_CHECKING:
    from irdaemon.config.edit import ConfigFile
    from irdaemon.config.origin import EffectiveSetting

HELP = "show or change the configuration file"
ABOUT = """
Show or change the configuration file, whether the daemon runs or not. Comments
and order stay, and what a daemon could not start with is refused: nothing is
written then. A running daemon reads the file at irdaemon reload (or SIGHUP).
"""
EXAMPLES = """
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what to do, and with which setting."""
    parser.add_argument("--config", metavar="FILE", help="this file, not the usual one")
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", help="what to do"
    )
    actions.add_parser("path", help="print where the file is")
    actions.add_parser("edit", help="open it in $VISUAL or $EDITOR, and check it")
    every = actions.add_parser("list", help="print every setting in it")
    get = actions.add_parser("get", help="print one setting")
    change = actions.add_parser("set", help="change one setting")
    unset = actions.add_parser("unset", help="take one setting, or a whole table, out of it")
    for each in (every, get):
        each.add_argument(
            "--show-origin",
            action="store_true",
            help="also what is not set, each with where it comes from",
        )
    for each in (get, change, unset):
        each.add_argument("key", metavar="KEY", help="such as embedder or watch.settle_ms")
    change.add_argument("value", metavar="VALUE", help="as in the file; other words are a text")


def run(options: argparse.Namespace) -> int:
    """Do one of the actions."""
    from irdaemon.config.config import config_path

    path = os.path.abspath(options.config) if options.config else config_path()
    actions: Mapping[str, Callable[[str, argparse.Namespace], int]] = {
        "path": _path,
        "edit": _edit,
        "list": _list,
        "get": _get,
        "set": _set,
        "unset": _unset,
    }
    return actions[options.action](path, options)


def _path(path: str, options: argparse.Namespace) -> int:
    print_line(path)
    return DONE


def _list(path: str, options: argparse.Namespace) -> int:
    for key, setting in _found(path, options).items():
        print_line(_written(f"{key} = {setting.value}", setting, options))
    return DONE


def _get(path: str, options: argparse.Namespace) -> int:
    found = _found(path, options)
    if options.key not in found:
        message = f"{path} does not set {options.key!r}{did_you_mean(options.key, found)}"
        raise NotFound(message, "irdaemon config list --show-origin shows every setting")
    setting = found[options.key]
    print_line(_written(setting.value, setting, options))
    return DONE


def _found(path: str, options: argparse.Namespace) -> dict[str, EffectiveSetting]:
    """Return what is set, in the file or the environment; where origins are shown, everything."""
    from irdaemon.config.origin import DEFAULT, effective_settings

    found = effective_settings(path, os.environ)
    return {
        key: setting
        for key, setting in found.items()
        if options.show_origin or setting.origin != DEFAULT
    }


def _written(text: str, setting: EffectiveSetting, options: argparse.Namespace) -> str:
    return f"{text}  # {setting.origin}" if options.show_origin else text


def _set(path: str, options: argparse.Namespace) -> int:
    _file(path).set(options.key, options.value)
    return _applied()


def _unset(path: str, options: argparse.Namespace) -> int:
    _file(path).unset(options.key)
    return _applied()


def _edit(path: str, options: argparse.Namespace) -> int:
    """Have a copy edited, which takes the file's place once a daemon can start with it."""
    from irdaemon.config.config import read_text

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    before = read_text(path)
    if before is None:
        note(f"irdaemon: there is no {path} yet")
        note("          irdaemon init writes one")
        return UNKNOWN
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
            note(f"irdaemon: {editor} did not end well; EDITOR names another")
            return WRONG
        try:
            _file(path).exchange(before, read_text(copy) or "")
        except IRError as error:
            note(f"irdaemon: {error.message}")
            if error.hint:
                note(f"          {error.hint}")
            if _again():
                continue
            note(f"          your text is kept in {copy}")
            return WRONG
        os.unlink(copy)
        return _applied()


def _again() -> bool:
    """Ask whether to go on editing, where somebody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    note("          edit it again? [Y/n]")
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _file(path: str) -> ConfigFile:
    from irdaemon.config.edit import ConfigFile
    from irdaemon.daemon.active_config import check_startable

    return ConfigFile(path, check_startable)


def _applied() -> int:
    note("irdaemon reload has a running daemon read it")
    return DONE
