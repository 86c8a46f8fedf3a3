"""What a person sees: answers, exit codes, and changes that are found."""

import mmap
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from irclient import Query
from tests.support.running import Running, finds, knows, until


@pytest.mark.shared_daemon
def test_discover_answers_with_every_promised_field_and_exit_code_0(daemon, home):
    done = home.irc("discover", "fill a pdf form", "--json")
    assert done.returncode == 0, done.stderr
    answer = home.answer("discover", "fill a pdf form")
    assert set(answer) == {
        *("query", "mode", "results", "abstained", "reason", "signals", "n_retrieved"),
        *("n_selected", "generation", "freshness", "took_ms", "tier", "sufficient"),
    }
    hit = answer["results"][0]
    assert hit["name"] == "pdf-forms"
    assert set(hit) == {
        *("corpus", "artifact_id", "name", "kind", "score", "scores", "summary", "pointer"),
        *("fields", "duplicates", "surface_index", "hidden"),
    }
    assert {"pending", "last_reconcile", "legs"} <= set(answer["freshness"])
    assert answer["freshness"]["legs"] == ["dense", "lexical"]


@pytest.mark.shared_daemon
def test_the_short_way_and_the_whole_command_line_say_the_same(daemon, home):
    home.env["COLUMNS"] = "60"
    for words in (
        ["fill a", "pdf form"],
        ["-c", "skills", "write"],
        ["zzzz"],
        ["-c", "skils", "x"],
    ):
        short = home.run("irclient.quick", "discover", *words)
        whole = home.run("irclient.cli.main", "discover", *words)
        assert (short.returncode, short.stdout) == (whole.returncode, whole.stdout)
        assert short.stderr == whole.stderr


def test_a_fresh_answer_includes_what_was_written_just_before(daemon, home):
    for number in range(10):
        home.skill(f"new-{number}", f"Count the {'abcdefghij'[number] * 4}badgers at dawn")
        wanted = f"{'abcdefghij'[number] * 4}badgers"
        answer = home.answer("search", wanted, "--mode", "lexical", "--fresh")
        assert [hit["name"] for hit in answer["results"]] == [f"new-{number}"]
        assert answer["freshness"]["unproved"] == []


@pytest.mark.shared_daemon
def test_what_is_held_can_be_listed_by_the_path_it_lies_at(daemon, home):
    listed = home.answer("artifacts", "skills")
    assert [held["name"] for held in listed] == ["changelog", "pdf-forms"]
    (held,) = home.answer("artifacts", "--under", str(home.skills / "pdf-forms"))
    assert held == listed[1]
    assert home.irc("artifacts", "-k", "1").stdout.endswith("changelog\n")


@pytest.mark.shared_daemon
def test_a_generation_can_be_waited_for(daemon, home):
    now = home.answer("status")["generation"]
    waited = home.answer("wait", str(now))
    assert (waited["reached"], waited["generation"] >= now) == (True, True)
    late = home.irc("wait", str(now + 1000), "--wait-ms", "20")
    assert late.returncode == 5
    assert "generation" in late.stdout


@pytest.mark.shared_daemon
def test_status_has_every_promised_field(daemon, home):
    state = home.answer("status")
    assert {"version", "pid", "uptime_s", "generation", "socket", "queue", "corpora"} <= set(state)
    assert {"level", "corpora", "stuck", "limits"} == set(state["health"])
    assert state["pid"] == daemon.process.pid
    skills = state["corpora"][0]
    promised = "name kind roots artifacts records vectors failures pending last_reconcile state"
    assert set(promised.split()) <= set(skills)
    assert (skills["artifacts"], skills["vectors"], skills["state"]) == (2, 2, "ready")


@pytest.mark.shared_daemon
def test_exit_codes_tell_abstained_wrong_unknown_and_unreachable_apart(daemon, home):
    assert home.irc("discover", "zzzz", "--mode", "lexical").returncode == 1
    assert home.irc("discover", "").returncode == 2
    assert home.irc("discover", "x", "--where", '{"name": {"$regex": "x"}}').returncode == 2
    assert home.irc("discover", "x", "--no-such-option").returncode == 2
    unknown = home.irc("discover", "x", "-c", "skils")
    assert unknown.returncode == 4
    assert "did you mean 'skills'" in unknown.stderr
    home.env["IRDAEMON_SOCKET"] = str(home.path / "none.sock")
    assert home.irc("discover", "x").returncode == 3


