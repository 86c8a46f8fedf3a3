"""Build both packages, install them into empty environments, and use them there.

`make release-check` runs this. Nothing that is tried sees the checkout: the environments hold the
wheels and what they require, without an extra; HOME holds one skill.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSIDE = ("systemd", "plugin")
SKILL = "---\nname: pdf\ndescription: Fill in, merge and split PDF forms and documents\n---\n"

# Imports every module of a package but its scripts, and but what serves MCP clients: an extra.
IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
names = [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    if not name.startswith(tuple(sys.argv[2:])) and not name.endswith(("__main__", "hook.start")):
        importlib.import_module(name)
print(package.__version__, package.__path__[0])
"""

# The MCP server, the page, the backends, and the programs that read PDFs and images elsewhere.
WITH_EXTRAS = (
    "irclient.mcp.",
    "irclient.web.",
    "irdaemon.source.files.extract_",
    "irdaemon.contrib.backends.postgres",
    "irdaemon.contrib.backends.qdrant",
)

UNIT_TEXT = """
from irdaemon.daemon import service
print(service.__file__)
print(service.unit_text())
"""


def main() -> None:
    """Go through all the steps; the first that fails ends it with what was said."""
    # Not TMPDIR: a socket's address holds 107 bytes.
    with tempfile.TemporaryDirectory(prefix="irdaemon-release-", dir="/tmp") as scratch:
        there = Path(scratch)
        client, daemon = built("client", there), built(".", there)
        check_client_alone(there / "client", client)
        check_both(there / "both", client, daemon)
        check_user_site(there / "user", client, daemon)
    print("release-check: both packages can be built, installed and used")


def built(project: str, there: Path) -> Path:
    """Build a source distribution, and from it a wheel; return the wheel."""
    step(f"building {project}")
    before = set(there.glob("*.whl"))
    run([sys.executable, "-m", "build", "--outdir", str(there), str(ROOT / project)], there)
    (wheel,) = set(there.glob("*.whl")) - before
    return wheel


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment of its own, with a home of its own."""

    place: Path
    env: dict[str, str]

    @property
    def home(self) -> Path:
        return self.place / "home"

    def run(self, command: str, *words: str) -> str:
        """Run a command that is installed here."""
        return run([str(self.place / "bin" / command), *words], self.home, self.env)


def installed(place: Path, *wheels: Path) -> Installed:
    """Make an empty environment, and install the wheels into it."""
    step(f"installing {' and '.join(wheel.name for wheel in wheels)}")
    run([sys.executable, "-m", "venv", str(place)], place.parent)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "-q", "--only-binary=:all:"]
    run([*pip, "--disable-pip-version-check", *map(str, wheels)], place.parent)
    return Installed(place, environment(place))


def environment(place: Path) -> dict[str, str]:
    """Return the variables for what is installed there: HOME, a systemctl that does nothing."""
    home, tools = place / "home", place / "tools"
    for directory in (home / "run", tools):
        directory.mkdir(parents=True, mode=0o700)
    systemctl = tools / "systemctl"
    systemctl.write_text("#!/bin/sh\nexit 0\n")
    systemctl.chmod(0o755)
    path = os.pathsep.join((str(tools), str(place / "bin"), os.defpath))
    return {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "PATH": path}


def check_client_alone(place: Path, wheel: Path) -> None:
    """Hold that the client needs nothing but what it requires."""
    there = installed(place, wheel)
    assert not (set(names(there)) & {"rich", "mcp", "numpy", "irdaemon"}), names(there)
    there.run("python", "-c", "import irclient; irclient.Client, irclient.AsyncClient")
    said = there.run("irc", "--help")
    assert "discover" in said, said


def check_both(place: Path, client: Path, daemon: Path) -> None:
    """Hold that the daemon serves, and that its files are where they are looked for."""
    there = installed(place, client, daemon)
    assert not (set(names(there)) & {"hnswlib", "mcp", "pytest", "mypy"}), names(there)
    step("importing everything that needs no extra")
    version, package = imported(there, "irdaemon")
    assert imported(there, "irclient")[0] == version
    assert there.run("irdaemon", "version") == f"irdaemon {version}\n"
    assert there.run("irc", "--version") == f"irc {version}\n"
    for name in INSIDE:
        assert contents(Path(package, name)) == contents(ROOT / name), name
    check_unit(there)
    check_answer(there)


def check_user_site(place: Path, client: Path, daemon: Path) -> None:
    """Hold that an installation by `pip install --user` finds the unit that came with it."""
    step("installing into a user's site-packages")
    python = getattr(sys, "_base_executable", sys.executable)  # an environment has no user site
    env = {**environment(place), "PYTHONUSERBASE": str(place)}
    options = ("--user", "--no-deps", "--break-system-packages", "--no-warn-script-location")
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *options]
    run([*pip, str(client), str(daemon)], place, env)
    said = run([python, "-c", UNIT_TEXT], place, env)
    assert str(place) in said.splitlines()[0], said
    assert f'ExecStart="{python}" -m irdaemon start' in said, said


def names(there: Installed) -> list[str]:
    """Return which distributions are installed."""
    said = there.run("python", "-m", "pip", "list", "--format", "freeze")
    return [line.split("==")[0].lower() for line in said.splitlines()]


def imported(there: Installed, package: str) -> list[str]:
    """Import every module of a package that needs no extra; return its version and its place."""
    return there.run("python", "-W", "error", "-c", IMPORT_ALL, package, *WITH_EXTRAS).split()


def contents(directory: Path) -> dict[str, bytes]:
    """Return every file below a directory."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def check_unit(there: Installed) -> None:
    """Hold that the service is written for the interpreter that it was installed with."""
    step("writing the user service")
    if sys.platform == "linux":
        there.run("irdaemon", "service", "install")
        unit = there.home / ".config/systemd/user/irdaemon.service"
        assert f'ExecStart="{there.place}/bin/python' in unit.read_text(), unit.read_text()


def check_answer(there: Installed) -> None:
    """Start the daemon and ask it for the only skill there is."""
    step("starting the daemon and asking it")
    skill = there.home / ".claude/skills/pdf/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    try:
        there.run("irdaemon", "start", "--detach", "--wait")
        said = there.run("irc", "discover", "fill in a PDF form")
        assert str(skill) in said.replace("~", str(there.home)), said
    finally:
        there.run("irdaemon", "stop", "--forget")


def run(command: list[str], at: Path, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; end with all it said where it fails."""
    done = subprocess.run(command, cwd=at, env=env, capture_output=True, text=True)
    if done.returncode:
        said = f"{done.stdout}{done.stderr}"
        sys.exit(f"{said}release-check: {' '.join(command)}: exit code {done.returncode}")
    return done.stdout


def step(said: str) -> None:
    """Say what comes next."""
    print(f"release-check: {said}", flush=True)


if __name__ == "__main__":
    main()
