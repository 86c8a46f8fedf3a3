import errno
import os
import stat

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.config.config import ConfigError, load_config
from irdaemon.config.edit import add_corpus, begin, remove_corpus, with_corpus

WRITTEN = """\
# mine
known = false

[corpora.a]  # the first
kind = "files"
roots = ["/a"]

[watch]
settle_ms = 30

[corpora.b]
kind = "files"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "irdaemon.toml"
    path.write_text(WRITTEN)
    return path


def test_a_corpus_is_added_and_everything_else_stays(file):
    config = add_corpus(str(file), "c", "skills", ["/s"])
    assert {each.name for each in config.corpora} == {"a", "b", "c"}
    assert load_config(str(file)) == config
    text = file.read_text()
    assert all(line in text.splitlines() for line in WRITTEN.splitlines() if line)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_would_be_added_is_in_the_configuration_that_is_given_and_not_in_the_file(file):
    before = file.read_bytes()
    config = with_corpus(str(file), "new", "files", ["/x"])
    assert {each.name for each in config.corpora} == {"a", "b", "new"}
    assert config == add_corpus(str(file), "new", "files", ["/x"])
    file.write_bytes(before)
    with pytest.raises(QueryError, match="already"):
        with_corpus(str(file), "a", "files", ["/x"])
    with pytest.raises(ConfigError):
        with_corpus(str(file), "odd", "flies", ["/x"])
    assert file.read_bytes() == before


def test_a_corpus_is_removed_and_the_others_stay(file):
    config = remove_corpus(str(file), "a")
    assert [each.name for each in config.corpora] == ["b"]
    assert "settle_ms = 30" in file.read_text()


def test_a_known_corpus_is_switched_off_and_can_be_added_again(tmp_path):
    path = tmp_path / "irdaemon.toml"
    path.write_text("")
    config = remove_corpus(str(path), "skills")
    assert [(each.name, each.enabled) for each in config.corpora] == [("skills", False)]
    config = add_corpus(str(path), "skills", "skills", [])
    assert [(each.name, each.enabled) for each in config.corpora] == [("skills", True)]


def test_a_taken_name_is_refused_and_a_missing_one_not_found(file, tmp_path):
    with pytest.raises(QueryError, match="already"):
        add_corpus(str(file), "a", "files", [])
    for name in ("nothing", "skills"):
        with pytest.raises(NotFound):
            remove_corpus(str(file), name)
    with pytest.raises(NotFound, match="did you mean 'skills'"):
        remove_corpus(str(tmp_path / "none.toml"), "skils")


def test_a_wish_that_would_not_be_valid_leaves_the_file_alone(file):
    with pytest.raises(ConfigError):
        add_corpus(str(file), "c", "no-such-kind", [])
    assert file.read_text() == WRITTEN


def test_a_file_that_was_broken_meanwhile_is_reported_and_left_alone(file):
    file.write_text("[[[")
    with pytest.raises(ConfigError, match=str(file)):
        add_corpus(str(file), "c", "files", [])
    assert file.read_text() == "[[["


def test_a_first_corpus_makes_the_file(file):
    file.unlink()
    add_corpus(str(file), "c", "files", ["/c"])
    assert load_config(str(file)).corpora[0].roots == ("/c",)


def test_a_source_of_ones_own_is_never_added_on_request(file):
    with pytest.raises(QueryError, match="cannot be added from here"):
        add_corpus(str(file), "c", "os:system", [])
    assert file.read_text() == WRITTEN


@pytest.mark.parametrize("code", [errno.EPERM, errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_file_that_may_not_be_replaced_is_a_configuration_error_with_the_cure(
    file, monkeypatch, code
):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(ConfigError, match=f"{file} cannot be written") as caught:
        add_corpus(str(file), "c", "files", ["/c"])
    assert "chattr -i" in caught.value.hint
    assert file.read_text() == WRITTEN
    assert list(file.parent.glob(".irdaemon-*")) == []


def test_a_file_that_is_begun_anew_replaces_another_only_when_told_to(file):
    assert not begin(str(file), "# new\n", replace=False)
    assert file.read_text() == WRITTEN
    assert begin(str(file), "# new\n", replace=True)
    assert file.read_text() == "# new\n"
