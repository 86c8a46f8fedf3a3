"""Try what the README promises as a new user would: in a fresh clone, with an empty HOME.

`make accept` runs this in about three minutes. It clones the commit that is checked out, installs
it as `make run` does, runs the daemon as a service of a systemd user manager of its own (where none
can be started: detached, under irdaemon's own supervisor), asks by the command line, by an agent's
hook and from an environment that holds the client alone, and takes everything out again.
`--before COMMIT` upgrades from that commit first, and tries its daemon on the newer ledger last.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SKILL = "---\nname: {name}\ndescription: {description}\n---\n# Steps\n\n1. Begin.\n"
QUERY = "fill in a PDF form"
PATIENCE_S = 30.0
SYSTEMD = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
# systemd refuses to run for a user where it is not the system's init; root may have it believe so.
BOOTED = Path("/run/systemd/system")
BELIEVE = f"mount -t tmpfs none {BOOTED.parent} && mkdir {BOOTED} && exec {{}} --user"
# What may be in HOME after everything was taken out: other programs' own directories. pip asks
# rustc for its version, which leaves settings there.
NOT_OURS = (".cache", ".npm", ".rustup", ".config/systemd", ".config/pip", ".local/share/systemd")


def main() -> None:
    """Go through all the steps; the first that fails ends it with what was said."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", default="", help="a commit to upgrade from and downgrade to")
    options = parser.parse_args()
    # Not TMPDIR: a socket's address holds 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ira-", dir="/tmp") as scratch:
        there = Path(scratch)
        now = install(there / "now", "HEAD")
        before = install(there / "before", options.before) if options.before else None
        home = Home(there / "home")
        try:
            try_demo(now, home)
            if before:
                leave_ledger(before, home)
            with user_manager(home) as manager:
                try_service(now, home, manager)
            try_client_alone(now, home, there / "client")
            if before:
                try_downgrade(before, now, home)
            take_out(now, home)
        finally:
            program = str(now.path / ".venv" / "bin" / "irdaemon")
            subprocess.run([program, "stop"], env=home.env, capture_output=True)
    print("accept: everything was as the README says")


# -- the ground that it stands on ----------------------------------------------------------------


class Home:
    """An empty HOME with a runtime directory, and the environment of a person who has them."""

    def __init__(self, path: Path):
        self.path = path
        self.run = path.parent / "run"
        for directory in (self.path, self.run):
            directory.mkdir(mode=0o700)
        self.env = {
            "HOME": str(self.path),
            "XDG_RUNTIME_DIR": str(self.run),
            "PATH": os.environ["PATH"],
            "BROWSER": "true",
        }

    def write_skill(self, name: str, description: str) -> Path:
        """Write a skill where Claude Code keeps them; return its file."""
        skill = self.path / ".claude" / "skills" / name / "SKILL.md"
        skill.parent.mkdir(parents=True, exist_ok=True)
        skill.write_text(SKILL.format(name=name, description=description))
        return skill


@dataclass(frozen=True, slots=True)
class Checkout:
    """A clone with an environment of its own, as `make run` makes it."""

    path: Path

    def run(self, home: Home, command: str, *words: str, given: str = "", code: int = 0) -> str:
        """Run an installed command; return all it printed. Ends the trial on another exit code."""
        program = str(self.path / ".venv" / "bin" / command)
        return run([program, *words], home.path, home.env, given=given, code=code)


def install(path: Path, commit: str) -> Checkout:
    """Clone a commit and install it by the Makefile."""
    step(f"cloning and installing {commit}")
    run(["git", "clone", "-q", str(ROOT), str(path)], path.parent)
    revision = run(["git", "rev-parse", commit], ROOT).strip()
    run(["git", "checkout", "-q", revision], path)
    run(["make", ".venv/.installed", f"PYTHON={sys.executable}"], path)
    return Checkout(path)


def run(
    command: list[str],
    at: Path,
    env: dict[str, str] | None = None,
    *,
    given: str = "",
    code: int = 0,
) -> str:
    """Run a command and return what it printed; end with all it said on another exit code."""
    done = subprocess.run(command, cwd=at, env=env, input=given, capture_output=True, text=True)
    said = f"{done.stdout}{done.stderr}"
    if done.returncode != code:
        sys.exit(f"{said}accept: {' '.join(command)}: exit code {done.returncode}, not {code}")
    return said


def step(said: str) -> None:
    """Say what comes next."""
    print(f"accept: {said}", flush=True)


def check(true: bool, wanted: str, said: str) -> None:
    """End the trial where something that a person would see is otherwise."""
    if not true:
        sys.exit(f"{said}\naccept: wanted: {wanted}")


