"""The same corpus in each engine: ingest, discover, an edit, bytes; beside the local index.

    python bench/engines.py [--synthetic N] [--engines local,postgres,qdrant,memory] [--graphed N]

A generated corpus (40 Zipf words, a clustered unit vector of 256 floats and a field a record) is
written as one delta and searched through `make_remote_index`, by the code of the daemon's read path
with query vectors given. So an embedder and ZeroMQ are in none of the figures, and neither is the
ledger: ingest is the backend's share of it, and that of the index in memory.

Sixteen clients are sixteen threads of this process, as in a front end's worker pool; they share its
interpreter lock, and the machine with the server. An edit takes one artifact's place with another,
which holds a new word, and asks for that word until it is found. `cpu_ms` is the processor time of
a query of one client, which other work on the machine does not move much. `same` is the share of
queries that are answered with the same ids in the same order, and scores within 1e-4, as by the
exact local index.

PostgreSQL is a server of its own on a Unix socket, with the settings in backends.py; Qdrant
is its client's local mode, which is no server: it tells of the adapter, not of the engine. Writes
engines.json; `python bench/capacity.py` prints the model of bench/HISTORY.md from it.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from backends import OPENED, Engine
from common import figures, keep, timed
from numpy.typing import NDArray
from scale import indexed
from synthetic import DIM, PARTS, SentArtifacts, SentRecords, Synthetic, added_word, noise, zipf

from irdaemon.contrib.backends.remote import (
    CopyOrigin,
    Vocabularies,
    make_remote_index,
    make_totals,
)
from irdaemon.discovery.discover import Models, search
from irdaemon.discovery.query import parse_query
from irdaemon.embed import QueryVector
from irdaemon.index import CorpusIndex, Names, Rows, Snapshot, build_graph
from irdaemon.index.backend import IndexDelta
from irdaemon.index.columns import Columns
from irdaemon.index.dense import make_dense
from irdaemon.index.lexical import Lexical
from irdaemon.runtime.memory import measure_resident
from irdaemon.types import Query

CORPUS = "notes"
ORIGIN = CopyOrigin("documents", "recipe", "bench", "bench@here")
CLIENTS = 16
EDITS = 20
FILTER = {"part": 7}
ASKED = {"unfiltered": {}, f"filtered_1_in_{PARTS}": FILTER}

Ask = Callable[[str, Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Asked:
    """The queries of a run: texts with their vectors."""

    vectors: Mapping[str, NDArray[np.float32]]

    @classmethod
    def of(cls, corpus: Synthetic, count: int) -> Asked:
        """Return queries of six words, each with a vector near some record's."""
        chance = np.random.default_rng(corpus.size)
        near = corpus.part(1, min(corpus.size, count)).vectors
        near = near[np.arange(count) % len(near)]
        words = corpus.words
        texts = [" ".join(words[i] for i in zipf(chance, 6, len(words))) for _ in range(count)]
        return cls(dict(zip(texts, near + noise(chance, near), strict=True)))

    def asker(self, snapshot: Callable[[], Snapshot]) -> Ask:
        """Return what asks a snapshot, which may be another at each query."""
        none = np.zeros(DIM, np.float32)
        models = Models(lambda text, embedder: QueryVector(self.vectors.get(text, none)))
        return lambda text, where: search(snapshot(), parse_query(Query(text, where=where)), models)


