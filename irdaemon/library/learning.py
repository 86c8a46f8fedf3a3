"""Learning in process: uses of a corpus' artifacts, counted into how they are found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from irclient.errors import QueryError, Unavailable
from irdaemon.contrib.usage.learning import Learning
from irdaemon.contrib.usage.taught import given_uses
from irdaemon.discovery.calibrate import (
    FEWEST_ARTIFACTS,
    make_reread_floor,
    run_reread_trial,
)
from irdaemon.embed import QueryVector
from irdaemon.library.built import Built, find_built
from irdaemon.library.reranking import RERANK_CHARS, Reranking, ScoreTexts, TextOfHit
from irdaemon.types import Floor, LearnReport, Use

# Floors for reranked answers, found and kept where a program asks for it.


def calibrate(
    corpus: Built | str,
    rerank: ScoreTexts | str,
    *,
    rerank_text: str | TextOfHit = "surface",
    rerank_max_chars: int = RERANK_CHARS,
) -> Floor:
    """Find the floor for a corpus' answers as this reranker scores them, and keep it.

    `discover` applies it, with `min_score="auto"`, to queries that are reranked in just this way,
    until the corpus is calibrated again. Its `j` says how well it separates.

    Raises QueryError for a reranker without a name to keep it by and for a corpus that is too
    small, Unavailable where the corpus is open for reading only or a model is missing.
    """
    built = find_built(corpus)
    engine, configured = built.engine, built.engine.corpora[built.name]
    if engine.ledger.read_only:
        raise Unavailable(f"corpus {built.name!r} is open for reading only", "build it here")
    rereading = Reranking(rerank, rerank_text, rerank_max_chars).check().bind({built.name: built})
    if not rereading.key:
        raise QueryError(
            "a floor is kept under the reranker's name, and this one has no stable name",
            'give the function an attribute: rerank.rerank_id = "NAME"',
        )
    index = engine.snapshot.corpora[built.name]

    def vector(text: str) -> QueryVector | None:
        return engine.state.embedders.embed_fresh(text, index.embedder)

    trial = run_reread_trial(engine.snapshot, built.name, vector, _no_pause, rereading)
    if trial is None:
        raise QueryError(
            f"corpus {built.name!r} is too small to calibrate",
            f"it takes {FEWEST_ARTIFACTS} artifacts",
        )
    floor = make_reread_floor(trial, index, configured.recipe, time.time())
    kept = engine.ledger.corpora.read_floors(built.name)
    engine.ledger.corpora.put_floors(built.name, {**kept, floor.mode: floor})
    engine.writer.publisher.publish(configured)
    return floor


def _no_pause() -> None:
    """Go on: nothing waits for the caller's thread."""


def learn(corpus: Built | str, uses: Iterable[Use | Mapping[str, Any]]) -> LearnReport:
    """Count prompts that led to a use into how a corpus' artifacts are found, where that helps.

    `uses` are all that are known: what was learned before is replaced, and kept for `roll_back`.
    Each is a Use, or a mapping with `prompt`, `gold` (ids) and, where known, `session` and `at`.
    Nothing changes unless the newest fifth of them is ranked better with what the others teach, and
    what calibration asks is ranked no worse.

    Raises QueryError for what is no use, Unavailable for a corpus that is open for reading only.
    """
    built = find_built(corpus)
    report = _make_learning(built).learn(given_uses(uses))
    built.engine.drain()
    return report


def roll_back(corpus: Built | str) -> int:
    """Serve what a corpus had learned before the last time, once; return how many items change."""
    built = find_built(corpus)
    changed = _make_learning(built).roll_back()
    built.engine.drain()
    return changed


def _make_learning(built: Built) -> Learning:
    state, writer = built.engine.state, built.engine.writer
    if state.ledger.read_only:
        raise Unavailable("the corpus is open for reading only", "build it again")
    return Learning(state, writer.publisher, state.corpora[built.name])
