"""The configuration that a daemon runs on, and what of it holds for the examples."""

from functools import partial

import pytest

from irclient.errors import QueryError
from irdaemon.config.checking import ConfigError
from irdaemon.daemon.active_config import ActiveConfig


def test_examples_are_copied_to_no_backend_and_a_corpus_of_ones_own_is(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own, fallback = tmp_path / "own.toml", tmp_path / "examples.toml"
    index = "known = false\n[index]\nbackend = 'postgresql://db/ir'\n"
    own.write_text(index)
    notes = f"[corpora.notes]\nkind = 'files'\nroots = ['{tmp_path}']\n"
    fallback.write_text(f"known = false\n{notes}")
    active = ActiveConfig(str(own), str(fallback))
    (example,) = active.make_corpora(())
    assert (active.demo, example.backend) == (True, None)
    own.write_text(index + notes)
    active.reload()
    (mine,) = active.make_corpora(())
    assert (active.demo, mine.backend is None) == (False, False)


def test_a_corpus_with_a_root_that_is_not_there_is_refused_and_nothing_is_written(
    tmp_path, monkeypatch
):
    own, notes = tmp_path / "own.toml", tmp_path / "notse"
    own.write_text("known = false\n")
    monkeypatch.setenv("IRDAEMON_CONFIG", str(own))
    active = ActiveConfig(None, None)
    for act in (active.preview, partial(active.add, options={})):
        with pytest.raises(QueryError) as refused:
            act("notes", "files", [str(tmp_path), str(notes)])
        said = refused.value.message
        assert f"{notes} does not exist; [corpora.notes] was not added to {own}" in said
        assert "irdaemon config edit" in refused.value.hint
    assert own.read_text() == "known = false\n"


def test_a_root_is_looked_for_where_the_file_would_have_it(tmp_path, monkeypatch):
    own = tmp_path / "etc" / "own.toml"
    for directory in (own.parent, own.parent / "notes", tmp_path / "home" / "more"):
        directory.mkdir(parents=True)
    own.write_text("known = false\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    active = ActiveConfig(str(own), None)
    active.add("notes", "files", ["notes", "~/more"], {})
    (notes,) = active.config.corpora
    assert notes.roots == (str(own.parent / "notes"), str(tmp_path / "home" / "more"))


def test_taking_away_the_last_corpus_needs_no_file_of_examples_any_more(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own, fallback = tmp_path / "own.toml", tmp_path / "examples.toml"
    notes = f"known = false\n[corpora.notes]\nkind = 'files'\nroots = ['{tmp_path}']\n"
    own.write_text(notes)
    fallback.write_text(notes.replace("notes", "examples"))
    active = ActiveConfig(str(own), str(fallback))
    fallback.unlink()
    active.remove("notes")
    assert [each.name for each in active.make_corpora(())] == ["examples"]


@pytest.mark.parametrize(
    "text",
    [
        "[[[",
        "bogus = 3",
        "[corpora.notes]\nkind = 'records'",
        "[serve]\ntcp = '127.0.0.1:7411'",
        "[serve]\nshared = '/no/such/directory/s'",
        "[[client]]\nname = 'a'\ntoken = 'short'",
    ],
)
def test_what_no_daemon_starts_with_is_not_taken_up_by_one_that_runs(tmp_path, monkeypatch, text):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "short").write_text("short")
    (tmp_path / "short").chmod(0o600)
    own = tmp_path / "own.toml"
    own.write_text("known = false\n")
    active = ActiveConfig(str(own), None)
    before = active.config, active.rules
    own.write_text(f"known = false\n{text}\n")
    for refused in (active.reload, lambda: ActiveConfig(str(own), None)):
        with pytest.raises(ConfigError, match=str(own)):
            refused()
    assert (active.config, active.rules) == before
    assert active.describe_file()["refused"]["message"].startswith(str(own))
    own.write_text("known = false\n")
    active.reload()
    assert active.describe_file() == {}


def test_a_setting_that_is_read_at_the_start_only_is_named_until_then(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own = tmp_path / "own.toml"
    own.write_text("known = false\n")
    active = ActiveConfig(str(own), None)
    own.write_text("known = false\n[search]\nalpha = 0.4\n[limits]\nartifacts = 5\n")
    active.reload()
    assert active.describe_file() == {"next_start": ["search.alpha"]}
    own.write_text("known = false\n")
    active.reload()
    assert active.describe_file() == {}


def examples_of(tmp_path, monkeypatch):
    """Write a configuration without corpora, and examples; return the paths of both."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own, fallback = tmp_path / "own.toml", tmp_path / "examples.toml"
    own.write_text("known = false\n")
    fallback.write_text(f"[corpora.notes]\nkind = 'files'\nroots = ['{tmp_path}']\n")
    return own, fallback


def test_a_start_without_a_fallback_goes_on_with_the_examples_of_the_last(tmp_path, monkeypatch):
    own, fallback = examples_of(tmp_path, monkeypatch)
    assert not ActiveConfig(str(own), None).demo
    assert ActiveConfig(str(own), str(fallback)).demo
    again = ActiveConfig(str(own), None)
    assert (again.demo, [each.example for each in again.make_corpora(())]) == (True, [True])


def test_the_examples_are_forgotten_once_there_is_something_of_ones_own(tmp_path, monkeypatch):
    own, fallback = examples_of(tmp_path, monkeypatch)
    active = ActiveConfig(str(own), str(fallback))
    own.write_text(f"known = false\n{fallback.read_text()}")
    active.reload()
    assert [each.example for each in active.make_corpora(())] == [False]
    own.write_text("known = false\n")
    assert not ActiveConfig(str(own), None).demo


@pytest.mark.parametrize("text", [None, "[[["])
def test_examples_that_are_gone_or_broken_are_no_examples(tmp_path, monkeypatch, text):
    own, fallback = examples_of(tmp_path, monkeypatch)
    assert ActiveConfig(str(own), str(fallback)).demo
    fallback.write_text(text) if text else fallback.unlink()
    assert not ActiveConfig(str(own), None).demo
