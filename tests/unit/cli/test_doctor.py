"""The doctor's judgements: each a pure function of what was measured."""

import os
import sqlite3
import sys
from contextlib import closing

import pytest

from irdaemon import __version__
from irdaemon.cli import doctor
from irdaemon.cli.doctor import (
    database,
    directories,
    endpoint,
    kernel,
    readers,
    roots,
    unit,
    versions,
)
from irdaemon.config.config import parse_config
from irdaemon.daemon import service
from irdaemon.ledger import Ledger
from irdaemon.ledger.schema import MIGRATIONS
from irdaemon.watch.limits import Mount

HEALTHY = {"level": "ok", "stuck": [], "limits": [], "corpora": []}


def config(text=""):
    return parse_config("known = false\n" + text, "/none/irdaemon.toml")


@pytest.mark.parametrize(
    ("finding", "level"),
    [
        (versions.new_enough("X", (3, 12, 1), (3, 11)), "ok"),
        (versions.new_enough("X", (3, 9), (3, 11)), "wrong"),
        (versions.same_release("1.0", "1.0"), "ok"),
        (versions.same_release("1.0", "1.1"), "wrong"),
        (readers.judged("PDF", ""), "ok"),
        (readers.judged("PDF", "pip install"), "note"),
        (readers.judged_ocr(""), "ok"),
        (readers.judged_languages(()), "ok"),
        (readers.judged_languages(("go",)), "note"),
        (readers.judged_ocr("apt install"), "note"),
        (kernel.open_files(1024), "ok"),
        (kernel.open_files(512), "note"),
        (kernel.open_files(64), "wrong"),
        (kernel.watches(1000, 8192, 0), "ok"),
        (kernel.watches(1000, None, 0), "ok"),
        (kernel.watches(7000, 8192, 0), "wrong"),
        (kernel.watches(10, 8192, 8100), "wrong"),
        (kernel.instances(128, 3), "ok"),
        (kernel.instances(None, 3), "ok"),
        (kernel.instances(128, 128), "wrong"),
        (kernel.queue(16_384), "ok"),
        (kernel.queue(100), "note"),
        (database.known_format("/l", 3, 3), "ok"),
        (database.known_format("/l", 2, 3), "note"),
        (database.known_format("/l", 4, 3), "wrong"),
        (database.whole("/l", ["ok"]), "ok"),
        (database.whole("/l", ["row 7 missing"]), "wrong"),
        (endpoint.length("/run/x.sock"), "ok"),
        (endpoint.length("/" + "x" * 200), "wrong"),
        (endpoint.silent("/s", False, None, "no"), "note"),
        (endpoint.silent("/s", True, None, "no"), "wrong"),
        (endpoint.silent("/s", True, 7, "no"), "wrong"),
        (endpoint.answered("/s", {"version": __version__, "pid": 7}, 7), "ok"),
        (endpoint.answered("/s", {"version": "0", "pid": 7}, 7), "wrong"),
        (endpoint.answered("/s", {"version": "0", "pid": 7}, None), "wrong"),
        (unit.matches("/u", b"a", b"a"), "ok"),
        (unit.matches("/u", b"a", b"b"), "wrong"),
        (unit.active("  Active: active (running) since"), "ok"),
        (unit.active("  Active: failed (Result: exit-code)"), "wrong"),
        (unit.active("  Active: inactive (dead)"), "note"),
        (unit.active("Failed to connect to bus"), "note"),
    ],
)
def test_each_measure_is_judged_and_what_is_wrong_comes_with_a_command(finding, level):
    assert finding.level == level
    assert finding.fix or level != "wrong"


def test_a_library_that_is_missing_is_named_with_how_to_get_it():
    (finding,) = versions.packages(["no-such-library"])
    assert finding.level == "wrong"
    assert "pip install no-such-library" in finding.fix


def test_a_private_directory_is_well_and_an_open_one_gets_its_chmod(tmp_path):
    tmp_path.chmod(0o700)
    (good,) = directories.private(str(tmp_path))
    tmp_path.chmod(0o755)
    (bad,) = directories.private(str(tmp_path))
    assert (good.level, bad.level, bad.fix) == ("ok", "wrong", f"chmod 700 {tmp_path}")


def test_a_directory_that_is_not_there_yet_is_nothing_wrong(tmp_path):
    (finding,) = directories.private(str(tmp_path / "none"))
    assert finding.level == "note"


def test_a_file_in_the_place_of_a_directory_is_wrong(tmp_path):
    (tmp_path / "file").touch()
    (finding,) = directories.private(str(tmp_path / "file"))
    assert finding.level == "wrong"


def test_a_file_of_the_daemons_that_others_may_read_is_wrong(tmp_path):
    file = tmp_path / "it's a log"
    file.touch(0o600)
    assert list(directories.exposed(str(file))) == []
    file.chmod(0o640)
    (finding,) = directories.exposed(str(file))
    assert finding.level == "wrong"
    assert os.system(finding.fix) == 0
    assert list(directories.exposed(str(file))) == []


