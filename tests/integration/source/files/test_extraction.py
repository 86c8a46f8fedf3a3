"""What a reader's child process may do wrong is one file's failure."""

import json

import pytest

from irclient.errors import Unavailable
from irclient.installation import make_extra_command
from irdaemon.runtime.pool import ProcessLimits, end_all
from irdaemon.source.files import asset
from irdaemon.source.files.asset import extract_text, list_unreadable_suffixes
from irdaemon.types import Refused, SourceError

ANSWER = {"text": "peas", "fields": {"n_pages": 1}, "flags": []}


@pytest.fixture
def printed_by(tmp_path, monkeypatch):
    """Return a function that reads a PDF by a program in the place of the reader."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7 peas")

    def read(source):
        end_all()  # each has a program of its own
        (tmp_path / "reader.py").write_text(source)
        monkeypatch.setattr(asset.os.path, "dirname", lambda path: str(tmp_path))
        monkeypatch.setattr(asset, "_FORMATS", {".pdf": reader})
        return extract_text(str(path), 1_000)

    reader = asset._Format("PDF", "json", "pdf", "reader.py")
    return read


def answering(answer):
    return f"import sys; sys.stdin.read(); print({json.dumps(answer)!r})"


def test_a_reader_gets_the_file_from_its_beginning_and_its_answer_is_data(printed_by):
    source = "import json, sys; print(json.dumps({'text': sys.stdin.read(), 'fields': {'a': 1,"
    found = printed_by(source + " 'b': ['no', 'scalar']}, 'flags': []}))")
    assert (found.text, found.fields) == ("%PDF-1.7 peas", {"a": 1})
    assert len(found.digest) == 64


@pytest.mark.parametrize(
    "source",
    [
        "print('no JSON')",
        "print('[' * 100_000)",
        answering([]),
        answering({**ANSWER, "fields": 3}),
        answering({"text": "peas"}),
        "",
    ],
)
def test_an_answer_of_another_form_is_an_error(printed_by, source):
    with pytest.raises(SourceError, match="gave no usable answer"):
        printed_by(source)


def test_a_reader_that_hangs_is_killed_and_that_is_one_files_failure(printed_by, monkeypatch):
    monkeypatch.setattr(asset, "_LIMITS", ProcessLimits(1.0))
    with pytest.raises(SourceError, match=r"a\.pdf: .*reader\.py was killed after 1 s") as caught:
        printed_by("import time; time.sleep(600)")
    assert isinstance(caught.value.__cause__, Unavailable)


def test_a_reader_that_wants_more_memory_than_it_may_have_is_one_files_failure(printed_by):
    with pytest.raises(SourceError, match=r"reader\.py failed"):
        printed_by("bytearray(2 << 30)")


def test_a_file_is_kept_in_mind_unless_its_reader_says_that_there_is_nothing_to_read(printed_by):
    for failure, error in (("encrypted", Refused), ("damaged", SourceError), ("?", SourceError)):
        with pytest.raises(SourceError) as caught:
            printed_by(answering({"failure": failure}))
        assert type(caught.value) is error


def test_without_the_library_a_suffix_is_unreadable_and_a_file_names_the_command(
    tmp_path, monkeypatch
):
    assert ".pdf" not in list_unreadable_suffixes()
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    monkeypatch.setattr(asset, "find_spec", lambda name: None)
    assert list_unreadable_suffixes()[".pdf"] == make_extra_command("pdf")
    with pytest.raises(Refused, match="not installed") as caught:
        extract_text(str(tmp_path / "a.pdf"), 1_000)
    assert caught.value.hint == make_extra_command("pdf")
