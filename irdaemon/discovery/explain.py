"""Why and why not: the results of each stage of a query, for each candidate and a named artifact.

It reports the trace of a query that was run once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irclient.errors import NotFound
from irdaemon.discovery import fuse
from irdaemon.discovery.decide import CorpusRanking
from irdaemon.discovery.decision import explain_features, find_mode, measure_records
from irdaemon.discovery.disclose import parse_reference
from irdaemon.discovery.discover import Models, Trace
from irdaemon.discovery.here import ROOT
from irdaemon.discovery.query import ParsedQuery, make_wanted, read_words
from irdaemon.discovery.retrieve import Candidate
from irdaemon.discovery.rounds import discover_in_rounds
from irdaemon.discovery.variants import split_query
from irdaemon.discovery.where import parse_filter
from irdaemon.index import Card, CorpusIndex, Snapshot
from irdaemon.index.backend import Wanted
from irdaemon.index.columns import mask_column
from irdaemon.index.lexical import K1, B
from irdaemon.index.rows import hash_name
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Hit, Query

Report = dict[str, Any]


def explain(
    snapshot: Snapshot,
    query: ParsedQuery,
    models: Models,
    item: str = "",
    others: Sequence[CorpusIndex] = (),
) -> Report:
    """Return, stage by stage, how a valid query is answered; with `item` (CORPUS/ID) also its fate.

    `others` are the parts of its corpus that are not searched because they belong to other
    projects. Raises as `discover` does, and NotFound for an item that is not in the index.
    """
    if not item:
        return _explain_trace(snapshot, discover_in_rounds(snapshot, query, models))
    try:
        corpus, artifact_id = _find(snapshot, item)
    except NotFound:
        corpus, _, wanted = item.partition("/")
        if (card := _find_card(others, wanted)) is None:
            raise
        owner = card.fields.get("project") or "another project"
        fate = {
            "reference": f"{corpus}/{card.artifact_id}",
            "name": card.name,
            "stage": "out_of_scope",
            "why": f"out of scope: belongs to {owner}",
        }
        explained = _explain_trace(snapshot, discover_in_rounds(snapshot, query, models))
        return {**explained, "item": fate}
    snapshot = _include_artifact(snapshot, corpus, artifact_id)
    if query.corpora and corpus not in query.corpora:
        query = replace(query, corpora=(*query.corpora, corpus))
    trace = discover_in_rounds(snapshot, query, models)
    ranking = next(each for each in trace.merged.rankings if each.index.corpus == corpus)
    return {**_explain_trace(snapshot, trace), "item": _explain_item(ranking, artifact_id, trace)}


# -- the stages ----------------------------------------------------------------------------------


def _explain_trace(snapshot: Snapshot, trace: Trace) -> Report:
    answer, here = trace.selection, trace.query.here
    if here:
        answer = replace(answer, project=here.project.name)
    return {
        "query": answer.query,
        "generation": answer.generation,
        "analysis": _explain_words(snapshot, trace),
        **_explain_place(trace),
        "corpora": [_explain_corpus(snapshot, each, trace) for each in trace.merged.rankings],
        "selection": {**answer.to_dict(), "results": [_make_reference(h) for h in answer.results]},
    }


def _explain_place(trace: Trace) -> Report:
    """Return the project that the query comes from, and how many of the artifacts are its own."""
    if (here := trace.query.here) is None:
        return {}
    joined = {
        each.index.corpus: n
        for each in trace.merged.rankings
        if (n := _count_own(each.index, here.project.root))
    }
    project = {"name": here.project.name, "root": here.project.root, "artifacts": joined}
    return {"project": project}


def _count_own(index: CorpusIndex, root: str) -> int:
    """Count the artifacts of an index that belong to the project at a root."""
    if index.elsewhere:
        return 0
    owned = mask_column(root, index.columns.get_column(ROOT)) & index.rows.present
    return len(np.unique(index.rows.artifact_of.array[owned]))


def _explain_words(snapshot: Snapshot, trace: Trace) -> Report:
    query = trace.query
    _, tokens, words, *_ = read_words(query.text)
    # Only over the queried corpora: a client must not learn what the others contain.
    held = {word for word in words if _is_held(snapshot, word, trace)}
    return {
        "tokens": list(dict.fromkeys((*tokens, *(word for word in words if word in held)))),
        "unknown": [token for token in tokens if token not in held],
        "subqueries": split_query(query.text),
        "mode": query.mode,
        "fusion": next((each.question.fusion for each in trace.merged.rankings), ""),
    }


def _is_held(snapshot: Snapshot, word: str, trace: Trace) -> bool:
    indexes = [each.index for each in trace.merged.rankings]
    terms = ((each, snapshot.get_vocabulary(each).get(word, -1)) for each in indexes)
    return any(index.lexical.holds(term) for index, term in terms)


def _explain_corpus(snapshot: Snapshot, ranking: CorpusRanking, trace: Trace) -> Report:
    legs, question = ranking.retrieved.legs, ranking.question
    explained: Report = {
        "corpus": ranking.index.corpus,
        "records": ranking.index.n_records,
        "eligible": ranking.retrieved.eligible,
        "legs": list(ranking.retrieved.took_part),
        "trust": round(question.trust, 3),
        **ranking.describe(),
        "candidates": [],
    }
    if legs is not None:
        best = {"dense": round(legs.best_cosine, 4), "lexical": round(legs.best_bm25, 4)}
        explained["best"] = best
        explained["candidates"] = [
            _explain_one(snapshot, ranking, each, trace) for each in ranking.retrieved.candidates
        ]
    return explained


def _explain_one(
    snapshot: Snapshot, ranking: CorpusRanking, candidate: Candidate, trace: Trace
) -> Report:
    legs = ranking.retrieved.legs
    assert legs is not None  # a candidate exists
    place = int(np.searchsorted(legs.positions, candidate.position))
    return {
        "artifact_id": candidate.card.artifact_id,
        "name": candidate.card.name,
        "kind": ranking.index.rows.get_kind(candidate.position),
        "dense": _explain_leg(legs.cosine, place, fuse.standardise(legs.cosine, legs.dense_top)),
        "lexical": {
            **_explain_leg(
                legs.bm25, place, fuse.standardise(legs.bm25, legs.lexical_top, fuse.FEWEST_MATCHES)
            ),
            "terms": _split_score(snapshot, ranking, candidate.position),
        },
        "name_covered": round(candidate.covered, 4),
        "called_by_name": candidate.owner in legs.named,
        "fused": round(candidate.fused, 4),
        "evidence": round(candidate.evidence, 4),
        "score": round(candidate.score, 4),
        "decision": _explain_decision(ranking, candidate),
        "verdict": _judge_artifact(ranking, candidate.card.artifact_id, trace),
    }


def _explain_decision(ranking: CorpusRanking, candidate: Candidate) -> dict[str, float]:
    """Return what each feature adds to a candidate's log-odds, above its mean; largest first."""
    scores = np.array([candidate.cosine]), np.array([candidate.bm25])
    there = np.array([candidate.position])
    features = measure_records(ranking.index, ranking.question, there, scores)
    return explain_features(find_mode(ranking.question), features[0])


