import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from irclient.errors import QueryError
from irdaemon.source.files import Files
from irdaemon.source.files.document import find_timestamp
from irdaemon.source.ignores import compile_patterns
from irdaemon.types import Refused, Root, Scan, SourceError

NOTHING = Scan((), ())


def write(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_md", ".md").replace("_txt", ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def files(*roots, **options):
    return Files(tuple(Root(str(root)) for root in roots), options)


def keys(scan):
    return [entry.key for entry in scan.entries]


def read(source):
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts
    return artifact


def test_an_editors_lock_is_no_document_and_no_failure_while_one_edits(tmp_path):
    write(tmp_path, a_md="x")
    (tmp_path / ".#a.md").symlink_to("person@host.1234:1700000000")
    scan = files(tmp_path).scan()
    assert (keys(scan), scan.problems) == (["a.md"], ())


def test_text_files_at_any_depth_are_found_in_order_and_code_is_not(tmp_path):
    write(tmp_path, b_md="x", a__c_txt="x", a__d="x", node_modules__e_md="x")
    scan = files(tmp_path).scan()
    assert keys(scan) == ["a/c.txt", "b.md"]
    assert (scan.covered, scan.problems) == (("",), ())


def test_a_pattern_chooses_files_by_their_path_below_the_root(tmp_path):
    write(tmp_path, docs__a_md="x", docs__in__b_md="x", c_md="x")
    assert keys(files(tmp_path, pattern="docs/**/*.md").scan()) == ["docs/a.md", "docs/in/b.md"]
    assert keys(files(tmp_path, pattern=["/c.md", "docs/a.*"]).scan()) == ["c.md", "docs/a.md"]


def test_excluded_files_and_directories_are_left_out(tmp_path):
    write(tmp_path, a_md="x", old__b_md="x", drafts__c_md="x")
    assert keys(files(tmp_path, exclude=["old/", "drafts/*.md"]).scan()) == ["a.md"]


def test_a_root_that_is_a_file_counts_whatever_the_patterns_say(tmp_path):
    write(tmp_path, notes="a text without a suffix", b_md="x")
    (tmp_path / ".gitignore").write_text("notes")
    source = files(tmp_path / "notes", exclude="notes")
    (entry,) = source.scan().entries
    assert (entry.key, entry.path) == ("notes", str(tmp_path / "notes"))
    assert read(source).raw["text"] == "a text without a suffix"


def test_a_changed_root_that_is_a_file_is_about_itself_alone(tmp_path):
    write(tmp_path, notes="x", docs__b_md="x")
    scan = files(tmp_path / "notes", tmp_path / "docs").scan(str(tmp_path / "notes"))
    assert ([entry.path for entry in scan.entries], scan.covered) == (
        [str(tmp_path / "notes")],
        (str(tmp_path / "notes"),),
    )


def test_a_root_that_was_a_file_and_is_gone_is_a_problem(tmp_path):
    source = files(tmp_path / "notes")
    scan = source.scan(str(tmp_path / "notes"))
    assert (scan.entries, [p.path for p in scan.problems]) == ((), [str(tmp_path / "notes")])


def test_with_several_roots_ids_are_paths(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, one__a_md="x", two__a_md="x")
    assert keys(files(tmp_path / "one", tmp_path / "two").scan()) == ["~/one/a.md", "~/two/a.md"]


def test_ignored_files_are_left_out_and_negation_brings_them_back(tmp_path):
    write(tmp_path, a_md="x", build__b_md="x", log_md="x", keep__log_md="x")
    (tmp_path / ".gitignore").write_text("build/\nlog.md\n")
    (tmp_path / "keep" / ".gitignore").write_text("!log.md\n")
    assert keys(files(tmp_path).scan()) == ["a.md", "keep/log.md"]
    assert len(files(tmp_path, gitignore=False).scan().entries) == 4


def test_a_file_in_an_ignored_directory_cannot_be_brought_back(tmp_path):
    write(tmp_path, build__b_md="x")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build" / ".gitignore").write_text("!b.md\n")
    assert keys(files(tmp_path).scan()) == []


def test_a_file_that_git_ignores_is_let_in_as_a_root_of_its_own_and_its_neighbours_are_not(
    tmp_path,
):
    write(tmp_path, a_md="x", build__kept_md="x", build__left_md="x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n")
    found = files(tmp_path, tmp_path / "build" / "kept.md").scan().entries
    named = ["a.md", "build/kept.md"]
    assert sorted(entry.path for entry in found) == [str(tmp_path / name) for name in named]
    assert keys(files(tmp_path).scan()) == ["a.md"]
    assert keys(files(tmp_path / "build", gitignore=False).scan()) == ["kept.md", "left.md"]


def test_rules_of_the_repository_above_the_root_and_its_exclude_file_count(tmp_path):
    write(tmp_path, docs__a_md="x", docs__secret_md="x", docs__mine_md="x")
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("mine.md\n")
    (tmp_path / ".gitignore").write_text("/docs/secret.md\n")
    assert keys(files(tmp_path / "docs").scan()) == ["a.md"]


def test_rules_above_a_root_without_a_repository_do_not_count(tmp_path):
    write(tmp_path, docs__a_md="x")
    (tmp_path / ".gitignore").write_text("*\n")
    assert keys(files(tmp_path / "docs").scan()) == ["a.md"]


def test_rules_of_an_outer_repository_do_not_reach_into_an_inner_one(tmp_path):
    write(tmp_path, inner__a_md="x", b_md="x")
    for repository in (tmp_path, tmp_path / "inner"):
        (repository / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.md\n")
    assert keys(files(tmp_path).scan()) == ["inner/a.md"]


def test_a_pattern_git_does_not_understand_is_passed_over(tmp_path):
    write(tmp_path, a_md="x", b_md="x")
    (tmp_path / ".gitignore").write_text("!\na.md\n")
    assert keys(files(tmp_path).scan()) == ["b.md"]


# Sets such as "[a--b]" are compiled, with a warning that they may get another meaning one day.
@pytest.mark.filterwarnings("ignore:Possible (nested set|set \\w+) at position:FutureWarning")
@given(st.lists(st.text(alphabet="ab!/*[]\\#? .", max_size=8), max_size=5))
def test_no_pattern_makes_compiling_raise(lines):
    compile_patterns(lines).match_file("a/b")


def test_a_linked_file_is_one_entry_under_its_real_path(tmp_path):
    write(tmp_path, a_md="x")
    (tmp_path / "z.md").symlink_to(tmp_path / "a.md")
    assert keys(files(tmp_path).scan()) == ["a.md"]


def test_patterns_hold_for_what_is_reached_through_a_link(tmp_path):
    write(tmp_path, outside__a_md="x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "docs").symlink_to(tmp_path / "outside")
    scan = files(tmp_path / "root", pattern="docs/*.md").scan()
    assert [entry.path for entry in scan.entries] == [str(tmp_path / "outside" / "a.md")]


def test_a_link_that_leads_nowhere_is_a_problem(tmp_path):
    (tmp_path / "a.md").symlink_to(tmp_path / "nowhere")
    scan = files(tmp_path).scan()
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "a.md")]


def test_what_a_whole_scan_leaves_out_is_counted_by_reason_and_suffix(tmp_path):
    write(tmp_path, a_md="x", b__c="x", old_md="x", ignored_md="x")
    for name in ("x.docx", "y.DOCX", "b.tar.gz", "strange.!!", "long." + "z" * 40):
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("ignored.md\nbuilt/")
    write(tmp_path, node_modules__a_md="x", built__a_md="x", drafts__a_md="x")
    scan = files(tmp_path, exclude=["old.md", "drafts/"]).scan()
    assert keys(scan) == ["a.md"]
    assert scan.left_out == {
        "outside the pattern: .docx": 2,
        "outside the pattern: .gz": 1,
        "outside the pattern: no suffix": 4,
        "excluded": 1,
        "ignored by git": 1,
        "directory: version control, dependencies, caches": 1,
        "directory: excluded": 1,
        "directory: ignored by git": 1,
    }
    assert files(tmp_path).scan(str(tmp_path / "b")).left_out == {}


def test_what_nothing_here_reads_is_counted_with_the_command_that_helps(tmp_path, monkeypatch):
    cure = "pipx inject irdaemon pypdf"
    monkeypatch.setattr("irdaemon.source.files.list_unreadable_suffixes", lambda: {".pdf": cure})
    for name in ("x.pdf", "y.PDF", "old.pdf"):
        (tmp_path / name).write_text("x")
    write(tmp_path, a_md="x")
    scan = files(tmp_path, exclude="old.pdf").scan()
    assert keys(scan) == ["a.md"]
    assert scan.left_out == {f"needs {cure}: .pdf": 2, "excluded": 1}


def test_pdfs_are_found_by_themselves_where_they_can_be_read(tmp_path):
    write(tmp_path, a_md="x")
    (tmp_path / "x.PDF").write_text("x")
    assert keys(files(tmp_path).scan()) == ["a.md", "x.PDF"]
    assert keys(files(tmp_path).scan(str(tmp_path / "x.PDF"))) == ["x.PDF"]
    assert keys(files(tmp_path, pattern="*.md").scan()) == ["a.md"]


def test_no_more_suffixes_are_counted_than_a_person_reads(tmp_path):
    for number in range(30):
        (tmp_path / f"a.s{number}").write_text("x")
    counts = files(tmp_path).scan().left_out
    assert len(counts) == 21
    assert counts["outside the pattern: other suffixes"] == 10


def test_a_missing_root_is_a_problem(tmp_path):
    scan = files(tmp_path / "gone").scan()
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "gone")]


