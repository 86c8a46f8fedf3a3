"""`irc`: ask the daemon.

Data goes to stdout, everything else to stderr. The exit codes are in `irclient.terminal.exits`.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Sequence

from irclient import __version__
from irclient.client import Client
from irclient.errors import IRError, Unreachable
from irclient.terminal.ending import report_error, run_program
from irclient.terminal.help import (
    Parser,
    add_output,
    add_output_of_action,
    choose_commands,
    group_commands,
    load_command,
    make_parser,
    parse_options,
)
from irclient.terminal.output import can_ask, flush_output
from irclient.terminal.width import escape_unencodable

# The function of each command: only the module of the command that runs is imported.
COMMANDS = {
    "discover": "irclient.cli.asking:discover_items",
    "search": "irclient.cli.asking:search_items",
    "explain": "irclient.cli.explain:explain_answer",
    "eval": "irclient.cli.evaluate:evaluate_answers",
    "disclose": "irclient.cli.asking:disclose_items",
    "open": "irclient.cli.opening:open_item",
    "sessions": "irclient.cli.sessions:list_sessions",
    "here": "irclient.cli.projects:show_project",
    "projects": "irclient.cli.projects:manage_projects",
    "ls": "irclient.cli.corpora:list_corpora",
    "info": "irclient.cli.corpora:describe_corpus",
    "records": "irclient.cli.corpora:list_records",
    "artifacts": "irclient.cli.corpora:list_artifacts",
    "status": "irclient.cli.status:show_status",
    "audit": "irclient.cli.corpora:audit_items",
    "coverage": "irclient.cli.corpora:measure_coverage",
    "usage": "irclient.cli.use:report_usage",
    "prompts": "irclient.cli.prompts:manage_prompts",
    "gaps": "irclient.cli.use:report_gaps",
    "listing": "irclient.cli.use:report_listing",
    "top": "irclient.cli.top:watch_daemon",
    "web": "irclient.cli.web:serve_page",
    "add": "irclient.cli.indexing:add_corpus",
    "rm": "irclient.cli.indexing:remove_corpus",
    "build": "irclient.cli.indexing:build_corpora",
    "maintain": "irclient.cli.indexing:maintain_corpora",
    "hint": "irclient.cli.indexing:hint_change",
    "docs": "irclient.cli.documents:manage_documents",
    "mute": "irclient.cli.preferences:mute_item",
    "pin": "irclient.cli.preferences:pin_item",
    "impressions": "irclient.cli.use:list_impressions",
    "hook": "irclient.cli.agents:answer_hook",
    "install": "irclient.cli.agents:install_agent",
    "uninstall": "irclient.cli.agents:uninstall_agent",
    "wait": "irclient.cli.indexing:await_generation",
    "events": "irclient.cli.status:print_events",
    "ping": "irclient.cli.status:ping_daemon",
    "mcp": "irclient.cli.agents:serve_mcp",
    "completion": "irclient.cli.agents:print_completion",
}
# Headings of groups in the list of commands, by the first command of each.
HEADINGS = {
    "discover": "ask",
    "here": "look at what is indexed",
    "add": "change what is indexed",
    "mute": "set up coding agents",
    "wait": "for scripts",
}
# Their output is not primarily for people, so it has only one format.
NO_DATA = ("hook", "mcp", "web", "completion")
# Commands that never ask anything, even on a terminal.
FOR_SCRIPTS = ("hook", "mcp", "wait", "events", "ping", "completion")
# Commands that exist elsewhere: those of the daemon, and those of `ir`.
_DAEMONS = (
    *("start", "restart", "stop", "logs", "check", "backup", "restore", "compact", "backend"),
    *("init", "config", "fetch", "tools", "keys", "reload", "service", "doctor", "version"),
)
ELSEWHERE = {
    **{name: f"irdaemon {name}" for name in _DAEMONS},
    "eval-select": "irc eval select CASES.jsonl -c CORPUS",
    "sweep-select": "irc eval sweep CASES.jsonl -c CORPUS",
}
_NO_OPTION = re.compile(r"-(?:[^\w-]|-\W|-?\Z)")
_BEFORE_ACTION = {"--json": 1, "--timeout": 2}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    return run_program("irc", lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    escape_unencodable()
    options = parse_options(make_program(words), complete_words(words))
    try:
        with Client(timeout=options.timeout) as client:
            code: int = options.run(client, options)
            return code
    except IRError as error:
        if type(error) is Unreachable and not options.json:
            set_up_first(words)
        return report_error("irc", error, options.json)


def set_up_first(words: Sequence[str]) -> None:
    """Replace this process by `irdaemon init` if a person may be using irc for the first time.

    That runs the command line in the end, or reports that no daemon runs. Returns if no
    terminal can answer questions, the daemon is not of this installation, or the command is for
    scripts.
    """
    elsewhere = any(os.environ.get(name) for name in ("IRDAEMON_SOCKET", "IRDAEMON_TOKEN"))
    program = os.path.join(os.path.dirname(sys.executable), "irdaemon")
    if words[0] in FOR_SCRIPTS or elsewhere or not can_ask() or not os.access(program, os.X_OK):
        return
    flush_output()
    with contextlib.suppress(OSError):
        os.execv(program, [program, "init", "--if-new", "--", *words])


def complete_words(words: Sequence[str]) -> list[str]:
    """Fill in the action and the level of disclosure that a command line leaves out."""
    written = list(words)
    if written[:1] == ["eval"]:
        at = 1
        while at < len(written) and (taken := _BEFORE_ACTION.get(written[at])):
            at += taken
        actions = load_command(COMMANDS["eval"]).actions
        if at < len(written) and written[at] not in (*actions, "-h", "--help"):
            written.insert(1, "run")
    if written[:1] == ["search"] and "--exact" in written and "--" not in written:
        # An exact text may look like an option without being one: `->`.
        written[-1:] = ["--"] * bool(_NO_OPTION.match(written[-1])) + written[-1:]
    for at, word in enumerate(written):
        after = written[at + 1 : at + 2]
        # --disclose has no value at the end, before an option, and before a quoted query.
        if word == "--disclose" and (not after or after[0].startswith("-") or " " in after[0]):
            written[at] = "--disclose=body"
    return written


def make_program(words: Sequence[str] = ()) -> Parser:
    """Return the parser of all commands, or of only the one that `words` begin with."""
    irc = make_parser("irc", _ABOUT, _MORE)
    irc.elsewhere = ELSEWHERE
    irc.add_argument("--version", action="version", version=f"irc {__version__}")
    commands = irc.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in choose_commands(words, COMMANDS):
        page = load_command(COMMANDS[name]).add_to(commands, name, add_output_of_action)
        add_output(page, name not in NO_DATA)
    group_commands(commands, HEADINGS)
    return irc


_ABOUT = """\
Find out which skills, packages, past sessions and documents on this machine
apply to a task. The daemon irdaemon keeps them indexed while they change; irc
asks it, for you or for a coding agent."""
_MORE = """\
irc COMMAND --help has the options of a command, with examples.

