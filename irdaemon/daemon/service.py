"""Run as a user service: a systemd unit on Linux, a launchd agent on macOS.

Commands go through the manager's own client (systemctl, launchctl); on a machine without
one that is an error, whose hint is `irdaemon start --detach`.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import irdaemon
from irclient.errors import Unavailable

UNIT = "irdaemon.service"
LABEL = "io.irdaemon"
_INSTALLED = "@IRDAEMON@"


@dataclass(frozen=True, slots=True)
class Command:
    """A finished command: its exit code and its output."""

    code: int
    output: str


def _run(*words: str) -> Command:
    if shutil.which(words[0]) is None:
        raise Unavailable(f"this machine has no {words[0]}", "use irdaemon start --detach")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return Command(done.returncode, (done.stdout + done.stderr).strip())


def _must(*words: str) -> str:
    done = _run(*words)
    if done.code:
        raise Unavailable(
            f"{' '.join(words)} failed: {done.output or done.code}",
            "without a user service manager, irdaemon start --detach works",
        )
    return done.output


def install() -> str:
    """Write the service's file, enable and start it; return what was done."""
    return _install_agent() if sys.platform == "darwin" else _install_unit()


def uninstall() -> str:
    """Stop and disable the service and remove its file; return what was done."""
    return _uninstall_agent() if sys.platform == "darwin" else _uninstall_unit()


def status() -> Command:
    """Return the manager's own account of the service."""
    if sys.platform == "darwin":
        return _run("launchctl", "print", f"gui/{os.getuid()}/{LABEL}")
    return _run("systemctl", "--user", "--no-pager", "status", UNIT)


# -- systemd -------------------------------------------------------------------------------------


def unit_path() -> Path:
    """Return where the user unit goes."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base, "systemd", "user", UNIT)


def unit_text() -> str:
    """Return the unit for this installation: its interpreter, by absolute path."""
    template = _template().read_text("utf-8")
    return template.replace(_INSTALLED, f'"{_escaped(sys.executable)}" -m irdaemon')


def _template() -> Path:
    """Find the unit in the installed package, or beside the package in a source checkout."""
    package = Path(irdaemon.__file__).parent
    places = (package / "systemd" / UNIT, package.parent / "systemd" / UNIT)
    for place in places:
        if place.exists():
            return place
    raise Unavailable(f"the unit file is missing: {places[0]}", "install irdaemon again")


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")


def _install_unit() -> str:
    path = unit_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(unit_text(), "utf-8")
    _must("systemctl", "--user", "daemon-reload")
    _must("systemctl", "--user", "enable", UNIT)
    _must("systemctl", "--user", "restart", UNIT)
    return f"{path} written, enabled and started"


def _uninstall_unit() -> str:
    path = unit_path()
    if not path.exists():
        return f"{path} is not there; nothing to do"
    _must("systemctl", "--user", "disable", "--now", UNIT)
    path.unlink()
    _must("systemctl", "--user", "daemon-reload")
    return f"stopped, disabled, {path} removed"


# -- launchd -------------------------------------------------------------------------------------


def agent_path() -> Path:
    """Return where the launch agent goes."""
    return Path(os.path.expanduser("~/Library/LaunchAgents"), f"{LABEL}.plist")


def agent_plist() -> bytes:
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


def _install_agent() -> str:
    path = agent_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(agent_plist())
    _run("launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}")
    _must("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path))
    return f"{path} written and started"


def _uninstall_agent() -> str:
    path = agent_path()
    if not path.exists():
        return f"{path} is not there; nothing to do"
    _run("launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}")
    path.unlink()
    return f"stopped, {path} removed"
