"""What is offered and used, with the real daemon: hook, transcripts, reports, privacy."""

import json
import os
import stat
import time

import pytest

from irclient import Client
from irclient.errors import Denied
from tests.support.claude_session import Session
from tests.support.running import Home, Running, until

PDF_PROMPT = "fill in the fields of this PDF form"
SHIP = ("ship our web service onto production servers", "ship this web thing onto servers tonight")


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    home.skill("fill-pdf-form", "Fill in the fields of a PDF form")
    home.skill("review-code", "Review a pull request for mistakes")
    home.skill("deploy", "Release to the cluster")
    (tmp_path / ".claude" / "projects" / "-w").mkdir(parents=True)
    return home


@pytest.fixture
def daemon(home):
    with Running(home) as daemon:
        daemon.wait_idle()
        yield daemon


def hook(home, prompt, session="S1", **environment):
    event = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    event["cwd"] = environment.pop("cwd", str(home.path))
    words = ("hook", "--agent", "claude", "--budget-ms", "9000")
    before, home.env = home.env, {**home.env, **environment}
    done = home.run("irclient.quick", *words, given=json.dumps(event))
    home.env = before
    assert done.returncode == 0
    return done.stdout


def transcript(home, prompts, *, name="S1"):
    """Write a session in which each prompt is followed by the call of a tool."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    session = Session(sessionId=name, timestamp=now, cwd=str(home.path))
    for number, (prompt, tool, given) in enumerate(prompts):
        session.user(f"u{number}", prompt)
        session.calls(f"a{number}", tool, given)
        session.says(f"b{number}", "done", stop="end_turn")
    path = home.path / ".claude" / "projects" / "-w" / f"{name}.jsonl"
    path.write_text("".join(line + "\n" for line in session.lines))
    return path


def noted(home, wanted):
    """Wait until so many answers are written, and so many turns read."""
    state = {}

    def there():
        with home.client() as client:
            state.update(client.status().usage)
        return (state.get("offers"), state.get("turns")) == wanted

    until(there)
    return state


def test_what_is_offered_and_used_is_told_apart(home, daemon):
    assert "fill-pdf-form" in hook(home, PDF_PROMPT)
    for prompt in SHIP:
        hook(home, prompt)
    deploy = str(home.skills / "deploy" / "SKILL.md")
    prompts = [(PDF_PROMPT, "Skill", {"skill": "fill-pdf-form"})]
    prompts += [(prompt, "Read", {"file_path": deploy}) for prompt in SHIP]
    prompts += [("do it by magic", "Skill", {"skill": "magic:wand"})]
    transcript(home, prompts)
    noted(home, (3, 4))
    report = home.answer("usage")
    assert report["states"] == {"near_miss": 2, "not_installed": 1, "offered": 1}
    assert [each["name"] for each in report["not_installed"]] == ["magic:wand"]
    agents = [each for each in report["adoption"] if each["by"] == "agent"]
    assert [(each["name"], each["offered"], each["adopted"]) for each in agents] == [
        ("claude", 1, 1)
    ]
    (row,) = home.answer("usage", "show", "--item", "skills/fill-pdf-form")["items"]
    assert (row["uses"], row["offered"], row["adopted"]) == (1, 1, 1)
    (gap,) = home.answer("gaps")["gaps"]
    assert gap["reference"].endswith("/deploy")
    assert "servers" in gap["words"]
    listed = home.answer("listing")
    assert (listed["skills"], listed["cut"], listed["budget_chars"]) == (3, 0, 8_000)
    for command in (["usage"], ["gaps"], ["listing"], ["status"]):
        shown = home.irc(*command)
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.strip()
    assert "kept for 90 days" in home.irc("status").stdout
    state = home.path / ".local/state/irdaemon"
    for name in ("usage.sqlite", "usage.key"):
        assert stat.S_IMODE(os.stat(state / name).st_mode) == 0o600
    held = b"".join(path.read_bytes() for path in state.glob("usage*"))
    assert b"servers" not in held


def test_what_is_to_leave_no_trace_leaves_none(home, daemon):
    hidden = home.path / "hidden"
    hidden.mkdir()
    (hidden / ".noirdaemon").touch()
    hook(home, PDF_PROMPT, session="A", IRDAEMON_USAGE="0")
    hook(home, PDF_PROMPT, session="B", cwd=str(hidden))
    hook(home, f"<private>for me</private> {PDF_PROMPT}", session="C")
    with home.client() as client:
        client.discover(PDF_PROMPT, noted=False)
    hook(home, PDF_PROMPT, session="D")
    assert noted(home, (1, 0))["offers"] == 1


def test_forgetting_is_for_good_and_a_session_goes_with_its_file(home, daemon):
    hook(home, PDF_PROMPT)
    path = transcript(home, [(PDF_PROMPT, "Skill", {"skill": "fill-pdf-form"})])
    noted(home, (1, 1))
    assert home.answer("usage", "forget", "--item", "skills/fill-pdf-form") == {"forgotten": 2}
    assert home.answer("usage")["items"] == []
    path.unlink()
    (path.parent / "notes.txt").write_text("so that the directory is not empty")
    noted(home, (0, 0))
    assert home.irc("usage", "forget").returncode == 2
    assert home.irc("usage", "forget", "--all").returncode == 0


def test_uses_and_offers_survive_a_kill_and_a_damaged_file_is_filled_again(home):
    with Running(home) as daemon:
        daemon.wait_idle()
        hook(home, PDF_PROMPT)
        transcript(home, [(PDF_PROMPT, "Skill", {"skill": "fill-pdf-form"})])
        noted(home, (1, 1))
        daemon.kill()
    with Running(home) as daemon:
        noted(home, (1, 1))
    file = home.path / ".local/state/irdaemon/usage.sqlite"
    file.write_bytes(b"no database" * 1_000)
    for end in ("-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    with Running(home) as daemon:
        daemon.wait_idle()
        state = noted(home, (0, 1))
        assert len(state["set_aside"]) == 1
        assert home.answer("usage")["states"] == {"unjoined": 1}


def test_switched_off_nothing_is_noted(home):
    with open(home.config, "a") as file:
        file.write("[usage]\nenabled = false\n")
    with Running(home) as daemon:
        daemon.wait_idle()
        hook(home, PDF_PROMPT)
        assert "usage" not in home.answer("status")
        assert home.irc("usage").returncode == 3
    assert not list((home.path / ".local/state/irdaemon").glob("usage*"))


def test_reports_are_for_the_owner_alone(home):
    token = home.config.parent / "agent.token"
    token.write_text("t" * 64)
    token.chmod(0o600)
    with open(home.config, "a") as file:
        file.write('[[client]]\nname = "agent"\ntoken = "agent.token"\ncorpora = ["skills"]\n')
    with Running(home) as daemon:
        daemon.wait_idle()
        with Client(str(home.socket), token=str(token)) as client:
            for ask in (client.usage, client.gaps, client.listing):
                with pytest.raises(Denied):
                    ask()
            with pytest.raises(Denied):
                client.usage_forget(everything=True)


def test_a_backup_holds_the_log_unless_it_is_left_out(home, daemon, tmp_path):
    hook(home, PDF_PROMPT)
    noted(home, (1, 0))
    file = str(tmp_path / "kept.db")
    assert home.run("irdaemon", "backup", "--no-usage", file).returncode == 0
    assert not os.path.exists(f"{file}.usage")
    assert not os.path.exists(f"{file}.recall")
    assert home.run("irdaemon", "backup", "--force", file).returncode == 0
    assert os.path.getsize(f"{file}.usage")
    daemon.process.terminate()
    daemon.process.wait()
    assert home.run("irdaemon", "stop", "--forget").returncode in (0, 3)
    assert not (home.path / ".local/state/irdaemon/usage.sqlite").exists()
    assert home.run("irdaemon", "restore", file).returncode == 0
    assert (home.path / ".local/state/irdaemon/usage.sqlite").exists()
