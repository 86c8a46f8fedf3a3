"""Calibration: the job that finds a corpus' floors, and when it is due."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from irclient.errors import QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.calibrate import (
    FEWEST_ARTIFACTS,
    Labelled,
    add_labels,
    make_floors,
    run_trial,
)
from irdaemon.discovery.cases import load_cases
from irdaemon.discovery.decide import keep_current_floors, name_reranked_mode
from irdaemon.embed import QueryVector
from irdaemon.engine.model_selection import JobContext
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex, floors_are_due


def calibrate_if_due(state: State, corpus: Corpus) -> None:
    """Request new floors where they are due."""
    if calibration_is_due(state, corpus, state.snapshot.corpora[corpus.name]):
        state.request(Job("calibrate", corpus.name))


def calibration_is_due(state: State, corpus: Corpus, index: CorpusIndex) -> bool:
    """Return whether a whole corpus has no floors, or has drifted from those it has."""
    whole = index.last_reconcile is not None and not index.unembedded
    enough = index.rows.n_artifacts >= FEWEST_ARTIFACTS
    return state.options.calibrating and whole and enough and _floors_are_due(state, index, corpus)


def _floors_are_due(state: State, index: CorpusIndex, corpus: Corpus) -> bool:
    usable = len(keep_current_floors(index.floors)) == len(index.floors)
    key = state.models.rereading.key
    lacking = bool(key) and name_reranked_mode("hybrid", key) not in index.floors
    return not usable or lacking or floors_are_due(index, _digest(corpus.cases))


def calibrate_corpus(context: JobContext, corpus: Corpus) -> str:
    """Find and keep the floors of a corpus, by labelled queries or by made-up ones."""
    state = context.state
    index = state.snapshot.corpora[corpus.name]

    def vector(text: str) -> QueryVector | None:
        return state.embedders.embed_fresh(text, index.embedder)

    rereading = state.models.rereading if state.models.rereading.key else None
    trial = run_trial(state.snapshot, corpus.name, vector, context.pause, rereading)
    if trial is None:
        return "too small to calibrate"
    # Noted even where it cannot be used, so that it is tried again only once it has changed.
    trial = replace(trial, labels=_digest(corpus.cases))
    if labelled := _labelled(state, corpus):
        trial = add_labels(trial, labelled, vector)
    made = make_floors(trial, index, corpus.recipe, state.clock())
    state.ledger.corpora.put_floors(corpus.name, made)
    context.publisher.publish(corpus)
    return ", ".join(f"{mode} J {floor.j:.2f}" for mode, floor in made.items())


def _labelled(state: State, corpus: Corpus) -> Labelled | None:
    """Return the labelled queries given for a corpus, or else those the configuration names."""
    given = state.labels.pop(corpus.name, None)
    if given is None and not corpus.cases:
        return None
    try:
        cases = list(given) if given is not None else load_cases(corpus.cases)
    except QueryError as error:
        data = {"corpus": corpus.name, "path": corpus.cases, "reason": str(error)}
        state.notify("failure", data)
        return None
    return Labelled(
        state.snapshot,
        corpus.name,
        tuple(case.query for case in cases if case.gold),
        tuple(case.query for case in cases if not case.gold),
    )


def _digest(path: str) -> str:
    """Return the digest of a file's content; "" for none, or for one that cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] if path else ""
    except OSError:
        return ""
