"""Logging: a line per event, `LEVEL module: message`, and never a document's text.

A message is always one line, with its control characters escaped. An exception adds indented lines
with the places in the code, and its type.

In the journal each line has its priority, elsewhere the time; a log file is rotated and readable by
its owner only. Of an exception the type and the places are logged; its message only if it is one of
ours or the system's, since others may quote the data that they failed on.
"""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, TextIO

from irclient.errors import IRError
from irclient.invisible import spell_hidden

log = logging.getLogger(__name__)

_PRIORITIES = ((logging.ERROR, "<3>"), (logging.WARNING, "<4>"), (logging.INFO, "<6>"))
_LOG_BYTES = 2_000_000
_LOGS_KEPT = 3
_PLAIN = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_QUICK_MS = 1_000.0


def set_up(file: str | None = None, verbose: bool = False) -> None:
    """Log to `file`, rotated, or to stderr; make sure that every exit is logged."""
    handler: logging.Handler = _RotatedPrivately(file) if file else logging.StreamHandler()
    handler.setFormatter(_ForJournal() if not file and _is_journal() else _Textless(_PLAIN))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler])
    logging.captureWarnings(True)
    # A separate descriptor: rotation closes the stream's.
    faulthandler.enable(_open_private(file, os.O_WRONLY | os.O_APPEND) if file else sys.stderr)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_thread_end


def log_event(topic: str, data: Mapping[str, Any]) -> None:
    """Log an event of the engine: jobs that failed or took long, and unreadable entries.

    The reason that an entry is unreadable is not logged, since it may quote it; `irc status
    --failures` shows it.
    """
    if topic == "failure":
        log.warning("%s: cannot be read: %s", data["corpus"], data["path"])
    elif topic == "job" and data["state"] == "failed":
        log.error("%s failed: %s", _describe_job(data), data["report"])
    elif topic == "job" and data["took_ms"] >= _QUICK_MS:
        log.info("%s: %s", _describe_job(data), data["report"])


def _describe_job(data: Mapping[str, Any]) -> str:
    return f"{data['kind']} {data['corpus']}".strip() + f" ({data['took_ms'] / 1e3:.1f} s)"


class _RotatedPrivately(logging.handlers.RotatingFileHandler):
    """A rotated file that only its owner can read."""

    def __init__(self, file: str):
        super().__init__(file, maxBytes=_LOG_BYTES, backupCount=_LOGS_KEPT, encoding="utf-8")

    def _open(self) -> TextIO:  # type: ignore[override]
        return open(self.baseFilename, "a", encoding="utf-8", opener=_open_private)


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_CREAT, 0o600)
    os.fchmod(descriptor, 0o600)  # an existing one may be open to others
    return descriptor


class _Textless(logging.Formatter):
    """Write a record as one line; of an exception its type and places, not its message."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (its name in logging)
        return spell_hidden(super().formatMessage(record))

    def formatException(  # noqa: N802 (its name in logging)
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        return "\n".join(map(spell_hidden, _describe_error(ei[1]))) if ei[1] is not None else ""


def _describe_error(error: BaseException) -> Iterator[str]:
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _describe_error(before)
        yield "which led to:"
    for frame in traceback.format_tb(error.__traceback__):
        yield from frame.rstrip().split("\n")
    ours = isinstance(error, (IRError, OSError))
    yield f"{type(error).__qualname__}: {error}" if ours else type(error).__qualname__


class _ForJournal(_Textless):
    """Prefix each line with its priority; the journal adds the time itself."""

    def format(self, record: logging.LogRecord) -> str:
        prefix = next((mark for level, mark in _PRIORITIES if record.levelno >= level), "<7>")
        lines = f"{record.levelname} {record.name}: {super().format(record)}".split("\n")
        return "\n".join(prefix + line for line in lines)


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    log.critical("ended by an exception", exc_info=(kind, error, trace))


def _log_thread_end(ended: threading.ExceptHookArgs) -> None:
    error, name = ended.exc_value, ended.thread and ended.thread.name
    if error is not None and not isinstance(error, SystemExit):
        log.error("the thread %s ended by an exception", name, exc_info=error)


def _is_journal() -> bool:
    device, _, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(status.st_dev), str(status.st_ino))
