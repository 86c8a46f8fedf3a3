"""Whether the ledger is of a format we know, and whole."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterable, Iterator

from irdaemon.cli.doctor.finding import Finding, note, ok, wrong
from irdaemon.config.config import Config
from irdaemon.ledger.schema import MIGRATIONS
from irdaemon.runtime.memory import MB

_FORGOTTEN = "irdaemon stop --forget && irdaemon start --detach"
_REBUILT = "irdaemon stop && irdaemon check --repair && irdaemon start --detach"
_LONG_LOG = 512 * MB


def check(config: Config) -> Iterable[Finding]:
    """Yield how the ledger file is."""
    path = config.ledger_path
    if not os.path.exists(path):
        yield note("no ledger yet; the first start makes it", path)
        return
    try:
        yield from _opened(path)
    except sqlite3.Error as error:
        yield wrong(f"cannot be read: {error}", path, _REBUILT)
    yield from log_length(path, os.path.getsize(f"{path}-wal") if _has_log(path) else 0)


def _opened(path: str) -> Iterator[Finding]:
    url = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"{url}?mode=ro", uri=True, timeout=5)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        yield known_format(path, version, len(MIGRATIONS))
        yield whole(path, [row[0] for row in connection.execute("PRAGMA quick_check(5)")])
    finally:
        connection.close()


def known_format(path: str, version: int, known: int) -> Finding:
    """Judge the format version of a ledger."""
    if version > known:
        message = f"format {version} is of a later irdaemon; this one knows up to {known}"
        return wrong(message, path, f"start the later irdaemon again, or {_FORGOTTEN}")
    if version < known:
        return note(f"format {version}; the next start brings it to {known}", path)
    return ok(f"format {version}", path)


def whole(path: str, results: list[str]) -> Finding:
    """Judge the results of SQLite's quick check."""
    if results == ["ok"]:
        return ok("the quick check finds nothing wrong", path)
    return wrong(f"is damaged: {'; '.join(results)}", path, _REBUILT)


def log_length(path: str, size: int) -> Iterator[Finding]:
    """Yield a finding for a write-ahead log that is not checkpointed."""
    if size > _LONG_LOG:
        message = f"the write-ahead log holds {size // MB:,} MB: a reader prevents checkpoints"
        yield wrong(message, f"{path}-wal", f"fuser {shlex.quote(path)}-wal; irdaemon restart")


def _has_log(path: str) -> bool:
    return os.path.exists(f"{path}-wal")