@pytest.mark.shared_daemon
def test_data_goes_to_stdout_alone_and_no_progress_is_drawn_off_a_terminal(daemon, home):
    done = home.irc("build")
    assert "\r" not in done.stderr
    assert "unchanged" in done.stdout


@pytest.mark.shared_daemon
def test_a_filter_narrows_before_the_top_k(daemon, home):
    answer = home.answer("search", "write", "-k", "1", "--where", "name=pdf-forms")
    assert [hit["name"] for hit in answer["results"]] == ["pdf-forms"]
    nothing = home.answer("discover", "write", "--where", "name=none")
    assert (nothing["abstained"], nothing["reason"]) == (True, "filtered_out")


def test_disclose_gives_the_text_and_what_comes_with_it(daemon, home):
    script = home.skills / "pdf-forms" / "scripts" / "fill.py"
    script.parent.mkdir()
    script.write_text("print('filled')\n")
    (disclosed,) = home.answer("disclose", "skills/pdf-forms", "--level", "bundled")
    assert "Use qpdf" in disclosed["body"]
    assert disclosed["files"] == [
        {"path": "scripts/fill.py", "size": 16, "text": "print('filled')\n", "note": ""}
    ]


def test_new_words_of_an_edited_skill_are_found_and_old_ones_are_not(daemon, home):
    home.skill("changelog", "Compose release notes about wombats")
    until(lambda: finds(home, "wombats", "changelog"))
    assert not finds(home, "commits", "changelog")


def test_an_atomic_save_is_an_edit(daemon, home):
    path = home.skills / "changelog" / "SKILL.md"
    fresh = path.with_suffix(".tmp")
    fresh.write_text(path.read_text().replace("commits", "platypuses"))
    os.replace(fresh, path)
    until(lambda: finds(home, "platypuses", "changelog"))


def test_a_deleted_skill_is_gone_even_if_it_was_the_last(daemon, home):
    for name in ("changelog", "pdf-forms"):
        shutil.rmtree(home.skills / name)
        until(lambda gone=name: not knows(home, f"skills/{gone}"))
    assert home.irc("discover", "anything").returncode == 4


def test_a_renamed_directory_is_found_under_its_new_name_only(daemon, home):
    (home.skills / "changelog").rename(home.skills / "history")
    until(lambda: knows(home, "skills/~/.claude/skills/history"))
    until(lambda: not knows(home, "skills/~/.claude/skills/changelog"))


def test_a_root_that_vanishes_loses_nothing_and_heals_when_it_returns(daemon, home):
    away = home.path / "away"
    home.skills.rename(away)
    until(lambda: home.answer("ls")[0]["state"] == "degraded")
    assert knows(home, "skills/pdf-forms")
    assert home.answer("discover", "pdf form")["freshness"]["degraded"] == ["skills"]
    away.rename(home.skills)
    until(lambda: home.answer("ls")[0]["state"] == "ready")
    home.skill("pdf-forms", "Handles wallabies")
    until(lambda: finds(home, "wallabies", "pdf-forms"))


def test_prune_is_the_persons_word_that_a_missing_root_is_really_gone(daemon, home):
    shutil.rmtree(home.skills)
    home.irc("build", "skills")
    done = home.irc("build", "skills", "--prune")
    assert done.returncode == 0, done.stderr
    assert not knows(home, "skills/pdf-forms")


def test_a_corpus_can_be_added_with_comments_kept_and_taken_away_again(daemon, home):
    home.config.write_text('# mine\nembedder = "hashing"  # fast\n')
    notes = home.path / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text("# Tea\n\nSteep for three minutes.\n")
    added = home.irc("add", "notes", "files", str(notes))
    assert added.returncode == 0, added.stderr
    assert home.answer("discover", "steep", "-c", "notes")["results"][0]["name"] == "Tea"
    assert "# mine" in home.config.read_text()
    assert "# fast" in home.config.read_text()
    assert home.irc("rm", "notes").returncode == 0
    assert home.irc("info", "notes").returncode == 4
    assert "notes" not in home.config.read_text()


