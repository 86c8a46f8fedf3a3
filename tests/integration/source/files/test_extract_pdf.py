"""PDFs are read in a child process: what becomes of good ones, and of bad ones."""

import zlib

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, StreamObject

import irdaemon as ir
from irdaemon.source.files import Files, asset
from irdaemon.types import Refused, Root, SourceError
from tests.support.pdfs import encrypt, write_blank, write_pdf, write_scan

BEANS, PEAS = "Broad beans are sown in november.", "Peas follow in march."


def read(path, **options):
    source = Files((Root(str(path.parent)),), {"pattern": "*.pdf", **options})
    (entry,) = (entry for entry in source.scan().entries if entry.path == str(path))
    (artifact,) = source.read(entry).artifacts
    return artifact


def test_a_pdf_gives_its_pages_and_what_it_states(tmp_path):
    path = write_pdf(tmp_path / "a.pdf", BEANS, "", PEAS, title="Sowing", author="Ann Gardener")
    artifact = read(path)
    assert [page.strip() for page in artifact.raw["text"].split("\f")] == [BEANS, "", PEAS]
    assert artifact.name == "Sowing"
    fields = artifact.metadata
    assert (fields["n_pages"], fields["author"], fields["suffix"]) == (3, "Ann Gardener", ".pdf")
    assert fields["date"][:2] == "20"
    assert artifact.body == f"[page 1]\n{BEANS}\n\n[page 3]\n{PEAS}"


def test_a_pdf_without_a_title_is_called_by_its_file(tmp_path):
    artifact = read(write_pdf(tmp_path / "a.pdf", BEANS, title="untitled", author="anonymous"))
    assert artifact.name == "a.pdf"
    assert not {"title", "author"} & set(artifact.metadata)


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_an_encrypted_pdf_that_anybody_may_read_is_read(tmp_path, algorithm):
    path = encrypt(write_pdf(tmp_path / "a.pdf", BEANS), "", algorithm)
    assert BEANS in read(path).body


def cut(path):
    data = write_pdf(path, BEANS * 20).read_bytes()
    path.write_bytes(data[: len(data) // 2])


def inflating(path):
    """Write a PDF whose page is a few KB that become 200 MB."""
    writer = PdfWriter(clone_from=PdfReader(write_pdf(path, BEANS)))
    content = StreamObject()
    content.set_data(zlib.compress(b" " * 200_000_000, 9))
    content[NameObject("/Filter")] = NameObject("/FlateDecode")
    writer.pages[0][NameObject("/Contents")] = writer._add_object(content)
    writer.write(path)


BAD = {
    "a password": (
        lambda path: encrypt(write_pdf(path, BEANS), "pea"),
        Refused,
        "encrypted with a password",
    ),
    "no text": (write_scan, Refused, "no text layer"),
    "5,000 pages": (lambda path: write_blank(path, 5_000), SourceError, "more than 2,000 pages"),
    "cut short": (cut, SourceError, "damaged or cut short"),
    "no pdf": (lambda path: path.write_text("beans"), SourceError, "damaged or cut short"),
    "nothing": (lambda path: path.write_bytes(b""), SourceError, "damaged or cut short"),
    "a bomb": (inflating, SourceError, "damaged|memory"),
}


@pytest.mark.parametrize(("make", "error", "why"), BAD.values(), ids=BAD)
def test_a_pdf_that_cannot_be_read_is_an_error_that_says_why(tmp_path, make, error, why):
    make(tmp_path / "bad.pdf")
    with pytest.raises(SourceError, match=rf"bad\.pdf: {why}") as caught:
        read(tmp_path / "bad.pdf")
    assert type(caught.value) is error
    assert caught.value.hint


def test_a_pdf_over_the_limit_is_not_opened_by_a_parser(tmp_path, monkeypatch):
    path = write_pdf(tmp_path / "a.pdf", BEANS)
    monkeypatch.setattr(asset, "run_program", None)
    with pytest.raises(SourceError, match="more than the limit of 100"):
        read(path, max_bytes=100)


def test_bad_pdfs_are_failures_and_their_neighbours_are_found_by_page(tmp_path):
    encrypt(write_pdf(tmp_path / "locked.pdf", BEANS), "pea")
    cut(tmp_path / "cut.pdf")
    write_pdf(tmp_path / "good.pdf", BEANS, PEAS)
    (tmp_path / "note.md").write_text("peas in the notes")
    source = ir.CorpusSource.from_files([str(tmp_path)], name="garden")
    with pytest.warns(UserWarning, match="2 could not be indexed"):
        built = ir.build(source, store=":memory:", embedder="hashing")
    failed = {each["path"].rpartition("/")[2]: each["reason"] for each in built.engine.failures()}
    assert set(failed) == {"locked.pdf", "cut.pdf"}
    (hit,) = ir.search(built, "peas march", k=1, filter={"asset_type": "pdf"})
    assert hit.artifact_id == "good.pdf"
    assert "Peas follow" in hit.summary
    (record,) = ir.search(built, "peas", filter={"page": 2})
    assert record.artifact_id == "good.pdf"
    (payload,) = ir.disclose([hit])
    assert payload.body.startswith("[page 1]\nBroad beans")
    assert not payload.stale
    write_pdf(tmp_path / "good.pdf", PEAS)
    (payload,) = ir.disclose([hit])
    assert (payload.stale, payload.note) == (True, "changed")
    assert payload.body.startswith("[page 1]\nBroad beans")
    (tmp_path / "good.pdf").unlink()
    assert ir.disclose([hit])[0].note == "pointer_unreadable"
    built.close()
