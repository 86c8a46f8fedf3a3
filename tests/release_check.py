"""Build both packages, check what they say of themselves, install them and use them.

`make release-check` runs this. Nothing that is tried sees the checkout or a compiler: the
environments hold the wheels and what they require; HOME holds one skill and an agent's settings.
By pip, pipx and uv a newcomer's ten commands are run, and all of it is taken out again.
"""

import email
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from packaging.metadata import Metadata
from trove_classifiers import classifiers

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

EXTRAS = "[mcp,web]"
SETTINGS = '{\n  "theme": "dark"\n}\n'
NOTE = "# Backups\n\nRestore with `restic restore --target /srv`, retry_after(3).\n"
# What a newcomer types, the exit code, and what is said then.
NEWCOMER = (
    ("irdaemon init --yes", 0, "undo:"),
    ("irc discover fill in a PDF form", 0, "/.claude/skills/pdf/SKILL.md"),
    ("irc discover knit a woollen sock", 1, "nothing applies"),
    ("irc add notes files notes", 0, "notes: 1 artifact"),
    ("irc search --exact retry_after(", 0, "/notes/backups.md:3"),
    ("irc status", 0, "health: ok"),
    ("irc explain fill in a PDF form", 0, "pdf"),
    ("irc install claude", 0, "wrote "),
    ("irc uninstall claude", 0, ""),
    ("irdaemon uninstall --yes", 0, "to remove the programs: "),
)
COMPILERS = re.compile(r"(?:.*-)?(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|cpp|c89|c99)(?:-[\d.]+)?\Z")
# Of pip's, uv's and the network's settings those of the caller hold.
KEPT = ("PIP_", "UV_", "SSL_", "REQUESTS_", "HTTP", "NO_PROXY", "http", "no_proxy")

UNIT_TEXT = """
from irdaemon.daemon import service
print(service.__file__)
print(service.make_unit())
"""


def main() -> None:
    """Go through all the steps; the first that fails ends it with what was said."""
    # Not TMPDIR: a socket's address holds 107 bytes.
    with tempfile.TemporaryDirectory(prefix="irdaemon-release-", dir="/tmp") as scratch:
        there = Path(scratch)
        client, daemon = built("client", there), built(".", there)
        check_metadata(there, client, daemon)
        check_client_alone(there / "client", client)
        check_both(there / "both", client, daemon)
        check_user_site(there / "user", client, daemon)
        for install in (install_by_pip, install_by_pipx, install_by_uv):
            try_newcomer(there / install.__name__.rpartition("_")[2], install, client, daemon)
    print("release-check: both packages can be built, installed, used and taken out")


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
    """Return the variables for what is installed there: HOME, no compiler, a silent systemctl."""
    home, tools = place / "home", place / "tools"
    for directory in (home / "run", tools):
        directory.mkdir(parents=True, mode=0o700)
    for directory in os.defpath.split(os.pathsep):
        for each in os.scandir(directory) if os.path.isdir(directory) else ():
            if not COMPILERS.match(each.name) and not (tools / each.name).is_symlink():
                (tools / each.name).symlink_to(each.path)
    for name in ("uv", "pipx"):
        (tools / name).unlink(missing_ok=True)
        (tools / name).symlink_to(Path(sys.executable).with_name(name))
    (tools / "systemctl").unlink(missing_ok=True)
    (tools / "systemctl").write_text("#!/bin/sh\nexit 0\n")
    (tools / "systemctl").chmod(0o755)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return {
        "PIP_CACHE_DIR": str(caches / "pip"),
        "UV_CACHE_DIR": str(caches / "uv"),
        **{name: value for name, value in os.environ.items() if name.startswith(KEPT)},
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "PATH": os.pathsep.join((str(place / "bin"), str(tools))),
    }


# -- what they say of themselves -----------------------------------------------------------------


def check_metadata(there: Path, *wheels: Path) -> None:
    """Hold that an index takes both: versions, classifiers, licence, a page that is rendered."""
    step("reading the metadata of both")
    versions = set()
    for wheel in wheels:
        found = read_metadata(wheel)
        versions.add(str(found.version))
        unknown = set(found.classifiers or ()) - classifiers
        assert not unknown, unknown
        assert found.license_expression == "MIT", found.license_expression
        assert found.description_content_type == "text/markdown"
        assert found.requires_python == ">=3.11"
        changelog = ROOT / ("client" if found.name == "irclient" else ".") / "CHANGELOG.md"
        assert f"\n## {found.version} " in changelog.read_text(), changelog
    assert len(versions) == 1, versions
    distributions = [str(path) for path in there.iterdir() if path.suffix in (".whl", ".gz")]
    assert len(distributions) == 4, distributions
    print(run([sys.executable, "-m", "twine", "check", *distributions], there), end="")


