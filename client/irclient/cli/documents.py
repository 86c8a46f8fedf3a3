"""`irc docs`: write, read and list documents."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from irclient.cli.query import Act, read_source, take_argument
from irclient.client import Client
from irclient.counts import format_count
from irclient.errors import QueryError
from irclient.library import (
    DOCUMENT_KINDS,
    VIEWS,
    make_overview,
    make_similar_query,
    suggest_directories,
)
from irclient.results import WrittenDocument
from irclient.terminal.exits import COMMITTED, UNHEALTHY, UNKNOWN
from irclient.terminal.help import add_repeated, argument, command, flag
from irclient.terminal.hits import format_disclosure
from irclient.terminal.output import note, print_data

_CORPUS = "documents"
_PATH = argument("path PATH", "in the managed directory, or absolute")
_FILE = argument("file FILE", "its content; - for stdin")


@command()
def manage_documents(client: Client, options: argparse.Namespace) -> int:
    """Write, read and list documents.

    Add, replace, remove, read and list the documents that the daemon keeps in a
    directory of its own, the corpus `documents`. A command returns once its change
    can be found. Writing needs write = true under [documents] in the configuration;
    it then also works in roots marked as writable = true. `overview` and `suggest`
    cover all corpora.

    examples:
    # keep the output of a command
    git log -20 | irc docs add "Recent changes" - --tag git

    # replace it, unless it has changed meanwhile
    irc docs update recent-changes.md notes.md --if-digest DIGEST

    # remove it from the index, and put its file into the trash for thirty days
    irc docs rm recent-changes.md --delete-file

    # where does a text belong?
    irc docs suggest "When to prune roses"
    """
    act: Act = options.act
    return act(client, options)


@manage_documents.action(
    "add",
    argument("title TITLE", "its file is named after it"),
    take_argument(
        "doc_add.directory",
        "--directory DIR",
        "below the managed directory; absolute: at or under a writable root",
    ),
    take_argument("doc_add.source", "--source TEXT", "where its content comes from"),
    add_repeated("--tag TAG", "may be repeated"),
    _FILE,
)
def _add(client: Client, options: argparse.Namespace) -> int:
    """Write a new document."""
    content = _read_content(options.file)
    given = options.directory, options.source, options.tag
    return _report_written(options, client.doc_add(options.title, content, *given))


@manage_documents.action(
    "update",
    _PATH,
    _FILE,
    take_argument(
        "doc_update.if_digest", "--if-digest SHA256", "only if its digest is still this one"
    ),
)
def _update(client: Client, options: argparse.Namespace) -> int:
    """Replace a whole document."""
    content = _read_content(options.file)
    return _report_written(options, client.doc_update(options.path, content, options.if_digest))


@manage_documents.action(
    "rm",
    _PATH,
    flag("--delete-file", "move its file into the trash"),
)
def _remove(client: Client, options: argparse.Namespace) -> int:
    """Remove a document from the index."""
    return _report_written(options, client.doc_remove(options.path, options.delete_file))


@manage_documents.action("read", _PATH)
def _read(client: Client, options: argparse.Namespace) -> int:
    """Print a document."""
    found = [each.to_dict() for each in client.disclose([_find_reference(client, options.path)])]
    return print_data(options, found, lambda found: format_disclosure(found[0]))


@manage_documents.action("ls", take_argument("artifacts.limit", "-k N", "at most N (100)"))
def _list(client: Client, options: argparse.Namespace) -> int:
    """List the documents."""
    held = client.artifacts(_CORPUS, limit=options.k)
    return print_data(
        options, held, lambda held: [f"{each['artifact_id']}  {each['name']}" for each in held]
    )


def _find_reference(client: Client, path: str) -> str:
    """Return the reference of the document at a path."""
    if not os.path.isabs(path):
        return f"{_CORPUS}/{path.removeprefix(f'{_CORPUS}/')}"
    real = os.path.realpath(path)
    held = client.artifacts(_CORPUS, real, limit=1) or client.artifacts(None, real, limit=1)
    return f"{held[0].corpus}/{held[0].artifact_id}" if held else f"{_CORPUS}/{path}"


def _read_content(file: str) -> str:
    """Return the content of a file, or of stdin. Raises QueryError unless it is text."""
    try:
        return read_source(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise QueryError(f"{file} is not UTF-8", "only text is kept") from error


def _report_written(options: argparse.Namespace, done: WrittenDocument) -> int:
    """Print the result of a change; return UNHEALTHY if it is not served yet."""
    print_data(options, done, _format_written)
    if done.status != "pending":
        return COMMITTED
    note("irc: the file is written, but the index does not show it yet (irc status)")
    return UNHEALTHY


def _format_written(done: Mapping[str, Any]) -> str:
    lines = [f"{done['status']}: {done['path']}"]
    lines += [f"digest: {done['digest']}"] if done["digest"] else []
    lines += [f"trash: {done['trash']}"] if done["trash"] else []
    return "\n".join(lines)


@manage_documents.action(
    "overview",
    argument(
        "--view",
        "each corpus with some titles, totals, or directories (sections)",
        choices=VIEWS,
        default="sections",
    ),
    argument("--depth N", "of directories below the roots (1)", type=int, default=1),
)
def _show_overview(client: Client, options: argparse.Namespace) -> int:
    """Show what the corpora contain, and where."""
    import asyncio

    seen = asyncio.run(_ask_overview(client, options))
    return print_data(options, seen, _format_overview)


async def _ask_overview(client: Client, options: argparse.Namespace) -> dict[str, Any]:
    from irclient.async_client import AsyncClient  # with zmq.asyncio, for this action alone

    async with AsyncClient(client.endpoint, client.timeout) as asking:
        return await make_overview(asking, options.view, options.depth)


def _format_overview(seen: Mapping[str, Any]) -> Iterator[str]:
    for source in seen.get("sources", ()):
        some = f", such as {'; '.join(source['examples'])}" if source["examples"] else ""
        state = f"{source['state']}, writable" if source["writable"] else source["state"]
        yield f"{source['source']} ({source['kind']}, {state}): {source['documents']:,}{some}"
        yield f"  in {', '.join(source['paths'])}"
    for directory in seen.get("directories", ()):
        yield f"{directory['documents']:>7,}  {directory['path']}"
    for name, count in seen.get("asset_types", {}).items():
        yield f"{count:>7,}  {name}"
    yield ", ".join(f"{seen[name]:,} {name}" for name in ("documents", "chunks", "embeddings"))


@manage_documents.action(
    "suggest",
    argument("title TITLE", "of the new document"),
    argument("summary TEXT", "what it says", nargs="?", default=""),
)
def _suggest(client: Client, options: argparse.Namespace) -> int:
    """Find the directory where a document belongs.

    If no document is similar, that is a root of a corpus of documents.
    """
    corpora = [each for each in client.status().corpora if each.kind in DOCUMENT_KINDS]
    if not corpora:
        note("irc: there is no corpus of documents (irc add NAME files DIRECTORY)")
        return UNKNOWN
    text = f"{options.title} {options.summary}".strip()
    answer = client.discover(make_similar_query(text, corpora), noted=False)
    if not answer.results:
        note("irc: no document is similar, so no directory is better than another")
    found = [asdict(each) for each in suggest_directories(answer.results, corpora)]
    return print_data(options, found, lambda found: map(_format_suggestion, found))


def _format_suggestion(found: Mapping[str, Any]) -> str:
    more = ", writable" if found["writable"] else ""
    return (
        f"{found['confidence']:.2f}  {found['path']}  ({found['source']}{more}: {found['reason']})"
    )


@manage_documents.action(
    "index",
    argument("directory DIR", "at or under roots of [documents]"),
    flag("--flat", "without its subdirectories"),
    take_argument("doc_index.pattern", "--pattern GLOB", "only files that match"),
    flag("--dry-run", "only show what would be indexed"),
)
def _index(client: Client, options: argparse.Namespace) -> int:
    """Index a new directory."""
    directory = os.path.abspath(os.path.expanduser(options.directory))
    told = client.doc_index(directory, not options.flat, options.pattern, options.dry_run)
    return print_data(options, told, _format_indexed)


def _format_indexed(told: Mapping[str, Any]) -> Iterator[str]:
    state = "is being indexed" if told["jobs"] else "would be indexed"
    files = format_count(told["files"], "document")
    yield f"{told['directory']} {state} as {told['corpus']}: {files}"
    yield from (f"  {name}" for name in told["first"])
    yield from (f"left out: {count:,} {why}" for why, count in told["left_out"].items())