def main() -> None:
    """Measure every engine on one corpus, and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--synthetic", type=int, default=200_000, metavar="N")
    parser.add_argument("--engines", default="local,postgres", help=", ".join(("local", *OPENED)))
    parser.add_argument("--queries", type=int, default=200, help="of each kind")
    parser.add_argument("--graphed", type=int, default=200_000, help="the largest with a graph")
    parser.add_argument("--name", default="engines", help="of the file in bench/results")
    options = parser.parse_args()
    corpus = Synthetic(options.synthetic)
    asked = Asked.of(corpus, options.queries)
    index, ingest = local_index(corpus)
    snapshot = Snapshot(1, {CORPUS: index}, corpus.known)
    ask = asked.asker(lambda: snapshot)
    exact = {name: answers(asked, ask, where) for name, where in ASKED.items()}
    results = []
    for name in options.engines.split(","):
        if name == "local":
            results += local(corpus, index, asked, ingest, options.graphed)
        else:
            with OPENED[name]() as engine:
                results.append({"engine": name, **remote(engine, corpus, index, asked, exact)})
    keep(options.name, results)


# -- the local index -----------------------------------------------------------------------------


def local_index(corpus: Synthetic) -> tuple[CorpusIndex, dict[str, Any]]:
    """Return the exact index in memory, and what it took to lay out."""
    before, started = measure_resident(), time.perf_counter()
    rows = Rows.make_empty(DIM)
    for part in corpus.parts():
        started, made = time.perf_counter() if not len(rows.alive) else started, rows_of(part)
        rows = rows._append(made)
    lexical = Lexical.from_rows(rows)
    took = time.perf_counter() - started
    index = indexed(rows, lexical)
    index.list_field_names()
    held = measure_resident() - before
    return index, {"laid_out_per_s": round(corpus.size / took), "memory": held}


def rows_of(part: Any) -> Rows:
    """Return a part as rows with vectors."""
    rows = Rows.build(part.artifacts, part.records, DIM, {})
    rows.vectors.array[:] = part.vectors
    rows.embedded[:] = True
    return rows


def local(
    corpus: Synthetic, index: CorpusIndex, asked: Asked, ingest: Mapping[str, Any], graphed: int
) -> Iterator[dict[str, Any]]:
    """Measure the index in memory, exact and, up to a size, with a graph."""
    yield {"engine": "local", **_local(corpus, index, asked), **ingest}
    if corpus.size <= graphed:
        started = time.perf_counter()
        graph = build_graph(index.rows)
        took = time.perf_counter() - started
        graphs = replace(index, dense=make_dense(index.rows, graph))
        measured = _local(corpus, graphs, asked)
        yield {"engine": "local, graph", **measured, "graph_built_s": round(took, 1)}


def _local(corpus: Synthetic, index: CorpusIndex, asked: Asked) -> dict[str, Any]:
    known = dict(corpus.known)
    served = [Snapshot(1, {CORPUS: index}, known)]
    ask = asked.asker(lambda: served[0])
    measured = discovered(asked, ask)

    def change(number: int, word: int, part: Any) -> None:
        known[added_word(word)] = word
        before = served[0].corpora[CORPUS]
        rows = before.rows._drop_gone([number])._append(rows_of(part))
        lexical = Lexical.from_rows(rows, before.lexical)
        after = replace(
            before,
            rows=rows,
            lexical=lexical,
            dense=make_dense(rows, before.dense.graph, before.dense),
            columns=Columns.build(rows, before.columns),
            names=Names.build(rows, lexical, before.names),
        )
        served[0] = Snapshot(served[0].generation + 1, {CORPUS: after}, known)

    edits = edited(corpus, ask, change)
    return {"records": corpus.size, **measured, "edit_to_found_ms": edits}


# -- a backend -----------------------------------------------------------------------------------


def remote(
    engine: Engine, corpus: Synthetic, index: CorpusIndex, asked: Asked, exact: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the corpus to a backend and measure it there."""
    backend = engine.backend
    fence = backend.take_lease(CORPUS, ORIGIN.holder)
    df = np.bincount(index.rows.terms.values[0].array)
    took = timed(lambda: backend.apply(_whole(corpus, index, df, fence)))
    vocabularies = Vocabularies()

    def snapshot() -> Snapshot:
        totals = backend.read_totals()[CORPUS]
        of = make_remote_index(backend, totals, vocabularies)
        return Snapshot(totals.generation, {CORPUS: of}, {})

    served = [snapshot()]
    ask = asked.asker(lambda: served[0])
    same = {name: _share(exact[name], answers(asked, ask, where)) for name, where in ASKED.items()}
    measured = discovered(asked, ask, engine.cpu)

    def change(number: int, word: int, part: Any) -> None:
        fence = backend.take_lease(CORPUS, ORIGIN.holder)
        backend.apply(_edit(backend.read_totals()[CORPUS], number, word, part, df, fence))
        served[0] = snapshot()

    return {
        "records": corpus.size,
        "ingest_per_s": round(corpus.size / took * 1e3),
        "same": same,
        **measured,
        "edit_to_found_ms": edited(corpus, ask, change),
        "disk": engine.disk(),
        "memory": engine.memory(),
    }


