"""The settings files of each agent, and the hooks and MCP servers to write into them.

Sources: the agents' own documents, named in docs/agents.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from irclient.agents.hook.moments import EVENTS, MOMENTS
from irclient.agents.install.entries import (
    HOOK_FILES,
    MOST_BYTES,
    HookEntry,
    Place,
    ServerEntry,
    SettingsFile,
)
from irclient.agents.install.json_file import list_our_commands
from irclient.errors import SettingsError
from irclient.fast.packing import PROTOCOL

# How long agents wait for a hook at most; it ends on its own long before.
_TIMEOUT_S = 2
# A session that resumes still has its context.
_STARTS = "startup|clear|compact"
# The events of each agent, with an optional matcher; Codex uses those of Claude Code.
_Events = tuple[tuple[str, str], ...]
_CLAUDES = (("UserPromptSubmit", ""), ("SessionStart", _STARTS), ("Stop", ""))
_GEMINIS = (("BeforeAgent", ""), ("SessionStart", ""), ("AfterAgent", ""))
_CURSORS = (("sessionStart", ""), ("beforeSubmitPrompt", ""))
_COPILOTS = (("SessionStart", ""), ("Stop", ""))


@dataclass(frozen=True, slots=True)
class Machine:
    """Where agents look for their files on a machine, and how this installation is started.

    `hook` is the command before `--agent`, `irc` the absolute path of the command line. `moments`
    are those to be on in an agent's settings, None for those that are.
    """

    home: str
    cwd: str
    env: Mapping[str, str]
    hook: str
    irc: str
    moments: tuple[str, ...] | None = None

    def find_base(self, variable: str, *usual: str) -> str:
        """Return the directory that a variable names, or the default one below home."""
        return self.env.get(variable) or os.path.join(self.home, *usual)

    def find_file(self, place: Place, project: bool) -> str:
        """Return the path of a settings file, a user's or that of the project here."""
        variable, usual, name, in_project = place
        if project:
            return os.path.join(self.cwd, in_project)
        return os.path.join(self.find_base(variable, usual), name)

    def make_command(self, agent: str, event: str = "", moments: str = "") -> str:
        """Return the shell command of a hook, which never fails, as agents may take that as no."""
        named = f" --event {event}" if event else ""
        named += f" --moments {moments}" if moments else ""
        return f"{self.hook} --agent {agent}{named} 2>/dev/null || :"


def find_machine() -> Machine:
    """Return this machine. Raises SettingsError if `irc` is not installed as a command."""
    start = os.path.join(os.path.dirname(os.path.dirname(__file__)), "hook", "start.py")
    beside = os.path.join(os.path.dirname(sys.executable), "irc")
    irc = beside if os.path.exists(beside) else shutil.which("irc")
    if irc is None:
        from irclient.installation import find_source, install_command

        raise SettingsError(
            "the command irc is not installed beside this Python",
            install_command(find_source("irclient")),
        )
    return Machine(
        home=os.path.expanduser("~"),
        cwd=os.getcwd(),
        env=os.environ,
        # Without site packages and environment variables: the fastest start that works anywhere.
        hook=shlex.join([sys.executable, "-I", "-S", os.path.abspath(start)]),
        irc=os.path.abspath(irc),
    )


@dataclass(frozen=True, slots=True)
class _Event:
    """An event to handle; `moments` are those that its handler answers, separated by commas."""

    name: str
    matcher: str
    moments: str = ""


def _make_item(machine: Machine, agent: str, event: _Event) -> dict[str, Any]:
    """Return a hook for the list of an event, in the format of the agent."""
    name = event.name if agent == "copilot" else ""
    command = {"command": machine.make_command(agent, name, event.moments), "timeout": _TIMEOUT_S}
    if agent == "copilot":
        # VS Code reads the same file under these names, but has its own key for the timeout.
        return {"type": "command", **command, "timeoutSec": _TIMEOUT_S}
    matcher = {"matcher": event.matcher} if event.matcher else {}
    if agent == "cursor":
        return {**matcher, **command}
    if agent == "gemini":
        command["timeout"] = 1_000 * _TIMEOUT_S  # it counts in milliseconds
    return {**matcher, "hooks": [{"type": "command", **command}]}


# By agent: the events that are always handled.
_HOOKS: Mapping[str, _Events] = {
    "claude": _CLAUDES,
    "codex": _CLAUDES,
    "gemini": _GEMINIS,
    "cursor": _CURSORS,
    "copilot": _COPILOTS,
}
# What an agent requires in a file of hooks alone.
_HEADS: Mapping[str, Mapping[str, Any]] = {"cursor": {"version": 1}, "copilot": {"version": 1}}
# By agent: the file of its MCP servers, and their table there. The command is specific to this
# machine, so it does not belong in a project's shared settings.
_SERVERS: Mapping[str, tuple[Place, str]] = {
    "claude": (("CLAUDE_CONFIG_DIR", "", ".claude.json", ".mcp.json"), "mcpServers"),
    "codex": (("CODEX_HOME", ".codex", "config.toml", ".codex/config.toml"), "mcp_servers"),
    "gemini": (HOOK_FILES["gemini"], "mcpServers"),
    "cursor": (("", ".cursor", "mcp.json", ".cursor/mcp.json"), "mcpServers"),
    "copilot": (("COPILOT_HOME", ".copilot", "mcp-config.json", ".mcp.json"), "mcpServers"),
    "opencode": (
        ("XDG_CONFIG_HOME", ".config", "opencode/opencode.json", "opencode.json"),
        "mcp",
    ),
    "vscode": (("XDG_CONFIG_HOME", ".config", "Code/User/mcp.json", ".vscode/mcp.json"), "servers"),
}