@pytest.mark.shared_daemon
def test_a_corpus_that_would_break_the_configuration_is_refused_and_nothing_is_written(
    daemon, home
):
    before = home.config.read_text()
    refused = home.irc("add", "x", "filez", str(home.path))
    assert refused.returncode == 2
    assert "did you mean 'files'" in refused.stderr
    assert home.config.read_text() == before


def test_an_appended_turn_of_a_session_is_found(home, daemon):
    def line(kind, number, **message):
        import json

        return (
            json.dumps(
                {
                    "type": kind,
                    "uuid": f"u{number}",
                    "parentUuid": f"u{number - 1}" if number else None,
                    "isSidechain": False,
                    "sessionId": "S",
                    "timestamp": "2026-09-01T10:00:00.000Z",
                    "cwd": "/w",
                    "version": "2.1.263",
                    "message": message,
                }
            )
            + "\n"
        )

    def turn(number, question, answer):
        said = [{"type": "text", "text": answer}]
        return line("user", number, role="user", content=question) + line(
            "assistant",
            number + 1,
            role="assistant",
            id=f"m{number}",
            content=said,
            stop_reason="end_turn",
        )

    session = home.path / ".claude" / "projects" / "-w" / "S.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text(turn(0, "why is the parser slow", "It backtracks."))
    home.irc("add", "sessions", "sessions", str(session.parent.parent))
    assert home.answer("discover", "slow parser", "-c", "sessions")["n_selected"] == 1
    with session.open("a") as file:
        file.write(turn(2, "fix the numbats", "Numbats fixed."))
    until(lambda: home.answer("search", "numbats", "-c", "sessions")["n_retrieved"] == 2)


def test_a_root_that_is_missing_is_told_by_status_and_its_exit_code(home, daemon):
    def told():
        return home.irc("status").returncode, home.run("irdaemon", "status").returncode

    until(lambda: told() == (0, 0))
    home.skills.rename(home.path / "away")
    until(lambda: told() == (5, 5))
    (corpus,) = home.answer("status")["health"]["corpora"]
    assert (corpus["level"], corpus["offline"][0]["path"]) == ("offline", str(home.skills))
    assert f"offline: skills: {home.skills}: " in home.irc("status").stdout
    (home.path / "away").rename(home.skills)
    until(lambda: told() == (0, 0))


def test_health_tells_the_newest_change_seen_from_the_newest_indexed(home, daemon):
    home.skill("fresh", "Peel a pomelo")
    until(lambda: finds(home, "pomelo", "fresh"))

    def level():
        (corpus,) = daemon.wait_idle()["health"]["corpora"]
        return corpus["changed_at"] == corpus["indexed_at"] and corpus["waiting_s"] == 0.0

    until(level)
    assert home.answer("status")["health"]["level"] == "ok"


def test_what_failed_is_quarantined_with_how_often_it_was_tried(home, daemon):
    os.truncate(home.skill("broken", "x"), 5_000_000)
    until(lambda: home.answer("status", "--failures"))
    (corpus,) = home.answer("status")["health"]["corpora"]
    (kept,) = corpus["quarantined"]
    assert "more than the limit of 4,000,000" in kept["reason"]
    assert kept["tries"] >= 1
    assert "quarantined: skills: 1 failed" in home.irc("status").stdout


# An event of a change comes sooner than that after it.
LONG_AGO_S = 12.0


def test_a_change_that_no_event_told_of_is_found_by_routine_and_said(home):
    home.config.write_text('embedder = "hashing"\n[schedule]\nreconcile_minutes = 0.02\n')
    path = home.skill("silent", "Peel a pomelo", "a body")
    with Running(home) as running:
        until(lambda: running.wait_idle()["watch"] and finds(home, "pomelo", "silent"))
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            # Stopped, so that the scan comes when an event would have been there for long.
            running.process.send_signal(signal.SIGSTOP)
            mapped[-7:-1] = b"jackal"  # written through memory: inotify is not told
            mapped.flush()
            time.sleep(LONG_AGO_S)
            running.process.send_signal(signal.SIGCONT)
            until(lambda: home.answer("status")["health"]["corpora"][0]["missed_events"] == 1)
            assert finds(home, "jackal", "silent")
            until(lambda: home.irc("status").returncode == 0)


