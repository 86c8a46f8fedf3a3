"""`irdaemon init` looks whether it can do what it is about to, before it writes."""

import pytest

from irdaemon.cli.main import main
from irdaemon.daemon import service
from irdaemon.runtime import pool


def refuse(*given, **named):
    raise AssertionError("no process is to be started")


@pytest.mark.parametrize("option", ["--config", "--fallback"])
def test_a_file_is_not_replaced_that_a_daemon_of_the_service_manager_would_not_read(
    tmp_path, monkeypatch, capsys, option
):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "IRDAEMON_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(service, "is_service", lambda pid: True)
    monkeypatch.setattr(pool, "start_detached", refuse)
    file = tmp_path / ".config" / "irdaemon" / "irdaemon.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    assert main(["init", "--yes", "--force", option, str(file)]) == 2
    assert f"does not take {option}" in capsys.readouterr().err
    assert file.read_text() == "# mine\n"
