import errno
import os
import stat

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.config.checking import ConfigError
from irdaemon.config.config import load_config
from irdaemon.config.edit import ConfigFile
from irdaemon.daemon.active_config import check_startable

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


def edited(path):
    """Return the file to edit, which refuses what no daemon starts with."""
    return ConfigFile(str(path), check_startable)


def test_a_corpus_is_added_and_everything_else_stays(file):
    config = edited(file).add_corpus("c", "skills", ["/s"])
    assert {each.name for each in config.corpora} == {"a", "b", "c"}
    assert load_config(str(file)) == config
    text = file.read_text()
    assert all(line in text.splitlines() for line in WRITTEN.splitlines() if line)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_would_be_added_is_in_the_configuration_that_is_given_and_not_in_the_file(file):
    before = file.read_bytes()
    config = edited(file).preview_corpus("new", "files", ["/x"])
    assert {each.name for each in config.corpora} == {"a", "b", "new"}
    assert config == edited(file).add_corpus("new", "files", ["/x"])
    file.write_bytes(before)
    with pytest.raises(QueryError, match="already"):
        edited(file).preview_corpus("a", "files", ["/x"])
    with pytest.raises(ConfigError):
        edited(file).preview_corpus("odd", "flies", ["/x"])
    assert file.read_bytes() == before


def test_a_corpus_is_removed_and_the_others_stay(file):
    config = edited(file).remove_corpus("a")
    assert [each.name for each in config.corpora] == ["b"]
    assert "settle_ms = 30" in file.read_text()


def test_a_known_corpus_is_switched_off_and_can_be_added_again(tmp_path):
    path = tmp_path / "irdaemon.toml"
    path.write_text("")
    config = edited(path).remove_corpus("skills")
    assert [(each.name, each.enabled) for each in config.corpora] == [("skills", False)]
    config = edited(path).add_corpus("skills", "skills", [])
    assert [(each.name, each.enabled) for each in config.corpora] == [("skills", True)]


def test_a_taken_name_is_refused_and_a_missing_one_not_found(file, tmp_path):
    with pytest.raises(QueryError, match="already"):
        edited(file).add_corpus("a", "files", [])
    for name in ("nothing", "skills"):
        with pytest.raises(NotFound):
            edited(file).remove_corpus(name)
    with pytest.raises(NotFound, match="did you mean 'skills'"):
        edited(tmp_path / "none.toml").remove_corpus("skils")


def test_a_wish_that_would_not_be_valid_leaves_the_file_alone(file):
    with pytest.raises(ConfigError):
        edited(file).add_corpus("c", "no-such-kind", [])
    assert file.read_text() == WRITTEN


def test_a_file_that_was_broken_meanwhile_is_reported_and_left_alone(file):
    file.write_text("[[[")
    with pytest.raises(ConfigError, match=str(file)):
        edited(file).add_corpus("c", "files", [])
    assert file.read_text() == "[[["


def test_a_first_corpus_makes_the_file(file):
    file.unlink()
    edited(file).add_corpus("c", "files", ["/c"])
    assert load_config(str(file)).corpora[0].roots == ("/c",)


def test_a_source_of_ones_own_is_never_added_on_request(file):
    with pytest.raises(QueryError, match="cannot be added from here"):
        edited(file).add_corpus("c", "os:system", [])
    assert file.read_text() == WRITTEN


@pytest.mark.parametrize("code", [errno.EPERM, errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_file_that_may_not_be_replaced_is_a_configuration_error_with_the_cure(
    file, monkeypatch, code
):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(ConfigError, match=f"{file} cannot be written") as caught:
        edited(file).add_corpus("c", "files", ["/c"])
    assert "chattr -i" in caught.value.hint
    assert file.read_text() == WRITTEN
    assert list(file.parent.glob(".irdaemon-*")) == []


def test_a_file_that_is_begun_anew_replaces_another_only_when_told_to(file):
    assert not edited(file).begin("# new\n", replace=False)
    assert file.read_text() == WRITTEN
    assert edited(file).begin("# new\n", replace=True)
    assert file.read_text() == "# new\n"
