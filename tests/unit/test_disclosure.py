import hashlib

import pytest

from irclient.errors import QueryError
from irdaemon.disclosure import BODY_CHARS, BUNDLE_FILES, disclose
from irdaemon.ledger import StoredArtifact


def stored(pointer="", body=None, digest=""):
    return StoredArtifact("c", "id", "name", str(pointer), body, digest, {}, 0.0)


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


def test_links_out_of_the_skill_are_not_followed(skill, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (skill / "references").symlink_to(outside)
    (skill / "scripts" / "link").symlink_to(outside / "secret")
    assert paths(disclose(stored(skill / "SKILL.md"), "bundled")) == []


def test_a_bundle_has_its_limit(skill):
    for number in range(BUNDLE_FILES + 5):
        (skill / "scripts" / f"{number}").write_text("x")
    assert len(paths(disclose(stored(skill / "SKILL.md"), "bundled"))) == BUNDLE_FILES


def test_an_unknown_level_is_an_error_naming_the_nearest():
    with pytest.raises(QueryError, match="did you mean 'bundled'"):
        disclose(stored(), "bundle")


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
