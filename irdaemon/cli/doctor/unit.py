"""Check that the service is installed, for this interpreter, and has not failed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from irdaemon.cli.doctor.finding import Finding, note, ok, wrong
from irdaemon.config.config import Config
from irdaemon.daemon import service

_INSTALL = "irdaemon service install"
_ANEW = (
    f"journalctl --user -u {service.UNIT} -n 50; systemctl --user reset-failed {service.UNIT}"
    f" && systemctl --user restart {service.UNIT}"
)


def check(config: Config) -> Iterable[Finding]:
    """Yield how the service is."""
    if sys.platform == "darwin":
        path, wanted = service.agent_path(), service.agent_plist()
    else:
        path, wanted = service.unit_path(), service.unit_text().encode()
    if not path.exists():
        yield note("no service is installed; the daemon starts by hand only", str(path), _INSTALL)
        return
    yield matches(str(path), path.read_bytes(), wanted)
    if sys.platform != "darwin" and shutil.which("systemctl"):
        yield active(service.status().output)


def matches(path: str, found: bytes, wanted: bytes) -> Finding:
    """Judge whether a service file is the one that this installation would write."""
    if found == wanted:
        return ok("the service is installed for this interpreter", path)
    message = f"the service is of another installation than {sys.executable}, or was edited"
    return wrong(message, path, _INSTALL)


def active(output: str) -> Finding:
    """Judge the manager's report on the unit."""
    state = next((line.strip() for line in output.splitlines() if "Active:" in line), "")
    if "failed" in state:
        return wrong(f"the service has failed ({state})", service.UNIT, _ANEW)
    if "Active: active" in state:
        return ok(f"the service runs ({state})", service.UNIT)
    if not state:
        message = f"no service manager runs for this user ({output.strip()})"
        return note(message, service.UNIT, "irdaemon start --detach")
    fix = f"systemctl --user start {service.UNIT}"
    return note(f"the service does not run ({state})", service.UNIT, fix)
