"""A damaged ledger: told from a full disk and a fault of our own; mended, or set aside."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass

from irdaemon.ledger import IN_MEMORY, Finding, Ledger
from irdaemon.ledger.files import set_aside
from irdaemon.ledger.schema import LedgerError
from irdaemon.ledger.sqlite_errors import is_damage, is_passing

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loss:
    """A ledger that was set aside: when (Unix seconds), why, and where it lies now."""

    since: float
    why: str
    kept: str


def damage(path: str, error: BaseException) -> str:
    """Return what is damaged about a ledger that gave an error; "" where it is not to blame.

    What SQLite does not name itself is looked for: that takes seconds for a large ledger.
    """
    if path == IN_MEMORY:
        return ""
    cause = error.__cause__ if isinstance(error, LedgerError) else error
    if cause is None:  # a later format
        return ""
    if is_damage(cause) or isinstance(cause, (PermissionError, IsADirectoryError)):
        return str(cause)
    return "" if is_passing(cause) else first_fault(path)


def first_fault(path: str) -> str:
    """Return the first grave fault of a ledger file; "" for none, and where it cannot be told."""
    return next((each.what for each in _grave_faults(path)), "")


def _grave_faults(path: str) -> list[Finding]:
    try:
        with closing(Ledger(path, read_only=True)) as view, view.one_moment():
            return [each for each in view.faults() if each.grave]
    except (LedgerError, sqlite3.Error):
        return []


def mended(path: str) -> bool:
    """Mend a ledger whose file is whole, where its rows do not fit; say whether it is sound then.

    What was read from sources that are gone is kept so, which a new ledger would not have.
    """
    found = _grave_faults(path)
    if not found or any(each.part == "sqlite" for each in found):
        return False
    with suppress(LedgerError, sqlite3.Error), closing(Ledger(path)) as ledger:
        unread = ledger.mend()
        log.error("the ledger had faults (%s); it is mended", found[0].what)
        log.error("%d of its entries are read again", unread)
    return not _grave_faults(path)


def lose(path: str, why: str, now: float) -> Loss:
    """Set a damaged ledger aside, so that a new one can begin in its place."""
    loss = Loss(now, why, set_aside(path, "damaged"))
    log.error(
        "the ledger is damaged (%s); it lies in %s now, and is rebuilt from its sources",
        loss.why,
        loss.kept,
    )
    return loss
