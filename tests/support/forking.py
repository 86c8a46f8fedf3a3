"""Processes of the product that begin where its imports have ended.

Importing numpy and the rest takes longer than most tests. One process a test run does it, has no
thread, and forks for each `ForkedProcess`, which then runs a module much as a new interpreter
would: `__main__`, environment, directory, streams and exit are its own. The seed of hashes and the
modules that are loaded already are shared: tests of starts and imports set `home.forks = False`.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_STATUS = struct.Struct("i")
_LARGEST_REQUEST = 1 << 17
# What an interpreter and its libraries read when they start: where it differs there is a new one.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC_", "LD_", "OPENBLAS_", "OMP_", "MKL_")
_IMPORTED_LATER = (
    "apscheduler.schedulers.background", "bm25s", "markdown_it", "pathspec", "rapidfuzz", "tomlkit",
    "watchdog.observers",
)  # fmt: skip
# What a new process closed by number: were it released, it would close what has that number then.
_CLOSED: list[object] = []
_NOT_IMPORTED = (
    *("irclient.agents.hook.start", "irclient.hook.start", "irdaemon.__main__"),  # they run at once
    *("irclient.quick", "irdaemon.contrib.backends.qdrant"),
)


def make_environment() -> dict[str, str]:
    """Return the environment of a process that imports this checkout and nothing of the user's."""
    paths = [str(ROOT), str(ROOT / "client"), os.environ.get("PYTHONPATH", "")]
    outer = ("XDG_", "IRDAEMON_", "COLUMNS", "LINES")
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(outer)},
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        # Compiling what a daemon imports takes as long as all else of its start.
        "PYTHONDONTWRITEBYTECODE": "",
    }


def start_module(
    module: str, words: Sequence[str], env: Mapping[str, str], **how
) -> subprocess.Popen:
    """Start `python -m MODULE WORDS`, forked where that makes no difference."""
    if sys.platform.startswith("linux") and _select_start(env) == _select_start(make_environment()):
        return ForkedProcess([module, *words], env=env, **how)
    return subprocess.Popen([sys.executable, "-m", module, *words], env=env, **how)


def _select_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in env if name.startswith(_READ_AT_START)}


class ForkedProcess(subprocess.Popen):
    """A Popen whose process is forked from one that has imported the product."""

    def _execute_child(
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, flags,
        shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *rest,
    ):  # fmt: skip
        if preexec_fn or pass_fds or shell:
            raise NotImplementedError("a forked process has none of these")
        given = enumerate((p2cread, c2pwrite, errwrite))
        streams = [own if number == -1 else number for own, number in given]
        request = {"words": args, "env": dict(env), "cwd": os.path.abspath(cwd or ".")}
        self._report, report = socket.socketpair()
        with report:
            message = json.dumps(request).encode()
            assert len(message) < _LARGEST_REQUEST, "too many words for a forked process"
            socket.send_fds(_start_server(), [message], [*streams, report.fileno()])
        self.pid = self._receive()
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _receive(self) -> int:
        received = self._report.recv(_STATUS.size)
        assert received, "the process that forks is gone"
        return _STATUS.unpack(received)[0]

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        return self._end(0)

    def _wait(self, timeout: float | None) -> int:
        if self._end(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def _end(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], timeout)[0]:
            self.returncode = self._receive()
            self._report.close()
        return self.returncode


@functools.cache
def _start_server() -> socket.socket:
    """Start the process that forks; return the connection for requests, each one message."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST_REQUEST * 2)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            env=make_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()], cwd=ROOT,
        )  # fmt: skip

    @atexit.register
    def end() -> None:
        ours.close()
        server.wait()

    return ours


def _import_all() -> None:
    # As a daemon's start does; see irdaemon.cli.starting.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    for package in map(importlib.import_module, ("irclient", "irdaemon")):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.startswith(_NOT_IMPORTED):
                with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
                    importlib.import_module(module.name)
    for name in _IMPORTED_LATER:
        importlib.import_module(name)


def _serve(requests: socket.socket) -> dict:
    """Fork for each request until there are no more; return the request in the new process."""
    running = selectors.DefaultSelector()
    running.register(requests, selectors.EVENT_READ)
    while True:
        for key, _ in running.select():
            if key.fileobj is not requests:  # a process has ended
                running.unregister(key.fileobj)
                os.close(key.fileobj)
                pid, report = key.data
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):  # the test waits for it no longer
                    report.send(_STATUS.pack(status))
                report.close()
                continue
            message, fds, _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, 4)
            if not message:
                raise SystemExit
            *streams, report = fds
            pid = os.fork()
            if pid == 0:
                for own, given in enumerate(streams):
                    os.dup2(given, own)
                os.closerange(3, os.sysconf("SC_OPEN_MAX"))
                _CLOSED.extend((requests, running))
                return json.loads(message)
            for each in streams:
                os.close(each)
            kept = socket.socket(fileno=report)
            kept.send(_STATUS.pack(pid))
            running.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, kept))


def _run(request: dict) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):  # they were of the null device
        old, lines = getattr(sys, name), 1 if name == "stderr" else -1
        how = ("w" if number else "r", lines, old.encoding, old.errors)
        stream = open(number, *how, closefd=False)  # noqa: SIM115 (as long as the process lasts)
        if number and request["env"].get("PYTHONUNBUFFERED"):
            stream.reconfigure(write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    module, *words = request["words"]
    sys.path[0] = request["cwd"]
    sys.argv = [module, *words]
    sys.modules.pop(module, None)  # runpy warns of it
    status: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        status = error.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    # As the interpreter ends, but for taking every module apart: that takes longer than a command.
    threading._shutdown()
    atexit._run_exitfuncs()
    if not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            if not stream.closed:
                stream.flush()
        except OSError:
            status = status or 120
    os._exit(status)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_all()
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1
    gc.collect()
    gc.freeze()
    _run(_serve(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
