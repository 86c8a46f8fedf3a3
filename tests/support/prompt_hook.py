"""The prompt hook, run as an agent runs it."""

import json
import subprocess
import sys
from pathlib import Path

import irclient

START = str(Path(irclient.__file__).parent / "agents" / "hook" / "start.py")


def hook(home, agent="claude", budget_ms=5_000, **event):
    """Run the hook as an agent would, in an unfriendly place; return the context it gave."""
    command = [sys.executable, "-I", "-S", START, "--agent", agent, "--budget-ms", str(budget_ms)]
    env = {"HOME": str(home.path), "XDG_RUNTIME_DIR": str(home.runtime), "PYTHONPATH": "/nowhere"}
    done = subprocess.run(
        command, input=json.dumps(event), capture_output=True, text=True, env=env, cwd="/"
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""


def asks(home, prompt, session="S", **more):
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt}
    return hook(home, **event, **more)
