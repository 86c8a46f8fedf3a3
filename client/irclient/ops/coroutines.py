"""The operations as coroutines: each method of `Operations`, over a `_run` that is awaited.

Their types are in coroutines.pyi, which `python -m tests.golden.coroutines` makes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from irclient.ops import Operations


class Coroutines(Operations):
    """The operations for a client whose `_run` is a coroutine."""


def _await(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def run(self: Coroutines, *args: Any, **named: Any) -> Any:
        return await method(self, *args, **named)

    return run


for _name, _method in vars(Operations).items():
    if not _name.startswith("_"):
        setattr(Coroutines, _name, _await(_method))
