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
        ("embedder.x", "5", "is not a table"),
        ("client.0.name", "x", "is not a table"),
        ("a b", "5", "'a b' is not a key"),
        ("a\nb", "5", "is not a key"),
        ("", "5", "is not a key"),
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


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("corpora.a.bogus", "3", "unknown option 'bogus'"),
        ("corpora.a.patern", '["*.md"]', "did you mean 'pattern'"),
        ("corpora.a.max_bytes", "many", "max_bytes"),
        ("corpora.a.strategy", "Chunkd", "did you mean 'Chunked'"),
        ("corpora.a.strategy", '{ name = "Chunked", params = [1] }', "cannot be made"),
        ("corpora.a.kind", "records", "fetcher"),
        ("corpora.a.kind", "os:system", "cannot be made"),
        ("corpora.a.kind", "::", "cannot be loaded"),
        ("corpora.a.embedder", "hashng", "did you mean 'hashing'"),
        ("embedder", "hashng", "irdaemon.toml:2: unknown embedder 'hashng'"),
        ("reranker", "croß", "unknown reranker"),
        ("schedule.reconcile_minutes", "1e12", "must be at most"),
        ("serve.max_message_bytes", "99999999999999999999", "must be at most"),
        ("serve.tcp", "127.0.0.1:7411", "irdaemon keys make"),
        ("serve.shared", "/no/such/directory/s", "/no/such/directory"),
        ("serve.shared", "irdaemon.toml", "is not a socket"),
        ("serve.shared", "a" * 120, "too long"),
    ],
)
def test_what_a_daemon_would_not_start_with_is_not_written(file, key, value, said, capsys):
    assert main(["config", "set", key, value]) == 2
    refused = capsys.readouterr().err
    assert f"irdaemon: {key} = {value}: " in refused
    assert said in refused
    assert "nothing was written" in refused
    assert file.read_text() == WRITTEN


def test_a_refused_value_is_told_with_a_line_only_where_the_file_has_its_key(file, capsys):
    assert main(["config", "set", "watch.poll_s", "soon"]) == 2
    told = "irdaemon: watch.poll_s = soon: poll_s must be a number, not str ('soon')"
    assert capsys.readouterr().err == f"{told} (nothing was written)\n"
    assert main(["config", "set", "watch.settle_ms", "50"]) == 0
    assert main(["config", "set", "watch.settle_ms", "soon"]) == 2
    line = file.read_text().splitlines().index("settle_ms = 50  # milliseconds") + 1
    assert f"watch.settle_ms = soon: {file}:{line}: settle_ms must be" in capsys.readouterr().err


def test_an_address_without_host_or_port_is_refused_once_there_are_keys(file, capsys):
    assert main(["keys", "make"]) == 0
    for address in ("7411", "127.0.0.1:", "127.0.0.1:99999", "192.0.2.1:7411"):
        assert main(["config", "set", "serve.tcp", address]) == 2
        assert f"irdaemon: serve.tcp = {address}: " in capsys.readouterr().err
    assert file.read_text() == WRITTEN
    assert main(["config", "set", "serve.tcp", "127.0.0.1:0"]) == 0


def test_a_client_whose_token_cannot_be_used_is_refused_and_so_is_one_that_is_known(file, capsys):
    (file.parent / "t").write_text("short")
    (file.parent / "t").chmod(0o600)
    assert main(["config", "set", "client", '[{ name = "b", token = "t" }]']) == 2
    assert "can be guessed" in capsys.readouterr().err
    assert main(["keys", "add", "agent", "--token"]) == 2
    assert main(["keys", "add", "b", "--key", "short"]) == 2
    assert main(["keys", "add", "c d", "--token"]) == 2
    assert file.read_text() == WRITTEN
    assert sorted(each.name for each in file.parent.iterdir() if each.name[0] != ".") == [
        "irdaemon.toml",
        "t",
    ]


