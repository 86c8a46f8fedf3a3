"""Describe errors without their messages: these may quote data that must not be logged."""

from __future__ import annotations

import traceback


def describe_error(error: BaseException) -> str:
    """Return in one line the type of an error and the code it came through, causes first."""
    cause = error.__cause__ or error.__context__
    before = [describe_error(cause)] if cause else []
    places = (
        f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    )
    return "; then ".join([*before, f"{type(error).__name__} in {' > '.join(places)}"])
