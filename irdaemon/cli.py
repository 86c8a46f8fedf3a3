"""`irdaemon`: start, stop and set up the daemon.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not running.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from irclient import show
from irclient.client import Client
from irclient.errors import IRError, Unreachable
from irclient.places import socket_path
from irclient.progress import ProgressLine
from irdaemon import __version__, logs, memory
from irdaemon.ownership import holder, make_private

DONE, FAILED, WRONG, NOT_RUNNING = range(4)

_READY_WITHIN_S = 30.0
_STOPPED_WITHIN_S = 10.0
_POLL_S = 0.05


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(argv)
    try:
        code: int = options.run(options)
        return code
    except IRError as error:
        print(f"irdaemon: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"          {error.hint}", file=sys.stderr)
        return {"config": WRONG, "unreachable": NOT_RUNNING}.get(error.code, FAILED)
    except KeyboardInterrupt:
        return 130


def _start(options: argparse.Namespace) -> int:
    return _start_detached(options) if options.detach else _start_here(options)


def _start_here(options: argparse.Namespace) -> int:
    # Numeric libraries start a thread per core unless told before they load; for matrices this
    # small the threads spin against each other and against everybody else.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    memory.be_modest()
    from irdaemon.daemon import Daemon, Settled

    settled = Settled(options.config, options.fallback)
    make_private(settled.config.state_dir)
    logs.set_up(options.log, options.verbose)
    return Daemon(settled, socket_path()).run()


def _start_detached(options: argparse.Namespace) -> int:
    from irdaemon.config import load_config

    state_dir = load_config(options.config).state_dir
    make_private(state_dir)
    if pid := holder(os.path.join(state_dir, "lock")):
        print(f"irdaemon is already running (pid {pid})", file=sys.stderr)
        return _wait_indexed(options) if options.wait else DONE
    log = os.path.join(state_dir, "irdaemon.log")
    process = subprocess.Popen(
        _command(options, log),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )
    code = _wait_serving(process, log)
    if code != DONE:
        return code
    print(f"irdaemon serves (pid {process.pid}), log in {log}", file=sys.stderr)
    return _wait_indexed(options) if options.wait else DONE


def _command(options: argparse.Namespace, log: str) -> list[str]:
    command = [sys.executable, "-m", "irdaemon", "start", "--log", log]
    for name in ("config", "fallback"):
        if value := getattr(options, name):
            command += [f"--{name}", os.path.abspath(value)]
    return command + (["--verbose"] if options.verbose else [])


def _wait_serving(process: subprocess.Popen[bytes], log: str) -> int:
    deadline = time.monotonic() + _READY_WITHIN_S
    with Client(timeout=1.0) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                said = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
                print(said.rstrip() or f"irdaemon ended at once; see {log}", file=sys.stderr)
                return process.returncode or FAILED
            try:
                if client.ping()["pid"] == process.pid:
                    return DONE
            except Unreachable:
                time.sleep(_POLL_S)
    print(f"irdaemon does not answer after {_READY_WITHIN_S:g} s; see {log}", file=sys.stderr)
    return FAILED


def _wait_indexed(options: argparse.Namespace) -> int:
    line = ProgressLine()
    with Client() as client:
        while (state := client.status())["queue"]:
            done, todo, label = _progress(state)
            line.draw(label, done, todo)
            time.sleep(2 * _POLL_S)
        line.clear()
        print(show.corpora(state["corpora"]), file=sys.stderr)
    return DONE


def _progress(state: dict[str, Any]) -> tuple[int, int, str]:
    for job in state["jobs"]:
        if job["kind"] == "reconcile":
            return job["done"], job["todo"], f"indexing {job['corpus']}"
    records = sum(corpus["records"] for corpus in state["corpora"])
    return sum(corpus["vectors"] for corpus in state["corpora"]), records, "embedding"


def _stop(options: argparse.Namespace) -> int:
    from irdaemon.config import state_dir

    code = _stop_running(os.path.join(state_dir(), "lock"))
    if getattr(options, "forget", False) and code != FAILED:
        shutil.rmtree(state_dir(), ignore_errors=True)
        print(f"{state_dir()} removed", file=sys.stderr)
    return code


def _stop_running(lock: str) -> int:
    pid = holder(lock)
    if pid is None:
        print("irdaemon is not running", file=sys.stderr)
        return NOT_RUNNING
    # The lock is held, so this pid is the daemon's and nobody else's.
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOPPED_WITHIN_S
    while time.monotonic() < deadline:
        if holder(lock) != pid:
            print(f"irdaemon stopped (pid {pid})", file=sys.stderr)
            return DONE
        time.sleep(_POLL_S)
    print(f"irdaemon (pid {pid}) did not stop within {_STOPPED_WITHIN_S:g} s", file=sys.stderr)
    return FAILED


def _restart(options: argparse.Namespace) -> int:
    from irdaemon.config import load_config
    from irdaemon.corpus import corpora_of

    corpora_of(load_config(options.config))  # a broken file must not cost the running daemon
    if _stop(options) == FAILED:
        return FAILED
    options.detach = True
    return _start_detached(options)


def _status(options: argparse.Namespace) -> int:
    with Client() as client:
        state = client.status()
    print(json.dumps(state, ensure_ascii=False) if options.json else show.status(state))
    return DONE


def _init(options: argparse.Namespace) -> int:
    from irdaemon.initial import initial_config

    path, text = initial_config(options.config)
    if options.print:
        print(text, end="")
        return DONE
    if os.path.exists(path) and not options.force:
        print(f"irdaemon: {path} exists already", file=sys.stderr)
        print("          --force replaces it, --print shows what would be written", file=sys.stderr)
        return WRONG
    from irdaemon.settings import write_privately

    write_privately(path, text)
    print(path)
    return DONE


def _service(options: argparse.Namespace) -> int:
    from irdaemon import service

    if options.action == "status":
        found = service.status()
        print(found.said)
        return DONE if found.code == 0 else NOT_RUNNING
    print(service.install() if options.action == "install" else service.uninstall())
    return DONE


def _fetch(options: argparse.Namespace) -> int:
    from irdaemon.embed import make_embedder

    embedder = make_embedder(options.embedder, download=True)
    print(f"{options.embedder} is here: {embedder.id}, {embedder.dim} dimensions")
    print(f'embedder = "{options.embedder}" in the configuration uses it', file=sys.stderr)
    return DONE


def _version(options: argparse.Namespace) -> int:
    print(f"irdaemon {__version__}")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="irdaemon",
        description="Keep what an agent could use indexed, and answer discover about it.",
        epilog="exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not running",
    )
    parser.add_argument("--version", action="version", version=f"irdaemon {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run, help in (
        ("start", _start, "serve, here or detached"),
        ("restart", _restart, "stop, then start detached"),
    ):
        starting = commands.add_parser(name, help=help, description=help)
        starting.set_defaults(run=run)
        _add_start_options(starting)
    stop = commands.add_parser("stop", help="stop the daemon", description="stop the daemon")
    stop.set_defaults(run=_stop)
    stop.add_argument(
        "--forget", action="store_true", help="also delete the ledger and the log; they are rebuilt"
    )
    status = commands.add_parser("status", help="how it is", description="how the daemon is")
    status.set_defaults(run=_status)
    status.add_argument("--json", action="store_true", help="print it as JSON")
    init = commands.add_parser("init", help="write a configuration file with what was found here")
    init.set_defaults(run=_init)
    init.add_argument("--config", metavar="FILE", help="write it here")
    init.add_argument("--force", action="store_true", help="replace an existing file")
    init.add_argument("--print", action="store_true", help="print it, write nothing")
    fetch = commands.add_parser(
        "fetch", help="download an embedder's model: the only command that uses the network"
    )
    fetch.set_defaults(run=_fetch)
    fetch.add_argument("embedder", metavar="FAMILY:MODEL")
    service = commands.add_parser("service", help="run as a service of this user")
    service.set_defaults(run=_service)
    service.add_argument("action", choices=("install", "uninstall", "status"))
    version = commands.add_parser("version", help="print the version")
    version.set_defaults(run=_version)
    return parser


def _add_start_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detach", action="store_true", help="return once it serves")
    parser.add_argument("--wait", action="store_true", help="with --detach: until all is indexed")
    parser.add_argument("--config", metavar="FILE", help="read this configuration")
    parser.add_argument(
        "--fallback", metavar="FILE", help="corpora to serve where none is found or configured"
    )
    parser.add_argument("--log", metavar="FILE", help="log here instead of to stderr")
    parser.add_argument("--verbose", action="store_true", help="log more")
