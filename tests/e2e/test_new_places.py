"""Places that agents and people make while the daemon runs."""

import json

from tests.support.running import ROOT, Running, until


def waiting(home) -> dict[str, str]:
    """Return the places that are waited for, each with its corpus."""
    return {each["path"]: each["corpus"] for each in home.answer("status")["waiting_for"]}


def session(text: str) -> str:
    """Return a session of Codex in which a person asked one thing."""
    lines = [
        {"type": "session_meta", "payload": {"id": "s1", "cwd": "/x", "cli_version": "0.40.0"}},
        *(
            {"type": "response_item", "payload": {"type": "message", "role": role, "content": part}}
            for role, part in (
                ("user", [{"type": "input_text", "text": text}]),
                ("assistant", [{"type": "output_text", "text": "It is done."}]),
            )
        ),
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_places_that_come_into_being_while_the_daemon_runs_are_noticed_and_indexed(daemon, home):
    commands, code = home.path / ".claude" / "commands", home.path / "code"
    sessions = home.path / ".codex" / "sessions"
    expected = {str(commands): "commands", str(code): "packages", str(sessions): "sessions"}
    assert expected.items() <= waiting(home).items()

    commands.mkdir()
    (commands / "tidy-up.md").write_text("---\ndescription: Tidy the attic\n---\nTidy it.\n")
    until(lambda: home.irc("discover", "-c", "commands", "tidy-up").returncode == 0)

    package = code / "badgerlib"
    package.mkdir(parents=True)
    (package / "pyproject.toml").write_text(
        '[project]\nname = "badgerlib"\nversion = "1"\ndescription = "Counts badgers"\n'
    )
    until(lambda: home.irc("discover", "-c", "packages", "badgerlib").returncode == 0)

    day = sessions / "2026" / "01" / "02"
    day.mkdir(parents=True)
    (day / "rollout-2026-01-02T10-00-00-s1.jsonl").write_text(session("Count the ferrets"))
    until(lambda: home.irc("search", "-c", "sessions", "ferrets").returncode == 0)
    assert not expected.keys() & waiting(home).keys()


def test_a_second_place_joins_the_corpus_that_the_first_one_made(daemon, home):
    (home.path / ".codex" / "skills" / "otters").mkdir(parents=True)
    (home.path / ".codex" / "skills" / "otters" / "SKILL.md").write_text(
        "---\nname: otters\ndescription: Count otters\n---\nCount them.\n"
    )
    until(lambda: home.irc("search", "-c", "skills", "otters", "--mode", "lexical").returncode == 0)
    (skills,) = home.answer("status")["corpora"]
    assert str(home.path / ".codex" / "skills") in skills["roots"]
    assert home.irc("search", "-c", "skills", "pdf").returncode == 0


def test_a_place_that_vanished_is_kept_when_another_comes(daemon, home):
    code, src = home.path / "code", home.path / "src"
    for place, name in ((code, "one"), (src, "two")):
        (place / name).mkdir(parents=True)
        (place / name / "package.json").write_text(json.dumps({"name": name, "version": "1.0.0"}))
        until(lambda name=name: home.irc("search", "-c", "packages", name).returncode == 0)
    code.rename(home.path / "unmounted")
    (home.path / "repos").mkdir()
    until(lambda: str(home.path / "repos") not in waiting(home))
    until(lambda: str(home.path / "repos") in roots_of(home, "packages"))
    assert str(code) in roots_of(home, "packages")
    assert home.irc("search", "-c", "packages", "one").returncode == 0


def roots_of(home, name) -> list[str]:
    """Return the roots of a corpus."""
    corpora = home.answer("status")["corpora"]
    return next((each["roots"] for each in corpora if each["name"] == name), [])


def test_a_demo_says_that_it_is_one_and_makes_way_for_a_skill_of_ones_own(home):
    examples = str(ROOT / "examples" / "irdaemon.toml")
    with Running(home, "--fallback", examples) as running:
        running.wait_idle()
        assert "demo: nothing of yours was found" in home.irc("status").stdout
        assert home.irc("discover", "`review-pull-request`").returncode == 0
        home.skill("otters", "Count otters in rivers")
        until(lambda: home.irc("discover", "`otters`").returncode == 0)
        assert [each["name"] for each in home.answer("status")["corpora"]] == ["skills"]
        assert [each["name"] for each in home.answer("artifacts")] == ["otters"]
        assert "demo" not in home.irc("status").stdout


def test_a_demo_makes_way_for_a_corpus_that_is_added(home):
    notes = home.path / "notes"
    notes.mkdir()
    (notes / "otters.md").write_text("# Otters\n\nCount them.\n")
    examples = str(ROOT / "examples" / "irdaemon.toml")
    with Running(home, "--fallback", examples) as running:
        running.wait_idle()
        added = home.irc("add", "notes", "files", str(notes))
        assert added.returncode == 0
        assert "your own corpora replace the examples (notes, skills)" in added.stdout
        assert "switched off" not in added.stdout
        assert [each["name"] for each in home.answer("status")["corpora"]] == ["notes"]
        assert [each["name"] for each in home.answer("artifacts")] == ["Otters"]


def test_a_demo_is_sound_and_survives_a_restart_and_an_empty_index_names_what_to_do(home):
    examples = str(ROOT / "examples" / "irdaemon.toml")
    try:
        assert home.run("irdaemon", "start", "--detach", "--wait").returncode == 0
        nothing = home.irc("discover", "review a pull request")
        assert (nothing.returncode, "irc add NAME KIND ROOT" in nothing.stdout) == (4, True)
        home.run("irdaemon", "stop")
        done = home.run("irdaemon", "start", "--detach", "--wait", "--fallback", examples)
        assert done.returncode == 0, done.stderr
        checked = home.run("irdaemon", "check")
        assert checked.returncode == 0, checked.stdout
        assert "not in the configuration" not in checked.stdout
        for words in (["restart", "--wait"], ["stop"], ["start", "--detach", "--wait"]):
            said = home.run("irdaemon", *words)
            assert said.returncode == 0, said.stderr
        assert "demo: nothing of yours was found" in said.stderr
        assert home.irc("discover", "`review-pull-request`").returncode == 0
    finally:
        home.run("irdaemon", "stop")
