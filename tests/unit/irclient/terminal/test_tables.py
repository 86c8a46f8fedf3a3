import time

import pytest

from irclient.terminal import tables
from irclient.terminal.columns import fit_report
from irclient.terminal.width import UNCUT

CORPUS = {
    **{"name": "skills", "kind": "skills", "artifacts": 3, "records": 3, "vectors": 3},
    **{"failures": 0, "pending": 0, "state": "ready", "problems": []},
}


def format_status(state, width=UNCUT):
    return fit_report(tables.format_status(state), width)


def state(*jobs, **corpus):
    process = {"version": "1", "pid": 7, "uptime_s": 1.0, "generation": 4, "queue": len(jobs)}
    return {**process, "jobs": list(jobs), "corpora": [{**CORPUS, **corpus}]}


def test_a_corpus_is_shown_with_its_roots_and_the_age_of_its_last_scan(monkeypatch):
    monkeypatch.setenv("HOME", "/home/x")
    roots = ["/home/x/.claude/skills", "/home/x/.codex/skills"]
    shown = format_status(state(roots=roots, last_reconcile=time.time() - 125))
    assert "~/.claude/skills +1" in shown
    assert "2 min ago" in shown
    assert "not yet" in format_status(state(last_reconcile=None))


def test_a_corpus_that_does_not_follow_changes_says_how_far_behind_it_may_be():
    for reindex in ("manual", "interval"):
        shown = format_status(state(reindex=reindex, last_reconcile=time.time() - 3 * 86_400))
        assert f"{reindex}: skills: may lack what changed since its scan 3 d ago" in shown
        assert "irc build skills" in shown
        unscanned = format_status(state(reindex=reindex, last_reconcile=None))
        assert f"{reindex}: skills: not scanned yet" in unscanned
    assert "may lack" not in format_status(state(reindex="change"))


def test_a_first_build_is_not_told_with_two_totals():
    job = {"kind": "reconcile", "corpus": "skills", "done": 50, "todo": 3_000}
    shown = format_status(state(job, artifacts=672, heads=631))
    assert "reconcile skills: 50 of 3,000\n" in shown
    assert "672 can be found so far, 631 of them only by name and description" in shown


def test_a_job_that_runs_is_shown_as_done_of_total_with_its_rate():
    job = {"kind": "reconcile", "corpus": "skills", "done": 1200, "todo": 23301}
    assert "reconcile skills: 1,200 of 23,301\n" in format_status(state(job))
    rated = format_status(state({**job, "since": time.time() - 10}))
    assert "reconcile skills: 1,200 of 23,301, 1" in rated
    assert "/s\n" in rated
    listing = {**job, "done": 0, "todo": 0}
    assert "reconcile skills: listing entries\n" in format_status(state(listing))
    assert "compact: running" in format_status(
        state({"kind": "compact", "corpus": "", "done": 0, "todo": 0})
    )


def test_the_places_that_are_waited_for_are_one_line():
    places = [{"corpus": f"c{n % 5}", "path": f"/p{n}"} for n in range(60)]
    assert tables.format_waiting(places) == [
        "waiting for 60 missing places (/p0, /p1, /p2, ...); irc status --json names them"
    ]
    assert tables.format_waiting([]) == []


def test_they_are_named_only_where_nothing_of_ones_own_is_indexed():
    places = [{"corpus": "skills", "path": "/p"}]
    found = {**state(), "waiting_for": places}
    assert "waiting for" not in format_status(found)
    assert "waiting for 1 missing place" in format_status({**found, "demo": True})
    assert "waiting for 1 missing place" in format_status({**found, "corpora": []})


def test_what_was_passed_over_is_a_line_for_each_corpus_with_the_most_frequent_reasons():
    counts = {"outside the pattern: .py": 1200, "excluded": 3, "ignored by git": 2, "other": 1}
    (line,) = tables.format_skipped(
        [{**CORPUS, "skipped": counts}, {**CORPUS, "skipped": {}}, CORPUS]
    )
    assert line == (
        "skipped: skills: 1,206: outside the pattern: .py 1,200, excluded 3, ignored by git 2;"
        " irc info skills lists all"
    )
    assert (
        "skipped: skills: 3: excluded 3\n" in format_status(state(skipped={"excluded": 3})) + "\n"
    )


@pytest.mark.parametrize("width", [80, 60, 40])
def test_the_status_keeps_to_the_width_of_a_terminal_with_a_row_for_each_corpus(width):
    name = "a-corpus-with-quite-a-long-name"
    corpus = {"name": name, "roots": [f"/a/long/root/of/{name}"], "last_reconcile": time.time()}
    lines = format_status(state(**corpus), width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.startswith("a-corpus-") for line in lines) == 1
    assert "pending" in "".join(lines)


def test_what_is_piped_is_not_cut():
    corpus = {"roots": ["/r" * 200], "last_reconcile": 0.0}
    assert "/r" * 200 in format_status(state(**corpus))


def test_a_model_is_shown_with_its_place_its_uses_and_what_failed():
    model = {
        **{"endpoint": "https://api.example.com/v1", "model": "large", "local": False},
        **{"selects": ["skills"], "summarises": ["notes", "docs"], "problem": "it is down"},
    }
    assert tables.format_model(model) == [
        "model: large at https://api.example.com/v1, on another machine: redacted text is sent"
        " there; selects in skills; summarises notes, docs; it is down"
    ]
    plain = {**model, "local": True, "selects": [], "summarises": [], "problem": ""}
    assert tables.format_model(plain) == [
        "model: large at https://api.example.com/v1, on this machine"
    ]
    assert tables.format_model(None) == []
    assert "model:" not in format_status(state())


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            {"known": 1, "in_step": 1, "reading": 0, "items": 1},
            "projects: 1 known, 1 up to date, 1 item (irc projects)",
        ),
        (
            {"known": 3, "in_step": 2, "reading": 1, "items": 1_203},
            "projects: 3 known, 2 up to date, 1 still being read, 1,203 items (irc projects)",
        ),
    ],
)
def test_a_status_has_a_line_on_the_projects_that_are_known(found, told):
    assert told in format_status({**state(), "projects": found})
    assert "projects" not in format_status(state())
