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
from itertools import takewhile

from irclient.agents.hook.moments import EVENTS, MOMENTS
from irclient.agents.install.entries import (
    MOST_BYTES,
    HookEntry,
    ServerEntry,
    SettingsFile,
    find_project_file,
    find_user_file,
)
from irclient.agents.install.json_file import list_our_commands
from irclient.errors import SettingsError
from irclient.fast.packing import PROTOCOL

# How long agents wait for a hook at most; it ends on its own long before.
_TIMEOUT_S = 2
# A session that resumes still has its context.
_STARTS = "startup|clear|compact"
# The events of each agent, with an optional matcher; Codex uses those of Claude Code.
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


def _list_claude_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    server = _make_server(machine, "mcpServers")
    # The command is specific to this machine, so it does not belong in a project's shared settings.
    if project:
        servers = os.path.join(machine.cwd, ".mcp.json")
    else:
        servers = os.path.join(machine.find_base("CLAUDE_CONFIG_DIR"), ".claude.json")
    path = _find_hook_file("claude", machine, project)
    hooks = _make_groups(machine, "claude", _list_events("claude", machine, path, _CLAUDES))
    return (SettingsFile(path, hooks), SettingsFile(servers, server=server))


def _list_codex_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = _choose_directory(machine, project, ".codex", "CODEX_HOME")
    path = _find_hook_file("codex", machine, project)
    hooks = _make_groups(machine, "codex", _list_events("codex", machine, path, _CLAUDES))
    return (
        SettingsFile(path, hooks),
        SettingsFile(
            os.path.join(base, "config.toml"), server=_make_server(machine, "mcp_servers")
        ),
    )


def _list_gemini_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    path = _find_hook_file("gemini", machine, project)
    events = _list_events("gemini", machine, path, _GEMINIS)
    hooks = _make_groups(machine, "gemini", events, timeout=1_000 * _TIMEOUT_S)
    return (SettingsFile(path, hooks, _make_server(machine, "mcpServers")),)


def _list_cursor_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = os.path.join(machine.cwd if project else machine.home, ".cursor")
    path = _find_hook_file("cursor", machine, project)
    hooks = tuple(
        HookEntry(
            event.name,
            {
                **({"matcher": event.matcher} if event.matcher else {}),
                "command": machine.make_command("cursor", moments=event.moments),
                "timeout": _TIMEOUT_S,
            },
        )
        for event in _list_events("cursor", machine, path, _CURSORS)
    )
    return (
        SettingsFile(path, hooks, head={"version": 1}),
        SettingsFile(os.path.join(base, "mcp.json"), server=_make_server(machine, "mcpServers")),
    )


def _list_copilot_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = machine.find_base("COPILOT_HOME", ".copilot")
    servers = os.path.join(machine.cwd, ".mcp.json") if project else f"{base}/mcp-config.json"
    # VS Code reads the same file under these names, but has its own key for the timeout.
    times = {"timeout": _TIMEOUT_S, "timeoutSec": _TIMEOUT_S}
    path = _find_hook_file("copilot", machine, project)
    hooks = tuple(
        HookEntry(
            event.name,
            {
                "type": "command",
                "command": machine.make_command("copilot", event.name, event.moments),
                **times,
            },
        )
        for event in _list_events("copilot", machine, path, _COPILOTS)
    )
    return (
        SettingsFile(path, hooks, head={"version": 1}),
        SettingsFile(servers, server=_make_server(machine, "mcpServers")),
    )


def _list_opencode_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = (
        machine.cwd
        if project
        else os.path.join(machine.find_base("XDG_CONFIG_HOME", ".config"), "opencode")
    )
    names = ("opencode.jsonc", "opencode.json")
    there = [name for name in names if os.path.exists(os.path.join(base, name))]
    entry = {"type": "local", "command": [machine.irc, "mcp"], "enabled": True}
    path = os.path.join(base, there[0] if there else names[-1])
    return (SettingsFile(path, server=ServerEntry("mcp", entry)),)


def _list_vscode_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    if project:
        base = os.path.join(machine.cwd, ".vscode")
    elif sys.platform == "darwin":
        base = os.path.join(machine.home, "Library", "Application Support", "Code", "User")
    else:
        base = os.path.join(machine.find_base("XDG_CONFIG_HOME", ".config"), "Code", "User")
    entry = {"type": "stdio", "command": machine.irc, "args": ["mcp"]}
    return (SettingsFile(os.path.join(base, "mcp.json"), server=ServerEntry("servers", entry)),)


SETTINGS_FILES: Mapping[str, Callable[[Machine, bool], tuple[SettingsFile, ...]]] = {
    "claude": _list_claude_files,
    "codex": _list_codex_files,
    "gemini": _list_gemini_files,
    "cursor": _list_cursor_files,
    "copilot": _list_copilot_files,
    "opencode": _list_opencode_files,
    "vscode": _list_vscode_files,
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


def _find_hook_file(agent: str, machine: Machine, project: bool) -> str:
    if project:
        return find_project_file(agent, machine.cwd)
    return find_user_file(agent, machine.home, machine.env)


@dataclass(frozen=True, slots=True)
class _Event:
    """An event to handle; `moments` are those that its handler answers, separated by commas."""

    name: str
    matcher: str
    moments: str = ""


def _list_events(
    agent: str, machine: Machine, path: str, always: tuple[tuple[str, str], ...]
) -> list[_Event]:
    """Return the events that are always handled, then those of the moments to switch on."""
    wanted = machine.moments
    if wanted is None:
        wanted = find_installed_moments(path)
    events = {name: _Event(name, matcher) for name, matcher in always}
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


def _make_groups(
    machine: Machine, agent: str, events: list[_Event], timeout: int = _TIMEOUT_S
) -> tuple[HookEntry, ...]:
    """Return hooks in Claude Code's format: groups of handlers, with an optional matcher."""
    return tuple(
        HookEntry(
            event.name,
            {
                **({"matcher": event.matcher} if event.matcher else {}),
                "hooks": [
                    {
                        "type": "command",
                        "command": machine.make_command(agent, moments=event.moments),
                        "timeout": timeout,
                    }
                ],
            },
        )
        for event in events
    )


def _make_server(machine: Machine, table: str) -> ServerEntry:
    return ServerEntry(table, {"command": machine.irc, "args": ["mcp"]})


def _choose_directory(machine: Machine, project: bool, name: str, variable: str) -> str:
    return os.path.join(machine.cwd, name) if project else machine.find_base(variable, name)


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
