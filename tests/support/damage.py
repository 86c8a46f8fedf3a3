"""A ledger's file changed from outside: by statements, and byte by byte."""

import os
import sqlite3
from contextlib import closing, contextmanager
from glob import glob
from pathlib import Path

from hypothesis import strategies as st

ITEMS = {f"t{n}": f"words about thing number {n} of many" for n in range(20)}


def change(path, *statements):
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.executescript(statement)


# Where in the file (by share), what is written there, and where the file then ends.
GARBLED = st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=5000), st.floats(0.1, 2))


@contextmanager
def garbled(path, how):
    """Overwrite some of a file, and put everything back in the end."""
    whole = Path(path).read_bytes()
    at, garbage, end = how
    with open(path, "r+b") as file:
        file.seek(int(at * len(whole)))
        file.write(garbage)
        file.truncate(int(min(end, 1) * len(whole)))
    try:
        yield
    finally:
        for each in glob(f"{path}*"):
            os.unlink(each)
        Path(path).write_bytes(whole)
