"""Start child processes: the only module that does.

    run(["systemctl", "--user", "daemon-reload"], ProcessLimits(60.0))

A bounded child is started through `bounded.py`, which sets its limits on itself and becomes the
command: none of our code runs between fork and exec, so it is safe with threads.
"""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from irclient.errors import Unavailable
from irdaemon.runtime import bounded, repeat
from irdaemon.runtime.repeat import LENGTH, read_request, take_streams

Child = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of a child: seconds until it ends, and bytes of address space (0: no limit)."""

    timeout_s: float
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A child that ended by itself: its exit code, and its stdout followed by its stderr."""

    code: int
    output: str


def run(command: Sequence[str], limits: ProcessLimits) -> Finished:
    """Run a command to its end, with empty stdin; on Linux it ends with the waiting thread.

    Raises Unavailable as `run_errand` does.
    """
    errand = Errand(command, b"", None, os.environ)
    printed = run_errand(errand, limits, _MOST_OUTPUT, lambda: True)
    return Finished(printed.code, (printed.out + printed.err).decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Errand:
    """A command with its stdin, its working directory (None: this one) and its environment."""

    command: Sequence[str]
    given: bytes
    cwd: str | None
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Printed:
    """The output of a child that ended by itself, and its exit code."""

    code: int
    out: bytes
    err: bytes


# How often to check whether an errand is still wanted.
_WANTED_EVERY_S = 0.25
_MOST_OUTPUT = 64 << 20
_PIPE_BYTES = 1 << 20


def run_errand(
    errand: Errand, limits: ProcessLimits, most: int, is_wanted: Callable[[], bool]
) -> Printed:
    """Run an errand to its end, in a separate process group.

    Raises Unavailable if the command does not exist, or was killed with all processes that it
    started: for exceeding its time or `most` bytes of output, or because it was no longer wanted.
    """
    child = _start_bounded(errand.command, limits, subprocess.PIPE, errand.cwd, errand.env)
    name = os.path.basename(errand.command[0])
    try:
        out, err = _talk(child, name, errand.given, (limits, most, is_wanted))
    finally:
        end_child(child)
    check_end(child.returncode, name)
    return Printed(child.returncode, out, err)


def _talk(
    child: Child, name: str, given: bytes, bounds: tuple[ProcessLimits, int, Callable[[], bool]]
) -> tuple[bytes, bytes]:
    """Write a child's stdin and read its output until it ends."""
    limits, most, is_wanted = bounds
    assert child.stdin is not None  # all are pipes
    assert child.stdout is not None
    assert child.stderr is not None
    until, unsent = time.monotonic() + limits.timeout_s, bytearray(given)
    printed = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    open_pipes = set(printed)
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdin, selectors.EVENT_WRITE)
        for descriptor in printed:
            ready.register(descriptor, selectors.EVENT_READ)
        while open_pipes:
            if time.monotonic() > until:
                raise Unavailable(f"{name} was killed after {limits.timeout_s:g} s")
            if not is_wanted():
                raise Unavailable(f"{name} was ended: it is no longer wanted")
            found = ready.select(_WANTED_EVERY_S)
            if not found and child.poll() is not None:
                break  # processes started by it still have its streams
            for key, _ in found:
                if key.fileobj is child.stdin:
                    try:
                        _send(child, unsent)
                    except BrokenPipeError:
                        unsent.clear()
                    if not unsent:
                        ready.unregister(child.stdin)
                        child.stdin.close()
                elif part := os.read(key.fd, _PIPE_BYTES):
                    printed[key.fd] += part
                else:
                    ready.unregister(key.fd)
                    open_pipes.discard(key.fd)
            if sum(map(len, printed.values())) > most:
                raise Unavailable(f"{name} was killed after {most:,} bytes of output")
    _wait_for_end(child, until, name, limits)
    out, err = (bytes(each) for each in printed.values())
    return out, err


