"""A day of use with the real daemon: what is used is found by the words that people ask with."""

import json
import time

import pytest

from irclient import Query
from tests.support.claude_session import Session
from tests.support.running import Home, Running, until

NAMES = "amber birch cedar dahlia elder fern gorse hazel ivy juniper".split()
ASKED = "ledger bakery violin submarine orchard telescope kettle glacier lantern saddle".split()
CONFIG = "[schedule]\nlearn_minutes = 0.02\n"


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    for number, name in enumerate(NAMES):
        home.skill(name, f"The {name} service, number {number}")
    (tmp_path / ".claude" / "projects" / "-w").mkdir(parents=True)
    home.config.write_text(CONFIG)
    return home


def session(home, name, asked, when):
    """Write a session in which each skill is used after a question that does not name it."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86_400 + when))
    written = Session(sessionId=name, timestamp=stamp, cwd=str(home.path))
    for number, (skill, word) in enumerate(asked):
        written.user(f"u{number}", f"i need something for my {word}, try {name}")
        written.calls(f"a{number}", "Skill", {"skill": skill})
        written.says(f"b{number}", "done", stop="end_turn")
    path = home.path / ".claude" / "projects" / "-w" / f"{name}.jsonl"
    path.write_text("".join(line + "\n" for line in written.lines))
    return path


def found(home, text):
    with home.client() as client:
        return [
            (h.name, round(h.score, 4)) for h in client.search(Query(text, ("skills",))).results
        ]


def learned(home):
    with home.client() as client:
        return {each["corpus"]: each for each in client.usage().to_dict()["learned"]}


def test_uses_teach_an_answer_and_roll_back_and_a_removed_session_take_it_back(home):
    text = "a thing for the submarine"
    with Running(home) as daemon:
        daemon.wait_idle()
        before = found(home, text)
        assert not before or before[0][0] != "dahlia"
        paths = [
            session(home, f"S{day}", list(zip(NAMES, ASKED, strict=True)), 3_600 * day)
            for day in range(4)
        ]
        until(lambda: learned(home).get("skills", {}).get("outcome") == "published")
        assert found(home, text)[0][0] == "dahlia"
        explained = home.answer("explain", text, "--item", "skills/dahlia")
        assert len(explained["item"]["learned"]["prompts"]) == 4
        assert "learned, skills: published" in home.irc("usage").stdout
        parts = [str(home.path / name) for name in ("older.jsonl", "newer.jsonl")]
        mined = home.answer("eval", "mine", "-c", "skills", "-o", parts[0], "--newer", parts[1])
        assert mined["older"] >= 30

        for path in paths:
            path.unlink()
        until(lambda: found(home, text) == before)


def test_uses_from_a_file_survive_kill_and_are_rolled_back_to_the_digit(home, tmp_path):
    text = "a thing for the submarine"
    file = tmp_path / "uses.jsonl"
    with Running(home) as daemon:
        daemon.wait_idle()
        with home.client() as client:
            ids = {a.name: a.artifact_id for a in client.artifacts("skills")}
        uses = [
            {"prompt": f"something for my {word}, day {day}", "gold": [ids[name]], "at": day * 9e4}
            for day in range(1, 6)
            for name, word in zip(NAMES, ASKED, strict=True)
        ]
        file.write_text("".join(json.dumps(use) + "\n" for use in uses))
        before = found(home, text)
        assert "published" in home.irc("usage", "import", str(file), "-c", "skills").stdout
        taught = found(home, text)
        assert taught[0][0] == "dahlia"
        daemon.process.kill()
        daemon.process.wait(10)
    with Running(home) as daemon:
        daemon.wait_idle()
        assert found(home, text) == taught
        assert "as before" in home.irc("usage", "rollback", "skills").stdout
        assert found(home, text) == before


def test_a_file_that_holds_no_uses_is_refused_by_its_line(home, tmp_path):
    file = tmp_path / "uses.jsonl"
    file.write_text('{"prompt": "x"}\n')
    with Running(home) as daemon:
        daemon.wait_idle()
        done = home.irc("usage", "import", str(file), "-c", "skills")
        assert (done.returncode, "gold" in done.stderr) == (2, True)
