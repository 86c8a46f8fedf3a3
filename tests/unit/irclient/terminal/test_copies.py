"""What `irc status` says of backends, on the daemon that writes and on a front end."""

from irclient.cli.status import format_prometheus
from irclient.terminal.tables import format_backends

DB = "postgresql://db/ir"


def copy(state="level", **more):
    plain = {"backend": DB, "state": state, "generation": 7, "holder": "ann@laptop", "reason": ""}
    return {**plain, "since": None, "behind_s": 0.0, **more}


def corpus(name, **more):
    return {"name": name, **more}


def test_without_a_backend_nothing_is_said():
    assert format_backends({"corpora": [corpus("skills"), corpus("notes", copy=None)]}) == []


def test_level_copies_are_one_line_and_every_other_copy_has_its_reason():
    lines = format_backends(
        {
            "corpora": [
                corpus("skills", copy=copy()),
                corpus("notes", copy=copy()),
                corpus("code", copy=copy("degraded", reason="db does not answer", since=1e9)),
                corpus("rules", copy=copy("refused", reason="bob@desk writes it", since=1e9)),
                corpus("docs", copy=copy("sending", since=1e9)),
                corpus("sessions"),
            ]
        }
    )
    assert lines[0] == f"copies: skills, notes at {DB}: up to date"
    assert lines[1].startswith(f"copy: code at {DB}: not up to date since 2001-09-0")
    assert lines[1].endswith(": db does not answer; answers here are from this daemon's own index")
    assert "bob@desk writes it" in lines[2]
    assert lines[3] == f"copy: docs at {DB}: being sent"


def test_a_front_end_says_who_writes_and_what_does_not_answer():
    away = {"backend": "qdrant://q", "problem": "connection refused", "since": 1e9}
    here = {"backend": DB, "problem": "", "since": 1e9}
    empty = {"backend": "postgresql://new/ir", "problem": "", "since": 1e9}
    lines = format_backends(
        {"backends": [here, away, empty], "corpora": [corpus("skills", copy=copy())]}
    )
    assert lines[0] == f"front end: from {DB}, written by ann@laptop"
    assert lines[1].startswith("front end: qdrant://q does not answer since 2001-09-0")
    assert lines[1].endswith(": connection refused")
    assert lines[2] == "front end: postgresql://new/ir has no corpus yet"


def test_prometheus_is_told_of_copies_and_backends():
    figures = dict.fromkeys(("artifacts", "records", "vectors", "failures", "pending"), 0)
    text = format_prometheus(
        {
            "corpora": [
                corpus("s", copy=copy("degraded", behind_s=9.5), last_reconcile=None, **figures)
            ],
            "backends": [{"backend": DB, "problem": "away", "since": 1.0}],
        }
    )
    for line in (
        'irdaemon_copy_level{corpus="s"} 0',
        'irdaemon_copy_generation{corpus="s"} 7',
        'irdaemon_copy_behind_s{corpus="s"} 9.5',
        f'irdaemon_backend_answers{{backend="{DB}"}} 0',
    ):
        assert line in text.splitlines()
