"""Write a file as a whole: readers see the old content or the new, and a failure leaves the old."""

from __future__ import annotations

import os
import tempfile


def replace_file(path: str, text: str) -> None:
    """Write a file for its owner alone, replacing an existing one. Raises OSError."""
    directory, name = os.path.split(path)
    descriptor, written = tempfile.mkstemp(dir=directory, prefix=f".{name}-")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(written, path)
    except BaseException:
        os.unlink(written)
        raise