def _whole(corpus: Synthetic, index: CorpusIndex, df: NDArray[np.int64], fence: int) -> IndexDelta:
    return IndexDelta(
        totals=make_totals(index, ORIGIN, 1),
        base=0,
        fence=fence,
        artifacts=SentArtifacts(corpus.parts),
        records=SentRecords(corpus.parts),
        words=corpus.known,
        df=dict(enumerate(df.tolist())),
    )


def _edit(
    there: Any, number: int, word: int, part: Any, df: NDArray[np.int64], fence: int
) -> IndexDelta:
    terms = np.frombuffer(part.records[0][6], np.int32).tolist()
    return IndexDelta(
        totals=replace(there, generation=there.generation + 1),
        base=there.generation,
        fence=fence,
        gone=(number,),
        artifacts=SentArtifacts(lambda: [part]),
        records=SentRecords(lambda: [part]),
        words={added_word(word): word},
        df={term: int(df[term]) if term < len(df) else 1 for term in terms},
    )


# -- what is measured ----------------------------------------------------------------------------


def discovered(asked: Asked, ask: Ask, cpu: Callable[[], float] = lambda: 0.0) -> dict[str, Any]:
    """Ask by one client and by sixteen, with a filter and without; `cpu` is a server's."""
    for text in list(asked.vectors)[:20]:
        ask(text, {})
        ask(text, FILTER)
    found: dict[str, Any] = {}
    for name, where in ASKED.items():
        before = time.process_time(), cpu()
        found[name] = {"1": _by_clients(asked, ask, where, 1)}
        own, there = time.process_time() - before[0], cpu() - before[1]
        found[name]["cpu_ms"] = {"here": _each(own, asked), "server": _each(there, asked)}
        found[name][str(CLIENTS)] = _by_clients(asked, ask, where, CLIENTS)
    return {"discover_ms": found}


def _each(seconds: float, asked: Asked) -> float:
    return round(seconds * 1e3 / len(asked.vectors), 2)


def _by_clients(asked: Asked, ask: Ask, where: Mapping[str, Any], clients: int) -> dict[str, Any]:
    texts = list(asked.vectors)
    turns = [texts[at::clients] for at in range(clients)]
    begin, took = threading.Barrier(clients + 1), list[float]()

    def client(own: Sequence[str]) -> None:
        begin.wait()
        took.extend([timed(lambda text=text: ask(text, where)) for text in own])

    threads = [threading.Thread(target=client, args=(own,)) for own in turns]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    if len(took) < len(texts):
        raise SystemExit("a client failed; see above")
    rate = len(took) / (time.perf_counter() - started)
    return {**figures(took), "queries": len(took), "per_s": round(rate, 1)}


def edited(corpus: Synthetic, ask: Ask, change: Callable[[int, int, Any], None]) -> dict[str, Any]:
    """Replace artifacts one by one; return how long until each new one is found."""
    took = []
    for at in range(EDITS):
        word = len(corpus.words) + at
        part = corpus.part(corpus.size + 1 + at, 1, (word,))
        started = time.perf_counter()
        change(corpus.size // 2 + at, word, part)
        while not _finds(ask, part, added_word(word)):
            pass
        took.append((time.perf_counter() - started) * 1e3)
    return figures(took)


def _finds(ask: Ask, part: Any, word: str) -> bool:
    return part.artifacts[0][1] in [hit.artifact_id for hit in ask(word, {}).selection.results]


def answers(asked: Asked, ask: Ask, where: Mapping[str, Any]) -> list[Any]:
    """Return what each query is answered: ids with scores, in order."""
    traces = (ask(text, where) for text in asked.vectors)
    return [[(hit.artifact_id, hit.score) for hit in trace.selection.results] for trace in traces]


def _share(these: Sequence[Any], those: Sequence[Any]) -> float:
    same = [
        [hit for hit, _ in one] == [hit for hit, _ in other]
        and np.allclose([s for _, s in one], [s for _, s in other], atol=1e-4)
        for one, other in zip(these, those, strict=True)
    ]
    return round(sum(same) / len(same), 4)


if __name__ == "__main__":
    main()
