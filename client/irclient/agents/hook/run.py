"""One event in, at most one JSON object out, in time, and always exit code 0.

An agent waits for its hooks, and some read an exit code or a line of text as a refusal. So nothing
may go wrong in the open: no daemon, a late one, a broken event or a fault here all mean silence.
A timer ends the process at the deadline wherever it is; what is written is written in one piece.
"""

from __future__ import annotations

import os
import sys
import time
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

from irclient.agents.hook.options import Options, options

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from irclient.agents.hook.event import Event

# Set it where agents are started by programs that a hook should not speak to, or to switch it off.
SILENCED_BY = "IRDAEMON_NO_HOOK"
_MOST_READ = 4 * 1024 * 1024
_MOST_ASKED = 8_000
_LONGEST_PATH = 4_096
_LONGEST_SESSION = 200
# What starting and ending the process, and a shell around it, take outside of it.
_MARGIN_S = 0.02
# A process that is older did not just start: the two clocks are not the same.
_OLDEST_S = 5.0
# The daemon's share of the time that is left; the rest is for the way there and back.
_DAEMONS_SHARE = 0.6


def main(words: list[str]) -> NoReturn:
    """Answer the event on stdin and end the process with exit code 0."""
    started = time.monotonic() - _age()
    try:
        if wish := _understood(words):
            deadline = started + wish.budget_s - _MARGIN_S
            if _open() and _timer_set(deadline):
                _answer(wish, deadline)
    except BaseException:  # there is nobody to tell
        pass
    os._exit(0)


def _age() -> float:
    """Return for how many seconds this process has been starting; for the agent, that counts.

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


def _understood(words: list[str]) -> Options | None:
    """Return what the command line says; None, and a line on stderr, where it says nothing."""
    try:
        return options(words)
    except ValueError as error:
        if sys.stderr is not None:
            os.write(2, f"irc hook: {error}\n".encode("utf-8", "replace"))
        return None


def _open() -> bool:
    """Say whether to look at the event at all: with both ends open, and not told to be silent."""
    # A closed descriptor's number would be that of the next socket: it must not be written to.
    return sys.stdin is not None and sys.stdout is not None and not os.environ.get(SILENCED_BY)


def _timer_set(deadline: float) -> bool:
    """Have the process end at the deadline; say whether there is time left until then."""
    left = deadline - time.monotonic()
    if left > 0:
        signal(SIGALRM, lambda number, frame: os._exit(0))
        setitimer(ITIMER_REAL, left)
    return left > 0


def _answer(wish: Options, deadline: float) -> None:
    from irclient.fast.light_json import parsed

    agent = _agent(wish.agent)
    given = parsed(_read())
    if not isinstance(given, dict):
        return
    name = given.get("hook_event_name") or given.get("hookEventName") or wish.event
    asked = agent.read(given, name) if isinstance(name, str) else None
    if asked is not None:
        _DOERS[asked.kind](agent, asked, wish, deadline)


def _agent(name: str) -> Any:
    """Return the module of an agent."""
    return __import__(f"irclient.agents.hook.formats.{name}", fromlist=["read"])


def _read() -> bytes:
    """Return stdin to its end; b"" where it is too long, which is read all the same.

    Whoever writes it may not expect to be cut off.
    """
    parts, size = [], 0
    while part := os.read(0, 65_536):
        size += len(part)
        if size <= _MOST_READ:
            parts.append(part)
    return b"".join(parts) if size <= _MOST_READ else b""


def _on_prompt(agent: Any, asked: Event, wish: Options, deadline: float) -> None:
    """Offer what applies, and say so to the daemon once it is written."""
    from irclient.agents.hook.context import MOST_ITEMS, matches

    if not _worth_asking(asked.prompt):
        return
    session = f"{wish.agent}:{asked.session}"[:_LONGEST_SESSION] if asked.session else ""
    left_ms = (deadline - time.monotonic()) * 1e3
    answer = _ask(
        "discover",
        {
            "text": asked.prompt[:_MOST_ASKED],
            "corpora": wish.corpora,
            "select": {"max_k": MOST_ITEMS},
            "session": session,
            "budget_ms": max(1.0, left_ms * _DAEMONS_SHARE),
        },
        deadline,
    )
    context, offered = matches(answer["results"], wish.chars)
    if context:
        _say(agent.written(asked, context))
        if session:
            _tell("impressions", {"session": session, "references": offered}, deadline)


def _worth_asking(prompt: str) -> bool:
    """Say whether a prompt could need something: not a bare command, nor what we said ourselves."""
    words = prompt.split(None, 1)
    bare_command = len(words) == 1 and words[0].startswith("/")
    return bool(words) and not bare_command and not prompt.lstrip().startswith("<irdaemon>")


def _on_start(agent: Any, asked: Event, wish: Options, deadline: float) -> None:
    """Tell what there is to discover."""
    from irclient.agents.hook.context import summary

    told = summary(_ask("status", {}, deadline)["corpora"], wish.chars)
    if told:
        _say(agent.written(asked, told))


def _on_stop(agent: Any, asked: Event, wish: Options, deadline: float) -> None:
    """Have the daemon look at the transcript, if that is among what it indexes anyway."""
    if os.path.isabs(asked.transcript) and len(asked.transcript) <= _LONGEST_PATH:
        _tell("hint", {"path": asked.transcript}, deadline)


def _ask(op: str, args: dict[str, Any], deadline: float) -> Any:
    """Return the daemon's answer. Raises OSError or KeyError where there is none in time."""
    from irclient.fast.packing import same_protocol, unpacked
    from irclient.fast.zmtp import exchange
    from irclient.places import socket_path

    reply = unpacked(exchange(socket_path(), _request(op, args), deadline - time.monotonic()))
    if not same_protocol(reply["v"]):
        raise KeyError("a reply of another version")
    return reply["result"]


def _tell(op: str, args: dict[str, Any], deadline: float) -> None:
    """Send the daemon something that it may do when it has time."""
    from irclient.fast.zmtp import post
    from irclient.places import socket_path

    post(socket_path(), _request(op, args), deadline - time.monotonic())


def _request(op: str, args: dict[str, Any]) -> bytes:
    from irclient.fast.packing import PROTOCOL, packed

    return packed({"v": PROTOCOL, "id": 1, "op": op, "args": args})


def _say(answer: dict[str, Any]) -> None:
    from irclient.fast.light_json import dumped

    os.write(1, dumped(answer).encode("utf-8", "replace"))


_DOERS = {"prompt": _on_prompt, "start": _on_start, "stop": _on_stop}
