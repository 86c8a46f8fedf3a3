"""Ask a child process for the symbols of a text.

A parser of programs meets texts that were made to stop it: an f-string of one megabyte keeps
Python's own busy for 51 seconds, with the interpreter's lock held. So it runs in a process of its
own (`outline`), with limits, which reads one text after the other.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from irclient.errors import Unavailable
from irdaemon.runtime.memory import MB
from irdaemon.runtime.reused import answered
from irdaemon.runtime.worker import ProcessLimits

# The largest text that is read by default takes a tenth of it.
_LIMITS = ProcessLimits(10.0, 1024 * MB)
_OUTPUT = 16 * MB


class Symbol(NamedTuple):
    """A named part of a text: its lines, from 1 on and both in it, and what it lies in.

    `head` is the last line of what precedes its body.
    """

    name: str
    kind: str
    start: int
    end: int
    head: int
    parents: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """Return its name after the names of what it lies in."""
        return ".".join((*self.parents, self.name))


def symbols_of(text: str, language: str) -> tuple[Symbol, ...] | None:
    """Return the symbols of a text in its order; None where they cannot be told.

    The lines of `text` end with line feeds alone. A parser that fails, or exceeds its limits, tells
    none.
    """
    program = os.path.join(os.path.dirname(__file__), "outline.py")
    request = f"{language}\n{text}".encode("utf-8", "replace")
    try:
        found = json.loads(answered(program, request, _LIMITS, _OUTPUT))
    except (Unavailable, ValueError):
        return None
    if found is None:
        return None
    return tuple(Symbol(**{**each, "parents": tuple(each["parents"])}) for each in found)
