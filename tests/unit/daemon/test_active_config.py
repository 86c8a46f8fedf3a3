"""The configuration that a daemon runs on, and what of it holds for the examples."""

from irdaemon.daemon.active_config import ActiveConfig


def test_examples_are_copied_to_no_backend_and_a_corpus_of_ones_own_is(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own, fallback = tmp_path / "own.toml", tmp_path / "examples.toml"
    index = "known = false\n[index]\nbackend = 'postgresql://db/ir'\n"
    own.write_text(index)
    notes = f"[corpora.notes]\nkind = 'files'\nroots = ['{tmp_path}']\n"
    fallback.write_text(f"known = false\n{notes}")
    active = ActiveConfig(str(own), str(fallback))
    (example,) = active.corpora(())
    assert (active.demo, example.backend) == (True, None)
    own.write_text(index + notes)
    active.reload(())
    (mine,) = active.corpora(())
    assert (active.demo, mine.backend is None) == (False, False)
