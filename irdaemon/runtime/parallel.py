"""Child processes that work side by side: each request goes to one of them.

    parallel = Parallel([sys.executable, "-m", "irdaemon.ingest.reader_process"], 3)
    parallel.ask(1, data)
    for number, reply in parallel.replies(0.05): ...

A child runs a program that answers requests, one after the other (see `answer`). It ends with the
thread that started it, and by itself when it was left without a request for a while; then, or when
it was killed, another takes its place, and what it had not answered is asked again. What two
children did not survive is not asked a third time.
"""

from __future__ import annotations

import os
import selectors
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from irclient.errors import Unavailable
from irdaemon.runtime.repeat import LENGTH, next_request, own_streams
from irdaemon.runtime.worker import Child, ProcessLimits, end, start_answering

# How many requests a child has at once: the next lies ready when one is answered.
_AHEAD = 2
_MOST_TRIES = 2
_AT_ONCE = 1 << 20
_UNLIMITED = ProcessLimits(0.0)


@dataclass(slots=True)
class _Request:
    number: int
    data: bytes
    tries: int = 0


@dataclass(slots=True)
class _Working:
    """A child with the requests that it has, the first of which it is working on."""

    child: Child
    asked: deque[_Request] = field(default_factory=deque)
    unsent: bytearray = field(default_factory=bytearray)
    reply: bytearray = field(default_factory=bytearray)


class Parallel:
    """Have requests answered by child processes, `count` at most. One thread uses it.

    A lower `count` ends no child that is there.
    """

    def __init__(self, command: Sequence[str], count: int):
        self._command = command
        self.count = count
        self._working: list[_Working] = []
        self._waiting: deque[_Request] = deque()
        self._answered = False
        self._deaths = 0

    @property
    def is_of_use(self) -> bool:
        """Return whether a child has answered a request."""
        return self._answered

    def ask(self, number: int, data: bytes) -> None:
        """Have a request answered; `number` names its reply."""
        self._waiting.append(_Request(number, data))

    def replies(self, timeout_s: float) -> Iterator[tuple[int, bytes | None]]:
        """Yield the replies that are there, waiting up to `timeout_s` for the first of them.

        The reply is None where no child answered.
        """
        yield from self._hand_out()
        ready = self._ready(timeout_s)
        while ready:
            for working, event in ready:
                if working in self._working:
                    yield from self._moved(working, event)
            yield from self._hand_out()
            ready = self._ready(0.0)

    def forget(self) -> None:
        """Forget what no child has yet; what one is working on is still replied to."""
        self._waiting.clear()

    def end(self) -> None:
        """End all children."""
        while self._working:
            self._drop(self._working[-1])

    def _drop(self, working: _Working) -> None:
        self._working.remove(working)
        end(working.child)

    # -- requests to children --------------------------------------------------------------------

    def _hand_out(self) -> Iterator[tuple[int, None]]:
        """Give waiting requests to children; yield those that none is left to answer."""
        while self._waiting:
            working = self._free()
            if working is None:
                if not self._working:
                    yield from ((each.number, None) for each in self._waiting)
                    self._waiting.clear()
                return
            request = self._waiting.popleft()
            working.asked.append(request)
            working.unsent += len(request.data).to_bytes(LENGTH, "big") + request.data

    def _free(self) -> _Working | None:
        """Return the child with the fewest requests, a new one where each has some."""
        least = min(self._working, key=lambda each: len(each.asked), default=None)
        if (least is None or least.asked) and len(self._working) < self.count:
            least = self._started() or least
        return least if least is not None and len(least.asked) < _AHEAD else None

    def _started(self) -> _Working | None:
        if self._deaths >= _MOST_TRIES and not self._answered:
            return None  # none was ever of use
        try:
            child = start_answering(self._command, _UNLIMITED)
        except OSError:
            return None
        _widen(child)
        self._working.append(_Working(child))
        return self._working[-1]

    # -- bytes -----------------------------------------------------------------------------------

    def _ready(self, timeout_s: float) -> list[tuple[_Working, int]]:
        """Return the children whose pipes can be read or written, waiting for the first."""
        if not self._working:
            return []
        with selectors.DefaultSelector() as selector:
            for working in self._working:
                assert working.child.stdin is not None  # both are pipes
                assert working.child.stdout is not None
                selector.register(working.child.stdout, selectors.EVENT_READ, working)
                if working.unsent:
                    selector.register(working.child.stdin, selectors.EVENT_WRITE, working)
            return [(key.data, event) for key, event in selector.select(timeout_s)]

    def _moved(self, working: _Working, event: int) -> Iterator[tuple[int, bytes | None]]:
        try:
            if event & selectors.EVENT_WRITE:
                _send(working)
            else:
                yield from self._received(working)
        except (BrokenPipeError, Unavailable):
            yield from self._lost(working)

    def _received(self, working: _Working) -> Iterator[tuple[int, bytes]]:
        assert working.child.stdout is not None  # it is a pipe
        part = os.read(working.child.stdout.fileno(), _AT_ONCE)
        if not part:
            raise Unavailable("a child process ended")
        reply = working.reply
        reply += part
        while len(reply) >= LENGTH:
            past = LENGTH + int.from_bytes(reply[:LENGTH], "big")
            if len(reply) < past:
                return
            whole = bytes(memoryview(reply)[LENGTH:past])
            del reply[:past]
            self._answered = True
            yield working.asked.popleft().number, whole

    def _lost(self, working: _Working) -> Iterator[tuple[int, None]]:
        """Have asked again what a child that has ended did not answer."""
        self._drop(working)
        if not working.asked:  # it ended by itself
            return
        self._deaths += 1
        working.asked[0].tries += 1
        if working.asked[0].tries >= _MOST_TRIES:
            yield working.asked.popleft().number, None
        self._waiting.extendleft(reversed(working.asked))


def _send(working: _Working) -> None:
    assert working.child.stdin is not None  # it is a pipe
    with suppress(BlockingIOError):
        sent = os.write(working.child.stdin.fileno(), memoryview(working.unsent)[:_AT_ONCE])
        del working.unsent[:sent]


def _widen(child: Child) -> None:
    """Let a pipe hold a reply that is not read at once: its child goes on with the next request."""
    if sys.platform == "linux":
        from fcntl import F_SETPIPE_SZ, fcntl

        assert child.stdout is not None  # it is a pipe
        with suppress(OSError):  # a user may have only so much of wide pipes
            fcntl(child.stdout, F_SETPIPE_SZ, _AT_ONCE)


def answer(replied: Callable[[bytes], bytes]) -> None:
    """Answer the requests of a Parallel until there are no more: what its program does."""
    requests, replies = own_streams()
    while (data := next_request(requests)) is not None:
        reply = replied(data)
        replies.write(len(reply).to_bytes(LENGTH, "big") + reply)
        replies.flush()
