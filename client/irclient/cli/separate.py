"""Programs of the daemon's package, run in the place of this one with data that it asked for.

They import what a client does without: numpy, a plotting library.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn


def is_installed(package: str) -> bool:
    """Return whether a package is installed beside this one, without importing it."""
    return importlib.util.find_spec(package) is not None


def go_on_as(module: str, data: Any, words: Sequence[str]) -> NoReturn:
    """Become `python -m MODULE WORDS`, with data as JSON on its stdin."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        json.dump(data, file)
        file.seek(0)
        os.dup2(file.fileno(), 0)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *words])
