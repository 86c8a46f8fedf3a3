import hashlib
import os

import pytest

from irclient.errors import QueryError
from irdaemon.discovery.disclose import (
    BODY_CHARS,
    BUNDLE_CHARS,
    BUNDLE_FILES,
    LEADS_OUT,
    NO_UTF8,
    NOT_REGULAR,
    NOT_TEXT,
    TOO_LARGE,
    Bounds,
    disclose,
)
from irdaemon.discovery.query import check_level
from irdaemon.ledger import StoredArtifact
from tests.support.planted import GITHUB, PASSWORD


def stored(pointer="", body=None, digest=""):
    return StoredArtifact("c", "id", "name", str(pointer), body, digest, 0.0, {})


@pytest.fixture
def skill(tmp_path):
    home = tmp_path / "skill"
    (home / "scripts").mkdir(parents=True)
    (home / "SKILL.md").write_text("how to")
    return home


def paths(payload):
    return [file.path for file in payload.files]


def test_metadata_reads_nothing():
    payload = disclose(stored("/nowhere"), "metadata")
    assert (payload.body, payload.note, payload.pointer) == (None, "", "/nowhere")


def test_the_body_is_the_file_and_stale_only_when_it_changed(skill):
    digest = hashlib.sha256(b"how to").hexdigest()
    file = skill / "SKILL.md"
    assert disclose(stored(file, digest=digest), "body").body == "how to"
    assert not disclose(stored(file, digest=digest), "body").stale
    file.write_text("changed")
    payload = disclose(stored(file, digest=digest), "body")
    assert (payload.body, payload.stale, payload.note) == ("changed", True, "changed")


def test_a_stored_body_needs_no_file():
    assert disclose(stored(body="text"), "body").body == "text"


@pytest.mark.parametrize("name", ["README.md", "readme.md", "Readme.rst"])
def test_a_directory_gives_its_readme_in_any_case(tmp_path, name):
    (tmp_path / name).write_text("read me")
    (tmp_path / "README").write_text("no")
    assert disclose(stored(tmp_path), "body").body == "read me"


def test_a_pointer_that_leads_nowhere_is_a_note(tmp_path):
    for pointer in (tmp_path / "gone", tmp_path):
        payload = disclose(stored(pointer), "body")
        assert (payload.body, payload.note) == (None, "pointer_unreadable")


def test_a_long_body_is_cut_and_says_so(skill):
    (skill / "SKILL.md").write_text("x" * (BODY_CHARS + 1))
    payload = disclose(stored(skill / "SKILL.md"), "body")
    assert (len(payload.body), payload.truncated) == (BODY_CHARS, True)


def test_bundled_lists_what_travels_along_with_sizes_and_texts(skill):
    (skill / "scripts" / "run.sh").write_text("echo")
    (skill / "scripts" / "tool.bin").write_bytes(b"\0\1")
    (skill / "other").mkdir()
    (skill / "other" / "x").write_text("not this")
    files = disclose(stored(skill / "SKILL.md"), "bundled").files
    assert [(f.path, f.size, f.text) for f in files] == [
        ("scripts/run.sh", 4, "echo"), ("scripts/tool.bin", 2, None)
    ]  # fmt: skip


def test_a_file_whose_name_is_not_utf8_is_listed_with_the_reason(skill):
    (skill / "scripts" / os.fsdecode(b"bad\xff.txt")).write_text("x")
    (skill / "scripts" / "good.txt").write_text("y")
    files = disclose(stored(skill / "SKILL.md"), "bundled").files
    assert [(f.path, f.text, f.note) for f in files] == [
        ("scripts/bad\\xff.txt", None, NO_UTF8), ("scripts/good.txt", "y", "")
    ]  # fmt: skip


