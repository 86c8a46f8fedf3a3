"""The user service: commands of the machine's own manager."""

import os
import plistlib
import sys

import pytest

from irclient.errors import Unavailable
from irdaemon.daemon import service
from irdaemon.runtime.pool import Finished


@pytest.fixture
def systemctl(monkeypatch):
    """Give a machine with systemctl; the commands it was asked for, and its next answers."""
    asked, answers = [], []
    monkeypatch.setattr(service.sys, "platform", "linux")
    monkeypatch.setattr(service.shutil, "which", lambda name: f"/usr/bin/{name}")

    def run(command, bounds):
        asked.append(" ".join(command))
        return answers.pop(0) if answers else Finished(0, "")

    monkeypatch.setattr(service.pool, "run", run)
    return asked, answers


def test_install_writes_the_unit_and_starts_it_by_systemctl(systemctl, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked, _ = systemctl
    service.install()
    assert (tmp_path / "systemd" / "user" / service.UNIT).read_text() == service.make_unit()
    assert [line.split()[2] for line in asked] == ["daemon-reload", "enable", "restart"]


def test_a_command_that_fails_is_an_error_with_its_output(systemctl, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    _, answers = systemctl
    answers.append(Finished(1, "Failed to connect to bus\n"))
    with pytest.raises(Unavailable, match="daemon-reload failed: Failed to connect to bus"):
        service.install()


def test_a_machine_without_systemctl_is_an_error_that_names_the_other_way(monkeypatch):
    monkeypatch.setattr(service.sys, "platform", "linux")
    monkeypatch.setattr(service.shutil, "which", lambda name: None)
    with pytest.raises(Unavailable) as caught:
        service.read_status()
    assert "irdaemon start --detach" in caught.value.hint


def test_what_runs_makes_way_after_the_manager_took_the_unit_and_before_it_starts_it(
    systemctl, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked, _ = systemctl
    service.install(lambda: asked.append("x x way is made"))
    assert [line.split()[2] for line in asked] == ["daemon-reload", "enable", "way", "restart"]


def test_a_failed_install_leaves_no_unit_and_one_that_was_there_as_it_was(
    systemctl, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    _, answers = systemctl
    answers += [Finished(0, ""), Finished(0, ""), Finished(1, "it failed")]
    with pytest.raises(Unavailable, match="it failed"):
        service.install()
    assert not service.find_unit().exists()
    service.find_unit().parent.mkdir(parents=True)
    service.find_unit().write_text("mine")
    answers += [Finished(1, "no bus")]
    with pytest.raises(Unavailable, match="no bus"):
        service.install()
    assert service.find_unit().read_text() == "mine"


def test_a_failed_install_removes_the_directories_that_it_made(systemctl, tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    _, answers = systemctl
    answers.append(Finished(1, "no bus"))
    with pytest.raises(Unavailable, match="no bus"):
        service.install()
    assert list((tmp_path / "config").iterdir()) == []
    mine = tmp_path / "config" / "systemd" / "user" / "mine.service"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    answers.append(Finished(1, "no bus"))
    with pytest.raises(Unavailable, match="no bus"):
        service.install()
    assert list(mine.parent.iterdir()) == [mine]


def test_a_unit_that_cannot_be_written_is_an_error_with_its_path(systemctl, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(Unavailable, match=r"irdaemon\.service cannot be written: Not a directory"):
        service.install()


def test_uninstall_removes_the_unit_although_the_manager_fails(systemctl, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    _, answers = systemctl
    service.install()
    answers += [Finished(1, "no bus"), Finished(1, "no bus")]
    assert "no bus" in service.uninstall()
    assert not service.find_unit().exists()


def test_the_service_runs_the_process_that_the_manager_names(systemctl):
    _, answers = systemctl
    answers += [Finished(0, "17\n"), Finished(0, "17\n"), Finished(0, "0\n"), Finished(1, "no bus")]
    assert [service.is_service(pid) for pid in (17, 18, None, 17, 17)] == [
        *(True, False, False, False, False)
    ]


def test_a_machine_without_a_manager_is_left_without_a_unit(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(service.sys, "platform", "linux")
    monkeypatch.setattr(service.shutil, "which", lambda name: None)
    with pytest.raises(Unavailable, match="systemctl"):
        service.install()
    assert not service.find_unit().exists()


def test_a_launch_agent_is_a_property_list_that_starts_this_interpreter():
    agent = plistlib.loads(service.make_agent())
    started = [sys.executable, "-m", "irdaemon", "start", "--log"]
    assert agent["ProgramArguments"][:5] == started
    assert agent["KeepAlive"] == {"SuccessfulExit": False}


@pytest.fixture
def launchctl(monkeypatch, tmp_path):
    """Give a Mac: what launchctl was asked for, and its next answers."""
    asked, answers = [], []
    monkeypatch.setattr(service.sys, "platform", "darwin")
    monkeypatch.setattr(service.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(service.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(command, bounds):
        asked.append(" ".join(command[1:]))
        usual = Finished(113, "Could not find service") if command[1] == "print" else None
        return answers.pop(0) if answers else usual or Finished(0, "")

    monkeypatch.setattr(service.pool, "run", run)
    return asked, answers


def verbs(asked):
    return [line.split()[0] for line in asked]


def test_an_agent_is_installed_once_the_one_before_is_gone(launchctl):
    asked, answers = launchctl
    answers += [Finished(0, ""), Finished(0, "pid = 17"), Finished(0, "pid = 17")]
    assert "started" in service.install(lambda: asked.append("way is made"))
    assert service.find_agent().read_bytes() == service.make_agent()
    assert verbs(asked) == ["bootout", "print", "print", "print", "way", "bootstrap"]
    assert asked[-1] == f"bootstrap gui/{os.getuid()} {service.find_agent()}"


def test_an_agent_that_launchd_does_not_let_go_of_is_waited_for_a_while_only(
    launchctl, monkeypatch
):
    asked, answers = launchctl
    clock = iter(range(1_000))
    monkeypatch.setattr(service.time, "monotonic", lambda: float(next(clock)))
    answers += [Finished(0, "")] * 30
    service.install()
    assert verbs(asked)[-1] == "bootstrap"


def test_a_failed_install_of_an_agent_leaves_none_and_one_that_was_there_as_it_was(launchctl):
    _, answers = launchctl
    failed = [Finished(0, ""), Finished(113, ""), Finished(5, "Bootstrap failed: 5")]
    answers += failed
    with pytest.raises(Unavailable, match="Bootstrap failed: 5"):
        service.install()
    assert not service.find_agent().exists()
    service.find_agent().parent.mkdir(parents=True)
    service.find_agent().write_text("mine")
    answers += failed
    with pytest.raises(Unavailable):
        service.install()
    assert service.find_agent().read_text() == "mine"


def test_an_agent_is_restarted_and_found_by_its_pid_and_removed(launchctl):
    asked, answers = launchctl
    service.install()
    asked.clear()
    assert "restarted by launchd" in service.restart()
    assert asked == [f"kickstart -k gui/{os.getuid()}/{service.LABEL}"]
    answers += [Finished(0, "\tstate = running\n\tpid = 17\n")] * 2
    assert [service.is_service(pid) for pid in (17, 18)] == [True, False]
    assert "removed" in service.uninstall()
    assert not service.find_agent().exists()
    assert "nothing to do" in service.uninstall()