def test_a_changed_file_is_about_itself_alone(tmp_path):
    write(tmp_path, a_md="x", b_md="x")
    scan = files(tmp_path).scan(str(tmp_path / "a.md"))
    assert (keys(scan), scan.covered) == (["a.md"], (str(tmp_path / "a.md"),))


def test_a_vanished_file_is_covered(tmp_path):
    assert files(tmp_path).scan(str(tmp_path / "a.md")) == Scan((), (str(tmp_path / "a.md"),))


def test_files_of_no_interest_give_an_empty_scan(tmp_path):
    write(tmp_path, root__a="x", root__ignored_md="x", node_modules__b_md="x", elsewhere="x")
    (tmp_path / "root" / ".gitignore").write_text("ignored.md")
    source = files(tmp_path / "root")
    for path in ("root/a", "root/ignored.md", "elsewhere"):
        assert source.scan(str(tmp_path / path)) == NOTHING
    assert files(tmp_path).scan(str(tmp_path / "node_modules" / "b.md")) == NOTHING


def test_a_changed_directory_is_looked_into_and_no_further(tmp_path):
    write(tmp_path, a_md="x", new__b_md="x")
    scan = files(tmp_path).scan(str(tmp_path / "new"))
    assert (keys(scan), scan.covered) == (["new/b.md"], (str(tmp_path / "new"),))


