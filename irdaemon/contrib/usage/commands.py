"""What `irdaemon backup` and `restore` do about the log of use."""

from __future__ import annotations

from irdaemon.config.sections import Config
from irdaemon.contrib.usage.store import find_saved, restore_usage, save_usage


def back_up(config: Config, file: str) -> tuple[str, int]:
    """Write the log of use beside a ledger's backup; return where, and its size: 0 for none."""
    return find_saved(file), save_usage(config.usage_path, file, replace=True)


def restore(config: Config, file: str) -> str | None:
    """Put the log of use beside a backup in its place; return where the one before lies."""
    return restore_usage(file, config.usage_path)