def test_links_out_of_the_skill_are_listed_and_not_followed(skill, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (skill / "references").symlink_to(outside)
    (skill / "scripts" / "link").symlink_to(outside / "secret")
    files = disclose(stored(skill / "SKILL.md"), "bundled").files
    assert [(f.path, f.size, f.text, f.note) for f in files] == [
        ("scripts/link", 0, None, LEADS_OUT),
        ("references", 0, None, LEADS_OUT),
    ]


def test_a_bundle_has_its_limit(skill):
    for number in range(BUNDLE_FILES + 5):
        (skill / "scripts" / f"{number}").write_text("x")
    assert len(paths(disclose(stored(skill / "SKILL.md"), "bundled"))) == BUNDLE_FILES


def test_an_unknown_level_is_an_error_naming_the_nearest():
    with pytest.raises(QueryError, match="did you mean 'bundled'"):
        check_level("bundle")


def test_a_changed_file_is_told_with_the_hash_that_was_indexed_and_the_one_it_has(skill):
    was, now = hashlib.sha256(b"how to").hexdigest(), hashlib.sha256(b"changed").hexdigest()
    (skill / "SKILL.md").write_text("changed")
    payload = disclose(stored(skill / "SKILL.md", digest=was), "body")
    assert (payload.indexed_digest, payload.current_digest) == (was, now)


def test_a_bundle_says_how_many_files_it_left_out(skill):
    for number in range(BUNDLE_FILES + 3):
        (skill / "scripts" / f"{number}.py").write_text("pass")
    payload = disclose(stored(skill / "SKILL.md"), "bundled")
    assert (len(payload.files), payload.files_omitted) == (BUNDLE_FILES, 3)


def test_where_a_payload_came_from_is_told(skill):
    file, root = skill / "SKILL.md", str(skill.parent)
    os.utime(file, (1, 1_700_000_000))
    payload = disclose(stored(file), "body", Bounds((root, "/elsewhere")))
    assert (payload.root, payload.mtime, payload.indexed_at) == (root, 1_700_000_000.0, 0.0)
    assert payload.current_digest == hashlib.sha256(b"how to").hexdigest()


def test_secrets_are_taken_out_of_the_body_and_of_what_travels_along(skill):
    (skill / "SKILL.md").write_text(f"use {GITHUB} <private>not this</private>")
    (skill / "scripts" / "run.sh").write_text(f"T={GITHUB}")
    payload = disclose(stored(skill / "SKILL.md"), "bundled")
    assert (payload.body, payload.redacted) == ("use [secret: GitHub Token] ", 2)
    assert payload.files[0].text == "T=[secret: GitHub Token]"


def test_how_much_is_taken_out_is_the_corpus_own_level(skill):
    (skill / "SKILL.md").write_text(f'password = "{PASSWORD}"')
    found = stored(skill / "SKILL.md")
    assert PASSWORD in disclose(found, "body", Bounds((), "tokens")).body
    assert PASSWORD not in disclose(found, "body", Bounds((), "all")).body


def test_hidden_characters_are_flagged_and_stay_in_the_data(skill):
    (skill / "SKILL.md").write_text("evil\u202e")
    (skill / "scripts" / "a").write_text("\x1b[2J")
    payload = disclose(stored(skill / "SKILL.md"), "bundled")
    assert (payload.hidden, payload.body) == (("bidi", "control"), "evil\u202e")


def test_a_pointer_that_became_a_link_to_some_other_file_is_refused_with_a_reason(skill):
    secret = skill.parent / "id_rsa"
    secret.write_text("mine")
    (skill / "SKILL.md").unlink()
    (skill / "SKILL.md").symlink_to(secret)
    payload = disclose(stored(skill / "SKILL.md"), "body")
    assert (payload.body, payload.note) == (None, "pointer_unreadable")
    assert f"a link leads to {secret}" in payload.reason


def test_a_link_within_the_roots_or_to_a_file_of_the_same_name_is_followed(skill, tmp_path):
    (tmp_path / "x.md").write_text("inside")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "SKILL.md").write_text("shared")
    (skill / "SKILL.md").unlink()
    (skill / "SKILL.md").symlink_to(tmp_path / "x.md")
    assert disclose(stored(skill / "SKILL.md"), "body", Bounds((str(tmp_path),))).body == "inside"
    (skill / "SKILL.md").unlink()
    (skill / "SKILL.md").symlink_to(tmp_path / "elsewhere" / "SKILL.md")
    assert disclose(stored(skill / "SKILL.md"), "body", Bounds(by_name=True)).body == "shared"
    assert disclose(stored(skill / "SKILL.md"), "body").body is None


def test_a_readme_that_is_a_link_to_some_other_file_is_refused(tmp_path):
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "README.md").symlink_to(tmp_path / "secret")
    payload = disclose(stored(tmp_path / "package"), "body")
    assert (payload.body, payload.note) == (None, "pointer_unreadable")


@pytest.mark.parametrize("way", ["../../secret", "../secret", "scripts/../../secret"])
def test_a_pointer_that_leads_upwards_is_refused_with_the_reason(skill, way):
    (skill.parent / "secret").write_text("mine")
    payload = disclose(stored(f"{skill}/{way}"), "body", Bounds((str(skill),)))
    assert (payload.body, payload.note, payload.root) == (None, "pointer_unreadable", "")
    assert "leads upwards" in payload.reason


def test_special_and_huge_files_are_listed_with_the_reason_and_never_opened(skill):
    os.mkfifo(skill / "scripts" / "a-pipe")
    (skill / "scripts" / "huge").write_bytes(b"x" * (BUNDLE_CHARS + 1))
    (skill / "scripts" / "image").write_bytes(b"\0\1")
    (skill / "scripts" / "null").symlink_to("/dev/zero")
    files = disclose(stored(skill / "SKILL.md"), "bundled").files
    assert {f.path.removeprefix("scripts/"): f.note for f in files} == {
        "a-pipe": NOT_REGULAR,
        "huge": TOO_LARGE,
        "image": NOT_TEXT,
        "null": LEADS_OUT,
    }
    assert [f.text for f in files] == [None] * 4


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pointer_to_a_special_file_is_refused_with_the_reason(tmp_path, kind):
    pointer = "/dev/zero"
    if kind == "pipe":
        pointer = tmp_path / "pipe"
        os.mkfifo(pointer)
    payload = disclose(stored(pointer), "body")
    assert (payload.body, payload.note) == (None, "pointer_unreadable")
    assert "not a regular file" in payload.reason
