"""The doctor's judgements: each a pure function of what was measured."""

import os
import sqlite3
import sys
from contextlib import closing

import pytest

from irdaemon import __version__
from irdaemon.cli import doctor
from irdaemon.cli.doctor import corpora, machine
from irdaemon.cli.doctor import service as doctored
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
        (machine.judge_version("X", (3, 12, 1), (3, 11)), "ok"),
        (machine.judge_version("X", (3, 9), (3, 11)), "wrong"),
        (machine.judge_release("1.0", "1.0"), "ok"),
        (machine.judge_release("1.0", "1.1"), "wrong"),
        (machine.judge_graphs(True, 50_000), "ok"),
        (machine.judge_graphs(False, 50_000), "note"),
        (machine.judge_graphs(False, 0), "ok"),
        (corpora.judge_format("PDF", ""), "ok"),
        (corpora.judge_format("PDF", "pip install"), "note"),
        (corpora.judge_ocr(""), "ok"),
        (corpora.judge_languages(()), "ok"),
        (corpora.judge_languages(("go",)), "note"),
        (corpora.judge_ocr("apt install"), "note"),
        (machine.judge_open_files(1024), "ok"),
        (machine.judge_open_files(512), "note"),
        (machine.judge_open_files(64), "wrong"),
        (machine.judge_watches(1000, 8192, 0), "ok"),
        (machine.judge_watches(1000, None, 0), "ok"),
        (machine.judge_watches(7000, 8192, 0), "wrong"),
        (machine.judge_watches(10, 8192, 8100), "wrong"),
        (machine.judge_instances(128, 3), "ok"),
        (machine.judge_instances(None, 3), "ok"),
        (machine.judge_instances(128, 128), "wrong"),
        (machine.judge_event_queue(16_384), "ok"),
        (machine.judge_event_queue(100), "note"),
        (doctored.judge_ledger_format("/l", 3, 3), "ok"),
        (doctored.judge_ledger_format("/l", 2, 3), "note"),
        (doctored.judge_ledger_format("/l", 4, 3), "wrong"),
        (doctored.judge_integrity("/l", ["ok"]), "ok"),
        (doctored.judge_integrity("/l", ["row 7 missing"]), "wrong"),
        (doctored.judge_path_length("/run/x.sock"), "ok"),
        (doctored.judge_path_length("/" + "x" * 200), "wrong"),
        (doctored.judge_silence("/s", False, None, "no"), "note"),
        (doctored.judge_silence("/s", True, None, "no"), "wrong"),
        (doctored.judge_silence("/s", True, 7, "no"), "wrong"),
        (doctored.judge_answer("/s", {"version": __version__, "pid": 7}, 7), "ok"),
        (doctored.judge_answer("/s", {"version": "0", "pid": 7}, 7), "wrong"),
        (doctored.judge_answer("/s", {"version": "0", "pid": 7}, None), "wrong"),
        (doctored.judge_service_file("/u", b"a", b"a"), "ok"),
        (doctored.judge_service_file("/u", b"a", b"b"), "wrong"),
        (doctored.judge_unit("  Active: active (running) since"), "ok"),
        (doctored.judge_unit("  Active: failed (Result: exit-code)"), "wrong"),
        (doctored.judge_unit("  Active: inactive (dead)"), "note"),
        (doctored.judge_unit("Failed to connect to bus"), "note"),
    ],
)
def test_each_measure_is_judged_and_what_is_wrong_comes_with_a_command(finding, level):
    assert finding.level == level
    assert finding.fix or level != "wrong"


def test_a_library_that_is_missing_is_named_with_how_to_get_it():
    (finding,) = machine.judge_packages(["no-such-library"])
    assert finding.level == "wrong"
    assert "pip install no-such-library" in finding.fix


def test_a_private_directory_is_well_and_an_open_one_gets_its_chmod(tmp_path):
    tmp_path.chmod(0o700)
    (good,) = machine.judge_directory(str(tmp_path))
    tmp_path.chmod(0o755)
    (bad,) = machine.judge_directory(str(tmp_path))
    assert (good.level, bad.level, bad.fix) == ("ok", "wrong", f"chmod 700 {tmp_path}")


def test_a_directory_that_is_not_there_yet_is_nothing_wrong(tmp_path):
    (finding,) = machine.judge_directory(str(tmp_path / "none"))
    assert finding.level == "note"


def test_a_file_in_the_place_of_a_directory_is_wrong(tmp_path):
    (tmp_path / "file").touch()
    (finding,) = machine.judge_directory(str(tmp_path / "file"))
    assert finding.level == "wrong"


