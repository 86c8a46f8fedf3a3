"""A deadline for each request: long work checks it between steps, and ends when it has passed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar

from irclient.errors import Unavailable

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))


@contextlib.contextmanager
def set_deadline(deadline: float) -> Iterator[None]:
    """Set the deadline of the work in the block, in seconds of time.monotonic."""
    before = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(before)


@contextlib.contextmanager
def limit_time(seconds: float, what: str) -> Iterator[None]:
    """Limit the work in the block to `seconds`, or to the rest of its request's time if less.

    Raises Unavailable naming what did not answer in that time.
    """
    patience = time.monotonic() + seconds
    try:
        with set_deadline(min(patience, _deadline.get())):
            yield
    except Unavailable as error:
        if error.message != make_too_late().message or _deadline.get() < patience:
            raise
        message = f"{what} did not answer within {seconds:g} s"
        raise Unavailable(message, "check the server and the network") from error


def check_clock() -> None:
    """Raise Unavailable if the deadline of this request has passed."""
    if time.monotonic() > _deadline.get():
        raise make_too_late()


def time_left() -> float:
    """Return the seconds until the deadline of this request; infinity if it has none."""
    return max(0.0, _deadline.get() - time.monotonic())


def make_too_late() -> Unavailable:
    """Return the error for a request whose deadline passed before its answer."""
    return Unavailable(
        "the daemon could not answer in time and gave this request up",
        "ask for less, or allow more time (--timeout; [serve] max_request_s)",
    )
