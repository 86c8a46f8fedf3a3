"""A token is made once, and kept where only its owner can read it."""

import pytest

from irclient.errors import Unavailable
from irclient.web import keep_token


def test_a_token_is_made_once_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "state" / "mcp-token"
    token = keep_token(str(path))
    assert len(token) > 30
    assert path.stat().st_mode & 0o777 == 0o600
    assert keep_token(str(path)) == token


def test_a_token_that_others_can_read_is_not_used(tmp_path):
    path = tmp_path / "mcp-token"
    keep_token(str(path))
    path.chmod(0o640)
    with pytest.raises(Unavailable, match="other users can read or write"):
        keep_token(str(path))


@pytest.mark.parametrize("held", ["", "short\n"])
def test_a_file_without_a_token_is_not_used(tmp_path, held):
    path = tmp_path / "mcp-token"
    path.touch(0o600)
    path.write_text(held)
    with pytest.raises(Unavailable, match="no token"):
        keep_token(str(path))


def test_a_link_in_the_place_of_the_token_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("x" * 40)
    (tmp_path / "mcp-token").symlink_to(tmp_path / "other")
    with pytest.raises(Unavailable, match="link"):
        keep_token(str(tmp_path / "mcp-token"))
