"""Handlers of a front end, where they are not those of a daemon that has a ledger."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from irdaemon.embed import Embedder
from irdaemon.embed.pool import ABSENT
from irdaemon.runtime.profile import lapped
from irdaemon.serve.handlers import NO_EMBEDDER, found_in, query_of, session_of, stages_of, watched
from irdaemon.serve.rules import Args

if TYPE_CHECKING:
    from irdaemon.engine.front import FrontEngine


def discover(engine: FrontEngine, args: Args) -> Any:
    """Answer a query, without what its session was shown before by this process."""
    query = query_of(args)
    with lapped() as laps:
        answer = watched(engine.discover(query), query, laps)
    return engine.impressions.unseen(answer, session_of(args))


def search(engine: FrontEngine, args: Args) -> Any:
    """Return the ranked candidates of a query."""
    query = query_of(args)
    with lapped() as laps:
        return watched(engine.search(query), query, laps)


def explain(engine: FrontEngine, args: Args) -> Any:
    """Return what each stage of a query did."""
    with lapped() as laps:
        explained = engine.explain(query_of(args), args.get("item", ""))
    return {**explained, "stages": stages_of(laps)}


def reload(engine: FrontEngine, args: Args) -> Any:
    """Read again who may ask for what; there are no jobs."""
    engine.host.reload()
    return []


def discover_in(engine: FrontEngine, args: Args) -> Any:
    """Rank documents of the client's own: those it sends, or those it registered."""
    return found_in(args, lambda: _embedder(engine), engine.models)


def _embedder(engine: FrontEngine) -> Embedder:
    """Return the embedder that most corpora have."""
    ids = Counter(index.embedder for index in engine.snapshot.corpora.values())
    usual = [each for each, _ in ids.most_common() if not each.startswith(ABSENT)]
    return next((made for each in usual if (made := engine.embedder(each))), NO_EMBEDDER)
