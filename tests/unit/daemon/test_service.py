"""The user service: commands of the machine's own manager."""

import pytest

from irclient.errors import Unavailable
from irdaemon.daemon import service
from irdaemon.runtime.worker import Finished


@pytest.fixture
def systemctl(monkeypatch):
    """Give a machine with systemctl; the commands it was asked for, and its next answers."""
    asked, answers = [], []
    monkeypatch.setattr(service.sys, "platform", "linux")
    monkeypatch.setattr(service.shutil, "which", lambda name: f"/usr/bin/{name}")

    def run(command, bounds):
        asked.append(" ".join(command))
        return answers.pop(0) if answers else Finished(0, "")

    monkeypatch.setattr(service.worker, "run", run)
    return asked, answers


def test_install_writes_the_unit_and_starts_it_by_systemctl(systemctl, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked, _ = systemctl
    service.install()
    assert (tmp_path / "systemd" / "user" / service.UNIT).read_text() == service.unit_text()
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
        service.status()
    assert "irdaemon start --detach" in caught.value.hint
