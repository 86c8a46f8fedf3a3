"""`irc open`: open an item, or a path from an answer, in the user's editor at its line."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence

from irclient.cli.place import PLACE, choose_place
from irclient.client import Client
from irclient.errors import NotFound, QueryError, Unavailable
from irclient.places import is_remote
from irclient.terminal.exits import COMMITTED, WRONG
from irclient.terminal.help import argument, command
from irclient.terminal.output import flush_output, note, print_data, print_line

_WITH_LINE = re.compile(r"(.+?):(\d{1,9})(?::\d+)?\Z")
_PATHS = ("/", "~/", "./", "../")
# How to give editors a line, by the name of the command.
_PLUS = frozenset(
    "vi vim nvim view gvim mvim nano pico emacs emacsclient micro kak joe jed mg ne ed gedit bbedit"
    " mcedit vis".split()
)
_GOTO = frozenset("code code-insiders codium vscodium cursor windsurf".split())
_COLON = frozenset("hx helix subl sublime_text zed zeditor".split())
_OPTION = {
    **dict.fromkeys("idea pycharm webstorm goland clion rubymine phpstorm".split(), "--line"),
    **dict.fromkeys(("kate", "kwrite", "mate"), "-l"),
    "xed": "--line",
}


@command(
    argument("reference REF", "CORPUS/ID or CORPUS/NAME, or a path, each also with :LINE"),
    PLACE,
)
def open_item(client: Client, options: argparse.Namespace) -> int:
    """Open an item in your editor, at its line.

    Open the file of an item in $VISUAL or $EDITOR; with :LINE, as answers show it
    after a path, at that line. If neither is set, the path is printed and the exit
    code is 2. With --json nothing is opened; path, line and command are printed.

    examples:
    # a skill
    irc open skills/pdf

    # a document at line 120, by its path or by its reference
    irc open ~/notes/backups.md:120
    irc open notes/backups.md:120
    """
    path, line = find_file(client, options)
    editor = _choose_editor()
    command = make_command(editor, path, line) if editor else []
    if options.json:
        return print_data(options, {"path": path, "line": line, "command": command}, str)
    if not command:
        print_line(f"{path}:{line}" if line else path)
        note("irc: neither VISUAL nor EDITOR is set; set one to the command of your editor")
        return WRONG
    if line and command[-1] == path and command[:-1] == list(editor):
        note(f"irc: cannot pass a line to {editor[0]}: go to line {line}")
    return _become(command)


def find_file(client: Client, options: argparse.Namespace) -> tuple[str, int]:
    """Return the file and the line (0: none) to open. Raises NotFound, Unavailable."""
    reference = options.reference
    if reference.startswith(_PATHS):
        path = os.path.abspath(os.path.expanduser(reference))
        whole = os.path.lexists(path) or not _WITH_LINE.match(path)
        path, line = (path, 0) if whole else _split_line(path)
    else:
        if is_remote(client.endpoint):
            raise Unavailable(
                "the file is on the daemon's machine", f"irc disclose {shlex.quote(reference)}"
            )
        path, line = _ask_pointer(client, reference, choose_place(options))
    if not os.path.lexists(path):
        raise NotFound(f"{path} is gone", "irc build removes it from the index")
    return path, line


def _ask_pointer(client: Client, reference: str, place: str) -> tuple[str, int]:
    line = 0
    try:
        (found,) = client.disclose([reference], "metadata", "none", place)
    except NotFound:
        if not _WITH_LINE.match(reference):
            raise
        reference, line = _split_line(reference)
        (found,) = client.disclose([reference], "metadata", "none", place)
    if not os.path.isabs(found.pointer):
        hint = f"irc disclose {shlex.quote(reference)} shows its text"
        raise NotFound(f"{reference} has no file", hint)
    return found.pointer, line


def _split_line(text: str) -> tuple[str, int]:
    matched = _WITH_LINE.match(text)
    return (matched[1], int(matched[2])) if matched else (text, 0)


def _choose_editor() -> list[str]:
    """Return the words of $VISUAL, or of $EDITOR. Raises QueryError if they cannot be parsed."""
    chosen = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    try:
        return shlex.split(chosen)
    except ValueError as error:
        raise QueryError(f"VISUAL or EDITOR is not a command line: {error}") from error


def make_command(editor: Sequence[str], path: str, line: int) -> list[str]:
    """Return the command line that opens a file in an editor, at a line if it takes one."""
    name = os.path.basename(editor[0])
    if not line:
        return [*editor, path]
    if name in _PLUS:
        return [*editor, f"+{line}", path]
    if name in _GOTO:
        return [*editor, "-g", f"{path}:{line}"]
    if name in _COLON:
        return [*editor, f"{path}:{line}"]
    if name in _OPTION:
        return [*editor, _OPTION[name], str(line), path]
    return [*editor, path]


def _become(command: list[str]) -> int:
    """Replace this process by the editor. Raises Unavailable if it cannot be started."""
    flush_output()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise Unavailable(
            f"{command[0]} cannot be started: {error.strerror}", "VISUAL and EDITOR name it"
        ) from error
    return COMMITTED
