"""Why, and why not: what each stage of a query did to each candidate, and to one named artifact.

It runs the very functions a query runs, and tells what they saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irclient.errors import NotFound
from irdaemon.disclosure.references import unknown_corpus
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.discover import Models
from irdaemon.index import Card, CorpusIndex, Snapshot
from irdaemon.retrieve import Candidate, fuse
from irdaemon.retrieve.legs import cosines_of_all
from irdaemon.retrieve.where import mask_of
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.selection.subqueries import needs
from irdaemon.selection.threshold import Source
from irdaemon.text import tokenize
from irdaemon.types import Hit, Query, Selection

Plain = dict[str, Any]


def explain(snapshot: Snapshot, query: Query, models: Models, item: str = "") -> Plain:
    """Return, stage by stage, how a query is answered; with `item` (CORPUS/ID) what became of it.

    Raises as `discover` does, and NotFound for an item that is not in the index.
    """
    if item:
        corpus, owner = _find(snapshot, item)
        if query.corpora and corpus not in query.corpora:
            query = replace(query, corpora=(*query.corpora, corpus))
    answer = discovery.discover(snapshot, query, models)
    pool = discovery.gather(snapshot, query, models)
    told: Plain = {
        "query": query.text,
        "generation": snapshot.generation,
        "analysis": _analysis(snapshot, query, pool.sources),
        "corpora": [_source(snapshot, source, answer, pool.hits) for source in pool.sources],
        "selection": {**answer.to_dict(), "results": [_reference(h) for h in answer.results]},
    }
    if item:
        source = next(each for each in pool.sources if each.index.corpus == corpus)
        told["item"] = _fate(source, owner, query, answer, pool.hits)
    return told


# -- the stages ----------------------------------------------------------------------------------


def _analysis(snapshot: Snapshot, query: Query, sources: Sequence[Source]) -> Plain:
    tokens = list(dict.fromkeys(tokenize(query.text)))
    held = [source.index.lexical.holds for source in sources]
    return {
        "tokens": tokens,
        # To the corpora that are asked: what others hold is none of the asker's business.
        "unknown": [
            token
            for token in tokens
            if not any(holds(snapshot.vocabulary.get(token, -1)) for holds in held)
        ],
        "needs": needs(query.text),
        "mode": query.mode,
        "fusion": query.fusion,
    }


def _source(snapshot: Snapshot, source: Source, answer: Selection, hits: tuple[Hit, ...]) -> Plain:
    legs, question = source.retrieved.legs, source.question
    told: Plain = {
        "corpus": source.index.corpus,
        "records": source.index.rows.n_records,
        "eligible": source.retrieved.eligible,
        "legs": list(source.retrieved.took_part),
        "trust": round(question.trust, 3),
        **source.signals(),
        "candidates": [],
    }
    if legs is not None:
        told["best"] = {"dense": round(legs.best_cosine, 4), "lexical": round(legs.best_bm25, 4)}
        told["candidates"] = [
            _candidate(snapshot, source, each, answer, hits) for each in source.retrieved.candidates
        ]
    return told


def _candidate(
    snapshot: Snapshot,
    source: Source,
    candidate: Candidate,
    answer: Selection,
    hits: tuple[Hit, ...],
) -> Plain:
    legs = source.retrieved.legs
    assert legs is not None  # whoever has a candidate has legs
    place = int(np.searchsorted(legs.positions, candidate.position))
    return {
        "artifact_id": candidate.card.artifact_id,
        "name": candidate.card.name,
        "kind": source.index.rows.kind_of(candidate.position),
        "dense": _in_leg(legs.cosine, place, fuse.standardise(legs.cosine, legs.dense_top)),
        "lexical": {
            **_in_leg(legs.bm25, place, fuse.standardise(legs.bm25, legs.lexical_top)),
            "terms": _terms(snapshot, source, candidate.position),
        },
        "name_covered": round(candidate.covered, 4),
        "called_by_name": candidate.owner in legs.named,
        "fused": round(candidate.fused, 4),
        "evidence": round(candidate.evidence, 4),
        "score": round(candidate.score, 4),
        "verdict": _verdict(source, candidate.card.artifact_id, answer, hits),
    }


def _in_leg(scores: Any, place: int, deviations: Any) -> Plain:
    own = float(scores[place])
    return {
        "score": round(own, 4),
        "rank": int((scores > own).sum()) + 1 if own > 0 else None,
        "deviations": round(float(deviations[place]), 3),
    }


def _terms(snapshot: Snapshot, source: Source, position: int) -> dict[str, float]:
    """Return what each query term adds to a record's BM25 score, the most first."""
    known = snapshot.vocabulary
    tokens = [token for token in dict.fromkeys(tokenize(source.question.text)) if token in known]
    parts = source.index.lexical.parts(position, [known[token] for token in tokens])
    added = {token: round(part, 3) for token, part in zip(tokens, parts, strict=True) if part > 0}
    return dict(sorted(added.items(), key=lambda pair: -pair[1]))