def _explain_leg(scores: Any, place: int, deviations: Any) -> Report:
    own = float(scores[place])
    return {
        "score": round(own, 4),
        "rank": int((scores > own).sum()) + 1 if own > 0 else None,
        "deviations": round(float(deviations[place]), 3),
    }


def _split_score(snapshot: Snapshot, ranking: CorpusRanking, position: int) -> dict[str, float]:
    """Return what each query term adds to a record's BM25 score, largest first."""
    vocabulary = snapshot.get_vocabulary(ranking.index)
    known = {word: vocabulary[word] for word in ranking.question.words.ranked if word in vocabulary}
    parts = ranking.index.lexical.split_score(position, list(known.values()))
    added = {word: round(part, 3) for word, part in zip(known, parts, strict=True) if part > 0}
    return dict(sorted(added.items(), key=lambda pair: -pair[1]))


def _judge_artifact(ranking: CorpusRanking, artifact_id: str, trace: Trace) -> str:
    """Return the last stage that a candidate reached."""
    own = f"{ranking.index.corpus}/{artifact_id}"
    if any(_make_reference(hit) == own for hit in trace.selection.results):
        return "committed"
    if not ranking.above_floor:
        return "below_floor"
    for found in trace.merged.found:
        if own in found.duplicates:
            return f"duplicate of {_make_reference(found)}"
        if _make_reference(found) == own:
            return "not_committed"
    return "beyond_k"


# -- one item ------------------------------------------------------------------------------------


def _find(snapshot: Snapshot, reference: str) -> tuple[str, str]:
    corpus, wanted = parse_reference(reference, snapshot.corpora)
    index = snapshot.corpora[corpus]
    if index.elsewhere:
        index = index.elsewhere.fetch_part(_make_wanted(wanted))
    if card := _find_card([index], wanted):
        return corpus, card.artifact_id
    names = {index.rows.cards[owner].name for owner in index.rows.list_owners()}
    near = did_you_mean(wanted, names)
    raise NotFound(
        f"no artifact {wanted!r} in the index of {corpus!r}{near}",
        "irc status --failures lists what could not be read",
    )


def _find_card(indexes: Sequence[CorpusIndex], wanted: str) -> Card | None:
    """Return the card of the first artifact with an id, else of the first with that name."""
    cards = [index.rows.cards[owner] for index in indexes for owner in index.rows.list_owners()]
    called = (c for c in cards if c.name == wanted or c.artifact_id.endswith(f"/{wanted}"))
    return next((card for card in cards if card.artifact_id == wanted), next(called, None))


def _make_wanted(wanted: str) -> Wanted:
    """Return the request that finds an artifact by its id or its name."""
    names = (hash_name(wanted.rpartition("/")[2]), hash_name(wanted))
    return Wanted((), (), None, 0, K1, B, names=names, including=(wanted,))


