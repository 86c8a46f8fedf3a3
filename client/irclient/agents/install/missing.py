"""Find installed hooks, and those that are silent as their command names a file that is gone."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from irclient.agents.install.hook_files import MOST_BYTES
from irclient.agents.install.json_file import our_commands
from irclient.agents.install.targets import SETTINGS_FILES, Machine


@dataclass(frozen=True, slots=True)
class MissingHook:
    """An agent whose hook cannot start: `path` is gone, `settings` is the file that names it."""

    agent: str
    settings: str
    path: str
    fix: str

    def __str__(self) -> str:
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
    """Return the agents of this user, and of the project in this directory, whose hook is gone."""
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
            gone = {name for command in _commands(path) for name in _gone(command)}
            fix = f"irc install {agent} --hooks{' --project' * project}"
            yield from (MissingHook(agent, path, name, fix) for name in sorted(gone))


def _commands(path: str) -> list[str]:
    """Return the commands of our hooks in a settings file; none if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(MOST_BYTES)
        return our_commands(text) if "irc" in text else []
    except (OSError, ValueError):
        return []


def _gone(command: str) -> Iterator[str]:
    """Yield the files that a command starts by their paths and that do not exist."""
    with contextlib.suppress(ValueError):  # no shell could read it either
        for word in takewhile(lambda word: word != "--agent", shlex.split(command)):
            if word.startswith("/") and not os.path.exists(word):
                yield word
