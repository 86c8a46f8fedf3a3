"""What git tells of files: their content at a time, and whether commits are on a branch."""

import os

import pytest

from irclient.errors import Unavailable
from irdaemon.contrib.recall.history import (
    hash_blob,
    list_lost_commits,
    parse_log,
    read_history,
)
from tests.support.recall import NOW, Checkout

HOUR = 3_600.0


@pytest.fixture
def checkout(tmp_path):
    """Give a repository in which p.py was changed at NOW and an hour later, and q.py never."""
    made = Checkout(tmp_path / "app")
    made.write("p.py", "1")
    made.write("q.py", "q")
    made.commit(NOW)
    made.write("p.py", "2")
    made.commit(NOW + HOUR)
    return made


def test_a_hash_is_that_of_git(checkout):
    assert hash_blob(b"2") == checkout.git("hash-object", "p.py").strip()


@pytest.mark.parametrize(
    ("at", "is_write", "content"),
    [
        (NOW + 60, False, b"1"),  # read between the commits
        (NOW + 2 * HOUR, False, b"2"),  # read after them
        (NOW + HOUR - 5, True, b"2"),  # written and committed in the turn
        (NOW + HOUR - 100, True, b"2"),  # written, and committed a little later
        (NOW + 2 * HOUR, True, None),  # written, and not committed since
    ],
)
def test_a_file_is_what_was_committed_by_then(checkout, at, is_write, content):
    history = read_history(str(checkout.root), NOW)
    found = history.find_blob("p.py", is_write, at, at + 10)
    assert found == ("" if content is None else hash_blob(content))


def test_a_file_that_was_never_changed_is_what_it_is_at_head(checkout):
    history = read_history(str(checkout.root), NOW + 60)
    assert history.find_blob("q.py", False, NOW + 70, NOW + 80) == hash_blob(b"q")


def test_git_knows_nothing_of_a_file_that_it_does_not_have(checkout):
    history = read_history(str(checkout.root), NOW)
    assert history.find_blob("new.py", False, NOW + 60, NOW + 70) == ""
    checkout.write("new.py", "n")
    checkout.commit(NOW + 2 * HOUR)
    history = read_history(str(checkout.root), NOW)
    assert history.find_blob("new.py", False, NOW + 60, NOW + 70) == ""


def test_a_commit_is_lost_once_no_branch_has_it(checkout):
    root, first = str(checkout.root), checkout.git("rev-parse", "HEAD").strip()
    assert list_lost_commits(root, [first[:7]], NOW) == []
    checkout.git("commit", "-q", "--amend", "-m", "other", at=NOW + HOUR + 5)
    assert list_lost_commits(root, [first[:7], "deadbee"], NOW) == [first[:7], "deadbee"]
    checkout.git("branch", "kept", first)
    assert list_lost_commits(root, [first[:7]], NOW) == []


def test_a_directory_that_is_no_repository_is_said_to_be_none(tmp_path):
    (tmp_path / ".git").mkdir()
    with pytest.raises(Unavailable, match="git failed in"):
        read_history(str(tmp_path), NOW)


def test_a_repository_does_not_say_what_git_runs(checkout, tmp_path):
    script, proof = tmp_path / "run.sh", tmp_path / "ran"
    script.write_text(f"#!/bin/sh\ntouch {proof}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "gpg.program", "diff.external", "core.sshCommand"):
        checkout.git("config", key, str(script))
    checkout.git("config", "log.showSignature", "true")
    read_history(str(checkout.root), NOW)
    list_lost_commits(str(checkout.root), ["deadbee"], NOW)
    assert not proof.exists()


def test_a_name_of_any_bytes_is_a_path(checkout):
    name = os.fsdecode(b"a\nb\xff.py")
    checkout.write(name, "x")
    checkout.commit(NOW + 2 * HOUR)
    assert name in read_history(str(checkout.root), NOW).changes


@pytest.mark.parametrize("printed", [b"", b"\0", b"\x01\0\n:100644 1\0", b":a\0b\0", b"\x01x"])
def test_what_is_no_log_has_no_changes(printed):
    assert parse_log(printed.replace(b"x", b"5")) == {}
