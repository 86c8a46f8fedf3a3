"""The configuration file from the command line: its comments stay, and so does its validity."""

import stat

import pytest

from irdaemon.cli.main import main
from irdaemon.config.config import load_config

WRITTEN = """\
# mine
embedder = "hashing"  # small

[watch]
settle_ms = 30  # milliseconds

[corpora.a]
kind = "files"
roots = ["/a", "/b"]

[[client]]
name = "agent"
uid = 7
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "irdaemon.toml"
    path.write_text(WRITTEN)
    path.chmod(0o600)
    monkeypatch.setenv("IRDAEMON_CONFIG", str(path))
    return path


def test_the_path_is_printed_whether_the_file_is_there_or_not(file, capsys):
    file.unlink()
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{file}\n"


def test_what_is_set_is_listed_by_dotted_keys_as_the_file_writes_it(file, capsys):
    assert main(["config", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        'embedder = "hashing"',
        "watch.settle_ms = 30",
        'corpora.a.kind = "files"',
        'corpora.a.roots = ["/a", "/b"]',
        'client.0.name = "agent"',
        "client.0.uid = 7",
    ]


def test_one_setting_is_printed_and_an_unset_one_is_not_found_with_the_nearest(file, capsys):
    assert main(["config", "get", "watch.settle_ms"]) == 0
    assert capsys.readouterr().out == "30\n"
    assert main(["config", "get", "watch.setle_ms"]) == 4
    assert "did you mean 'watch.settle_ms'?" in capsys.readouterr().err


def test_the_origin_of_every_setting_can_be_shown(file, monkeypatch, capsys):
    monkeypatch.setenv("IRDAEMON_ALPHA", "0.4")
    assert main(["config", "list", "--show-origin"]) == 0
    listed = dict(line.split(" = ", 1) for line in capsys.readouterr().out.splitlines())
    line = WRITTEN[: WRITTEN.index("settle_ms")].count("\n") + 1
    assert listed["watch.settle_ms"] == f"30  # {file}:{line}"
    assert listed["search.alpha"] == "0.4  # IRDAEMON_ALPHA"
    assert listed["search.fusion"] == '"standard"  # default'
    assert listed["embedder"].startswith(f'"hashing"  # {file}:')
    assert listed["corpora.a.kind"].startswith(f'"files"  # {file}:')
    assert main(["config", "get", "--show-origin", "search.mmr_lambda"]) == 0
    assert capsys.readouterr().out == "0.7  # default\n"


def test_what_the_environment_sets_is_listed_before_what_the_file_does(file, monkeypatch, capsys):
    assert main(["config", "set", "search.alpha", "0.2"]) == 0
    monkeypatch.setenv("IRDAEMON_ALPHA", "0.4")
    assert main(["config", "get", "search.alpha"]) == 0
    assert capsys.readouterr().out == "0.4\n"
    monkeypatch.setenv("IRDAEMON_ALPHA", "2")
    assert main(["config", "get", "search.alpha"]) == 2
    assert "IRDAEMON_ALPHA: alpha must be a number from 0 to 1" in capsys.readouterr().err


def test_a_setting_is_changed_and_everything_else_stays(file):
    assert main(["config", "set", "watch.settle_ms", "50"]) == 0
    assert file.read_text() == WRITTEN.replace("settle_ms = 30", "settle_ms = 50")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_value_is_read_as_toml_and_other_words_are_a_text(file):
    assert main(["config", "set", "embedder", "model2vec:x"]) == 0
    assert main(["config", "set", "corpora.a.roots", '["/c"]']) == 0
    assert main(["config", "set", "health.stale_minutes", "5.5"]) == 0
    config = load_config()
    assert config.embedder == "model2vec:x"
    assert config.corpora[0].roots == ("/c",)
    assert "[health]\nstale_minutes = 5.5" in file.read_text()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("watch.settle_ms", "soon", "settle_ms"),
        ("watch.setle_ms", "5", "settle_ms"),
        ("embedder.x", "5", "is no table"),
        ("client.0.name", "x", "is no table"),
        ("a b", "5", "'a b' is no key"),
        ("a\nb", "5", "is no key"),
        ("", "5", "is no key"),
    ],
)
def test_a_change_that_would_not_be_valid_is_refused_and_the_file_stays(
    file, key, value, said, capsys
):
    assert main(["config", "set", key, value]) == 2
    assert said in capsys.readouterr().err
    assert file.read_text() == WRITTEN


def test_a_value_cannot_bring_another_setting_with_it(file, capsys):
    assert main(["config", "set", "watch.settle_ms", "5\nknown = false"]) == 2
    assert file.read_text() == WRITTEN


def test_the_first_setting_makes_the_file(file):
    file.unlink()
    assert main(["config", "set", "known", "false"]) == 0
    assert file.read_text() == "known = false\n"


def test_an_editor_is_started_with_the_file_and_what_it_leaves_is_checked(
    file, monkeypatch, capsys
):
    started = []

    def edited(command):
        started.append(command)
        file.write_text("embeder = 1\n")
        return 0

    monkeypatch.setattr("irdaemon.runtime.worker.run_on_terminal", edited)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "my-editor --wait")
    assert main(["config", "edit"]) == 2
    assert started == [["my-editor", "--wait", str(file)]]
    said = capsys.readouterr().err
    assert "did you mean 'embedder'" in said
    assert "goes on as before" in said


def test_an_editor_that_is_not_there_is_said(file, monkeypatch, capsys):
    monkeypatch.setenv("VISUAL", str(file / "none"))
    assert main(["config", "edit"]) != 0
    assert "cannot be started" in capsys.readouterr().err
