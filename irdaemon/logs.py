"""Logging: a line per event on stderr, or in a rotated file when detached; no document text."""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys

_PRIORITIES = ((logging.ERROR, "<3>"), (logging.WARNING, "<4>"), (logging.INFO, "<6>"))
_LOG_BYTES = 2_000_000
_LOGS_KEPT = 3


class _ForJournal(logging.Formatter):
    """Prefix each line with its priority; the journal adds the time itself."""

    def format(self, record: logging.LogRecord) -> str:
        prefix = next((mark for level, mark in _PRIORITIES if record.levelno >= level), "<7>")
        lines = f"{record.name}: {super().format(record)}".splitlines()
        return "\n".join(prefix + line for line in lines)


def set_up(file: str | None = None, verbose: bool = False) -> None:
    """Log to `file`, rotated, or to stderr."""
    handler: logging.Handler
    if file:
        handler = logging.handlers.RotatingFileHandler(
            file, maxBytes=_LOG_BYTES, backupCount=_LOGS_KEPT, encoding="utf-8"
        )
    else:
        handler = logging.StreamHandler()
    handler.setFormatter(_ForJournal() if not file and _is_journal() else logging.Formatter(_PLAIN))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler])


_PLAIN = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def _is_journal() -> bool:
    device, _, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(status.st_dev), str(status.st_ino))