def read_metadata(wheel: Path) -> Metadata:
    """Return the metadata of a wheel. Raises an exception group for what no index takes."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        text = archive.read(name)
    assert email.message_from_bytes(text)["Name"], wheel
    return Metadata.from_email(text, validate=True)


# -- what is installed ---------------------------------------------------------------------------


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


# -- a newcomer ----------------------------------------------------------------------------------

Install = Callable[[Installed, Path, Path], None]


def install_by_pip(there: Installed, client: Path, daemon: Path) -> None:
    """Install into an environment of its own."""
    run([sys.executable, "-m", "venv", str(there.place)], there.place)
    there.run("python", "-m", "pip", "install", "-q", f"{client}{EXTRAS}", str(daemon))


def install_by_pipx(there: Installed, client: Path, daemon: Path) -> None:
    """Install as the README says for pipx."""
    wanted = f"{client}{EXTRAS}"
    by = ["pipx", "install", "-q", "--python", sys.executable, "--preinstall", wanted, str(daemon)]
    run(by, there.home, there.env)
    run(
        ["pipx", "inject", "-q", "--include-apps", "--force", "irdaemon", wanted],
        there.home,
        there.env,
    )


def install_by_uv(there: Installed, client: Path, daemon: Path) -> None:
    """Install as the README says for uv."""
    wanted = ("--with", f"{client}{EXTRAS}", "--with-executables-from", "irclient")
    by = ["uv", "tool", "install", "-q", "--python", sys.executable, *wanted, str(daemon)]
    run(by, there.home, there.env)


def try_newcomer(place: Path, install: Install, client: Path, daemon: Path) -> None:
    """Install both in one way, run a newcomer's ten commands, and take everything out again."""
    name = place.name
    step(f"installing by {name}, without a compiler")
    there = Installed(place, environment(place))
    there.env.update(
        PIPX_HOME=str(place / "pipx"),
        PIPX_BIN_DIR=str(place / "bin"),
        UV_TOOL_DIR=str(place / "uv"),
        UV_TOOL_BIN_DIR=str(place / "bin"),
    )
    assert not shutil.which("cc", path=there.env["PATH"])
    since = time.monotonic()
    install(there, client, daemon)
    took = time.monotonic() - since
    (package,) = place.rglob("site-packages/irdaemon/__init__.py")
    site = package.parents[1]
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    count = len(list(site.glob("*.dist-info")))
    print(f"release-check: {took:.0f} s, {size / 1e6:.0f} MB, {count} packages")
    step("running a newcomer's ten commands there")
    said = run_newcomer(there)
    step("taking the programs out by the command that was named")
    named = said.rpartition("to remove the programs: ")[2].splitlines()[0]
    run(["sh", "-c", f"yes | {named}"], there.home, there.env)
    for program in ("irc", "irdaemon"):
        assert not os.path.lexists(place / "bin" / program), f"{program} is left by {named}"


def run_newcomer(there: Installed) -> str:
    """Run the ten commands in a home with a skill, a note and settings; return what was said last.

    Nothing of ours is left in that home then.
    """
    settings = there.home / ".claude/settings.json"
    for path, text in {
        there.home / ".claude/skills/pdf/SKILL.md": SKILL,
        there.home / "notes/backups.md": NOTE,
        settings: SETTINGS,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    settings_before = read_settings(there.home)
    said = ""
    try:
        for line, code, wanted in NEWCOMER:
            command, *words = line.split()
            done = subprocess.run(
                [str(there.place / "bin" / command), *quote_query(words)],
                cwd=there.home,
                env=there.env,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
            )
            said = f"{done.stdout}{done.stderr}"
            if done.returncode != code or wanted not in said:
                sys.exit(f"{said}release-check: {line}: exit code {done.returncode}, not {code}")
            if line == "irc uninstall claude":
                left = read_settings(there.home)
                assert left == settings_before, f"irc uninstall claude left {left}"
    finally:
        stop = [str(there.place / "bin" / "irdaemon"), "stop"]
        subprocess.run(stop, env=there.env, capture_output=True)
    assert settings.read_text() == SETTINGS
    left = [path for path in there.home.rglob("*irdaemon*") if path.is_file()]
    assert not left, left
    return said


def read_settings(home: Path) -> dict[str, bytes]:
    """Return the files of Claude Code in a home, beside its directory too."""
    return {at: held for at, held in contents(home).items() if at.startswith(".claude")}


def quote_query(words: list[str]) -> list[str]:
    """Return the words of a command line, those of a query as one."""
    if words[0] not in ("discover", "explain"):
        return words
    return [words[0], " ".join(words[1:])]


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
