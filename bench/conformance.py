"""Compare the answers of an index in memory with those of its copies, on the labelled sets.

    python bench/conformance.py [--data DIR] [--queries 200] [--qdrant-queries 20]

Each set is a corpus, embedded and calibrated as a daemon does it, copied by deltas into PostgreSQL
(the tests' own server) and into the local mode of Qdrant's client, which is slow and so is asked
less. Counted are the queries, answerable and not, of which hits, order, silence and reason are the
same, and the largest difference between scores. Writes bench/results/conformance.json.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from common import ROOT, keep

sys.path.insert(0, str(ROOT))

from quality import SETS, read_set

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.backends.making import make_backend
from irdaemon.discovery import discover as discovery
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.ledger import Ledger
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import WholeText
from tests.support.copied import Copied
from tests.support.postgres import shared_server

BACKENDS = ("postgres", "qdrant")


def main() -> None:
    """Compare every set in every backend, and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "retrieval")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--qdrant-queries", type=int, default=20)
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"{options.data} is not there: give the labelled sets by --data DIR")
    asked = {"postgres": options.queries, "qdrant": options.qdrant_queries}
    rows = []
    for name in SETS:
        content = read_set(options.data / name, options.queries)
        made = engine_of(name, content["items"])
        for backend in BACKENDS:
            queries = [
                case.query
                for kind in ("cases", "outside")
                for case in content[kind][: asked[backend]]
            ]
            rows.append(compared(made, backend, queries))
            print(rows[-1], flush=True)
    keep("conformance", rows)


def engine_of(name: str, items: dict[str, Any]) -> Engine:
    """Return an engine with one corpus, scanned, embedded and calibrated."""
    corpus = Corpus(name, "mapping", InMemory(items), WholeText(), "wordllama")
    made = Engine(Ledger(":memory:"), [corpus])
    made.request(Job("reconcile", name))
    made.drain()
    return made


def compared(made: Engine, backend: str, queries: list[str]) -> dict[str, Any]:
    """Return how many answers of a backend are those of the engine, and how far scores differ."""
    (name,) = made.corpora
    with closing(_opened(backend)) as opened:
        copied = Copied(made, opened)
        copied.copy()
        same = {"discover": 0, "search": 0}
        furthest, silent = 0.0, 0
        for query in queries:
            for verb, run in (("discover", discovery.discover), ("search", discovery.search)):
                here, there = (each.selection for each in copied.both(query, run))
                same[verb] += _shape(here) == _shape(there)
                pairs = zip(here.results, there.results, strict=False)
                apart = (abs(one.score - other.score) for one, other in pairs)
                furthest = max([furthest, *apart])
                silent += verb == "discover" and here.abstained
        floors = opened.read_totals()[name].floors == made.snapshot.corpora[name].floors
    return {
        "set": name,
        "backend": backend,
        "artifacts": made.snapshot.corpora[name].n_artifacts,
        "queries": len(queries),
        "silent": silent,
        "discover_same": same["discover"],
        "search_same": same["search"],
        "scores_apart_at_most": round(furthest, 7),
        "floors_same": floors,
    }


def _opened(backend: str) -> Any:
    if backend == "qdrant":
        return make_backend("qdrant://:memory:")
    server = shared_server()
    return make_backend(server.url(server.new_database(), "writer"))


def _shape(answer: Any) -> tuple[Any, ...]:
    """Return what of an answer must be equal to the letter: hits, their order, silence, reason."""
    return [hit.artifact_id for hit in answer.results], answer.abstained, answer.reason


if __name__ == "__main__":
    main()
