"""Write a ledger with the code that is imported here: python -m tests.ledgers.make FILE.db.gz.

A file of the name `uncleaned.db.gz` gets what the first version of redaction kept.
"""

import gzip
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

from irdaemon.config.corpus import Corpus
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.ledger import Ledger, Pin
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import Chunked, WholeText
from tests.ledgers import NOTES, PRINTED, TOOLS, UNCLEANED

CORPORA = (
    Corpus("notes", "mapping", InMemory(NOTES), Chunked(chunk_size=120, overlap=0), "hashing"),
    Corpus("tools", "mapping", InMemory(TOOLS), WholeText(), "hashing"),
)
PRINTING = (Corpus("printed", "mapping", InMemory(UNCLEANED), WholeText(), "hashing"),)
PINS = (Pin("printed", "printed", "body", PRINTED, 1.0),)


def write(file: str, corpora: tuple[Corpus, ...], pins: tuple[Pin, ...]) -> None:
    """Index corpora, and pack the ledger as it lies on the disk."""
    path = os.path.join(tempfile.mkdtemp(), "ledger.sqlite")
    engine = Engine(Ledger(path), corpora)
    for corpus in corpora:
        engine.request(Job("reconcile", corpus.name))
    engine.drain()
    engine.ledger.pins.put(pins)
    engine.ledger.close()
    db = sqlite3.connect(path)
    print(file, "format", *db.execute("PRAGMA user_version").fetchone())
    db.execute("VACUUM")
    db.close()
    Path(file).write_bytes(gzip.compress(Path(path).read_bytes(), mtime=0))


if __name__ == "__main__":
    uncleaned = os.path.basename(sys.argv[1]) == "uncleaned.db.gz"
    write(sys.argv[1], *((PRINTING, PINS) if uncleaned else (CORPORA, ())))
