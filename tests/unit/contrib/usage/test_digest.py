"""Keyed digests of queries."""

import os
import stat

from irdaemon.contrib.usage.notes import DigestKey


def test_the_key_is_made_once_and_private(tmp_path):
    path = tmp_path / "usage.key"
    first = DigestKey(str(path)).digest_text("fill a form")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert DigestKey(str(path)).digest_text("fill a form") == first
    assert DigestKey(str(tmp_path / "other.key")).digest_text("fill a form") != first


def test_a_key_that_is_damaged_is_replaced(tmp_path):
    path = tmp_path / "usage.key"
    path.write_bytes(b"short")
    DigestKey(str(path))
    assert os.path.getsize(path) == 32


def test_what_was_typed_counts_and_not_its_white_space_or_what_was_put_in(tmp_path):
    key = DigestKey(str(tmp_path / "usage.key"))
    typed = key.digest_text("fill a\n form")
    assert key.digest_text(" fill  a form <system-reminder>x</system-reminder>") == typed
    assert key.digest_text("fill a forms") != typed
    assert b"fill" not in typed
