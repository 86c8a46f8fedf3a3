"""Run as a user service: a systemd unit on Linux, a launchd agent on macOS.

Commands go through the manager's own client (systemctl, launchctl); on a machine without one they
fail, with the hint `irdaemon start --detach`.
"""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import irdaemon
from irclient.errors import Unavailable
from irdaemon.runtime import pool
from irdaemon.runtime.memory import MB

UNIT = "irdaemon.service"
LABEL = "io.irdaemon"
# The directory of links to enabled units, next to the unit.
_WANTED_BY = "default.target.wants"
_INSTALLED = "@IRDAEMON@"
# The daemon itself ends sooner.
_GONE_WITHIN_S, _POLL_S = 15.0, 0.1
_LIMITS = pool.ProcessLimits(timeout_s=60.0, memory=1024 * MB)


@dataclass(frozen=True, slots=True)
class Command:
    """A finished command: its exit code and its output."""

    code: int
    output: str


def _run(*words: str) -> Command:
    if shutil.which(words[0]) is None:
        raise Unavailable(f"this machine has no {words[0]}", "use irdaemon start --detach")
    done = pool.run(words, _LIMITS)
    return Command(done.code, done.output.strip())


def _run_checked(*words: str) -> str:
    done = _run(*words)
    if done.code:
        raise Unavailable(
            f"{' '.join(words)} failed: {done.output or done.code}",
            "without a user service manager, irdaemon start --detach works",
        )
    return done.output


def install(make_way: Callable[[], None] = lambda: None) -> str:
    """Write the service's file, enable and start it; return what was done.

    `make_way` is called before the start, to stop a daemon that runs outside the service. If that
    or the manager fails, the file is restored and new directories are removed. Raises Unavailable.
    """
    path = find_agent() if sys.platform == "darwin" else find_unit()
    before = path.read_bytes() if path.exists() else None
    directories = (path.parent / _WANTED_BY, *path.parents)
    missing = [each for each in directories if not each.exists()]
    try:
        return _install_agent(make_way) if sys.platform == "darwin" else _install_unit(make_way)
    except BaseException as error:
        with suppress(OSError):
            if before is None:
                _remove_unit(path)
            elif path.read_bytes() != before:
                path.write_bytes(before)
        for directory in missing:  # the innermost first; a directory that others use stays
            with suppress(OSError):
                directory.rmdir()
        if isinstance(error, OSError):
            message = f"{path} cannot be written: {error.strerror}"
            raise Unavailable(
                message, "without a service, irdaemon start --detach works"
            ) from error
        raise


def is_service(pid: int | None) -> bool:
    """Return whether the service manager runs the process `pid`."""
    return pid is not None and pid == _main_pid()


def restart() -> str:
    """Restart the service through the manager; return what was done. Raises Unavailable."""
    if sys.platform == "darwin":
        _run_checked("launchctl", "kickstart", "-k", f"gui/{os.getuid()}/{LABEL}")
        return f"{LABEL} restarted by launchd"
    _run_checked("systemctl", "--user", "restart", UNIT)
    return f"{UNIT} restarted by systemd"


def _main_pid() -> int:
    """Return the pid of the service's process, 0 if none runs or no manager answers."""
    try:
        if sys.platform == "darwin":
            found = re.search(r"\bpid = (\d+)", read_status().output)
            return int(found[1]) if found else 0
        shown = _run("systemctl", "--user", "show", "--property=MainPID", "--value", UNIT)
    except Unavailable:
        return 0
    return int(shown.output) if shown.code == 0 and shown.output.isdecimal() else 0


def uninstall() -> str:
    """Stop and disable the service and remove its file; return what was done."""
    return _uninstall_agent() if sys.platform == "darwin" else _uninstall_unit()


def read_status() -> Command:
    """Return the manager's own report on the service."""
    if sys.platform == "darwin":
        return _run("launchctl", "print", f"gui/{os.getuid()}/{LABEL}")
    return _run("systemctl", "--user", "--no-pager", "status", UNIT)


# -- systemd -------------------------------------------------------------------------------------


def find_unit() -> Path:
    """Return the path of the user unit."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base, "systemd", "user", UNIT)


def make_unit() -> str:
    """Return the unit for this installation, with the absolute path of its interpreter."""
    template = _find_template().read_text("utf-8")
    path = sys.executable
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        path = path.replace(plain, escaped)
    return template.replace(_INSTALLED, f'"{path}" -m irdaemon')


def _find_template() -> Path:
    """Find the unit in the installed package, or next to the package in a source checkout."""
    package = Path(irdaemon.__file__).parent
    places = (package / "systemd" / UNIT, package.parent / "systemd" / UNIT)
    for place in places:
        if place.exists():
            return place
    raise Unavailable(f"the unit file is missing: {places[0]}", "install irdaemon again")


def _install_unit(make_way: Callable[[], None]) -> str:
    path = find_unit()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make_unit(), "utf-8")
    _run_checked("systemctl", "--user", "daemon-reload")
    _run_checked("systemctl", "--user", "enable", UNIT)
    make_way()
    _run_checked("systemctl", "--user", "restart", UNIT)
    return f"{path} written, enabled and started"


def _uninstall_unit() -> str:
    path = find_unit()
    if not path.exists():
        return f"{path} does not exist; nothing to do"
    failed = _remove_unit(path)
    return f"{path} removed; {failed}" if failed else f"stopped, disabled, {path} removed"


def _remove_unit(path: Path) -> str:
    """Remove the service and its file in any case; return the manager's error, if any."""
    if sys.platform == "darwin":
        path.unlink(missing_ok=True)
        return ""
    failed = ""
    for words in (("disable", "--now", UNIT), ("daemon-reload",)):
        try:
            _run_checked("systemctl", "--user", *words)
        except Unavailable as error:
            failed = error.message
        path.unlink(missing_ok=True)
    # The link that enables it, if the manager did not remove it.
    Path(path.parent, _WANTED_BY, UNIT).unlink(missing_ok=True)
    return failed


# -- launchd -------------------------------------------------------------------------------------


def find_agent() -> Path:
    """Return the path of the launch agent."""
    return Path(os.path.expanduser("~/Library/LaunchAgents"), f"{LABEL}.plist")


def make_agent() -> bytes:
    """Return the launch agent for this installation."""
    logs = os.path.expanduser("~/Library/Logs")
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": [
                *(sys.executable, "-m", "irdaemon", "start"),
                *("--log", f"{logs}/irdaemon.log"),
            ],
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "StandardErrorPath": f"{logs}/irdaemon.stderr",
        }
    )


def _install_agent(make_way: Callable[[], None]) -> str:
    path = find_agent()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make_agent())
    _boot_out()
    make_way()
    _run_checked("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path))
    return f"{path} written and started"


def _boot_out() -> None:
    """Stop the agent, and wait until launchd has released it; before that it accepts no other."""
    _run("launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}")
    deadline = time.monotonic() + _GONE_WITHIN_S
    while read_status().code == 0 and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _uninstall_agent() -> str:
    path = find_agent()
    if not path.exists():
        return f"{path} does not exist; nothing to do"
    _boot_out()
    path.unlink()
    return f"stopped, {path} removed"