def _include_artifact(snapshot: Snapshot, corpus: str, artifact_id: str) -> Snapshot:
    """Return a snapshot in which every part of a corpus in a backend includes an artifact."""
    index = snapshot.corpora[corpus]
    if index.elsewhere is None:
        return snapshot
    elsewhere = index.elsewhere.include_artifacts((artifact_id,))
    changed = {corpus: replace(index, elsewhere=elsewhere)}
    return replace(snapshot, corpora={**snapshot.corpora, **changed})


def _explain_item(ranking: CorpusRanking, artifact_id: str, trace: Trace) -> Report:
    """Return which stage an artifact reached, and by how much it failed there."""
    rows = ranking.index.rows
    ids = ((owner, rows.cards[owner]) for owner in rows.list_owners())
    owner, card = next(each for each in ids if each[1].artifact_id == artifact_id)
    scores = _score_artifact(ranking, owner)
    outcome = {
        "reference": f"{ranking.index.corpus}/{card.artifact_id}",
        "name": card.name,
        **scores,
    }
    for rank, candidate in enumerate(ranking.retrieved.candidates, start=1):
        if candidate.owner == owner:
            return {
                **outcome,
                "rank": rank,
                **_explain_loss(ranking, candidate, rank, trace),
            }
    failed = _find_failed_conditions(ranking.index, owner, trace.query)
    if failed:
        return {**outcome, "stage": "filtered_out", "why": f"it does not meet {', '.join(failed)}"}
    return {**outcome, "stage": "not_retrieved", "why": _explain_no_retrieval(ranking, scores)}


def _explain_loss(ranking: CorpusRanking, candidate: Candidate, rank: int, trace: Trace) -> Report:
    stage = _judge_artifact(ranking, candidate.card.artifact_id, trace)
    first = ranking.retrieved.candidates[0]
    why = {
        "committed": "it was committed",
        "below_floor": _explain_floor(ranking),
        "beyond_k": f"it is number {rank} here, and k candidates go on",
        "not_committed": (
            f"its score {candidate.score:.3f} is {candidate.score / max(first.score, 1e-9):.2f} of"
            f" the first's; selection stopped before it ({trace.selection.reason})"
        ),
    }.get(stage, "the duplicate of the best scope represents all")
    return {
        "stage": stage,
        "why": why,
        "behind_first": round(first.fused - candidate.fused, 4),
        "fused": round(candidate.fused, 4),
        "evidence": round(candidate.evidence, 4),
        "score": round(candidate.score, 4),
    }


def _explain_floor(ranking: CorpusRanking) -> str:
    short = ranking.least - ranking.top_score
    return (
        f"the best score {ranking.top_score:.3f} is {short:.3f} below the {ranking.least:.3f}"
        " that an offer takes"
    )


def _score_artifact(ranking: CorpusRanking, owner: int) -> Report:
    """Return the artifact's best raw score in each leg, and its rank among all records."""
    index, question = ranking.index, ranking.question
    mine = index.rows.artifact_of.array == owner
    legs = {
        "dense": None if question.vector is None else index.dense.scores(question.vector),
        "lexical": index.lexical.score_all((*question.terms, *question.unstemmed)),
    }
    best: Report = {}
    for leg, scores in legs.items():
        if scores is None or leg not in ranking.retrieved.took_part:
            continue
        own = float(scores[mine].max(initial=0))
        rank = _rank(ranking, leg, scores, own) if own > 0 else None
        best[leg] = {"score": round(own, 4), "rank": rank}
    return best


def _rank(ranking: CorpusRanking, leg: str, scores: Any, own: float) -> int:
    index = ranking.index
    if index.elsewhere is None:
        return int((scores > own).sum()) + 1
    return index.elsewhere.rank(make_wanted(ranking.question), leg, own)


def _find_failed_conditions(index: CorpusIndex, owner: int, query: Query) -> list[str]:
    mine = index.rows.artifact_of.array == owner
    conditions: list[Mapping[str, Any]] = [{name: value} for name, value in query.where.items()]
    failed = [
        str(each)
        for each in conditions
        if not parse_filter(each).make_mask(index.columns)[mine].any()
    ]
    if query.surfaces and not index.columns.match_kinds(frozenset(query.surfaces))[mine].any():
        failed.append(f"surfaces {', '.join(query.surfaces)}")
    return failed


def _explain_no_retrieval(ranking: CorpusRanking, scores: Report) -> str:
    if not ranking.retrieved.candidates:
        return "nothing of the query is known to this corpus"
    ranks = [
        f"number {scores[leg]['rank']:,} by {by}" if scores[leg]["rank"] else f"unmatched by {by}"
        for leg, by in (("dense", "meaning"), ("lexical", "words"))
        if leg in scores
    ]
    return f"it is {' and '.join(ranks)}; the best {len(ranking.retrieved.candidates)} went on"


def _make_reference(hit: Hit | Candidate) -> str:
    return f"{hit.corpus}/{hit.artifact_id}"