def test_a_mistake_made_by_hand_is_told_by_its_line_until_it_is_taken_out(file, capsys):
    broken = WRITTEN.replace('roots = ["/a", "/b"]', 'roots = ["/a"]\nbogus = 3\nodd = 4')
    file.write_text(broken)
    line = broken[: broken.index("bogus")].count("\n") + 1
    assert main(["config", "set", "watch.polling", "true"]) == 2
    assert f"{file}:{line}: [corpora.a]: " in capsys.readouterr().err
    assert main(["config", "unset", "corpora.a.bogus"]) == 2
    assert "'odd'" in capsys.readouterr().err
    assert file.read_text() == broken
    file.write_text(broken.replace("odd = 4\n", ""))
    assert main(["config", "unset", "corpora.a.bogus"]) == 0
    assert main(["config", "set", "watch.polling", "true"]) == 0
    file.write_text(f"bogus = 3\n{WRITTEN}")
    assert main(["config", "unset", "bogus"]) == 0
    assert file.read_text() == WRITTEN


def test_what_is_unset_has_its_default_again_and_the_rest_stays(file, capsys):
    assert main(["config", "unset", "watch.settle_ms"]) == 0
    assert file.read_text() == WRITTEN.replace("settle_ms = 30  # milliseconds\n", "")
    assert main(["config", "unset", "corpora.a"]) == 0
    assert load_config().corpora == ()
    before = file.read_text()
    assert main(["config", "unset", "embeder"]) == 4
    assert "did you mean 'embedder'?" in capsys.readouterr().err
    assert main(["config", "unset", "health.stale_minutes"]) == 4
    assert main(["config", "unset", "client.0.name"]) == 2
    assert file.read_text() == before


@pytest.fixture
def editor(file, monkeypatch):
    """Return what each start of the editor was given, and the texts that it will leave."""
    started, texts = [], []

    def edited(command):
        started.append(command)
        with open(command[-1], "w", encoding="utf-8") as copy:
            copy.write(texts.pop(0))
        return 0

    monkeypatch.setattr("irdaemon.runtime.pool.run_on_terminal", edited)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "my-editor --wait")
    return started, texts


def test_what_an_editor_leaves_is_written_once_it_is_right(file, editor, capsys):
    started, texts = editor
    texts.append(WRITTEN.replace("30", "40"))
    assert main(["config", "edit"]) == 0
    (command,) = started
    assert command[:2] == ["my-editor", "--wait"]
    assert file.read_text() == WRITTEN.replace("30", "40")
    assert not (file.parent / command[-1]).exists()


@pytest.mark.parametrize("line", ["embeder = 1", "[[[", "[corpora.b]\nkind = 'records'"])
def test_what_an_editor_leaves_wrong_is_kept_beside_the_file_which_stays(
    file, editor, line, capsys
):
    started, texts = editor
    texts.append(f"{line}\n")
    assert main(["config", "edit"]) == 2
    assert file.read_text() == WRITTEN
    said = capsys.readouterr().err
    assert f"{file}" in said
    assert f"kept in {started[0][-1]}" in said
    assert (file.parent / started[0][-1]).read_text() == f"{line}\n"


def test_a_file_that_changed_while_it_was_edited_is_not_overwritten(file, monkeypatch, capsys):
    def edited(command):
        file.write_text("known = false\n")
        return 0

    monkeypatch.setattr("irdaemon.runtime.pool.run_on_terminal", edited)
    monkeypatch.setenv("EDITOR", "any")
    assert main(["config", "edit"]) == 2
    assert "has changed in the meantime" in capsys.readouterr().err
    assert file.read_text() == "known = false\n"


def test_no_editor_is_chosen_where_no_terminal_is(file, monkeypatch, capsys):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    assert main(["config", "edit"]) == 2
    assert "an editor needs a terminal" in capsys.readouterr().err
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_an_editor_that_is_not_there_is_said(file, monkeypatch, capsys):
    monkeypatch.setenv("VISUAL", str(file / "none"))
    assert main(["config", "edit"]) != 0
    assert "cannot be started" in capsys.readouterr().err
