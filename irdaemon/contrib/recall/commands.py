"""What `irdaemon backup` and `restore` do about what sessions did.

It cannot all be had again: what files were like at a turn is found out while they are still so.
"""

from __future__ import annotations

from contextlib import closing

from irdaemon.config.sections import Config
from irdaemon.contrib.recall.store import RecallStore
from irdaemon.ledger.backups import back_up_file, restore_file


def back_up(config: Config, file: str) -> tuple[str, int]:
    """Write what sessions did beside a ledger's backup; return where, and its size: 0 for none."""
    beside = find_saved(file)
    return beside, back_up_file(config.recall_path, beside)


def restore(config: Config, file: str) -> str | None:
    """Put what lies beside a backup in its place; return where the file before lies."""
    return restore_file(
        find_saved(file),
        config.recall_path,
        lambda path: closing(RecallStore(path, read_only=True)),
    )


def find_saved(file: str) -> str:
    """Return the path of what sessions did that belongs to a ledger's backup."""
    return f"{file}.recall"