def _find_servers(agent: str, machine: Machine, project: bool) -> str:
    if agent == "vscode" and sys.platform == "darwin" and not project:
        return f"{machine.home}/Library/Application Support/Code/User/mcp.json"
    path = machine.find_file(_SERVERS[agent][0], project)
    return f"{path}c" if agent == "opencode" and os.path.exists(f"{path}c") else path


def _list_files(agent: str, machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    servers = _find_servers(agent, machine, project)
    server = ServerEntry(_SERVERS[agent][1], _make_entry(agent, machine))
    if agent not in _HOOKS:
        return (SettingsFile(servers, server=server),)
    path = machine.find_file(HOOK_FILES[agent], project)
    hooks = tuple(
        HookEntry(event.name, _make_item(machine, agent, event))
        for event in _list_events(agent, machine, path)
    )
    if servers == path:
        return (SettingsFile(path, hooks, server),)
    head = _HEADS.get(agent, {})
    return SettingsFile(path, hooks, head=head), SettingsFile(servers, server=server)


def _make_entry(agent: str, machine: Machine) -> dict[str, Any]:
    if agent == "opencode":
        return {"type": "local", "command": [machine.irc, "mcp"], "enabled": True}
    kind = {"type": "stdio"} if agent == "vscode" else {}
    return {**kind, "command": machine.irc, "args": ["mcp"]}


SETTINGS_FILES: Mapping[str, Callable[[Machine, bool], tuple[SettingsFile, ...]]] = {
    agent: partial(_list_files, agent) for agent in _SERVERS
}
# What is left for a person to do.
NOTES: Mapping[str, str] = {
    "codex": "Codex runs a new hook once you have reviewed it: /hooks in a session",
    "copilot": "Copilot takes context at the start of a session only, not at a prompt",
}
# Why an agent gets no hooks.
NO_HOOKS: Mapping[str, str] = {
    "opencode": "OpenCode runs plugins, not commands; its MCP server does what a hook would",
    "vscode": "VS Code reads the hooks of Copilot: irc install copilot --hooks",
}


def _list_events(agent: str, machine: Machine, path: str) -> list[_Event]:
    """Return the events that are always handled, then those of the moments to switch on."""
    wanted = machine.moments
    if wanted is None:
        wanted = find_installed_moments(path)
    events = {name: _Event(name, matcher) for name, matcher in _HOOKS[agent]}
    for moment in MOMENTS:
        for name, matcher, _ in EVENTS[moment].get(agent, ()) if moment in wanted else ():
            known = events.get(name, _Event(name, ""))
            moments = ",".join(filter(None, (known.moments, moment)))
            events[name] = _Event(name, matcher or known.matcher, moments)
    return list(events.values())


def find_installed_moments(path: str) -> tuple[str, ...]:
    """Return the moments that our hooks in a settings file answer."""
    found = {name for each in _read_commands(path) for name in _read_moments(each)}
    return tuple(moment for moment in MOMENTS if moment in found)


def _read_moments(command: str) -> list[str]:
    named = _NAMED_MOMENTS.search(command)
    return named[1].split(",") if named else []


# Find installed hooks, and those that fail silently: their command names a missing file, or starts
# a client that speaks another protocol than the daemon.

_NAMED_MOMENTS = re.compile(r" --moments ([\w,]+)")
_PROTOCOL = re.compile(rb"^PROTOCOL = (\d+)\s*$", re.M)
# Where releases state their protocol, the current place first.
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


def list_agents_with_hooks() -> list[str]:
    """Return the agents of this user whose settings hold irdaemon's hooks."""
    machine = Machine(os.path.expanduser("~"), os.sep, os.environ, hook="", irc="")
    return [
        agent
        for agent, files in SETTINGS_FILES.items()
        if any(_read_commands(file.path) for file in files(machine, False) if file.hooks)
    ]


def find_missing_hooks() -> list[MissingHook]:
    """Return the agents of this user, and of the project here, whose hook cannot work."""
    home = os.path.expanduser("~")
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = home
    machine = Machine(home, cwd, os.environ, hook="", irc="")
    found = [*_find_missing(machine, project=False)]
    return [*found, *_find_missing(machine, project=True)] if cwd != home else found


def _find_missing(machine: Machine, project: bool) -> Iterator[MissingHook]:
    for agent, files in SETTINGS_FILES.items():
        for path in (file.path for file in files(machine, project) if file.hooks):
            named = {
                name for command in _read_commands(path) for name in _list_named_files(command)
            }
            fix = f"irc install {agent} --hooks{' --project' * project}"
            for name in sorted(named):
                if not os.path.exists(name):
                    yield MissingHook(agent, path, name, fix)
                elif (theirs := _read_protocol(name)) not in (None, PROTOCOL):
                    yield MissingHook(agent, path, name, fix, theirs)


def _read_commands(path: str) -> list[str]:
    """Return the commands of our hooks in a settings file; none if it is unreadable."""
    if not os.path.isfile(path):  # to open a pipe would wait
        return []
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(MOST_BYTES)
        return list_our_commands(text) if "irc" in text else []
    except (OSError, ValueError):
        return []


def _list_named_files(command: str) -> Iterator[str]:
    """Yield the paths of files in a command."""
    with contextlib.suppress(ValueError):  # no shell could read it either
        for word in takewhile(lambda word: word != "--agent", shlex.split(command)):
            if word.startswith("/"):
                yield word


def _read_protocol(start: str) -> int | None:
    """Return the protocol of the client that contains a hook's file, read from its source."""
    package, found, _ = start.rpartition("/irclient/")
    for name in _SAYS_PROTOCOL if found else ():
        with contextlib.suppress(OSError), open(f"{package}/irclient/{name}", "rb") as file:
            if said := _PROTOCOL.search(file.read(MOST_BYTES)):
                return int(said[1])
    return None