def _verdict(source: Source, artifact_id: str, answer: Selection, hits: tuple[Hit, ...]) -> str:
    """Return what became of a candidate: the last stage that it reached."""
    corpus = source.index.corpus
    own = f"{corpus}/{artifact_id}"
    if any(_reference(hit) == own for hit in answer.results):
        return "committed"
    if not source.passed:
        return "below_floor"
    for hit in hits:
        if own in hit.copies:
            return f"copy of {_reference(hit)}"
        if _reference(hit) == own:
            return "not_committed"
    return "beyond_k"


# -- one item ------------------------------------------------------------------------------------


def _find(snapshot: Snapshot, reference: str) -> tuple[str, int]:
    corpus, _, wanted = reference.partition("/")
    if corpus not in snapshot.corpora:
        raise unknown_corpus(corpus, snapshot.corpora)
    rows = snapshot.corpora[corpus].rows
    cards = {owner: rows.cards[owner] for owner in rows.owners()}
    exact = [owner for owner, card in cards.items() if card.artifact_id == wanted]
    if owners := exact or [owner for owner, card in cards.items() if _is_called(card, wanted)]:
        return corpus, owners[0]
    near = did_you_mean(wanted, {card.name for card in cards.values()})
    raise NotFound(
        f"no artifact {wanted!r} in the index of {corpus!r}{near}",
        "irc status --failures lists what could not be read",
    )


def _is_called(card: Card, wanted: str) -> bool:
    return card.name == wanted or card.artifact_id.endswith(f"/{wanted}")


def _fate(
    source: Source, owner: int, query: Query, answer: Selection, hits: tuple[Hit, ...]
) -> Plain:
    """Return which stage an artifact got to, and by how much it fell short there."""
    card = source.index.rows.cards[owner]
    told: Plain = {
        "reference": f"{source.index.corpus}/{card.artifact_id}",
        "name": card.name,
        **_own_scores(source, owner),
    }
    for ranked, candidate in enumerate(source.retrieved.candidates, start=1):
        if candidate.owner == owner:
            told["rank"] = ranked
            return {**told, **_short_of(source, candidate, ranked, answer, hits)}
    failed = _failed_conditions(source.index, owner, query)
    if failed:
        return {**told, "stage": "filtered_out", "why": f"it does not meet {', '.join(failed)}"}
    return {**told, "stage": "not_retrieved", "why": _why_not_retrieved(source, told, query)}


def _short_of(
    source: Source, candidate: Candidate, ranked: int, answer: Selection, hits: tuple[Hit, ...]
) -> Plain:
    stage = _verdict(source, candidate.card.artifact_id, answer, hits)
    first = source.retrieved.candidates[0]
    why = {
        "committed": "it was committed",
        "below_floor": _below(source),
        "beyond_k": f"it is number {ranked} here, and k candidates go on",
        "not_committed": (
            f"its score {candidate.score:.3f} is {candidate.score / max(first.score, 1e-9):.2f} of"
            f" the first's; selection stopped before it ({answer.reason})"
        ),
    }.get(stage, "the copy of the best scope stands for all")
    return {
        "stage": stage,
        "why": why,
        "behind_first": round(first.fused - candidate.fused, 4),
        "fused": round(candidate.fused, 4),
        "evidence": round(candidate.evidence, 4),
        "score": round(candidate.score, 4),
    }


def _below(source: Source) -> str:
    if source.floor is None or source.confidence is None:
        return f"the corpus' best evidence {source.top_score:.3f} is below the given floor"
    short = source.floor.at_least - source.confidence
    return (
        f"the corpus' confidence {source.confidence:.3f} is {short:.3f} below its floor"
        f" {source.floor.at_least:.3f}"
    )


def _own_scores(source: Source, owner: int) -> Plain:
    """Return the artifact's best raw score in each leg, and its rank among all records."""
    mine = source.index.rows.artifact_of.array == owner
    told: Plain = {}
    bm25 = source.index.lexical.ranked(source.question.terms)
    for leg, scores in (
        ("dense", cosines_of_all(source.index, source.question)),
        ("lexical", bm25),
    ):
        if scores is None or leg not in source.retrieved.took_part:
            continue
        own = float(scores[mine].max(initial=0))
        rank = int((scores > own).sum()) + 1 if own > 0 else None
        told[leg] = {"score": round(own, 4), "rank": rank}
    return told


def _failed_conditions(index: CorpusIndex, owner: int, query: Query) -> list[str]:
    mine = index.rows.artifact_of.array == owner
    conditions: list[Mapping[str, Any]] = [{name: value} for name, value in query.where.items()]
    failed = [str(each) for each in conditions if not mask_of(each, index.columns)[mine].any()]
    if query.surfaces and not index.columns.kinds(frozenset(query.surfaces))[mine].any():
        failed.append(f"surfaces {', '.join(query.surfaces)}")
    return failed


def _why_not_retrieved(source: Source, told: Plain, query: Query) -> str:
    if not source.retrieved.candidates:
        return "nothing of the query is known to this corpus"
    ranks = [
        f"number {told[leg]['rank']:,} by {said}" if told[leg]["rank"] else f"unmatched by {said}"
        for leg, said in (("dense", "meaning"), ("lexical", "words"))
        if leg in told
    ]
    return f"it is {' and '.join(ranks)}; the best {len(source.retrieved.candidates)} went on"


def _reference(hit: Hit) -> str:
    return f"{hit.corpus}/{hit.artifact_id}"
