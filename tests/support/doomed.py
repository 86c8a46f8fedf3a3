"""A daemon that is killed at its Nth write: python -m tests.support.doomed N start.

The clock's kills rarely hit a migration or the few milliseconds of a transaction; this one always
hits between two statements.
"""

import os
import signal
import sqlite3
import sys
from functools import partial
from itertools import count

from irdaemon.cli.main import main

_READS = ("SELECT", "PRAGMA foreign", "PRAGMA busy", "PRAGMA journal", "PRAGMA synchronous")
_writes = count(1)
_last = int(sys.argv.pop(1))


class Doomed(sqlite3.Connection):
    def execute(self, statement, *values):
        _count(statement)
        return super().execute(statement, *values)

    def executemany(self, statement, rows):
        _count(statement)
        return super().executemany(statement, rows)


def _count(statement):
    if not statement.startswith(_READS) and next(_writes) == _last:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sqlite3.connect = partial(sqlite3.connect, factory=Doomed)
    sys.exit(main())
