"""Coding agents and other programs: `irc hook`, `install`, `uninstall`, `mcp` and `completion`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec

from irclient.agents.hook.moments import EVENTS, MOMENTS, UNSUPPORTED
from irclient.agents.hook.options import AGENTS, BUDGET_MS, CHARS, WORDINGS
from irclient.agents.hook.run import main
from irclient.agents.install.changes import BACKUP, Change, plan_install, plan_uninstall
from irclient.agents.install.command_file import plan_command
from irclient.agents.install.entries import SettingsFile
from irclient.agents.install.targets import NO_HOOKS, NOTES, SETTINGS_FILES, find_machine
from irclient.cli.place import choose_default_place
from irclient.client import Client
from irclient.errors import SettingsError
from irclient.installation import make_extra_command
from irclient.mcp import PROFILES, require_sdk
from irclient.nearest import did_you_mean
from irclient.terminal.completion import SHELL, make_script
from irclient.terminal.exits import COMMITTED
from irclient.terminal.help import add_repeated, argument, command, flag
from irclient.terminal.output import note, print_data, print_text

# Instead of names of moments: switch all of them off.
NO_MOMENTS = "none"

AGENT_OPTIONS = (
    argument("agent AGENT", ", ".join(SETTINGS_FILES), choices=tuple(SETTINGS_FILES)),
    flag("--hooks", "only the hooks"),
    flag("--mcp", "only the MCP server"),
    flag("--prompts-command", "only its command for writing expected prompts"),
    flag("--project", "in the settings of the project in this directory"),
    flag("--dry-run", "show the changes without making them"),
)


@command(
    argument(
        "--agent AGENT",
        f"the agent that sends it: {', '.join(AGENTS)}",
        choices=AGENTS,
        required=True,
    ),
    argument("--event NAME", "the event, if its JSON does not name it", default=""),
    add_repeated("-c --corpus CORPUS", "search only this corpus"),
    argument(
        "--budget-ms N",
        f"give no answer after N ms in all ({BUDGET_MS}, or IRDAEMON_HOOK_BUDGET_MS)",
        default="",
    ),
    argument("--chars N", f"write at most N characters ({CHARS:,})", default=""),
    argument(
        "--wording NAME",
        "facts (the default), advice, or both, each for half the sessions",
        choices=WORDINGS,
        default="",
    ),
    argument("--moments NAMES", "the moments this handler is for", default=""),
)
def answer_hook(client: Client, options: argparse.Namespace) -> int:
    """Answer a coding agent's hook event (`irc install` sets it up).

    Answer one hook event of a coding agent: JSON on stdin, one JSON object or
    nothing on stdout, within the budget, always with exit code 0. `irc install`
    writes the command into an agent's settings.

    examples:
    # what Claude Code would be given at a prompt
    irc hook --agent claude < event.json
    """
    words = ["--agent", options.agent, "--event", options.event]
    words += ["--budget-ms", options.budget_ms, "--chars", options.chars]
    words += ["--wording", options.wording, "--moments", options.moments]
    for corpus in options.corpus:
        words += ["--corpus", corpus]
    main(words)


@command(
    *AGENT_OPTIONS,
    argument(
        "--moments NAMES",
        f"also answer at these moments, separated by commas: {', '.join(MOMENTS)}, or"
        f" {NO_MOMENTS} (unchanged)",
    ),
)
def install_agent(client: Client, options: argparse.Namespace) -> int:
    """Set up a coding agent: its hooks and the MCP server.

    Write the hooks and the MCP server into a coding agent's own settings, and show
    the difference. Comments, order and layout stay, and a copy of the previous file
    is kept beside it. Run it again after an upgrade: entries that are up to date
    are left alone.

    examples:
    # see what would change
    irc install claude --dry-run

    # only the server, for the project in this directory
    irc install codex --mcp --project

    # also after a compaction, and when a sub-agent starts
    irc install claude --moments compact,subagent

    # its command /irdaemon-prompts
    irc install claude --prompts-command
    """
    changes = plan_changes(options, plan_install, parse_moments(options))
    code = apply_changes(options, changes, f"{options.agent} is set up already")
    if options.prompts_command:
        return code
    if changes and options.agent in NOTES:
        note(NOTES[options.agent])
    if (options.mcp or not options.hooks) and find_spec("mcp") is None:
        note("irc: the MCP server cannot start: the MCP SDK is not installed")
        note(f"     {make_extra_command('mcp', 'irclient')}")
    return code


@command(*AGENT_OPTIONS)
def uninstall_agent(client: Client, options: argparse.Namespace) -> int:
    """Undo `irc install`.

    Remove from a coding agent's settings what `irc install` added. A file without
    other changes becomes what it was, byte for byte.

    examples:
    # remove hooks and server
    irc uninstall claude
    """
    changes = plan_changes(options, plan_uninstall)
    return apply_changes(options, changes, f"no entries of ours are set up for {options.agent}")


@command(
    argument(
        "--profile PROFILE",
        "discover: the tools discover and disclose; library: also tools to search and read"
        " documents; prompts: also tools to write expected prompts (discover)",
        choices=PROFILES,
        default="discover",
    ),
)
def serve_mcp(client: Client, options: argparse.Namespace) -> int:
    """Serve MCP clients over stdin and stdout.

    Serve clients of the Model Context Protocol over stdin and stdout: two tools,
    discover and disclose, and items as resources. Needs the extra irclient[mcp].

    examples:
    # let Claude Code start it
    claude mcp add --scope user irdaemon -- irc mcp

    # with tools to search and read documents
    irc mcp --profile library
    """
    require_sdk()
    from irclient.mcp.daemon import DaemonCaller
    from irclient.mcp.server import make_server, serve

    caller = DaemonCaller(client.endpoint, client.timeout, choose_default_place())
    serve(make_server(options.profile, caller))
    return COMMITTED


@command(SHELL)
def print_completion(client: Client, options: argparse.Namespace) -> int:
    """Print a shell completion script for irc.

    Print a script that makes bash, zsh or fish complete commands, options and their
    values, files, and the names of the daemon's corpora.

    examples:
    # bash: into the directory that bash-completion reads
    irc completion bash > ~/.local/share/bash-completion/completions/irc

    # zsh: into a directory of $fpath
    irc completion zsh > ~/.zsh/completions/_irc

    # fish
    irc completion fish > ~/.config/fish/completions/irc.fish
    """
    print_text(make_script(options.program, options.shell))
    return COMMITTED


# (all our entries of a file, the wanted part of them) -> the change, if there is one
Plan = Callable[[SettingsFile, SettingsFile], Change | None]


def parse_moments(options: argparse.Namespace) -> tuple[str, ...] | None:
    """Return the moments to switch on, None to leave them unchanged.

    Raises SettingsError for a moment that does not exist, or not for this agent.
    """
    if options.moments is None:
        return None
    if options.prompts_command or (options.mcp and not options.hooks):
        raise SettingsError("--moments is about hooks", "leave the other option out")
    names = [name.strip() for name in options.moments.split(",") if name.strip()]
    if options.agent in NO_HOOKS and names != [NO_MOMENTS]:
        raise SettingsError(f"{options.agent} has no hooks of this kind", NO_HOOKS[options.agent])
    for name in names if names != [NO_MOMENTS] else ():
        if name not in MOMENTS:
            near = did_you_mean(name, MOMENTS)
            raise SettingsError(f"no moment is called {name!r}{near}", f"use {', '.join(MOMENTS)}")
        if options.agent not in EVENTS[name]:
            raise SettingsError(
                f"{options.agent} has no events for the moment {name}",
                UNSUPPORTED[name, options.agent],
            )
    return tuple(moment for moment in MOMENTS if moment in names)


def plan_changes(
    options: argparse.Namespace, plan: Plan, moments: tuple[str, ...] | None = None
) -> list[Change]:
    """Plan the changes of an agent's files; `moments` None leaves those unchanged.

    Raises SettingsError if a file cannot be edited.
    """
    # The command file is written only on request, but removed with everything else.
    command_alone, installs = options.prompts_command, plan is plan_install
    changes: list[Change] = []
    if command_alone or not (installs or options.hooks or options.mcp):
        machine = find_machine()
        change = plan_command(options.agent, machine, options.project, wanted=installs)
        changes += [change] if change else []
    if command_alone:
        return changes
    settings = _plan_settings(options, plan, moments)
    # The file that a directory was made for is the last of those in it to be taken away.
    return changes + (settings if installs else settings[::-1])


def _plan_settings(
    options: argparse.Namespace, plan: Plan, moments: tuple[str, ...] | None
) -> list[Change]:
    if options.hooks and not options.mcp and options.agent in NO_HOOKS:
        raise SettingsError(f"{options.agent} has no hooks of this kind", NO_HOOKS[options.agent])
    both = options.hooks == options.mcp
    changes: list[Change] = []
    machine = replace(find_machine(), moments=moments)
    for whole in SETTINGS_FILES[options.agent](machine, options.project):
        part = whole.keep_only(both or options.hooks, both or options.mcp)
        if part.wanted and (change := plan(whole, part)):
            changes.append(change)
    return changes


def apply_changes(options: argparse.Namespace, changes: Sequence[Change], nothing: str) -> int:
    """Make the changes, unless it is a dry run, and show them; return the exit code.

    Raises SettingsError at the first change that fails; the earlier ones are made.
    """
    made: list[Change] = []
    try:
        for change in changes if not options.dry_run else ():
            change.make()
            made.append(change)
    except SettingsError:
        if made:
            _show(options, made)
        raise
    _show(options, changes)
    if not changes:
        note(nothing)
    elif options.dry_run:
        note("nothing was written")
    return COMMITTED


def _show(options: argparse.Namespace, changes: Sequence[Change]) -> None:
    rows = [{"path": each.path, "diff": "\n".join(each.diff())} for each in changes]
    print_data(options, rows, lambda rows: "\n".join(each["diff"] for each in rows))
    for change in changes if not options.dry_run else ():
        done = "removed" if change.after is None else "wrote"
        kept = f" (previous version: {change.path}{BACKUP})" if change.backup is not None else ""
        note(f"{done} {change.path}{kept}")