def wait_until(is_so: Callable[[], bool], wanted: str) -> None:
    """Wait until something is so; end the trial where it takes too long."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        check(time.monotonic() < end, wanted, f"{PATIENCE_S:g} seconds later:")
        time.sleep(0.1)


# -- the steps -----------------------------------------------------------------------------------


def try_demo(checkout: Checkout, home: Home) -> None:
    """Try `make run` on an empty HOME, and what it says comes next."""
    step("make run on an empty HOME, then check, restart, page and MCP server")
    said = run(["make", "run", f"PYTHON={sys.executable}"], checkout.path, home.env)
    check("review-pull" in said, "the example's answer", said)
    said = checkout.run(home, "irdaemon", "check")
    checkout.run(home, "irdaemon", "restart")
    said = checkout.run(home, "irc", "discover", "review a pull request")
    check("review-pull" in said, "the same answer after a restart", said)
    try_page(checkout, home)
    try_mcp(checkout, home)
    notes = home.path / "notes"
    notes.mkdir()
    (notes / "roses.md").write_text("# Roses\n\nPrune the roses in late winter, above a bud.\n")
    said = checkout.run(home, "irc", "add", "notes", "files", str(notes))
    check("removed" not in said, "no word of removed examples", said)
    said = checkout.run(home, "irc", "search", "when to prune roses", "-c", "notes")
    check("roses" in said, "the note", said)
    checkout.run(home, "irdaemon", "stop")


def try_page(checkout: Checkout, home: Home) -> None:
    """Hold that `irc web` serves the page once its dependencies are installed by `make run`."""
    program = str(checkout.path / ".venv" / "bin" / "irc")
    words = [program, "web", "--print-url"]
    page = subprocess.Popen(words, env=home.env, stdout=subprocess.PIPE, text=True)
    try:
        assert page.stdout is not None  # it is a pipe
        line = page.stdout.readline()
        check("http://127.0.0.1:" in line, "the page's address", line)
    finally:
        page.send_signal(signal.SIGINT)
        page.wait(10)


def try_mcp(checkout: Checkout, home: Home) -> None:
    """Hold that `irc mcp` names its two tools to a client on stdio."""
    version = {"protocolVersion": "2025-06-18", "capabilities": {}}
    client = {"clientInfo": {"name": "accept", "version": "1"}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version | client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    program = [str(checkout.path / ".venv" / "bin" / "irc"), "mcp"]
    pipe = subprocess.PIPE
    server = subprocess.Popen(program, env=home.env, stdin=pipe, stdout=pipe, text=True)
    assert server.stdin is not None  # both are pipes
    assert server.stdout is not None
    for message in messages:
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
    replies = [server.stdout.readline() for _ in range(2)]
    server.stdin.close()
    server.wait(10)
    check('"disclose"' in replies[1], "the tools discover and disclose", "".join(replies))


def leave_ledger(checkout: Checkout, home: Home) -> None:
    """Have an older version index a home, so that the newer one upgrades its ledger."""
    step("indexing with the version before")
    for path in home.path.rglob("ledger.sqlite*"):  # this version's, of what was tried first
        path.unlink()
    home.write_skill("pdf", "Fill in, merge and split PDF forms and documents")
    checkout.run(home, "irdaemon", "start", "--detach", "--wait")
    checkout.run(home, "irc", "discover", QUERY)
    checkout.run(home, "irdaemon", "stop")


@contextmanager
def user_manager(home: Home) -> Iterator[bool]:
    """Run a systemd user manager for a HOME; give whether it answers."""
    program = next((each for each in SYSTEMD if os.path.exists(each)), "")
    command = [program, "--user"]
    if program and not BOOTED.exists():
        may = os.geteuid() == 0 and shutil.which("unshare")
        command = ["unshare", "-m", "sh", "-c", BELIEVE.format(program)] if may else []
    if not program or not command:
        yield False
        return
    quiet = subprocess.DEVNULL
    manager = subprocess.Popen(command, env=home.env, stdout=quiet, stderr=quiet)
    try:
        yield answers_as_manager(home, manager)
    finally:
        manager.terminate()
        manager.wait(20)


def answers_as_manager(home: Home, manager: subprocess.Popen[bytes]) -> bool:
    """Wait until a user manager answers; False where it ended or takes ten seconds."""
    end = time.monotonic() + 10
    while manager.poll() is None and time.monotonic() < end:
        asked = ["systemctl", "--user", "show-environment"]
        if subprocess.run(asked, env=home.env, capture_output=True).returncode == 0:
            return True
        time.sleep(0.2)
    return False


def try_service(checkout: Checkout, home: Home, has_manager: bool) -> None:
    """Run the daemon as a service, ask it in every way, and kill it."""
    how = "a systemd user service" if has_manager else "a detached, supervised process"
    step(f"running the daemon as {how}")
    skill = home.write_skill("pdf", "Fill in, merge and split PDF forms and documents")
    config = home.path / ".config" / "irdaemon" / "irdaemon.toml"
    config.unlink(missing_ok=True)  # what the demo added
    start = ("service", "install") if has_manager else ("start", "--detach", "--wait")
    checkout.run(home, "irdaemon", *start)
    wait_until(lambda: str(skill) in ask(checkout, home, QUERY), "the skill, asked for")
    home.write_skill("kayak", "Roll a kayak, and get back in after a swim")
    wait_until(lambda: "kayak" in ask(checkout, home, "how to roll a kayak"), "the new skill")
    try_hook(checkout, home)
    step("killing the daemon")
    killed = daemon_pid(checkout, home)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: daemon_pid(checkout, home) not in (0, killed), "the daemon, back")
    check("kayak" in ask(checkout, home, "how to roll a kayak"), "the skill after the kill", "")
    if has_manager:
        checkout.run(home, "irdaemon", "service", "uninstall")
        checkout.run(home, "irdaemon", "start", "--detach", "--wait")


def ask(checkout: Checkout, home: Home, query: str) -> str:
    """Return what `irc discover` prints, whatever its exit code."""
    program = str(checkout.path / ".venv" / "bin" / "irc")
    words = [program, "discover", query]
    done = subprocess.run(words, cwd=home.path, env=home.env, capture_output=True, text=True)
    return done.stdout.replace("~", str(home.path))


def daemon_pid(checkout: Checkout, home: Home) -> int:
    """Return the daemon's process, 0 where none answers."""
    program = str(checkout.path / ".venv" / "bin" / "irc")
    words = [program, "status", "--json"]
    done = subprocess.run(words, cwd=home.path, env=home.env, capture_output=True, text=True)
    return int(json.loads(done.stdout).get("pid", 0)) if done.stdout.startswith("{") else 0


