"""`irc docs`: write, read and list managed documents."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from irclient.client import Client
from irclient.errors import QueryError
from irclient.results import WrittenDocument
from irclient.terminal.exits import COMMITTED, UNHEALTHY
from irclient.terminal.hits import disclosure_lines
from irclient.terminal.output import add_output_of_action, note, printed

HELP = "write, read and list managed documents"
ABOUT = """
Documents that the daemon keeps in a directory of its own, the corpus
`documents`: add one, write it anew, take it out, read it, list them. A change
is done when it can be found. Writing is switched on by write = true under
[documents] in the configuration.
"""
EXAMPLES = """
# keep what a command prints
git log -20 | irc docs add "Recent changes" - --tag git

# write it anew, unless it has changed meanwhile
irc docs update recent-changes.md notes.md --if-digest DIGEST

# out of the index; with --delete-file into the trash, for thirty days
irc docs rm recent-changes.md --delete-file
"""

_CORPUS = "documents"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what to do, and with which document."""
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", help="what to do"
    )
    add = actions.add_parser("add", help="write a new document")
    add.add_argument("title", metavar="TITLE", help="its file is named after it")
    add.add_argument("--directory", default="", metavar="DIR", help="below the managed directory")
    add.add_argument("--source", default="", metavar="TEXT", help="where its content comes from")
    add.add_argument("--tag", action="append", default=[], metavar="TAG", help="may be repeated")
    update = actions.add_parser("update", help="write a document anew, as a whole")
    remove = actions.add_parser("rm", help="take a document out of the index")
    read = actions.add_parser("read", help="print a document")
    for each in (update, remove, read):
        each.add_argument("path", metavar="PATH", help="in the managed directory, or absolute")
    for each in (add, update):
        each.add_argument("file", metavar="FILE", help="its content; - for stdin")
    update.add_argument(
        "--if-digest", default="", metavar="SHA256", help="only where it holds this still"
    )
    remove.add_argument("--delete-file", action="store_true", help="move its file into the trash")
    listed = actions.add_parser("ls", help="list the documents")
    listed.add_argument("-k", type=int, default=100, metavar="N", help="at most so many (100)")
    for each in (add, update, remove, read, listed):
        add_output_of_action(each)


def run(client: Client, options: argparse.Namespace) -> int:
    """Do one of the actions."""
    actions: Mapping[str, Callable[[Client, argparse.Namespace], int]] = {
        "add": _add,
        "update": _update,
        "rm": _remove,
        "read": _read,
        "ls": _list,
    }
    return actions[options.action](client, options)


def _add(client: Client, options: argparse.Namespace) -> int:
    content = _content(options.file)
    given = options.directory, options.source, options.tag
    return _told(options, client.doc_add(options.title, content, *given))


def _update(client: Client, options: argparse.Namespace) -> int:
    content = _content(options.file)
    return _told(options, client.doc_update(options.path, content, options.if_digest))


def _remove(client: Client, options: argparse.Namespace) -> int:
    return _told(options, client.doc_remove(options.path, options.delete_file))


def _read(client: Client, options: argparse.Namespace) -> int:
    found = [each.to_dict() for each in client.disclose([_reference(client, options.path)])]
    printed(options, found, lambda found: "\n".join(disclosure_lines(found[0])))
    return COMMITTED


def _list(client: Client, options: argparse.Namespace) -> int:
    held = client.artifacts(_CORPUS, limit=options.k)
    printed(options, held, lambda held: "\n".join(map(_line, held)))
    return COMMITTED


def _line(held: Mapping[str, Any]) -> str:
    return f"{held['artifact_id']}  {held['name']}"


def _reference(client: Client, path: str) -> str:
    """Return the reference of the document at a path."""
    if not os.path.isabs(path):
        return f"{_CORPUS}/{path.removeprefix(f'{_CORPUS}/')}"
    held = client.artifacts(_CORPUS, os.path.realpath(path), limit=1)
    return f"{_CORPUS}/{held[0].artifact_id if held else path}"


def _content(file: str) -> str:
    """Return the content of a file, or of stdin. Raises QueryError for what is no text."""
    try:
        if file == "-" and sys.stdin is not None:
            return sys.stdin.buffer.read().decode("utf-8")
        with open(file, encoding="utf-8", newline="") as opened:
            return opened.read()
    except UnicodeDecodeError as error:
        raise QueryError(f"{file} is not UTF-8", "only text is kept") from error
    except OSError as error:
        raise QueryError(f"{file}: {error.strerror}", "name a file, or - for stdin") from error


def _told(options: argparse.Namespace, done: WrittenDocument) -> int:
    """Print what became of a document; a change that is not served yet is not done in full."""
    printed(options, done, _lines)
    if done.status != "pending":
        return COMMITTED
    note("irc: the file is written, but the index does not show it yet (irc status)")
    return UNHEALTHY


def _lines(done: Mapping[str, Any]) -> str:
    lines = [f"{done['status']}: {done['path']}"]
    lines += [f"digest: {done['digest']}"] if done["digest"] else []
    lines += [f"trash: {done['trash']}"] if done["trash"] else []
    return "\n".join(lines)
