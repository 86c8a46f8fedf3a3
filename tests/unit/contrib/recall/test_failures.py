"""How an error went away the last time, by what earlier sessions did."""

import sqlite3
from contextlib import closing

import pytest

from irdaemon.contrib.recall.failures import FailedCommand, find_cure
from irdaemon.contrib.recall.observer import clean_runs
from irdaemon.contrib.recall.store import DoneTurn, RecallStore
from irdaemon.source.redact import Redactor
from irdaemon.types import CommandRun
from tests.support.recall import NOW

MISSING = "ModuleNotFoundError: No module named 'requests'"
OTHER = "sqlalchemy.exc.OperationalError: no such table: orders"


def ran(command, error=""):
    return CommandRun(command, "", bool(error), error)


def wrote(path):
    return CommandRun("", path)


@pytest.fixture
def store(tmp_path):
    store = RecallStore(str(tmp_path / "recall.sqlite"))
    yield store
    store.close()


def keep(store, session, *turns, at=NOW):
    """Keep a session of turns, each given by what was run in it."""
    kept = [
        DoneTurn(f"{session}:{n}", session, "/w", at + n, at + n, runs=clean_runs(runs))
        for n, runs in enumerate(turns)
    ]
    store.put_turns("sessions", f"{session}.jsonl", kept, False)


def cure(store, command="pytest", output=MISSING, session="claude:now", **more):
    return find_cure(store, FailedCommand(command, output, session, **more))


def test_it_was_gone_after_the_command_that_was_run_before_the_success(store):
    keep(
        store,
        "claude:A",
        [ran("pytest", MISSING), ran("ls"), ran("uv add requests"), ran("pytest")],
    )
    found = cure(store)
    assert (found.failure.session, found.turn_id) == ("claude:A", "claude:A:0")
    assert (found.command, found.files, found.again) == ("uv add requests", (), "")


def test_an_edit_counts_and_a_success_may_come_in_a_later_turn(store):
    keep(
        store,
        "claude:A",
        [ran("pytest -x", MISSING)],
        [wrote("/w/a.py"), wrote("/w/b.py"), ran("pytest -q")],
    )
    found = cure(store)
    assert (found.turn_id, found.command, found.files) == ("claude:A:1", "", ("/w/b.py", "/w/a.py"))


def test_an_error_that_never_went_away_is_no_answer(store):
    keep(store, "claude:A", [ran("pytest", MISSING), ran("uv add requests")])
    assert cure(store) is None


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest", OTHER),
        ("pytest", "Error"),
        ("pytest", ""),
        ("npm test", MISSING),
        ("cat x", MISSING),
    ],
)
def test_another_error_and_another_command_are_new(store, command, output):
    keep(store, "claude:A", [ran("pytest", MISSING), ran("uv add requests"), ran("pytest")])
    assert cure(store, command, output) is None


def test_the_session_that_asks_is_not_its_own_answer(store):
    keep(store, "claude:A", [ran("pytest", MISSING), ran("uv add requests"), ran("pytest")])
    assert cure(store, session="claude:A") is None


def test_what_came_after_the_error_was_gone_did_not_cure_it(store):
    runs = [ran("pytest", MISSING), ran("uv add requests"), ran("pytest", OTHER)]
    keep(store, "claude:A", [*runs, ran("alembic upgrade head"), ran("pytest")])
    assert cure(store).command == "uv add requests"
    assert cure(store, output=OTHER).command == "alembic upgrade head"


def test_what_was_tried_in_vain_did_not_cure_it(store):
    runs = [ran("pytest", MISSING), ran("pip check", "error"), ran("pytest", MISSING)]
    keep(store, "claude:A", [*runs, ran("uv add requests"), ran("pytest")])
    assert cure(store).command == "uv add requests"


def test_of_several_sessions_the_cure_that_most_have_counts(store):
    for n, fix in enumerate(("uv add requests", "uv add requests", "make clean")):
        keep(
            store, f"claude:{n}", [ran("pytest", MISSING), ran(fix), ran("pytest")], at=NOW + 60 * n
        )
    found = cure(store)
    assert (found.failure.session, found.command) == ("claude:1", "uv add requests")


def test_where_nothing_lay_between_it_was_run_again(store):
    keep(
        store,
        "claude:A",
        [ran("git push", "error: failed to push some refs to origin"), ran("git push")],
    )
    keep(store, "claude:B", [ran("pytest", MISSING), ran("pytest --import-mode=importlib")])
    assert cure(store, "git push", "error: failed to push some refs to origin").again == "as it was"
    assert cure(store).again == "pytest --import-mode=importlib"


def test_where_it_is_not_known_to_have_failed_only_the_same_command_counts(store):
    keep(
        store,
        "claude:A",
        [ran("pytest tests", MISSING), ran("uv add requests"), ran("pytest tests")],
    )
    assert cure(store, "pytest", is_sure=False) is None
    assert cure(store, "pytest tests -q", is_sure=False).command == "uv add requests"


def test_no_secret_of_a_command_or_an_error_is_kept(store):
    secret = "ghp_" + "a1B2" * 9
    runs = [ran("make deploy", f"error: token {secret} was rejected by registry")]
    keep(
        store, "claude:A", [*runs, ran(f"export TOKEN={secret} && make login"), ran("make deploy")]
    )
    found = cure(
        store, "make deploy", "error: token [secret: GitHub Token] was rejected by registry"
    )
    assert "make login" in found.command
    assert secret not in found.command


SECRET = "hunter2Xq9zT77"


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (f"mysql --password {SECRET} shop", "mysql [secret] shop"),
        (f"curl -u ann:{SECRET} https://a.example/b", "curl ann:[secret] https://a.example/b"),
        (f"deploy --token {SECRET}", "deploy [secret]"),
        (f"deploy --secret {SECRET}", "deploy [secret]"),
        (f"deploy --api-key '{SECRET}'", "deploy [secret]"),
        (f"sshpass -p {SECRET} ssh host", "sshpass [secret] ssh host"),
        (f"docker login --password {SECRET} hub", "docker login [secret] hub"),
        (f"PGPASSWORD={SECRET} psql shop", "psql shop"),
        (f"{'make release ' * 30}", ("make" + " release make" * 30)[:200]),
        (f"deploy {'x' * 286} ghp_{'a1B2' * 9}", f"deploy {'x' * 193}"),
    ],
)
def test_a_secret_that_only_its_option_tells_or_that_a_cut_divides_is_not_kept(store, command, key):
    keep(store, "claude:A", [ran(command, MISSING), ran("uv add requests"), ran(command)])
    with closing(sqlite3.connect(store.path)) as db:
        held = db.execute("SELECT key, command FROM runs").fetchall()
    assert not [each for each in held if SECRET in f"{each}" or "ghp_" in f"{each}"]
    assert held[0][0] == key
    # The command that is asked about has lost its secrets too.
    assert (
        cure(store, Redactor("all").redact_text(command), is_sure=False).command
        == "uv add requests"
    )


def test_the_oldest_runs_are_forgotten_beyond_a_number(store):
    for n in range(4):
        keep(store, f"claude:{n}", [ran("pytest", MISSING), ran("pytest")], at=NOW + n)
    store.prune_runs(4)
    assert store.count("runs") <= 4
    assert cure(store).failure.session == "claude:3"
    assert store.count("turns") == 4
