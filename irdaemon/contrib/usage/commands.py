"""What `irdaemon backup` and `restore` do about the log of use.

The key of its digests is not in a backup. On another machine what is noted stays joined as it was;
prompts that are read again there join nothing of before.
"""

from __future__ import annotations

from irdaemon.config.sections import Config
from irdaemon.contrib.usage.store import read_usage
from irdaemon.ledger.backups import back_up_file, restore_file


def back_up(config: Config, file: str) -> tuple[str, int]:
    """Write the log of use beside a ledger's backup; return where, and its size: 0 for none."""
    beside = find_saved(file)
    return beside, back_up_file(config.usage_path, beside)


def restore(config: Config, file: str) -> str | None:
    """Put the log of use beside a backup in its place; return where the one before lies."""
    return restore_file(find_saved(file), config.usage_path, read_usage)


def find_saved(file: str) -> str:
    """Return the path of the log of use that belongs to a ledger's backup."""
    return f"{file}.usage"
