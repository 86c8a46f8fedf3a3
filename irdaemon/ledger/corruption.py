"""A corrupt ledger: recognised, and then repaired or set aside."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass

from irdaemon.ledger import IN_MEMORY, IntegrityProblem, Ledger
from irdaemon.ledger.files import set_aside
from irdaemon.ledger.schema import LedgerError
from irdaemon.ledger.sqlite_errors import UNDECODABLE, is_corrupt, is_transient, strip_text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Corruption:
    """A corrupt ledger that was set aside: when (Unix seconds), why, and its path now."""

    since: float
    why: str
    kept: str


def describe_corruption(path: str, error: BaseException) -> str:
    """Return the corruption of a ledger that gave an error; "" where that is not the cause.

    Where SQLite does not name it the whole file is checked: seconds for a large ledger.
    """
    if path == IN_MEMORY:
        return ""
    cause = error.__cause__ if isinstance(error, LedgerError) else error
    if cause is None:  # a later format
        return ""
    if is_corrupt(cause) or isinstance(cause, (PermissionError, IsADirectoryError)):
        return strip_text(cause)
    return "" if is_transient(cause) else find_first_problem(path)


def find_first_problem(path: str) -> str:
    """Return the first severe problem of a ledger file; "" for none, and where it is not known."""
    return next((each.what for each in _find_severe_problems(path)), "")


def _find_severe_problems(path: str) -> list[IntegrityProblem]:
    try:
        with closing(Ledger(path, read_only=True)) as view, view.hold_snapshot():
            return [each for each in view.check() if each.severe]
    except (LedgerError, sqlite3.Error):
        return []


def try_repair(path: str) -> bool:
    """Repair a ledger whose file is whole and whose rows are not; return whether it is sound then.

    What was read from sources that are gone is kept so, which a new ledger would not have.
    """
    found = _find_severe_problems(path)
    if not found or any(each.part == "sqlite" for each in found):
        return False
    # What damage leaves of a row may keep the repair from its end as well.
    with suppress(LedgerError, sqlite3.Error, *UNDECODABLE), closing(Ledger(path)) as ledger:
        unread = ledger.repair()
        log.error("the ledger had problems (%s); it is repaired", found[0].what)
        log.error("%d of its entries are read again", unread)
    return not _find_severe_problems(path)


def set_corrupt_aside(path: str, why: str, now: float) -> Corruption:
    """Set a corrupt ledger aside, so that a new one can begin in its place."""
    corruption = Corruption(now, why, set_aside(path, "damaged"))
    log.error(
        "the ledger is corrupt (%s); it is now %s, and is rebuilt from its sources",
        corruption.why,
        corruption.kept,
    )
    return corruption