@pytest.mark.shared_daemon
def test_a_prompt_of_ten_megabytes_on_stdin_is_answered_and_an_empty_one_is_wrong_usage(
    daemon, home
):
    def asked(data, *words):
        command = [sys.executable, "-m", "irclient.quick", "discover", "-", *words]
        return subprocess.run(command, env=home.env, input=data, capture_output=True, timeout=120)

    done = asked(b"fill in a pdf form\n" * 600_000, "-l", "-n", "1", "--min-score", "none")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == f"{home.skills / 'pdf-forms' / 'SKILL.md'}\n"
    empty = asked(b" \n")
    assert (empty.returncode, empty.stdout) == (2, b"")
    assert b"stdin has no words" in empty.stderr


@pytest.mark.shared_daemon
def test_since_is_an_error_that_names_the_corpora_without_dates(daemon, home):
    refused = home.irc("discover", "x", "--since", "7d", "-c", "skills")
    assert refused.returncode == 2
    assert "there are none in skills" in refused.stderr
    assert home.irc("discover", "x", "--since", "yesterday").returncode == 2


@pytest.mark.shared_daemon
def test_what_cannot_be_asked_is_refused_by_the_daemon_too(daemon, home):
    for words in (["--surface", "nosuch"], ["--weight", "nosuch=2"]):
        refused = home.irc("search", "x", *words)
        assert (refused.returncode, "unknown surface kind 'nosuch'" in refused.stderr) == (2, True)
    assert home.irc("artifacts", "--after", "garbage").returncode == 2


@pytest.mark.shared_daemon
def test_an_impression_noted_by_name_has_its_effect_and_one_of_nothing_is_refused(daemon, home):
    def asked():
        with home.client() as client:
            return client.discover(Query("fill a pdf form", ("skills",)), session="claude:s")

    assert asked().results
    noted = home.answer("impressions", "claude:s", "skills/pdf-forms")
    hit = home.answer("discover", "fill a pdf form")["results"][0]
    assert [each["reference"] for each in noted] == [f"skills/{hit['artifact_id']}"]
    assert asked().reason == "offered_before"
    for wrong in ("skills/nothing-of-this-name", "skils/pdf-forms", "pdf-forms", "skills/"):
        done = home.irc("impressions", "claude:s", wrong)
        assert (done.returncode, bool(done.stderr)) in ((2, True), (4, True)), wrong
    assert home.answer("impressions", "claude:s") == noted


def test_the_status_fits_a_screen_whatever_is_wrong(daemon, home):
    for number in range(200):
        (home.skills / f"gone-{number}").mkdir()
        (home.skills / f"gone-{number}" / "SKILL.md").symlink_to("/nowhere/at/all")
    assert home.irc("build", "skills").returncode == 0
    lines = home.irc("status").stdout.splitlines()
    assert len(lines) < 24
    (grouped,) = (line for line in lines if line.startswith("skills: 200 in "))
    assert grouped.endswith(": gone-0, gone-1, gone-10, ...")
    assert str(home.skills) in grouped


@pytest.mark.shared_daemon
def test_a_root_can_be_hinted_and_a_wait_says_that_its_time_is_up(daemon, home):
    hinted = home.irc("hint", str(home.skills))
    assert (hinted.returncode, "skills:" in hinted.stdout) == (0, True), hinted.stderr
    waited = home.irc("wait", "100000", "--wait-ms", "20")
    assert waited.returncode == 5
    assert "the time is up, and generation 100000 is not served yet" in waited.stderr
    page = home.irc("artifacts", "-c", "skills")
    assert (page.returncode, page.stdout) == (0, home.irc("artifacts", "skills").stdout)
