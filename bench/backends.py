"""The engines that a benchmark may measure: started for it, and removed afterwards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import ROOT

from irdaemon.contrib.backends.making import make_backend
from irdaemon.index.backend import IndexBackend

sys.path.insert(0, str(ROOT))  # the tests' servers

# What a server of its own would have on a machine of 8 GB; commits wait for the disk.
POSTGRES = ("shared_buffers=2GB", "maintenance_work_mem=1GB", "max_wal_size=4GB")


@dataclass(frozen=True)
class Engine:
    """A backend, and how to tell what it takes: bytes on disk, in memory, seconds of processors."""

    backend: IndexBackend
    disk: Callable[[], Mapping[str, int]] = dict
    memory: Callable[[], int | None] = lambda: None
    cpu: Callable[[], float] = lambda: 0.0


@contextmanager
def _in_memory() -> Iterator[Engine]:
    from tests.support.memory_backend import MemoryBackend

    yield Engine(MemoryBackend())


@contextmanager
def _qdrant() -> Iterator[Engine]:
    backend = make_backend("qdrant://:memory:")
    yield Engine(backend)
    backend.close()


@contextmanager
def _postgres() -> Iterator[Engine]:
    from tests.support.postgres import PostgresServer

    server = PostgresServer(*(each for setting in POSTGRES for each in ("-c", setting))).start()
    try:
        name = server.new_database()
        backend = make_backend(server.url(name, "writer"))
        yield Engine(
            backend,
            lambda: _disk_of(server, name),
            lambda: sum(_memory(each) for each in _processes(server)),
            lambda: sum(_cpu(each) for each in _processes(server)),
        )
        backend.close()
    finally:
        server.remove()


def _disk_of(server: Any, database: str) -> dict[str, int]:
    """Return the bytes of files, and of each table with its indexes."""
    tables = server.run(
        "SELECT regexp_replace(relname, '_[0-9]+$', ''), sum(pg_total_relation_size(oid))::bigint"
        " FROM pg_class WHERE relnamespace = 'irdaemon'::regnamespace AND relkind = 'r' GROUP BY 1",
        database,
    )
    return {**_files_of(server.data), **dict(tables)}


def _files_of(data: Path) -> dict[str, int]:
    """Return the bytes of tables and indexes, and those of the write-ahead log."""
    sizes = {"data": 0, "wal": 0}
    for path in data.rglob("*"):
        if path.is_file():
            sizes["wal" if "pg_wal" in path.parts else "data"] += path.stat().st_size
    return sizes


def _processes(server: Any) -> list[Path]:
    """Return the directories in /proc of the server's processes."""
    own = str(server.data)
    return [each for each in Path("/proc").iterdir() if each.name.isdecimal() and _in(each, own)]


def _in(process: Path, directory: str) -> bool:
    try:
        return str((process / "cwd").readlink()) == directory
    except OSError:
        return False


def _memory(process: Path) -> int:
    """Return the bytes a process holds, its part of what it shares with others."""
    lines = (process / "smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def _cpu(process: Path) -> float:
    """Return the processor seconds of a process, and of its children that have ended."""
    fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


OPENED: dict[str, Callable[[], Any]] = {
    "postgres": _postgres,
    "qdrant": _qdrant,
    "memory": _in_memory,
}