def _send(child: Child, unsent: bytearray) -> None:
    """Write as many bytes as a child's stdin takes. Raises BrokenPipeError once it is closed."""
    assert child.stdin is not None  # it is a pipe
    with suppress(BlockingIOError):
        sent = os.write(child.stdin.fileno(), memoryview(unsent)[:_PIPE_BYTES])
        del unsent[:sent]


def _wait_for_end(child: Child, until: float, name: str, limits: ProcessLimits) -> None:
    """Wait for a child that has closed its streams."""
    try:
        child.wait(max(_PATIENCE_S, until - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{name} was killed after {limits.timeout_s:g} s") from error


def _start_bounded(
    command: Sequence[str],
    limits: ProcessLimits,
    stderr: int,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Child:
    """Start a limited command with pipes as its stdin, which never blocks, and stdout."""
    limiter = [sys.executable, "-I", "-S", bounded.__file__, str(os.getpid()), str(limits.memory)]
    child = subprocess.Popen(
        [*limiter, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        process_group=0,
        cwd=cwd,
        env=env,
    )
    assert child.stdin is not None  # it is a pipe
    os.set_blocking(child.stdin.fileno(), False)
    return child


def check_end(code: int, name: str) -> None:
    """Raise Unavailable for a child that a signal ended, or whose command does not exist."""
    if code < 0:
        raise Unavailable(f"{name} was killed ({signal.Signals(-code).name})")
    if code == bounded.NOT_FOUND:
        raise Unavailable(f"{name} cannot be started")


def run_on_terminal(command: Sequence[str]) -> int:
    """Run an interactive command, such as an editor; return its exit code.

    Raises Unavailable for a command that does not exist.
    """
    try:
        return subprocess.call(command)
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be started: {error.strerror}") from error


def end_child(child: Child, patience_s: float = 0.0) -> None:
    """Kill a child and its process group unless it has ended, or does so in a moment."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(patience_s)
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def start_answering(command: Sequence[str], limits: ProcessLimits) -> Child:
    """Start a command that answers requests from its stdin, which never blocks, on its stdout.

    The caller enforces the time limit; on Linux it ends with the thread that started it.
    """
    return _start_bounded(command, limits, subprocess.DEVNULL)


def start_detached(command: Sequence[str]) -> Child:
    """Start a command that outlives this process, in a new session, with pipes as its streams."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )


# Child processes that are reused: starting one takes longer than most answers.
#
#     run_program("extract_pdf.py", data, ProcessLimits(20.0, 1024 * MB), most=40 * MB)
#
# A child runs one program (see `repeat`), one request after the other. It is replaced after
# `MOST_REQUESTS` requests or `OLDEST_S`, and after any request that it did not survive. Only that
# request fails; if the child had served others before, it is tried again in a new one, since their
# leftovers may have ended the child. Without requests it ends by itself, and it also ends with the
# process, on Linux with the thread, that started it.

MOST_REQUESTS = 200
OLDEST_S = 120.0
_HEAD = 1 + LENGTH
# How long a child whose pipes have ended may take to end itself, so that its exit code is known.
_PATIENCE_S = 1.0


class _Unanswered(Exception):
    """The program failed, or the child ended before it answered."""


@dataclass(slots=True)
class _Repeating:
    """A child with its program, the number of its requests and its start."""

    child: Child
    program: str
    requests: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def is_worn(self) -> bool:
        """Return whether it should be replaced."""
        return self.requests >= MOST_REQUESTS or time.monotonic() - self.started > OLDEST_S


# By program and limits of memory and output. A child in use is removed from it, so that no two
# threads have the same.
_idle: dict[tuple[str, int, int], _Repeating] = {}


def run_program(program: str, data: bytes, limits: ProcessLimits, most: int) -> bytes:
    """Return the output of a program with `data` as its stdin.

    `program` is a Python file. Raises Unavailable if it fails, exceeds the limit of time or memory,
    or prints more than `most` bytes.
    """
    key = (program, limits.memory, most)
    repeating = _idle.pop(key, None) or _start(program, limits, most)
    try:
        printed = _exchange(repeating, data, limits, most)
    except (_Unanswered, BrokenPipeError) as error:
        end_child(repeating.child, patience_s=_PATIENCE_S)
        if not repeating.requests:
            raise _explain_end(repeating, error) from error
    except BaseException:
        end_child(repeating.child)
        raise
    else:
        _keep(repeating, limits, most)
        return printed
    return run_program(program, data, limits, most)


def end_all() -> None:
    """End the children that wait for a request."""
    while _idle:
        _, repeating = _idle.popitem()
        end_child(repeating.child)


atexit.register(end_all)


def _explain_end(repeating: _Repeating, error: Exception) -> Unavailable:
    """Return why a child that has ended gave no answer."""
    name, code = os.path.basename(repeating.program), repeating.child.returncode
    if isinstance(error, _Unanswered) and str(error):
        return Unavailable(f"{name} {error}")
    try:
        check_end(code, name)
    except Unavailable as known:
        return known
    return Unavailable(f"{name} failed with exit code {code}")


def _start(program: str, limits: ProcessLimits, most: int) -> _Repeating:
    command = [sys.executable, "-P", repeat.__file__, program, str(most)]
    return _Repeating(start_answering(command, limits), program)


def _keep(repeating: _Repeating, limits: ProcessLimits, most: int) -> None:
    """Keep a child for the next request, one for each program."""
    repeating.requests += 1
    key = (repeating.program, limits.memory, most)
    if repeating.is_worn or key in _idle:
        end_child(repeating.child)
    else:
        _idle[key] = repeating


def _exchange(repeating: _Repeating, data: bytes, limits: ProcessLimits, most: int) -> bytes:
    """Send a request and return the output of the program."""
    child, name = repeating.child, os.path.basename(repeating.program)
    assert child.stdin is not None  # both are pipes
    assert child.stdout is not None
    until = time.monotonic() + limits.timeout_s
    unsent = bytearray(len(data).to_bytes(LENGTH, "big") + data)
    reply = bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdin, selectors.EVENT_WRITE)
        ready.register(child.stdout, selectors.EVENT_READ)
        while len(reply) < _HEAD or len(reply) < _HEAD + int.from_bytes(reply[1:_HEAD], "big"):
            left = until - time.monotonic()
            found = ready.select(left) if left > 0 else []
            if not found:
                raise Unavailable(f"{name} was killed after {limits.timeout_s:g} s")
            for key, _ in found:
                if key.fileobj is child.stdin:
                    _send(child, unsent)
                    if not unsent:
                        ready.unregister(child.stdin)
                elif part := os.read(key.fd, _PIPE_BYTES):
                    reply += part
                else:
                    raise _Unanswered
    if reply[:1] == repeat.TOO_MUCH:
        raise Unavailable(f"{name} was killed after {most:,} bytes of output")
    if reply[:1] != repeat.DONE:
        raise _Unanswered("failed with exit code 1")
    return bytes(reply[_HEAD:])


# Child processes that work in parallel: each request goes to one of them.
#
#     parallel = Parallel([sys.executable, "-m", "irdaemon.ingest.reader_process"], 3)
#     parallel.ask(1, data)
#     for number, reply in parallel.replies(0.05): ...
#
# A child runs a program that answers requests, one after the other (see `answer`). It ends with the
# thread that started it, and by itself after a while without a request; then, or if it was killed,
# another takes its place and gets its unanswered requests. A request that two children did not
# survive is not sent a third time.

# How many requests a child has at once: it can go on with the next when it has answered one, even
# while the caller is busy.
_AHEAD = 4
_MOST_TRIES = 2
_UNLIMITED = ProcessLimits(0.0)


@dataclass(slots=True)
class _Request:
    number: int
    data: bytes
    tries: int = 0


@dataclass(slots=True)
class _Working:
    """A child with its requests, of which it works on the first."""

    child: Child
    requests: deque[_Request] = field(default_factory=deque)
    unsent: bytearray = field(default_factory=bytearray)
    reply: bytearray = field(default_factory=bytearray)


class Parallel:
    """Answer requests by at most `count` child processes. One thread uses it.

    A lower `count` ends no child.
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
        """Add a request; `number` identifies its reply."""
        self._waiting.append(_Request(number, data))

    def receive(self, timeout_s: float) -> Iterator[tuple[int, bytes | None]]:
        """Yield the replies, waiting up to `timeout_s` for the first of them.

        The reply is None if no child answered.
        """
        yield from self._send_waiting()
        ready = self._select_ready(timeout_s)
        while ready:
            for working, event in ready:
                if working in self._working:
                    yield from self._move_bytes(working, event)
            yield from self._send_waiting()
            ready = self._select_ready(0.0)

    def forget(self) -> None:
        """Forget the requests that no child has yet; the others still get replies."""
        self._waiting.clear()

    def end(self) -> None:
        """End all children."""
        while self._working:
            self._drop(self._working[-1])

    def _drop(self, working: _Working) -> None:
        self._working.remove(working)
        end_child(working.child)

    # -- requests to children --------------------------------------------------------------------

    def _send_waiting(self) -> Iterator[tuple[int, None]]:
        """Give waiting requests to children; yield those that no child can answer."""
        while self._waiting:
            working = self._find_free()
            if working is None:
                if not self._working:
                    yield from ((each.number, None) for each in self._waiting)
                    self._waiting.clear()
                return
            request = self._waiting.popleft()
            working.requests.append(request)
            working.unsent += len(request.data).to_bytes(LENGTH, "big") + request.data

    def _find_free(self) -> _Working | None:
        """Return the child with the fewest requests, or a new one if all are busy."""
        least = min(self._working, key=lambda each: len(each.requests), default=None)
        if (least is None or least.requests) and len(self._working) < self.count:
            least = self._start_child() or least
        return least if least is not None and len(least.requests) < _AHEAD else None

    def _start_child(self) -> _Working | None:
        if self._deaths >= _MOST_TRIES and not self._answered:
            return None  # no child has ever answered
        try:
            child = start_answering(self._command, _UNLIMITED)
        except OSError:
            return None
        _widen_pipe(child)
        self._working.append(_Working(child))
        return self._working[-1]

    # -- bytes -----------------------------------------------------------------------------------

    def _select_ready(self, timeout_s: float) -> list[tuple[_Working, int]]:
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

    def _move_bytes(self, working: _Working, event: int) -> Iterator[tuple[int, bytes | None]]:
        try:
            if event & selectors.EVENT_WRITE:
                _send(working.child, working.unsent)
            else:
                yield from self._receive_part(working)
        except (BrokenPipeError, Unavailable):
            yield from self._requeue(working)

    def _receive_part(self, working: _Working) -> Iterator[tuple[int, bytes]]:
        assert working.child.stdout is not None  # it is a pipe
        part = os.read(working.child.stdout.fileno(), _PIPE_BYTES)
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
            yield working.requests.popleft().number, whole

    def _requeue(self, working: _Working) -> Iterator[tuple[int, None]]:
        """Queue again the requests that a child did not answer before it ended."""
        self._drop(working)
        if not (requests := working.requests):  # it ended by itself
            return
        self._deaths += 1
        requests[0].tries += 1
        if requests[0].tries >= _MOST_TRIES:
            yield requests.popleft().number, None
        self._waiting.extendleft(reversed(requests))


def _widen_pipe(child: Child) -> None:
    """Let a pipe hold a reply that is read later, so that its child can go on."""
    if sys.platform == "linux":
        from fcntl import F_SETPIPE_SZ, fcntl

        assert child.stdout is not None  # it is a pipe
        with suppress(OSError):  # a user may have a limited number of wide pipes
            fcntl(child.stdout, F_SETPIPE_SZ, _PIPE_BYTES)


def answer(replied: Callable[[bytes], bytes]) -> None:
    """Answer the requests of a Parallel, in its program, until it sends no more."""
    requests, replies = take_streams()
    while (data := read_request(requests)) is not None:
        reply = replied(data)
        replies.write(len(reply).to_bytes(LENGTH, "big") + reply)
        replies.flush()
