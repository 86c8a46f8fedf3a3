import time

from irclient.terminal import tables

CORPUS = {
    **{"name": "skills", "kind": "skills", "artifacts": 3, "records": 3, "vectors": 3},
    **{"failures": 0, "pending": 0, "state": "ready", "problems": []},
}


def state(*jobs, **corpus):
    process = {"version": "1", "pid": 7, "uptime_s": 1.0, "generation": 4, "queue": len(jobs)}
    return {**process, "jobs": list(jobs), "corpora": [{**CORPUS, **corpus}]}


def test_a_corpus_is_shown_with_its_roots_and_the_age_of_its_last_scan(monkeypatch):
    monkeypatch.setenv("HOME", "/home/x")
    roots = ["/home/x/.claude/skills", "/home/x/.codex/skills"]
    shown = tables.status(state(roots=roots, last_reconcile=time.time() - 125))
    assert "~/.claude/skills +1" in shown
    assert "2 min 5 s ago" in shown
    assert "not yet" in tables.status(state(last_reconcile=None))


def test_a_job_that_runs_is_shown_as_done_of_total_with_its_rate():
    job = {"kind": "reconcile", "corpus": "skills", "done": 1200, "todo": 23301}
    assert "reconcile skills: 1,200 of 23,301\n" in tables.status(state(job))
    rated = tables.status(state({**job, "since": time.time() - 10}))
    assert "reconcile skills: 1,200 of 23,301, 1" in rated
    assert "/s\n" in rated
    assert "compact: running" in tables.status(
        state({"kind": "compact", "corpus": "", "done": 0, "todo": 0})
    )


def test_the_places_that_are_waited_for_are_one_line():
    places = [{"corpus": f"c{n % 5}", "path": f"/p{n}"} for n in range(60)]
    assert tables.waiting(places) == [
        "waiting for 60 places that do not exist yet (/p0, /p1, /p2, ...);"
        " irc status --json names them"
    ]
    assert tables.waiting([]) == []
