"""Plan, show and make the changes for the commands `install` and `uninstall`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from irclient.agents.install.changes import BACKUP, Change
from irclient.agents.install.entries import SettingsFile
from irclient.agents.install.targets import NO_HOOKS, SETTINGS_FILES, find_machine
from irclient.errors import SettingsError
from irclient.terminal.exits import COMMITTED
from irclient.terminal.help import argument, flag
from irclient.terminal.output import note, print_data

# (all that goes into a file, the part that is wanted) -> the change, if there is one
Plan = Callable[[SettingsFile, SettingsFile], Change | None]


AGENT_OPTIONS = (
    argument(
        "agent", choices=tuple(SETTINGS_FILES), metavar="AGENT", help=", ".join(SETTINGS_FILES)
    ),
    flag("--hooks", "only the hooks"),
    flag("--mcp", "only the MCP server"),
    flag("--project", "in the files of the project in this directory"),
    flag("--dry-run", "show the changes, make none"),
)


def plan_changes(options: argparse.Namespace, plan: Plan) -> list[Change]:
    """Return the changes of an agent's files. Raises SettingsError where one cannot be edited."""
    if options.hooks and not options.mcp and options.agent in NO_HOOKS:
        raise SettingsError(f"{options.agent} has no hooks of this kind", NO_HOOKS[options.agent])
    both = options.hooks == options.mcp
    changes = []
    for whole in SETTINGS_FILES[options.agent](find_machine(), options.project):
        part = whole.only(both or options.hooks, both or options.mcp)
        if part.wanted and (change := plan(whole, part)):
            changes.append(change)
    return changes


def apply_changes(options: argparse.Namespace, changes: Sequence[Change], nothing: str) -> int:
    """Make the changes, unless they are only to be shown, and show them; return the exit code.

    Raises SettingsError at the first that cannot be made; those before it are made.
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
        _report(change)


def _report(change: Change) -> None:
    done = "removed" if change.after is None else "wrote"
    kept = f" (as it was before: {change.path}{BACKUP})" if change.backup is not None else ""
    note(f"{done} {change.path}{kept}")
