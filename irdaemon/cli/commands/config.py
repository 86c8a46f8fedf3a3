"""`irdaemon config`: show and change the configuration file."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from irclient.errors import IRError, NotFound
from irclient.nearest import did_you_mean
from irclient.terminal.exits import DONE, UNKNOWN, WRONG
from irclient.terminal.output import note, print_line
from irdaemon.runtime import worker

if TYPE_CHECKING:
    from irdaemon.config.origin import EffectiveSetting

HELP = "show or change the configuration file"
ABOUT = """
Show or change the configuration file, whether the daemon runs or not. Comments
and order stay, and a change that would not be valid is refused. A running
daemon reads the file at SIGHUP, or when it is restarted.
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
    for each in (every, get):
        each.add_argument(
            "--show-origin",
            action="store_true",
            help="also what is not set, each with where it comes from",
        )
    for each in (get, change):
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
    from irdaemon.config.edit import change_setting

    change_setting(path, options.key, options.value)
    return _applied()


def _edit(path: str, options: argparse.Namespace) -> int:
    from irdaemon.config.config import load_config
    from irdaemon.config.corpus import corpora_of

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    if not os.path.exists(path):
        note(f"irdaemon: there is no {path} yet")
        note("          irdaemon init writes one")
        return UNKNOWN
    if worker.run_on_terminal([*shlex.split(editor), path]):
        note(f"irdaemon: {editor} did not end well; EDITOR names another")
        return WRONG
    try:
        corpora_of(load_config(path))
    except IRError as error:
        note(f"irdaemon: {error.message}")
        note("          the daemon goes on as before until it is corrected")
        return WRONG
    return _applied()


def _applied() -> int:
    note("a running daemon reads it at SIGHUP, or irdaemon restart")
    return DONE
