"""Kept ledgers of earlier formats, and all that a ledger holds, for comparing it with another."""

import gzip
from pathlib import Path

from irdaemon.ledger import Ledger

FILES = Path(__file__).parents[1] / "ledgers"


def read_format(file: Path) -> int:
    """Return the format that a kept ledger has by its name."""
    return int(file.name.split("-")[1].partition(".")[0])


FORMATS = sorted([*FILES.glob("format-?.db.gz"), *FILES.glob("format-??.db.gz")], key=read_format)


def unpacked(file: Path, directory: Path) -> str:
    """Unpack a kept ledger into a directory; return its path."""
    path = directory / "ledger.sqlite"
    path.write_bytes(gzip.decompress(file.read_bytes()))
    return str(path)


def everything(ledger: Ledger, embedder: str) -> dict[str, object]:
    """Return all that a ledger holds, without row numbers and times."""
    db = ledger._store
    terms = dict(db.fetch_all("SELECT id, term FROM terms"))

    def spelled(ids: bytes) -> list[str]:
        return [terms[number] for number in memoryview(ids).cast("i")]

    records = [
        (*row, sorted(zip(spelled(ids), memoryview(counts).cast("f"), strict=True)))
        for *row, ids, counts in db.fetch_all(
            "SELECT corpus, artifact_id, record_id, records.kind, granularity, surface_index, text,"
            " metadata, records.digest, terms, counts FROM records"
            " JOIN artifacts ON artifacts.id = records.artifact ORDER BY 1, 2, 6"
        )
    ]
    artifacts = [
        (*row, spelled(names))
        for *row, names in db.fetch_all(
            "SELECT artifacts.corpus, key, artifact_id, name, pointer, fields, body, digest,"
            " content, version, name_terms FROM artifacts"
            " JOIN entries ON entries.id = artifacts.entry ORDER BY 1, 2, 3"
        )
    ]
    needed = {row[8] for row in records}
    return {
        "entries": db.fetch_all(
            "SELECT corpus, key, path, stamp, recipe, cursor, skipped FROM entries ORDER BY 1, 2"
        ),
        "artifacts": artifacts,
        "records": records,
        "vectors": sorted((d, v) for d, v in ledger.vectors.iterate(embedder) if d in needed),
        "links": db.fetch_all(
            "SELECT artifacts.corpus, artifact_id, place, type, links.corpus, target FROM links"
            " JOIN artifacts ON artifacts.id = links.artifact ORDER BY 1, 2, 3"
        ),
        "failures": db.fetch_all(
            "SELECT corpus, key, path, reason, stamp FROM failures ORDER BY 1, 2"
        ),
    }