def test_a_file_of_the_daemons_that_others_may_read_is_wrong(tmp_path):
    file = tmp_path / "it's a log"
    file.touch(0o600)
    assert list(machine.judge_file_mode(str(file))) == []
    file.chmod(0o640)
    (finding,) = machine.judge_file_mode(str(file))
    assert finding.level == "wrong"
    assert os.system(finding.fix) == 0
    assert list(machine.judge_file_mode(str(file))) == []


def test_a_configuration_that_others_may_write_is_wrong(tmp_path):
    file = tmp_path / "irdaemon.toml"
    assert next(machine.judge_config_file(str(file))).level == "note"
    file.touch(0o644)
    assert next(machine.judge_config_file(str(file))).level == "ok"
    file.chmod(0o664)
    assert next(machine.judge_config_file(str(file))).fix == f"chmod go-w {file}"


def test_roots_are_missing_there_or_on_a_network(tmp_path):
    mounts = (Mount("/", "ext4"), Mount(str(tmp_path / "far"), "nfs4"))
    (tmp_path / "far").mkdir()
    found = [
        corpora.judge_root("notes", str(path), mounts)
        for path in (tmp_path, tmp_path / "far", tmp_path / "none")
    ]
    assert [finding.level for finding in found] == ["ok", "note", "wrong"]
    assert "irc rm notes" in found[2].fix


def test_a_root_of_projects_is_a_directory_of_ones_own_and_best_on_this_machine(tmp_path):
    mounts = (Mount("/", "ext4"), Mount(str(tmp_path / "far"), "nfs4"))
    (tmp_path / "far").mkdir()
    found = [
        corpora.judge_project_root(str(path), mounts)
        for path in (tmp_path, tmp_path / "far", tmp_path / "none")
    ]
    assert [finding.level for finding in found] == ["ok", "note", "wrong"]
    assert "[projects]" in found[2].fix


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", ["ok"]),
        ("enabled = false", ["note"]),
        ('environment = "/none/venv"', ["ok", "wrong"]),
    ],
)
def test_the_section_of_projects_is_judged(text, levels):
    found = corpora.check_projects(config(f"[projects]\n{text}\n"))
    assert [finding.level for finding in found] == levels


def test_the_directories_to_watch_are_counted_without_pruned_ones(tmp_path):
    for name in ("a/b", "c", ".git/objects", "node_modules/x"):
        (tmp_path / name).mkdir(parents=True)
    assert (
        machine.count_directories(config(f'[corpora.n]\nkind = "files"\nroots = ["{tmp_path}"]'))
        == 4
    )


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
    assert machine.count_held(str(tmp_path), os.getuid()) == machine.Held(2, 4)
    assert machine.count_held(str(tmp_path), os.getuid() + 1) == machine.Held(0, 0)


def test_a_ledger_is_whole_or_damaged_or_of_a_later_version(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = config()
    assert [finding.level for finding in doctored.check_ledger_file(made)] == ["note"]
    Ledger(made.ledger_path).close()
    assert [finding.level for finding in doctored.check_ledger_file(made)] == ["ok", "ok"]
    with closing(sqlite3.connect(made.ledger_path)) as later:
        later.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    assert [finding.level for finding in doctored.check_ledger_file(made)] == ["wrong", "ok"]
    with open(made.ledger_path, "r+b") as file:
        file.write(b"no database" * 10)
    assert [finding.level for finding in doctored.check_ledger_file(made)] == ["wrong"]


def test_what_the_daemon_says_is_wrong_with_it_becomes_findings():
    corpus = {"name": "notes", "offline": [{"path": "/n", "reason": "gone"}], "stale": ["late"]}
    health = {
        "level": "offline",
        "stuck": ["the writer died"],
        "limits": ["m"],
        "corpora": [corpus],
    }
    found = list(doctored.judge_health({"config": "/c", "health": health}))
    assert [finding.level for finding in found] == ["wrong", "wrong", "wrong", "note"]
    assert [f.level for f in doctored.judge_health({"config": "/c", "health": HEALTHY})] == ["ok"]


def test_a_daemon_too_old_to_tell_its_health_is_to_be_restarted():
    (finding,) = doctored.judge_health({"config": "/c"})
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
    monkeypatch.setattr(doctored.sys, "platform", "linux")
    monkeypatch.setattr(doctored.shutil, "which", lambda name: None)
    ours = service.make_unit()
    service.find_unit().parent.mkdir(parents=True)
    linked = tmp_path / "venv/bin/python"  # the same program behind another environment
    linked.parent.mkdir(parents=True)
    linked.symlink_to(sys.executable)
    for other in (str(linked), "/gone/bin/python"):
        service.find_unit().write_text(ours.replace(sys.executable, other))
        (found,) = doctored.check_service(config())
        assert (found.level, found.fix) == ("wrong", "irdaemon service install")
    service.find_unit().write_text(ours)
    (found,) = doctored.check_service(config())
    assert found.level == "ok"