words:
  corpus      what is indexed as one: skills, packages, a directory of notes
  artifact    an item of a corpus: a skill, a document; CORPUS/ID names it
  record      a piece of an artifact that queries are matched with
  generation  the number of a state of the index; each change raises it
  floor       the score below which a corpus gives no answer

exit codes:
  0   something applies, or done
  1   abstained: nothing applies
  2   wrong usage, query or configuration
  3   the daemon is too slow or not running (irdaemon start --detach)
  4   unknown corpus or artifact, or nothing indexed
  5   unhealthy (a corpus is stale or offline), or not done in full
  6   a measure below its --fail-under, or a regression
  70  a bug in irc or the daemon
  74  the output cannot be written

environment:
  IRDAEMON_SOCKET   the path of the daemon's socket, if it is not the default
  IRDAEMON_USAGE    0: queries are not recorded in the log of use
  NO_COLOR          no colours, even on a terminal
  FORCE_COLOR       colours, even if stdout is no terminal; 0: none
  FORCE_HYPERLINK   paths as links, whatever the terminal; 0: none
  COLUMNS           how wide lines may be, if not as wide as the terminal

examples:
  # what applies here?
  irc discover "fill in a PDF form"

  # what is indexed, and is it up to date?
  irc status
"""


if __name__ == "__main__":
    raise SystemExit(main())
