"""Events of agents' hooks, as their public documents describe them, and the hook that reads one."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.prompt_hook import START

FILES = Path(__file__).parents[1] / "hook_events"
AGENTS = sorted(path.stem for path in FILES.glob("*.json"))


def load_events(agent):
    """Return the events of an agent by what they are about."""
    return json.loads((FILES / f"{agent}.json").read_text("utf-8"))["events"]


def send(home, agent, event, *, moments="compact,subagent,error", budget_ms=5_000, raw=None):
    """Run the hook as an agent would; return what it wrote."""
    event = dict(event)
    name = event.pop("event", "")
    command = [sys.executable, "-I", "-S", START, "--agent", agent, "--budget-ms", str(budget_ms)]
    command += ["--event", name] if name else []
    command += ["--moments", moments] if moments else []
    env = {"HOME": str(home.path), "XDG_RUNTIME_DIR": str(home.runtime)}
    # The directory that it names is there.
    given = json.dumps(event).replace("/home/ann/w", str(home.path)).encode()
    given = given if raw is None else raw
    done = subprocess.run(command, input=given, capture_output=True, env=env, cwd="/")
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def read_context(agent, written):
    """Return the text that an answer adds to an agent's context."""
    if not written:
        return ""
    answer = json.loads(written)
    inner = answer.get("hookSpecificOutput", answer)
    if agent == "codex":  # which takes no other key
        assert set(answer) == {"hookSpecificOutput"}
        assert set(inner) == {"hookEventName", "additionalContext"}
    return inner["additionalContext"]