def try_hook(checkout: Checkout, home: Home) -> None:
    """Hold that a prompt with a task names the skill to the agent, and small talk nothing."""
    step("answering an agent's hook")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "accept", "cwd": str(home.path)}
    for prompt, wanted in (("please fill in this PDF form for me", True), ("thanks, great", False)):
        given = json.dumps({**event, "prompt": prompt})
        said = checkout.run(home, "irc", "hook", "--agent", "claude", given=given)
        check(("pdf" in said) is wanted, f"{'the skill' if wanted else 'nothing'}: {prompt}", said)


def try_client_alone(checkout: Checkout, home: Home, place: Path) -> None:
    """Hold that an environment with the client alone asks the daemon."""
    step("asking from an environment that holds the client alone")
    run([sys.executable, "-m", "venv", str(place)], place.parent)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "-q"]
    run([*pip, "--disable-pip-version-check", str(checkout.path / "client")], place.parent)
    said = run([str(place / "bin" / "irc"), "discover", QUERY], home.path, home.env)
    check("pdf" in said, "the skill", said)


def try_downgrade(before: Checkout, now: Checkout, home: Home) -> None:
    """Hold that an older daemon on the newer ledger refuses or rebuilds, and nothing is lost."""
    step("starting the version before on the newer ledger, then this one again")
    now.run(home, "irdaemon", "stop")
    program = str(before.path / ".venv" / "bin" / "irdaemon")
    words = [program, "start", "--detach", "--wait"]
    done = subprocess.run(words, cwd=home.path, env=home.env, capture_output=True, text=True)
    print("  ", (done.stdout + done.stderr).strip().replace("\n", "\n   "))
    if done.returncode == 0:
        check("pdf" in ask(before, home, QUERY), "the skill, by the version before", "")
        before.run(home, "irdaemon", "stop")
    now.run(home, "irdaemon", "start", "--detach", "--wait")
    check("pdf" in ask(now, home, QUERY), "the skill after the downgrade", "")


def take_out(checkout: Checkout, home: Home) -> None:
    """Stop the daemon, uninstall, and hold that nothing of it is left."""
    step("stopping and uninstalling")
    checkout.run(home, "irdaemon", "stop")
    checkout.run(home, "irc", "discover", QUERY, code=3)
    checkout.run(home, "irdaemon", "uninstall", "--yes")
    files = (path for path in home.path.rglob("*") if path.is_file())
    ours = [path.relative_to(home.path).as_posix() for path in files]
    kept = (".claude/skills/", "notes/", *(f"{each}/" for each in NOT_OURS))
    left = [each for each in ours if not each.startswith(kept)]
    check(not left, "no file of irdaemon in HOME", "\n".join(left))


if __name__ == "__main__":
    main()