def test_a_changed_ignore_file_is_about_its_directory(tmp_path):
    write(tmp_path, a_md="x", sub__b_md="x", sub__c_md="x")
    (tmp_path / "sub" / ".gitignore").write_text("b.md")
    scan = files(tmp_path).scan(str(tmp_path / "sub" / ".gitignore"))
    assert (keys(scan), scan.covered) == (["sub/c.md"], (str(tmp_path / "sub"),))


def test_a_changed_link_target_outside_the_root_is_found(tmp_path):
    write(tmp_path, outside__a_md="x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "docs").symlink_to(tmp_path / "outside")
    changed = str(tmp_path / "outside" / "a.md")
    assert [e.path for e in files(tmp_path / "root").scan(changed).entries] == [changed]


def test_a_document_holds_its_text_title_and_place(tmp_path):
    write(tmp_path, docs__a_md="# The `Title`\n\nText.\n")
    artifact = read(files(tmp_path))
    assert (artifact.artifact_id, artifact.name) == ("docs/a.md", "The Title")
    assert artifact.raw["text"] == "# The `Title`\n\nText.\n"
    assert artifact.pointer == str(tmp_path / "docs" / "a.md")
    assert artifact.digest == hashlib.sha256(b"# The `Title`\n\nText.\n").hexdigest()
    assert artifact.metadata == {
        "path": "docs/a.md",
        "root": str(tmp_path),
        "filename": "a.md",
        "suffix": ".md",
        "scope": "user",
        "title": "The Title",
        "timestamp": find_timestamp({}, (tmp_path / "docs" / "a.md").stat().st_mtime_ns),
    }


def test_frontmatter_gives_title_description_and_tags(tmp_path):
    write(tmp_path, a_md="---\ntitle: T\ntags: [x, y]\ndescription: D\nweird: 1\n---\n# Other\n")
    artifact = read(files(tmp_path))
    found = {key: artifact.metadata[key] for key in ("title", "tags", "description")}
    assert found == {"title": "T", "tags": ["x", "y"], "description": "D"}
    assert "weird" not in artifact.metadata


def test_front_matter_is_no_part_of_the_text_but_its_words_are_kept_beside_it(tmp_path):
    write(tmp_path, a_md="---\ntags: [zoo]\n---\n\n# Other\n\nText.\n")
    artifact = read(files(tmp_path))
    assert artifact.raw["text"] == "\n# Other\n\nText.\n"
    assert artifact.raw["lexical"] == "---\ntags: [zoo]\n---\n"


@pytest.mark.parametrize(
    "text",
    ["# No front matter\n", "---\ntitle: Alone\n---\n", "---\n\nA rule, then text.\n\n---\n"],
)
def test_a_document_with_nothing_but_a_text_or_front_matter_is_taken_whole(tmp_path, text):
    write(tmp_path, a_md=text)
    raw = read(files(tmp_path)).raw
    assert (raw["text"], "lexical" in raw) == (text, False)


def test_a_text_without_a_title_is_named_by_its_file(tmp_path):
    write(tmp_path, a_txt="# not Markdown\n")
    assert read(files(tmp_path)).name == "a.txt"


def test_a_heading_in_a_code_block_is_no_title(tmp_path):
    write(tmp_path, a_md="```\n# comment\n```\n\n# Real\n")
    assert read(files(tmp_path)).name == "Real"


def test_a_binary_file_that_matches_is_an_error_naming_it(tmp_path):
    (tmp_path / "a.md").write_bytes(b"\x00\x01")
    with pytest.raises(SourceError, match=r"a\.md: not a text file"):
        read(files(tmp_path))


BINARY = {
    "pdf": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n(invoice zebra) Tj\n%%EOF\n",
    "pdf after a mark": b"\xef\xbb\xbf\n%PDF-1.7\n1 0 obj\n",
    "png": b"\x89PNG\r\n\x1a\n image",
    "jpeg": b"\xff\xd8\xff\xe0 image",
    "zip": b"PK\x03\x04 archive",
    "elf": b"\x7fELF program",
    "gzip": b"\x1f\x8b\x08 data",
    "no known format": bytes(set(range(256)) - {0}) * 3,
}


@pytest.mark.parametrize("data", BINARY.values(), ids=BINARY)
def test_a_file_of_a_binary_format_is_never_read_as_text_with_or_without_nul_bytes(data, tmp_path):
    (tmp_path / "a.md").write_bytes(data)
    with pytest.raises(Refused, match=r"a\.md: not a text file"):
        read(files(tmp_path))


TEXT = {
    "about PDF": b"%PDF- is how a PDF begins",
    "empty": b"",
    "another encoding": "Größe, naïve café\n".encode("latin-1"),
    "Japanese in Shift JIS": "日本語の文書\n".encode("shift_jis"),
    "colours of a terminal": b"\x1b[31mred\x1b[0m \x07",
    "control characters to be flagged": b"a\x01b\x02",
}


@pytest.mark.parametrize("data", TEXT.values(), ids=TEXT)
def test_text_of_any_encoding_stays_text(data, tmp_path):
    (tmp_path / "a.md").write_bytes(data)
    assert read(files(tmp_path)).artifact_id == "a.md"


def test_a_file_over_the_limit_is_an_error_naming_it(tmp_path):
    write(tmp_path, a_md="x" * 11)
    with pytest.raises(SourceError, match=r"a\.md.*limit"):
        read(files(tmp_path, max_bytes=10))


def test_invalid_utf8_is_replaced_and_flagged(tmp_path):
    (tmp_path / "a.md").write_bytes(b"caf\xe9")
    assert read(files(tmp_path)).flags == ("invalid_utf8",)


def test_an_option_of_the_wrong_type_is_refused(tmp_path):
    with pytest.raises(QueryError, match="pattern"):
        files(tmp_path, pattern=3)


PIECES = st.sampled_from(["*", "**", "?", "a", "b", "/", "/**/", "[ab]", "!", ".", "\\*"])


@given(
    st.lists(PIECES, max_size=8).map("".join).filter(lambda line: line.count("**") <= 3),
    st.lists(st.text("ab.*", min_size=1, max_size=5), min_size=1, max_size=4).map("/".join),
)
def test_a_pattern_matches_what_git_would_match(line, path):
    try:
        expected = GitIgnoreSpec.from_lines([line])
    except ValueError:
        return
    for each in (path, f"{path}/"):
        assert (
            compile_patterns([line]).check_file(each).include == expected.check_file(each).include
        )


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a" * 30 + "b", "a" * 250),
        ("*?" * 40 + "b", "a" * 250),
        ("x/" + "*a*/" * 10 + "b", "x/" + "/".join(["a" * 250] * 15)),
        ("**/a/**/a/**/a/x", "a/" * 32 + "b"),
    ],
)
def test_a_pattern_of_many_stars_is_decided_for_a_path_that_it_nearly_matches(line, path):
    assert not compile_patterns([line]).match_file(path)


def test_of_a_pattern_with_too_many_double_stars_the_beginning_stands_for_all_below():
    line = "one/**/two/**/three/**/four/**/five"
    assert compile_patterns([line]).match_file("one/a/two/b/three/c/file")
    assert not compile_patterns([line]).match_file("one/a/two/b/file")
    assert not compile_patterns([f"!{line}"]).patterns


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [("a_md", "---\ntitle: A\n---\n\n# A\n", 4), ("a_txt", "---\nx\n", 1), ("a_md", "text", 1)],
)
def test_a_document_knows_in_which_line_of_its_file_the_text_begins(tmp_path, name, text, line):
    write(tmp_path, **{name: text})
    assert read(files(tmp_path)).raw["first_line"] == line
