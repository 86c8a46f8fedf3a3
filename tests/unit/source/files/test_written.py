"""When a document was written."""

import pytest

import irdaemon as ir
from irdaemon.source.files.document import find_timestamp

MTIME = 1_790_000_000 * 10**9


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, "2026-09-21T14:13:20Z"),
        ({"date": "2026-09-01"}, "2026-09-01"),
        ({"date": "2026-08-01", "updated": "2026-09-01"}, "2026-09-01"),
        ({"date": "2026-09-01T12:30:00+02:00"}, "2026-09-01T10:30:00Z"),
        ({"date": "2026-09-01 12:30"}, "2026-09-01T12:30:00Z"),
        ({"date": "2026-08-01", "updated": "last week"}, "2026-08-01"),
        ({"date": "yesterday"}, "2026-09-21T14:13:20Z"),
        ({"date": ["2026-09-01"]}, "2026-09-21T14:13:20Z"),
        ({"date": "0001-01-01T00:00:00+10:00"}, "2026-09-21T14:13:20Z"),
    ],
)
def test_a_document_says_when_it_was_written_else_its_file_does(fields, found):
    assert find_timestamp(fields, MTIME) == found


def test_documents_are_found_by_when_they_were_written(tmp_path):
    (tmp_path / "old.md").write_text("---\ndate: 2020-01-31\n---\n\nInvoices are paid on Monday\n")
    (tmp_path / "new.txt").write_text("Invoices are paid on Tuesday\n")
    corpus = ir.build(ir.CorpusSource.from_files(tmp_path), store=":memory:", embedder="hashing")
    for condition, found in (
        ({"$lt": "2021-01-01"}, "old.md"),
        ({"$gte": "2021-01-01"}, "new.txt"),
    ):
        hits = ir.search(corpus, "paid invoices", filter={"timestamp": condition})
        assert [hit.artifact_id for hit in hits] == [found]
        assert isinstance(hits[0].to_dict()["fields"]["timestamp"], str)
    corpus.close()
