"""The directories that were made for a settings file, which go with it.

A note beside the file, which goes too, says which they are: an empty one of the person's own stays.
"""

from __future__ import annotations

import contextlib
import os

NOTE = ".directory-by-irdaemon"


def make_directories(path: str) -> None:
    """Make the directories above a file; where some were missing, note the first of them."""
    top, above = "", os.path.dirname(path)
    while not os.path.isdir(above):
        top, above = above, os.path.dirname(above)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if top:
        with open(path + NOTE, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(top)


def remove_directories(path: str, has_file: bool) -> None:
    """Forget which directories were made for a file; where it is gone, remove those left empty."""
    try:
        with open(path + NOTE, encoding="utf-8", errors="surrogateescape") as file:
            top = file.read()
        os.unlink(path + NOTE)
    except OSError:
        return
    directory = os.path.dirname(path)
    with contextlib.suppress(OSError):
        while not has_file and (directory == top or directory.startswith(os.path.join(top, ""))):
            os.rmdir(directory)
            directory = os.path.dirname(directory)
