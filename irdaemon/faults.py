"""Faults told without their words: a message may quote what was being read, and logs may not."""

from __future__ import annotations

import traceback


def where(error: BaseException) -> str:
    """Return the kind of a fault and the lines of code it came through, causes first."""
    cause = error.__cause__ or error.__context__
    before = [where(cause)] if cause else []
    frames = "".join(traceback.format_tb(error.__traceback__))
    return "\n".join([*before, f"{type(error).__name__} in\n{frames.rstrip()}"])
