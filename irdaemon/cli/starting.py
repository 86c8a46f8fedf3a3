"""Start or restart the daemon, in the foreground or detached."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from irclient.client import Client
from irclient.errors import IRError, ProtocolError, QueryError, Unavailable, Unreachable
from irclient.invisible import make_safe, spell_hidden
from irclient.places import END_FROZEN, find_listener, socket_path
from irclient.results import Status
from irclient.terminal import tables
from irclient.terminal.columns import fit_report
from irclient.terminal.exits import DONE, INTERNAL, UNHEALTHY
from irclient.terminal.help import argument, command, flag
from irclient.terminal.output import ProgressLine, note, note_text
from irclient.terminal.width import detect_terminal
from irclient.types import plain_data
from irdaemon import __version__
from irdaemon.cli import process_supervisor
from irdaemon.cli.running import SUPERVISED, stop_running
from irdaemon.config.addons import call_addons
from irdaemon.config.config import load_config, state_dir
from irdaemon.daemon import logs, service
from irdaemon.daemon.lock import find_holder, make_private
from irdaemon.runtime import memory, pool

if TYPE_CHECKING:
    from irdaemon.daemon.early_model import EarlyModel


_READY_WITHIN_S = 30.0
_ANSWER_WITHIN_S = 3.0
_POLL_S = 0.05
# Packages that are needed, but imported only after the start.
_IMPORTED_LATER = (
    "apscheduler", "bm25s", "markdown_it", "pathspec", "rapidfuzz", "tomlkit", "watchdog",
)  # fmt: skip


_OPTIONS = (
    flag("--detach", "run in the background; return once it serves"),
    flag("--wait", "with --detach: return once everything is indexed"),
    flag("--serve-only", "answer from the configured backend; watch nothing, write nothing"),
    argument("--config FILE", "read this configuration"),
    argument("--fallback FILE", "a configuration to use while no corpus is found or configured"),
    argument("--log FILE", "log to FILE, not to stderr or the usual file"),
    flag("--verbose", "log debug messages, too"),
)


@command(*_OPTIONS)
def start_daemon(options: argparse.Namespace) -> int:
    """Start the daemon, in the foreground or detached.

    Start the daemon and serve until stopped; with --detach in the background, where
    it is restarted when it crashes. If one is already running, nothing happens;
    with --detach, one of another version is stopped first. With --serve-only it is
    a front end: it answers from the backend that the configuration names, watches
    nothing and has no ledger, and any number of front ends may run side by side.

    examples:
    # in the foreground, with the log on the terminal
    irdaemon start

    # in the background, until everything is indexed
    irdaemon start --detach --wait

    # with another configuration
    irdaemon start --config ./irdaemon.toml --verbose

    # a front end for what another daemon writes into a backend
    irdaemon start --serve-only
    """
    return start_detached(options) if options.detach else start_here(options)


def start_here(options: argparse.Namespace) -> int:
    """Serve from this process until stopped."""
    # Numeric libraries start a thread per core unless configured before they load; for matrices
    # this small the threads spin against each other and against other processes.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    memory.tune_allocator()
    # While the writer works an answer waits for the interpreter up to this long, several times; not
    # for Python's 5 ms.
    sys.setswitchinterval(0.001)
    os.umask(0o077)  # before the log is made
    if options.serve_only:
        return serve_only(options)
    model = _begin_model(options)
    for name in _IMPORTED_LATER:  # a missing package would only be noticed while the daemon runs
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    from irdaemon.daemon.active_config import ActiveConfig
    from irdaemon.daemon.daemon import Daemon

    settings = ActiveConfig(options.config, options.fallback)
    make_private(settings.config.state_dir)
    _begin_log(options)
    return DONE if Daemon(settings, socket_path(), model).run() else INTERNAL


def serve_only(options: argparse.Namespace) -> int:
    """Serve the corpora of a backend from this process until stopped."""
    if options.fallback:
        raise QueryError("--fallback cannot be combined with --serve-only", "leave one of them out")
    make_private(load_config(options.config).state_dir)
    _begin_log(options)
    made = call_addons("start --serve-only", options.config, socket_path())
    if not made:
        raise Unavailable("a front end needs the add-on 'backends', which is not installed")
    return DONE if made[0].run() else INTERNAL


def _begin_log(options: argparse.Namespace) -> None:
    try:
        logs.set_up(options.log, options.verbose)
    except OSError as error:
        message = f"{options.log} cannot be written: {error.strerror}"
        raise QueryError(message, "name another file with --log") from error


def _begin_model(options: argparse.Namespace) -> EarlyModel | None:
    """Start loading the configured embedder, if it is one of the built-in kinds."""
    from irdaemon.daemon.early_model import EarlyModel
    from irdaemon.embed import EMBEDDERS

    with contextlib.suppress(IRError):  # reported by what needs the configuration
        name = load_config(options.config).embedder
        if name in EMBEDDERS:
            model = EarlyModel(name)
            model.start()
            return model
    return None


def start_detached(options: argparse.Namespace) -> int:
    """Start a supervised daemon in the background; return once it serves."""
    state_dir = load_config(options.config).state_dir
    make_private(state_dir)
    lock, supervised = (os.path.join(state_dir, name) for name in ("lock", SUPERVISED))
    if pid := find_holder(lock) or find_holder(supervised):
        other = _find_other_version()
        if not other and find_listener(socket_path()) == pid and not _is_answering():
            note(f"irdaemon (pid {pid}) is running and does not answer: {END_FROZEN}")
            return UNHEALTHY
        if not other:
            if not _is_answering() and not _is_answering_soon(lock, supervised):
                return UNHEALTHY
            note(f"irdaemon is already running (pid {find_holder(lock) or pid})")
            return wait_indexed() if options.wait else DONE
        note(f"irdaemon: {other}; it is restarted")
        if service.is_service(pid):
            note(f"irdaemon: {service.restart()}")
            return wait_indexed() if options.wait else DONE
        if stop_running() == UNHEALTHY:
            return UNHEALTHY
    log = os.path.abspath(options.log) if options.log else os.path.join(state_dir, "irdaemon.log")
    program = [sys.executable, "-I", "-S", process_supervisor.__file__]
    process = pool.start_detached([*program, supervised, log, *_build_command(options, log)])
    pid = int(process.stdout.readline() or 0) if process.stdout else 0
    code = _wait_serving(process, pid, log)
    if process.stdin is not None:
        process.stdin.close()  # from now on the daemon is started again when it crashes
    if code != DONE:
        return code
    note(f"irdaemon serves (pid {pid}), log in {log}")
    with contextlib.suppress(IRError), Client(timeout=_ANSWER_WITHIN_S) as client:
        if client.status().demo:
            note(f"irdaemon: {tables.DEMO}")
    return wait_indexed() if options.wait else DONE


def _is_answering() -> bool:
    with contextlib.suppress(Unreachable), Client(timeout=_ANSWER_WITHIN_S) as client:
        client.ping()
        return True
    return False


def _is_answering_soon(*locks: str) -> bool:
    """Wait for a daemon that starts, or that its supervisor starts again; say if it does not."""
    note("irdaemon is being started; waiting until it answers")
    deadline = time.monotonic() + _READY_WITHIN_S
    while not _is_answering():
        if not any(map(find_holder, locks)):
            note("irdaemon ended meanwhile; irdaemon logs says why")
            return False
        if time.monotonic() > deadline:
            note(f"irdaemon does not answer after {_READY_WITHIN_S:g} s; irdaemon logs says why")
            return False
        time.sleep(_POLL_S)
    return True


def _find_other_version() -> str:
    """Describe the running daemon if it is of another version; else, or without an answer, ""."""
    try:
        with Client(timeout=_ANSWER_WITHIN_S) as client:
            version = client.ping().version
    except ProtocolError as error:
        return error.message
    except IRError:
        return ""
    return "" if version == __version__ else f"irdaemon {version} runs, this is {__version__}"


def _build_command(options: argparse.Namespace, log: str) -> list[str]:
    command = [sys.executable, "-m", "irdaemon", "start", "--log", log]
    for name in ("config", "fallback"):
        if value := getattr(options, name):
            command += [f"--{name}", os.path.abspath(value)]
    command += ["--serve-only"] if options.serve_only else []
    return command + (["--verbose"] if options.verbose else [])


def _wait_serving(process: pool.Child, pid: int, log: str) -> int:
    """Wait until the daemon `pid` answers; `process` supervises it."""
    deadline = time.monotonic() + _READY_WITHIN_S
    with Client(timeout=1.0) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                message = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
                note_text(message.rstrip() or f"irdaemon ended at once; see {spell_hidden(log)}")
                return max(process.returncode, 0) or INTERNAL
            try:
                if client.ping().pid == pid:
                    return DONE
            except Unreachable:
                time.sleep(_POLL_S)
    note(f"irdaemon does not answer after {_READY_WITHIN_S:g} s; see {log}")
    return UNHEALTHY


def wait_indexed(within_s: float = math.inf) -> int:
    """Wait until nothing is queued, drawing the progress; show the corpora."""
    line, deadline = ProgressLine(), time.monotonic() + within_s
    with Client() as client:
        while (state := client.status()).queue and time.monotonic() < deadline:
            done, todo, label = _measure_progress(state)
            line.draw(label, done, todo)
            time.sleep(2 * _POLL_S)
        line.clear()
        report = [tables.format_corpora(make_safe(plain_data(state.corpora)))]
        note_text(fit_report(report, detect_terminal().width))
    return DONE


def _measure_progress(state: Status) -> tuple[int, int, str]:
    for job in state.jobs:
        if job.kind == "reconcile":
            return job.done, job.todo, f"indexing {job.corpus}"
    records = sum(corpus.records for corpus in state.corpora)
    return sum(corpus.vectors for corpus in state.corpora), records, "embedding"


@command(*_OPTIONS)
def restart_daemon(options: argparse.Namespace) -> int:
    """Stop the daemon, then start it detached.

    Stop the daemon if it runs, and start one in the background; a service is
    restarted by systemd or launchd. If the configuration has an error, the running
    daemon is left alone.

    examples:
    # after an upgrade
    irdaemon restart

    # with another configuration
    irdaemon restart --config ./irdaemon.toml
    """
    from irdaemon.daemon.active_config import check_startable

    check_startable(load_config(options.config))  # a broken file must not cost the running daemon
    if check_restart(options):
        note(f"irdaemon: {service.restart()}")
        return wait_indexed() if options.wait else DONE
    if stop_running() == UNHEALTHY:
        return UNHEALTHY
    return start_detached(options)


def check_restart(options: argparse.Namespace) -> bool:
    """Return whether the daemon runs as a service, whose manager restarts it.

    Raises QueryError for an option that it would not get there.
    """
    if not service.is_service(find_holder(os.path.join(state_dir(), "lock"))):
        return False
    for name in ("config", "fallback", "log"):
        if getattr(options, name):
            raise QueryError(
                f"the daemon runs as a service, which does not take --{name}",
                f"irdaemon stop, and then irdaemon start --detach --{name} ...",
            )
    return True
