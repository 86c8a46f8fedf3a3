"""Which corpora the client of this request may see, for engines that check it themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from contextvars import ContextVar

_scope: ContextVar[frozenset[str] | None] = ContextVar("scope", default=None)


@contextlib.contextmanager
def seeing_only(corpora: Collection[str]) -> Iterator[None]:
    """Have backends give nothing of any corpus but these while the work inside goes on."""
    before = _scope.set(frozenset(corpora))
    try:
        yield
    finally:
        _scope.reset(before)


def corpora_in_scope() -> frozenset[str] | None:
    """Return the corpora that may be seen; None for all."""
    return _scope.get()
