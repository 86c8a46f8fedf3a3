"""One event in, at most one JSON object out, in time, and always exit code 0.

An agent waits for its hooks, and some read an exit code or a line of text as a refusal. So no error
is shown: no daemon, a slow one, a malformed event or an exception here all mean no output. A timer
ends the process at the deadline wherever it is; the answer is written in one system call.
"""

from __future__ import annotations

import os
import sys
import time
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

from irclient.agents.hook.event import HookEvent, make_answer, read_event
from irclient.agents.hook.options import ADVICE, HookOptions, parse_options

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from irclient.fast.zmtp import ZmtpLine

# Set it to disable the hook, or for agents that are run by programs.
SILENCED_BY = "IRDAEMON_NO_HOOK"
_MOST_READ = 4 * 1024 * 1024
_MOST_ASKED = 8_000
_LONGEST_PATH = 4_096
_LONGEST_SESSION = 200
# The time that starting and ending the process, and a shell around it, take outside of it.
_MARGIN_S = 0.02
# If the process seems older, the two clocks differ.
_OLDEST_S = 5.0
# The daemon's share of the time that is left; the rest is for sending and receiving.
_DAEMONS_SHARE = 0.6


def main(words: list[str]) -> NoReturn:
    """Answer the event on stdin and end the process with exit code 0."""
    started = time.monotonic() - _measure_age()
    try:
        if options := _parse(words):
            deadline = started + options.budget_s - _MARGIN_S
            if _is_enabled() and _set_timer(deadline):
                _answer(options, deadline)
    except BaseException:  # an agent could take output for a refusal
        pass
    os._exit(0)


def _measure_age() -> float:
    """Return how many seconds this process took to start, which the agent waits for, too.

    Where the system does not say, the processor's time is what it was at least.
    """
    try:
        stat = os.open("/proc/self/stat", os.O_RDONLY)
        ticks = int(os.read(stat, 1_024).rpartition(b")")[2].split()[19])
        os.close(stat)
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return age if time.process_time() <= age < _OLDEST_S else time.process_time()
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()


def _parse(words: list[str]) -> HookOptions | None:
    """Return the options of the command line; None, and a line on stderr, if it is wrong."""
    try:
        return parse_options(words)
    except ValueError as error:
        if sys.stderr is not None:
            os.write(2, f"irc hook: {error}\n".encode("utf-8", "replace"))
        return None


def _is_enabled() -> bool:
    """Return whether to read the event: stdin and stdout are open, and the hook is enabled."""
    # The next socket would get a closed descriptor's number: it must not be written to.
    return sys.stdin is not None and sys.stdout is not None and not os.environ.get(SILENCED_BY)


def _set_timer(deadline: float) -> bool:
    """End the process at the deadline; return whether any time is left until then."""
    left = deadline - time.monotonic()
    if left > 0:
        signal(SIGALRM, lambda number, frame: os._exit(0))
        setitimer(ITIMER_REAL, left)
    return left > 0


def _answer(options: HookOptions, deadline: float) -> None:
    from irclient.fast.light_json import parse_json

    try:
        given = parse_json(_read())
        name = given.get("hook_event_name") or given.get("hookEventName") or options.event
        if not (isinstance(name, str) and name):
            raise TypeError("an event without a name")
        event = None
        if options.moments:
            from irclient.agents.hook.moments import read_moment  # rarely needed

            event = read_moment(options.moments, options.agent, given, name)
        event = event or read_event(options.agent, given, name)
        if event is not None and event.kind == "prompt" and not isinstance(given["prompt"], str):
            raise TypeError("a prompt that is no text")
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        _note_bad(options, deadline)
        return
    if event is not None:
        _HANDLERS[event.kind](event, options, deadline)


def _note_bad(options: HookOptions, deadline: float) -> None:
    """Report an event to the daemon that is cut, too long, or malformed."""
    moment = options.moments[0] if options.moments else "prompt"
    counted = {"agent": options.agent, "moment": moment, "outcome": "bad"}
    _tell("note_moment", counted, deadline)


def _read() -> bytes:
    """Return stdin to its end; b"" if it is too long.

    It is read to the end all the same: the agent may not expect a closed pipe.
    """
    parts, size = [], 0
    while part := os.read(0, 65_536):
        size += len(part)
        if size <= _MOST_READ:
            parts.append(part)
    return b"".join(parts) if size <= _MOST_READ else b""


def _on_prompt(event: HookEvent, options: HookOptions, deadline: float) -> None:
    """Write the items that apply, then report them to the daemon as shown."""
    from irclient.agents.hook.context import (
        MOST_ITEMS,
        choose_variant,
        format_matches,
        make_advice,
    )
    from irclient.places import check_place, may_be_noted

    if not _is_worth_asking(event.prompt):
        return
    session = _name_session(event, options)
    variant = choose_variant(options.wording, session)
    left_ms = (deadline - time.monotonic()) * 1e3
    answer, line = _ask(
        "discover",
        {
            "text": event.prompt[:_MOST_ASKED],
            "corpora": options.corpora,
            "select": {"max_k": MOST_ITEMS},
            "session": session,
            "noted": may_be_noted(event.cwd),
            "variant": variant,
            "budget_ms": max(1.0, left_ms * _DAEMONS_SHARE),
            "place": check_place(event.cwd),
        },
        deadline,
    )
    fresh = answer.get("freshness", {})
    unread = [f"the project {fresh['reading']}"] if fresh.get("reading") else []
    building = [*fresh.get("building", ()), *unread]
    added = _describe_cut(answer, event.prompt)
    added += make_advice(answer, options.agent) if variant == ADVICE and answer["results"] else ""
    context, offered = format_matches(answer["results"], options.chars, building, added)
    if context:
        _write(make_answer(options.agent, event, context))
        if session:
            # On the same connection: a new one takes half as long as the answer.
            line.put(_request("impressions", {"session": session, "references": offered}))


