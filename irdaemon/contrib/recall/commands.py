"""How `irdaemon backup` and `restore` treat the record of what sessions did.

Not all of it can be recovered: a file's state at a turn can only be recorded while it lasts.
"""

from __future__ import annotations

from contextlib import closing

from irdaemon.config.sections import Config
from irdaemon.contrib.recall.store import RecallStore
from irdaemon.ledger.backups import back_up_file, restore_file


def back_up(config: Config, file: str) -> tuple[str, int]:
    """Save what sessions did beside a ledger's backup; return path and size, 0 if there is none."""
    beside = find_saved(file)
    return beside, back_up_file(config.recall_path, beside)


def restore(config: Config, file: str) -> str | None:
    """Restore the file beside a backup; return the path of the previous one."""
    return restore_file(
        find_saved(file),
        config.recall_path,
        lambda path: closing(RecallStore(path, read_only=True)),
    )


def find_saved(file: str) -> str:
    """Return the path of the record of sessions that belongs to a ledger's backup."""
    return f"{file}.recall"
