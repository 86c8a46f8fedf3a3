"""How `irdaemon backup` and `restore` treat the log of use.

The key of its digests is not in a backup. On another machine the old records stay joined; prompts
read again there join none of them.
"""

from __future__ import annotations

from irdaemon.config.sections import Config
from irdaemon.contrib.usage.store import read_usage
from irdaemon.ledger.backups import back_up_file, restore_file


def back_up(config: Config, file: str) -> tuple[str, int]:
    """Save the log of use beside a ledger's backup; return path and size, 0 if there is none."""
    beside = find_saved(file)
    return beside, back_up_file(config.usage_path, beside)


def restore(config: Config, file: str) -> str | None:
    """Restore the log of use beside a backup; return the path of the previous one."""
    return restore_file(find_saved(file), config.usage_path, read_usage)


def find_saved(file: str) -> str:
    """Return the path of the log of use that belongs to a ledger's backup."""
    return f"{file}.usage"