def test_a_configuration_that_others_may_write_is_wrong(tmp_path):
    file = tmp_path / "irdaemon.toml"
    assert next(directories.editable(str(file))).level == "note"
    file.touch(0o644)
    assert next(directories.editable(str(file))).level == "ok"
    file.chmod(0o664)
    assert next(directories.editable(str(file))).fix == f"chmod go-w {file}"


def test_roots_are_missing_there_or_on_a_network(tmp_path):
    mounts = (Mount("/", "ext4"), Mount(str(tmp_path / "far"), "nfs4"))
    (tmp_path / "far").mkdir()
    found = [
        roots.judged("notes", str(path), mounts)
        for path in (tmp_path, tmp_path / "far", tmp_path / "none")
    ]
    assert [finding.level for finding in found] == ["ok", "note", "wrong"]
    assert "irc rm notes" in found[2].fix


def test_the_directories_to_watch_are_counted_without_pruned_ones(tmp_path):
    for name in ("a/b", "c", ".git/objects", "node_modules/x"):
        (tmp_path / name).mkdir(parents=True)
    assert kernel.directories(config(f'[corpora.n]\nkind = "files"\nroots = ["{tmp_path}"]')) == 4


def test_what_programs_hold_of_inotify_is_counted_by_user(tmp_path):
    for pid, descriptor, target in (
        ("7", "3", "inotify"),
        ("7", "4", "pipe"),
        ("8", "3", "inotify"),
    ):
        for kind in ("fd", "fdinfo"):
            (tmp_path / pid / kind).mkdir(parents=True, exist_ok=True)
        (tmp_path / pid / "fd" / descriptor).symlink_to(f"anon_inode:{target}")
        (tmp_path / pid / "fdinfo" / descriptor).write_text("pos: 0\ninotify wd:1\ninotify wd:2\n")
    (tmp_path / "self").mkdir()
    assert kernel.held_now(str(tmp_path), os.getuid()) == kernel.Held(2, 4)
    assert kernel.held_now(str(tmp_path), os.getuid() + 1) == kernel.Held(0, 0)


def test_a_ledger_is_whole_or_damaged_or_of_a_later_version(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = config()
    assert [finding.level for finding in database.check(made)] == ["note"]
    Ledger(made.ledger_path).close()
    assert [finding.level for finding in database.check(made)] == ["ok", "ok"]
    with closing(sqlite3.connect(made.ledger_path)) as later:
        later.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    assert [finding.level for finding in database.check(made)] == ["wrong", "ok"]
    with open(made.ledger_path, "r+b") as file:
        file.write(b"no database" * 10)
    assert [finding.level for finding in database.check(made)] == ["wrong"]


def test_what_the_daemon_says_is_wrong_with_it_becomes_findings():
    corpus = {"name": "notes", "offline": [{"path": "/n", "reason": "gone"}], "stale": ["late"]}
    health = {
        "level": "offline",
        "stuck": ["the writer died"],
        "limits": ["m"],
        "corpora": [corpus],
    }
    found = list(endpoint.healthy({"config": "/c", "health": health}))
    assert [finding.level for finding in found] == ["wrong", "wrong", "wrong", "note"]
    assert [f.level for f in endpoint.healthy({"config": "/c", "health": HEALTHY})] == ["ok"]


def test_a_daemon_too_old_to_tell_its_health_is_to_be_restarted():
    (finding,) = endpoint.healthy({"config": "/c"})
    assert (finding.level, finding.fix) == ("wrong", "irdaemon restart")


def test_a_check_that_fails_is_a_finding_and_the_others_are_made(monkeypatch):
    def broken(config):
        yield doctor.ok("so far")
        raise RuntimeError("a fault")

    monkeypatch.setattr(doctor, "load", lambda family, name, table: broken)
    found = list(doctor.examine(config()))
    assert [finding.level for _, finding in found] == ["ok", "wrong"] * len(doctor.CHECKS)


def test_a_service_of_another_environment_or_one_that_is_gone_is_wrong_and_ours_is_well(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(unit.sys, "platform", "linux")
    monkeypatch.setattr(unit.shutil, "which", lambda name: None)
    ours = service.unit_text()
    service.unit_path().parent.mkdir(parents=True)
    linked = tmp_path / "venv/bin/python"  # the same program behind another environment
    linked.parent.mkdir(parents=True)
    linked.symlink_to(sys.executable)
    for other in (str(linked), "/gone/bin/python"):
        service.unit_path().write_text(ours.replace(sys.executable, other))
        (found,) = unit.check(config())
        assert (found.level, found.fix) == ("wrong", "irdaemon service install")
    service.unit_path().write_text(ours)
    (found,) = unit.check(config())
    assert found.level == "ok"