def _describe_cut(answer: Any, prompt: str) -> str:
    """Return a sentence on how much of a prompt was searched for, "" for all of it."""
    sent = min(len(prompt), _MOST_ASKED)
    searched = answer.get("signals", {}).get("cut", {}).get("characters", sent)
    if searched >= len(prompt):
        return ""
    return f" Only the first {searched:,} of the prompt's {len(prompt):,} characters were searched."


def _is_worth_asking(prompt: str) -> bool:
    """Return whether a prompt could need an item: it is no bare command or answer of this hook."""
    words = prompt.split(None, 1)
    bare_command = len(words) == 1 and words[0].startswith("/")
    return bool(words) and not bare_command and not prompt.lstrip().startswith("<irdaemon>")


def _on_start(event: HookEvent, options: HookOptions, deadline: float) -> None:
    """Write what is indexed."""
    from irclient.agents.hook.context import format_summary

    state, _ = _ask("status", {}, deadline)
    context = format_summary(state["corpora"], options.chars)
    if context:
        _write(make_answer(options.agent, event, context))


def _on_stop(event: HookEvent, options: HookOptions, deadline: float) -> None:
    """Ask the daemon to scan the transcript, which it does if an indexed root contains it."""
    if os.path.isabs(event.transcript) and len(event.transcript) <= _LONGEST_PATH:
        _tell("hint", {"path": event.transcript}, deadline)


def _on_restore(event: HookEvent, options: HookOptions, deadline: float) -> None:
    """Write what the session used and may need again, or, after a compaction, what is indexed."""
    from irclient.agents.hook.moments import COMPACTED, format_used
    from irclient.places import check_place

    session, place = _name_session(event, options), check_place(event.cwd)
    given = {"session": session, "transcript": event.transcript[:_LONGEST_PATH], "place": place}
    items, line = _ask("resume_session", given, deadline)
    context, named = format_used(items, event.source)
    if context:
        _write(make_answer(options.agent, event, context))
        line.put(_request("impressions", {"session": session, "references": named}))
    elif event.source == COMPACTED:
        _on_start(event, options, deadline)


def _on_task(event: HookEvent, options: HookOptions, deadline: float) -> None:
    """Store the task of a sub-agent at the daemon until the sub-agent starts."""
    kept = {"agent_type": event.agent_type, "task": event.task[:_MOST_ASKED]}
    _tell("expect_subagent", {"session": _name_session(event, options), **kept}, deadline)


def _on_take(event: HookEvent, options: HookOptions, deadline: float) -> None:
    """Write the items that apply to the task of a starting sub-agent."""
    from irclient.agents.hook.context import format_matches
    from irclient.places import check_place, may_be_noted

    left_ms = (deadline - time.monotonic()) * 1e3
    given = {
        "session": _name_session(event, options),
        "agent_type": event.agent_type,
        "noted": may_be_noted(event.cwd),
        "place": check_place(event.cwd),
        "budget_ms": max(1.0, left_ms * _DAEMONS_SHARE),
    }
    answer, _ = _ask("discover_task", given, deadline)
    context, _ = format_matches(answer["results"], options.chars, asked="task")
    if context:
        _write(make_answer(options.agent, event, context))


def _on_failed(event: HookEvent, options: HookOptions, deadline: float) -> None:
    """Write how the error of a failed command went away in an earlier session, if it did."""
    from irclient.agents.hook.failure import format_cure
    from irclient.places import may_be_noted

    given = {
        "command": event.command,
        "output": event.output,
        "session": _name_session(event, options),
        "sure": event.is_sure,
        "noted": may_be_noted(event.cwd),
    }
    found, _ = _ask("find_cure", given, deadline)
    if found:
        at = time.localtime(found[0]["at"])
        _write(make_answer(options.agent, event, format_cure(found[0], time.localtime(), at)))


def _name_session(event: HookEvent, options: HookOptions) -> str:
    return f"{options.agent}:{event.session}"[:_LONGEST_SESSION] if event.session else ""


def _ask(op: str, args: dict[str, Any], deadline: float) -> tuple[Any, ZmtpLine]:
    """Return the daemon's answer and its connection.

    Raises OSError or KeyError if there is none in time.
    """
    from irclient.fast.packing import is_same_protocol, unpack
    from irclient.fast.zmtp import ZmtpLine
    from irclient.places import socket_path

    line = ZmtpLine(deadline - time.monotonic())
    line.send(socket_path(), _request(op, args))
    reply = unpack(line.read_reply())
    if not is_same_protocol(reply["v"]):
        raise KeyError("a reply of another version")
    return reply["result"], line


def _tell(op: str, args: dict[str, Any], deadline: float) -> None:
    """Send the daemon a request without waiting for the reply."""
    from irclient.fast.zmtp import post
    from irclient.places import socket_path

    post(socket_path(), _request(op, args), deadline - time.monotonic())


def _request(op: str, args: dict[str, Any]) -> bytes:
    from irclient.fast.packing import PROTOCOL, pack

    return pack({"v": PROTOCOL, "id": 1, "op": op, "args": args})


def _write(answer: dict[str, Any]) -> None:
    from irclient.fast.light_json import dump_json

    os.write(1, dump_json(answer).encode("utf-8", "replace"))


_HANDLERS = {
    "prompt": _on_prompt,
    "start": _on_start,
    "stop": _on_stop,
    "restore": _on_restore,
    "task": _on_task,
    "take": _on_take,
    "failed": _on_failed,
}
