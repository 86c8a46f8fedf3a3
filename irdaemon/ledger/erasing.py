"""What the file may still hold of what was forgotten: counted with each deletion, durably.

SQLite overwrites what is deleted. But where it moved rows from page to page before, it left copies
in parts of pages that nothing uses; only writing the file anew is sure to leave none.
"""

from __future__ import annotations

from irdaemon.ledger.store import Store

_FORGOTTEN, _REPLACED = "forgotten", "replaced"


def note_forgotten(store: Store) -> None:
    """Note, within the caller's transaction, that something was forgotten."""
    _count(store, _FORGOTTEN, 1)


def note_replaced(store: Store) -> None:
    """Note, within the caller's transaction, that an edit replaced something."""
    _count(store, _REPLACED, 1)


def counted(store: Store) -> tuple[int, int]:
    """Return how often something was forgotten, and replaced."""
    kept = dict(store.all("SELECT name, value FROM counters"))
    return kept.get(_FORGOTTEN, 0), kept.get(_REPLACED, 0)


def settle(store: Store, done: tuple[int, int]) -> None:
    """Take off what the file was written anew for."""
    with store.transaction():
        for name, times in zip((_FORGOTTEN, _REPLACED), done, strict=True):
            _count(store, name, -times)


def _count(store: Store, name: str, by: int) -> None:
    store.run(
        "INSERT INTO counters VALUES (?1, ?2)"
        " ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
        name,
        by,
    )
