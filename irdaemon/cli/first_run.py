"""`irdaemon init`: show what is here, ask at most three questions, set up what was answered.

Questions are asked on a terminal alone. Elsewhere `--yes` sets up without them, and without that
only the configuration file is written. Unanswered questions change nothing: at first past sessions
are indexed, no agent is connected and no model writes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TypeVar

from irclient.agents.install.changes import Change, plan_install
from irclient.agents.install.targets import NOTES, SETTINGS_FILES, Machine, find_machine
from irclient.client import Client
from irclient.errors import IRError, QueryError, SettingsError
from irclient.installation import make_extra_command
from irclient.invisible import spell_hidden
from irclient.nearest import did_you_mean
from irclient.terminal.ending import report_error
from irclient.terminal.exits import DONE, UNHEALTHY, UNREACHABLE
from irclient.terminal.help import argument, command, flag, group
from irclient.terminal.output import can_ask, note, print_line, print_text
from irclient.terminal.tables import shorten
from irdaemon.cli.running import reload_configuration
from irdaemon.cli.starting import check_restart, restart_daemon, start_detached, wait_indexed
from irdaemon.config.addons import call_addons
from irdaemon.config.config import parse_config, read_text, state_dir
from irdaemon.config.corpus import find_known_roots, list_wanted
from irdaemon.config.edit import ConfigFile
from irdaemon.config.sections import PROMPT_WRITERS, Config, PromptsConfig
from irdaemon.config.template import make_config
from irdaemon.daemon.lock import find_holder
from irdaemon.runtime import pool

T = TypeVar("T")

SESSIONS = "sessions"
NONE = "none"
# The first question, if none is given and no skill is there to name.
_EXAMPLE = "review a pull request"
_INTERRUPTED = 130
# The first answer waits no longer for what is being indexed.
_INDEXED_WITHIN_S = 30.0
_MOST_ROOTS = 3
# How many skills of a corpus are tried as an example.
_TRIED = 20
_ABOUT_WRITING = (
    "Let a model write sample prompts, so that items are found in people's own words? It is sent",
    "names, descriptions and first lines of skills, packages and tools, without secrets, never",
    f"sessions or notes: about {PromptsConfig().tokens_a_day:,} tokens a day at most.",
)


@dataclass(frozen=True, slots=True)
class Findings:
    """What there is on this machine: corpora with their roots, agents, writers of prompts.

    `connected` are the agents that are set up already.
    """

    corpora: tuple[tuple[str, tuple[str, ...]], ...]
    agents: tuple[str, ...]
    connected: tuple[str, ...]
    writers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """Which agents to connect, whether sessions are indexed, which agent writes prompts, if any."""

    agents: tuple[str, ...]
    sessions: bool
    writer: str


@command(
    argument("--config FILE", "write it here"),
    flag("--force", "replace an existing file"),
    flag("--print", "print the file, write nothing"),
    flag("--yes", "do not ask: what no option says stays as it is"),
    flag("--if-new", "only where neither a configuration nor an index is here"),
    argument("--fallback FILE", "as of irdaemon start"),
    group(
        "answers",
        argument("--agents NAMES", "connect these, with commas; all, or none"),
        argument("--sessions yes|no", "index past sessions", choices=("yes", "no")),
        argument(
            "--writer NAME",
            f"who writes expected prompts: {', '.join(PROMPT_WRITERS)}, or none",
            choices=(*PROMPT_WRITERS, NONE),
        ),
    ),
    argument("words -- COMMAND", "the first command of irc, such as discover", nargs="*"),
)
def begin(options: argparse.Namespace) -> int:
    """Set it up: at most three questions, and a first answer.

    Show what is found on this machine, ask which coding agents to connect, whether
    past sessions may be indexed and whether a model may write expected prompts, do
    it, answer a first query, and say how to undo each. Nothing is changed before
    the last answer. Without a terminal nothing is asked: with --yes it is set up by
    the options, else only a commented configuration file is written.

    examples:
    # on a terminal: ask, and set it up
    irdaemon init

    # in a script
    irdaemon init --yes --agents claude --sessions no

    # only show the configuration file
    irdaemon init --print
    """
    path, text = make_config(options.config)
    if options.print:
        print_text(text.removesuffix("\n"))
        return DONE
    if options.if_new and (os.path.lexists(path) or os.path.isdir(state_dir())):
        return _report_unreachable()
    asks = can_ask() and not options.yes
    if options.yes or asks:
        return _set_up(options, path, text, asks)
    if options.agents or options.sessions or options.writer or options.words:
        raise QueryError("nothing is set up without a terminal", "add --yes")
    return _write_file(options, path, text)


def _report_unreachable() -> int:
    """Report what `irc` met, which left it to this command to say."""
    try:
        with Client() as client:
            client.ping()
    except IRError as error:
        return report_error("irc", error)
    note("irc: the daemon is there now; ask again")
    return UNREACHABLE


def _write_file(options: argparse.Namespace, path: str, text: str) -> int:
    if not _open_file(path).begin(text, replace=options.force):
        hint = "--force replaces it, --print shows what would be written"
        raise QueryError(f"{path} exists already", hint)
    print_line(path)
    return reload_configuration.run(options) if options.force and _find_running() else DONE


def _open_file(path: str) -> ConfigFile:
    # Not sooner: it loads numpy, for which `start` sets the environment first.
    from irdaemon.daemon.active_config import check_startable

    return ConfigFile(path, check_startable)


# -- what is here ------------------------------------------------------------------------------


def _look_around(config: Config) -> Findings:
    named = [(each.name, tuple(each.roots)) for each in list_wanted(config)]
    corpora = [
        (name, roots or tuple(root.path for root in find_known_roots(name)))
        for name, roots in named
    ]
    here, connected = _find_agents()
    (writers,) = call_addons("init", config.models.make_endpoint()) or ((),)
    return Findings(
        tuple(each for each in corpora if each[1]),
        tuple(agent for agent in here if agent not in connected),
        tuple(connected),
        tuple(writers),
    )


def _find_agents() -> tuple[list[str], list[str]]:
    """Return the agents of this home, and those of them that are connected already."""
    try:
        machine = find_machine()
    except SettingsError as error:
        note(f"irdaemon: no agent can be connected: {error.message}")
        return [], []
    here = [agent for agent in SETTINGS_FILES if _has_agent(machine, agent)]
    return here, [agent for agent in here if _is_connected(machine, agent)]


def _has_agent(machine: Machine, agent: str) -> bool:
    """Return whether an agent has a settings file, or a directory for one, in this home."""
    paths = [file.path for file in SETTINGS_FILES[agent](machine, False)]
    directories = {os.path.dirname(path) for path in paths} - {machine.home}
    return any(map(os.path.exists, [*paths, *directories]))


def _is_connected(machine: Machine, agent: str) -> bool:
    try:
        return not _plan_agent(machine, agent)
    except SettingsError:
        return False


def _plan_agent(machine: Machine, agent: str) -> list[Change]:
    """Return what connects an agent: its hooks and, where the SDK is here, the MCP server.

    Raises SettingsError.
    """
    files = SETTINGS_FILES[agent](machine, False)
    has_sdk = find_spec("mcp") is not None
    parts = [(whole, whole.keep_only(True, has_sdk)) for whole in files]
    planned = [plan_install(whole, part) for whole, part in parts if part.wanted]
    return [change for change in planned if change is not None]


def _show_findings(found: Findings) -> None:
    rows = [(name, _shorten_roots(roots)) for name, roots in found.corpora]
    if found.agents or found.connected:
        connected = [f"{agent} (connected)" for agent in found.connected]
        rows.append(("coding agents", ", ".join([*found.agents, *connected])))
    print_line("found on this machine:" if rows else "nothing to index was found on this machine")
    for name, what in rows:
        print_line(f"  {name:<14}{what}")


def _shorten_roots(roots: Sequence[str]) -> str:
    more = len(roots) - _MOST_ROOTS
    shown = [shorten(root) for root in roots[:_MOST_ROOTS]]
    return ", ".join([*shown, f"{more} more"] if more > 0 else shown)


# -- questions ---------------------------------------------------------------------------------


def _ask_all(found: Findings, given: Answers, options: argparse.Namespace) -> Answers:
    """Ask what no option has answered, where it can be done. Raises EOFError."""
    answers = given
    print_line("Enter takes the answer in brackets; Ctrl-C ends without a change.")
    if options.agents is None and found.agents:
        names = ", ".join(found.agents)
        print_line("")
        print_line(
            "Connect coding agents? A prompt hook offers them at most three items that apply."
        )
        agents = _ask(f"{names}, all or none [none]: ", lambda text: parse_agents(text, found))
        answers = replace(answers, agents=agents)
    if options.sessions is None:
        print_line("")
        print_line("Index past sessions? They stay on this machine; secrets are taken out.")
        brackets = "[Y/n]" if given.sessions else "[y/N]"
        sessions = _ask(f"{brackets}: ", lambda text: _parse_yes(text, given.sessions))
        answers = replace(answers, sessions=sessions)
    if options.writer is None and found.writers:
        print_line("")
        for line in _ABOUT_WRITING:
            print_line(line)
        usual, choices = given.writer or NONE, f"{', '.join(found.writers)} or {NONE}"
        writer = _ask(f"{choices} [{usual}]: ", lambda text: _parse_writer(text, found, given))
        answers = replace(answers, writer=writer)
    print_line("")
    return answers


def _ask(question: str, parse: Callable[[str], T]) -> T:
    """Ask until the answer is understood."""
    while True:
        try:
            return parse(input(f"  {spell_hidden(question)}").strip())
        except QueryError as error:
            print_line(f"  {error.message}")
            print_line(f"  {error.hint}")


def parse_agents(text: str, found: Findings) -> tuple[str, ...]:
    """Return the agents that an answer names. Raises QueryError for an unknown one."""
    names = re.findall(r"[^,\s]+", text.lower()) or [NONE]
    if names in (["all"], ["yes"], ["y"]):
        return found.agents
    if names in ([NONE], ["no"], ["n"]):
        return ()
    for name in names:
        if name not in SETTINGS_FILES:
            near = did_you_mean(name, SETTINGS_FILES)
            raise QueryError(f"no agent is called {name!r}{near}", ", ".join(SETTINGS_FILES))
    return tuple(dict.fromkeys(names))


def _parse_yes(text: str, usual: bool) -> bool:
    answer = {"": usual, "y": True, "yes": True, "n": False, "no": False}.get(text.lower())
    if answer is None:
        raise QueryError("that is no answer", "y or n")
    return answer


def _parse_writer(text: str, found: Findings, given: Answers) -> str:
    name = text.lower() or given.writer or NONE
    if name in ("y", "yes") and len(found.writers) == 1:
        return found.writers[0]
    if name in (NONE, "n", "no"):
        return ""
    if name not in found.writers:
        raise QueryError(f"{name!r} is not here", f"{', '.join(found.writers)} or {NONE}")
    return name


# -- doing it ----------------------------------------------------------------------------------


def _set_up(options: argparse.Namespace, path: str, text: str, asks: bool) -> int:
    config = parse_config((not options.force and read_text(path)) or "", path)
    found, before = _look_around(config), _read_answers(config)
    answers = _take_options(options, found, before)
    print_line(
        "irdaemon indexes what coding agents can use, and says which of it applies to a task."
    )
    _show_findings(found)
    if asks:
        try:
            answers = _ask_all(found, answers, options)
        except (EOFError, KeyboardInterrupt):
            print_line("")
            note("irdaemon: nothing was set up")
            return _INTERRUPTED
    is_replaced = options.force and os.path.lexists(path)
    start, restarts = _make_start(options), is_replaced or replace(answers, agents=()) != before
    if restarts:
        check_restart(start)
    file = _open_file(path)
    begun = file.begin(text, replace=options.force)
    note(f"{path} {'written' if begun else 'kept, but for the answers'}")
    _write_answers(file, before, answers)
    if code := _serve(start, restarts):
        return code
    failed = _connect(answers.agents)
    code = _answer_first(options.words)
    _explain(answers)
    return UNHEALTHY if failed else code


def _read_answers(config: Config) -> Answers:
    """Return what a configuration answers; one without a line is what an empty file is."""
    disabled = [each.name for each in config.corpora if not each.enabled]
    return Answers((), SESSIONS not in disabled, config.prompts.write)


def _take_options(options: argparse.Namespace, found: Findings, before: Answers) -> Answers:
    """Return the answers that options give, with what is so before where they give none."""
    sessions = before.sessions if options.sessions is None else options.sessions == "yes"
    writer = before.writer if options.writer is None else options.writer
    return Answers(
        parse_agents(options.agents or "", found), sessions, "" if writer == NONE else writer
    )


def _write_answers(file: ConfigFile, before: Answers, after: Answers) -> None:
    """Write into the configuration file what the answers change."""
    if after.sessions != before.sessions:
        file.set(f"corpora.{SESSIONS}.enabled", str(after.sessions).lower())
    if after.writer and after.writer != before.writer:
        file.set("prompts.write", after.writer)
    elif before.writer and not after.writer:
        file.unset("prompts.write")


def _find_running() -> bool:
    return find_holder(os.path.join(state_dir(), "lock")) is not None


def _make_start(options: argparse.Namespace) -> argparse.Namespace:
    return argparse.Namespace(
        config=options.config,
        fallback=options.fallback,
        log=None,
        verbose=False,
        serve_only=False,
        wait=False,
    )


def _serve(start: argparse.Namespace, restarts: bool) -> int:
    """Start the daemon, or again where it runs on other answers; wait until most is indexed."""
    code = restart_daemon.run(start) if restarts and _find_running() else start_detached(start)
    return code or wait_indexed(_INDEXED_WITHIN_S)


def _connect(agents: Sequence[str]) -> bool:
    """Connect agents; return whether one could not be."""
    failed = False
    for agent in agents:
        try:
            changes = _plan_agent(find_machine(), agent)
            for change in changes:
                change.make()
        except SettingsError as error:
            failed = True
            note(f"irdaemon: {agent} is not connected: {error.message}")
            continue
        note(f"{agent}: {', '.join(each.path for each in changes) or 'nothing to change'}")
        if agent in NOTES:
            note(f"  {NOTES[agent]}")
        if find_spec("mcp") is None:
            note("  its MCP server needs the MCP SDK, which is not installed:")
            note(f"  {make_extra_command('mcp', 'irclient')}; irc install {agent}")
    return failed


def _answer_first(words: Sequence[str]) -> int:
    """Run the first command of irc, or an example; return the exit code of the former."""
    print_line("")
    asked = list(words) or ["discover", _find_example()]
    if not words:
        print_line(f'$ irc discover "{asked[1]}"')
    code = pool.run_on_terminal([sys.executable, "-P", "-m", "irclient.quick", *asked])
    return code if words else DONE


def _find_example() -> str:
    """Return the name of an indexed skill as a question, since few homes answer any other."""
    with contextlib.suppress(IRError), Client() as client:
        for corpus in client.status().corpora:
            held = client.artifacts(corpus.name, limit=_TRIED) if corpus.kind == "skills" else []
            for each in held:
                if each.name.replace("-", "").isalnum() and each.name[0].isalnum():
                    return each.name
    return _EXAMPLE


def _explain(answers: Answers) -> None:
    """Say how each answer is undone, and what comes next."""
    irc, irdaemon = _spell_programs()
    undoing = list(_list_undoing(irc, irdaemon, answers))
    following = list(_list_next(irc, irdaemon))
    longest = max(len(line) for line, _ in undoing + following)
    for title, rows in (("\nundo", undoing), ("next", following)):
        print_text(f"{title}:")
        for line, meaning in rows:
            print_line(f"  {line:<{longest}}  {meaning}")


def _list_undoing(irc: str, irdaemon: str, answers: Answers) -> Iterator[tuple[str, str]]:
    for agent in answers.agents:
        yield f"{irc} uninstall {agent}", f"disconnect {agent}"
    if answers.sessions:
        yield f"{irc} rm {SESSIONS}", "leave sessions out, and delete what was indexed of them"
    else:
        yield f"{irc} add {SESSIONS}", "index past sessions"
    if answers.writer:
        yield f"{irdaemon} config unset prompts.write", f"{answers.writer} writes no more prompts"
    yield f"{irdaemon} uninstall", "take everything out"


def _list_next(irc: str, irdaemon: str) -> Iterator[tuple[str, str]]:
    yield f'{irc} discover "..."', "ask for what you need"
    yield f"{irc} add notes files ~/notes", "index a directory of documents"
    yield f"{irc} status", "what is indexed, and how fresh it is"
    yield f"{irdaemon} service install", "start it with your session"


def _spell_programs() -> tuple[str, str]:
    """Return how `irc` and `irdaemon` of this installation are typed in a shell here."""
    beside = os.path.dirname(sys.argv[0])
    found = shutil.which("irc")
    if not beside or (
        found and os.path.realpath(os.path.dirname(found)) == os.path.realpath(beside)
    ):
        return "irc", "irdaemon"
    near = os.path.relpath(beside)
    beside = beside if near.startswith("..") else near
    irc, irdaemon = (os.path.join(beside, name) for name in ("irc", "irdaemon"))
    return shlex.quote(irc), shlex.quote(irdaemon)
