"""Find installed hooks, and those that cannot work and are silent for ever.

Their command names a file that is gone, or starts a client of another protocol than the daemon's.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from irclient.agents.install.entries import MOST_BYTES
from irclient.agents.install.json_file import our_commands
from irclient.agents.install.targets import SETTINGS_FILES, Machine
from irclient.fast.packing import PROTOCOL

_PROTOCOL = re.compile(rb"^PROTOCOL = (\d+)\s*$", re.M)
# Where a release says it, this one's place first.
_SAYS_PROTOCOL = ("fast/packing.py", "wire.py")


@dataclass(frozen=True, slots=True)
class MissingHook:
    """An agent whose hook cannot work: `settings` is the file that names it.

    `path` is gone, or is of a client that speaks another `protocol`.
    """

    agent: str
    settings: str
    path: str
    fix: str
    protocol: int | None = None

    def __str__(self) -> str:
        if self.protocol is not None:
            return (
                f"the hook of {self.agent} speaks protocol {self.protocol}, and this installation"
                f" {PROTOCOL}: {self.path} is of another release"
            )
        return f"the hook of {self.agent} cannot start: {self.path} is gone"


def agents_with_hooks() -> list[str]:
    """Return the agents of this user whose settings hold irdaemon's hooks."""
    machine = Machine(os.path.expanduser("~"), os.sep, os.environ, hook="", irc="")
    return [
        agent
        for agent, files in SETTINGS_FILES.items()
        if any(_commands(file.path) for file in files(machine, False) if file.hooks)
    ]


def missing_hooks() -> list[MissingHook]:
    """Return the agents of this user, and of the project in this directory, whose hook is mute."""
    home = os.path.expanduser("~")
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = home
    machine = Machine(home, cwd, os.environ, hook="", irc="")
    found = [*_missing(machine, project=False)]
    return [*found, *_missing(machine, project=True)] if cwd != home else found


def _missing(machine: Machine, project: bool) -> Iterator[MissingHook]:
    for agent, files in SETTINGS_FILES.items():
        for path in (file.path for file in files(machine, project) if file.hooks):
            named = {name for command in _commands(path) for name in _named(command)}
            fix = f"irc install {agent} --hooks{' --project' * project}"
            for name in sorted(named):
                if not os.path.exists(name):
                    yield MissingHook(agent, path, name, fix)
                elif (theirs := _protocol_of(name)) not in (None, PROTOCOL):
                    yield MissingHook(agent, path, name, fix, theirs)


def _commands(path: str) -> list[str]:
    """Return the commands of our hooks in a settings file; none if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(MOST_BYTES)
        return our_commands(text) if "irc" in text else []
    except (OSError, ValueError):
        return []


def _named(command: str) -> Iterator[str]:
    """Yield the files that a command starts by their paths."""
    with contextlib.suppress(ValueError):  # no shell could read it either
        for word in takewhile(lambda word: word != "--agent", shlex.split(command)):
            if word.startswith("/"):
                yield word


def _protocol_of(start: str) -> int | None:
    """Return the protocol of the client that a hook's file belongs to, as its source says."""
    package, found, _ = start.rpartition("/irclient/")
    for name in _SAYS_PROTOCOL if found else ():
        with contextlib.suppress(OSError), open(f"{package}/irclient/{name}", "rb") as file:
            if said := _PROTOCOL.search(file.read(MOST_BYTES)):
                return int(said[1])
    return None
