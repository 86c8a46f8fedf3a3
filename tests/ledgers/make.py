"""Write a ledger with the code that is imported here: python -m tests.ledgers.make FILE.db.gz."""

import gzip
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

from irdaemon.corpus import Corpus
from irdaemon.engine import Engine
from irdaemon.jobs import Job
from irdaemon.ledger import Ledger
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import Chunked, WholeText
from tests.ledgers import NOTES, TOOLS


def write(file: str) -> None:
    """Index both corpora, and pack the ledger as it lies on the disk."""
    path = os.path.join(tempfile.mkdtemp(), "ledger.sqlite")
    corpora = (
        Corpus("notes", "mapping", InMemory(NOTES), Chunked(chunk_size=120, overlap=0), "hashing"),
        Corpus("tools", "mapping", InMemory(TOOLS), WholeText(), "hashing"),
    )
    engine = Engine(Ledger(path), corpora)
    for corpus in corpora:
        engine.request(Job("reconcile", corpus.name))
    engine.drain()
    engine.ledger.close()
    db = sqlite3.connect(path)
    print(file, "format", *db.execute("PRAGMA user_version").fetchone())
    db.execute("VACUUM")
    db.close()
    Path(file).write_bytes(gzip.compress(Path(path).read_bytes(), mtime=0))


if __name__ == "__main__":
    write(sys.argv[1])
