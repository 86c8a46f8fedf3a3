"""What macOS refuses, lacks or has elsewhere: only what the system answers is replaced."""

import errno
import os
import resource

import pytest

from irclient.agents.install.targets import SETTINGS_FILES, Machine
from irdaemon.cli.doctor import machine
from irdaemon.cli.doctor import service as doctored
from irdaemon.config.sections import Config, LimitsConfig
from irdaemon.daemon import resources, service
from irdaemon.ingest import reader_process
from irdaemon.runtime import bounded, memory
from irdaemon.serve import endpoints
from irdaemon.watch import backend
from irdaemon.watch.limits import Settings, list_mounts, read_watch_budget
from irdaemon.watch.portable import ObserverBackend
from irdaemon.watch.watcher import MountTable

NO_SUCH = "/proc/that/macOS/lacks"


@pytest.fixture
def macos(monkeypatch, tmp_path):
    """Have every module find itself on macOS; return the limits that were asked for."""
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    asked = []

    def set_limit(kind, limits):
        asked.append((kind, limits))
        if kind == resource.RLIMIT_AS or limits[0] > 10_240:
            raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", set_limit)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, resource.RLIM_INFINITY))
    return asked


def test_trees_are_watched_by_the_observer_of_the_system(macos):
    made = backend.make_native(lambda *hint: None, Settings())
    assert isinstance(made, ObserverBackend)
    assert (made.caught_up(0.0), made.receives_events(0.0), made.count_directories("/")) == (
        *(False, True, 0),
    )


def test_a_command_runs_although_its_memory_cannot_be_limited(macos):
    bounded.limit_memory(1 << 30)
    assert macos == [(resource.RLIMIT_AS, (1 << 30, 1 << 30))]


def test_entries_are_read_although_memory_is_neither_told_nor_limited(macos, monkeypatch):
    reader_process._limit_memory()
    assert macos[0][0] == resource.RLIMIT_AS
    monkeypatch.setattr(reader_process, "_STATM", NO_SUCH)
    reader_process._limit_memory()
    assert len(macos) == 1


def test_as_many_files_as_macos_allows_may_be_open_though_it_names_no_limit(macos):
    fit = endpoints.allow_descriptors(connections=0, endpoints=2)
    assert [limits[0] for _, limits in macos] == [endpoints._MANY_DESCRIPTORS, 10_240]
    assert fit == endpoints.fit_descriptors(0, 2, 256, 10_240)[1]
    resources.set_open_files(LimitsConfig(open_files=50_000))
    assert macos[-1][1] == (50_000, resource.RLIM_INFINITY)


def test_where_no_limit_at_all_is_taken_the_one_there_is_counts(macos, monkeypatch):
    def refuse(kind, limits):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert endpoints.allow_descriptors(0, 2) == endpoints.fit_descriptors(0, 2, 256, 256)[1]


def test_open_files_are_counted_and_memory_is_the_most_there_was(macos, monkeypatch):
    assert resources.measure_usage().open_files > 0
    really = open

    def open_what_is_there(path, *more, **named):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return really(path, *more, **named)

    monkeypatch.setattr("builtins.open", open_what_is_there)
    assert memory.measure_resident() == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_without_the_kernels_tables_there_is_no_budget_of_watches_and_no_mount():
    assert read_watch_budget(NO_SUCH) is None
    assert list_mounts(NO_SUCH) == ()
    table = MountTable(NO_SUCH)
    assert not table.may_have_changed()
    assert table.find_changed(["/"]) == ()
    table.close()


def test_the_doctor_looks_at_the_agent_and_asks_nothing_about_inotify(macos):
    (missing,) = doctored.check_service(Config("/c.toml", "/state"))
    assert str(service.find_agent()) in str(missing)
    service.find_agent().parent.mkdir(parents=True)
    service.find_agent().write_bytes(service.make_agent())
    (found,) = doctored.check_service(Config("/c.toml", "/state"))
    assert "installed for this interpreter" in str(found)
    (limits,) = machine.check_limits(Config("/c.toml", "/state"))
    assert "inotify" not in str(limits)


def test_the_settings_of_vs_code_are_where_a_mac_has_them(macos, tmp_path):
    place = Machine(str(tmp_path), str(tmp_path), os.environ, hook="", irc="/bin/irc")
    (file,) = SETTINGS_FILES["vscode"](place, False)
    assert file.path == f"{tmp_path}/Library/Application Support/Code/User/mcp.json"
