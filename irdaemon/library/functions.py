"""The library: build, search, select, disclose and discover in process.

`build` indexes a source into a separate ledger and returns a handle; the others take the handle, or
the name of a corpus built earlier. The same Engine as in the daemon does the work, on the caller's
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import Any

from irclient.errors import QueryError, Unreachable
from irclient.results import CorpusCoverage
from irdaemon.discovery import decide as selection
from irdaemon.discovery.decide import Choice, Selector, is_weight
from irdaemon.discovery.disclose import add_passage, add_symbol
from irdaemon.discovery.expand import (
    Expand,
    ExpandedText,
    StoredRecord,
    expand_record,
    parse_expand,
    stitch_records,
)
from irdaemon.discovery.fuse import RRF_K
from irdaemon.discovery.legs import UNTUNED
from irdaemon.discovery.merge import (
    DEFAULT_OPTIONS,
    MergeHits,
    SelectionOptions,
    check_rrf_k,
)
from irdaemon.discovery.rerank import ScoreBoost
from irdaemon.library.built import (
    Built,
    HitCorpus,
    find_built,
    find_origin,
    list_built,
    open_corpus,
)
from irdaemon.library.federate import SeveralCorpora
from irdaemon.library.reranking import RERANK_CHARS, Reranking, ScoreTexts, TextOfHit
from irdaemon.library.wordings import Formulator
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.strategy.code import SYMBOL
from irdaemon.types import Disclosure, Hit, Query, Selection, SelectSpec, Tuning

# Retrievers: functions from a query to hits, each bound to one corpus, built here or the daemon's.

# Takes a corpus, a query and keywords, and returns hits.
SearchCorpus = Callable[..., tuple[Hit, ...]]
# The timeout for listing a daemon's corpora. A daemon that does not answer in time offers none.
_LISTING_S = 1.0


class BoundSearch:
    """Search one corpus: `retrieve(query, **overrides)` returns hits, best first.

    `corpus` is the searched corpus; `defaults` are keywords of the search, which a call may
    override. Raises QueryError for unknown keywords.
    """

    def __init__(self, search: SearchCorpus, corpus: Any, defaults: Mapping[str, Any]):
        self._search = search
        self._known = tuple(signature(search).parameters)[2:]
        self.corpus = corpus
        self.defaults = self._check_keywords(defaults)

    def __call__(self, query: str, **overrides: Any) -> tuple[Hit, ...]:
        """Return the hits of a query."""
        return self._search(
            self.corpus, query, **{**self.defaults, **self._check_keywords(overrides)}
        )

    def _check_keywords(self, given: Mapping[str, Any]) -> dict[str, Any]:
        for name in given:
            if name not in self._known:
                raise QueryError(
                    f"search takes no {name!r}{did_you_mean(name, self._known)}",
                    f"it takes: {', '.join(self._known)}",
                )
        return dict(given)


class BoundSearches(Mapping[str, BoundSearch]):
    """A retriever for each corpus by name: those built by this user, and those of the daemon.

    Names are looked up on access, and a corpus is opened with its retriever; if two have one name,
    the corpus built here counts. Raises KeyError for another name.
    """

    def __init__(self, search: SearchCorpus, defaults: Mapping[str, Any]):
        self._search = search
        self._defaults = defaults

    def __getitem__(self, name: str) -> BoundSearch:
        if name in list_built():
            return BoundSearch(self._search, open_corpus(name), self._defaults)
        if name in _list_served():
            return BoundSearch(search_daemon, name, self._defaults)
        raise KeyError(f"no corpus {name!r} is built here or in the daemon")

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*list_built(), *_list_served()}))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def search_daemon(
    corpus: str,
    query: str,
    *,
    k: int = 10,
    mode: str = "hybrid",
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] = (),
    fusion: str = "standard",
    surface_weights: Mapping[str, float] | None = None,
    per_artifact: bool = True,
    place: str = "",
) -> tuple[Hit, ...]:
    """Return the `k` best artifacts of a corpus of the daemon; see `ir.search`.

    From a `place`, an absolute directory, the artifacts of the project there are included.
    """
    asked = replace(_make_query(locals()), corpora=(corpus,))
    from irclient.client import Client  # processes that use no daemon load no ZeroMQ

    with Client() as client:
        return client.search(asked).results


def count_passages(per_artifact: bool, k: int) -> int:
    """Return how many passages of an artifact `k` hits may hold. Raises QueryError."""
    if not isinstance(per_artifact, bool):
        raise QueryError(f"per_artifact must be True or False, not {per_artifact!r:.60}")
    return 1 if per_artifact else k


def check_surfaces(surfaces: Iterable[str] | None) -> tuple[str, ...]:
    """Return the kinds of surfaces, () for all. Raises QueryError for anything but a list."""
    if isinstance(surfaces, str) or not isinstance(surfaces, Iterable | None):
        raise QueryError(
            f"surfaces must be a list of texts, not {surfaces!r:.60}", 'surfaces=["description"]'
        )
    return tuple(surfaces or ())


def _list_served() -> list[str]:
    """Return the names of the daemon's corpora, none without a daemon."""
    from irclient.client import Client

    try:
        with Client(timeout=_LISTING_S) as client:
            return [corpus.name for corpus in client.status().corpora]
    except Unreachable:
        return []


# The checked numbers that one call ranks with.

MOST_FETCHED = 10_000
_OKAPI = ("k1", "b")
# The fusions that use a number.
_FUSIONS = {"alpha": ("alpha", "alpha+mmr"), "mmr_lambda": ("mmr", "alpha+mmr"), "rrf_k": ("rrf",)}


def make_tuning(
    alpha: float,
    mmr_lambda: float,
    rrf_k: float,
    bm25: Mapping[str, float] | None = None,
    fetch_k: int | None = None,
) -> Tuning:
    """Check the numbers of a ranking and return them. Raises QueryError for an invalid one."""
    for name, value in (("alpha", alpha), ("mmr_lambda", mmr_lambda)):
        if not is_weight(value, 1):
            raise QueryError(f"{name} must be a number from 0 to 1, not {value!r}")
    check_rrf_k(rrf_k)
    _check_fetch(fetch_k)
    k1, b = _parse_okapi({} if bm25 is None else bm25)
    return Tuning(alpha=alpha, mmr_lambda=mmr_lambda, rrf_k=rrf_k, k1=k1, b=b, fetch_k=fetch_k)


def check_used(tuning: Tuning, fusion: str) -> None:
    """Raise QueryError for a number that the fusion would ignore."""
    for name, fusions in _FUSIONS.items():
        if fusion not in fusions and getattr(tuning, name) != getattr(UNTUNED, name):
            raise QueryError(
                f"{name} has no effect on the fusion {fusion!r}",
                f"it counts in {' and '.join(fusions)}: add fusion={fusions[0]!r}",
            )


def _parse_okapi(given: Any) -> tuple[float, float]:
    """Return k1 and b, with defaults for missing ones."""
    if not isinstance(given, Mapping):
        raise QueryError(f"bm25 must be a mapping of k1 and b, not {given!r:.60}")
    for name in given:
        if name not in _OKAPI:
            near = did_you_mean(str(name), _OKAPI)
            raise QueryError(f"bm25 has no {name!r}{near}", "it takes: k1, b")
    k1, b = given.get("k1", UNTUNED.k1), given.get("b", UNTUNED.b)
    if not is_weight(k1):
        raise QueryError(f"k1 of bm25 must be a number from 0 up, not {k1!r}")
    if not is_weight(b, 1):
        raise QueryError(f"b of bm25 must be a number from 0 to 1, not {b!r}")
    return float(k1), float(b)


def _check_fetch(fetch_k: Any) -> None:
    whole = isinstance(fetch_k, int) and not isinstance(fetch_k, bool)
    if fetch_k is not None and not (whole and 1 <= fetch_k <= MOST_FETCHED):
        raise QueryError(
            f"fetch_k must be a whole number from 1 to {MOST_FETCHED:,} or None, not {fetch_k!r}"
        )


UNREADABLE = "pointer_unreadable"


@dataclass(frozen=True, slots=True)
class DiscoveryResult(Selection):
    """An answer that records how it was requested, and has more keys per item as plain data.

    Each item also has `level`, `body` (None if not requested), `metadata` and `source`: its fields
    and its corpus.
    """

    strategy: str = ""
    disclose_level: str = "metadata"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        plain = Selection.to_dict(self)
        plain["results"] = [
            {
                **item,
                "level": self.disclose_level,
                "body": hit.body,
                "metadata": item["fields"],
                "source": item["corpus"],
            }
            for hit, item in zip(self.results, plain["results"], strict=True)
        ]
        return plain


Corpora = Built | str | Sequence[Built | str]
# Takes an artifact's records and the one that matched; returns those to show.
Policy = Callable[[Sequence[StoredRecord], StoredRecord], Iterable[StoredRecord]]
MinScore = float | str | Mapping[str, float | str | None] | None


def search(
    corpus: Corpora,
    query: str,
    *,
    k: int = 10,
    mode: str = "hybrid",
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] = (),
    fusion: str = "standard",
    surface_weights: Mapping[str, float] | None = None,
    merge: str | MergeHits = "confidence",
    merge_weights: Mapping[str, float] | None = None,
    merge_rrf_k: float = RRF_K,
    alpha: float = UNTUNED.alpha,
    mmr_lambda: float = UNTUNED.mmr_lambda,
    rrf_k: float = UNTUNED.rrf_k,
    rerank: ScoreTexts | str | None = None,
    rerank_text: str | TextOfHit = "surface",
    rerank_max_chars: int = RERANK_CHARS,
    fetch_k: int | None = None,
    bm25: Mapping[str, float] | None = None,
    per_artifact: bool = True,
    dep_boost: ScoreBoost | None = None,
    formulate: Formulator | None = None,
) -> tuple[Hit, ...]:
    """Return the `k` best artifacts of a corpus, best first, without selection.

    Without `per_artifact` the `k` best records, even if several are of one artifact.

    `alpha`, `mmr_lambda` and `rrf_k` are the numbers of the fusions of these names, `bm25` those of
    the ranking by words, {"k1": 1.5, "b": 0.75}. `rerank` is a function (query, texts) -> scores
    from 0 to 1, or the name of a model, "cross-encoder[:MODEL]". It rereads the first candidates of
    each corpus: they are then in its order, with its scores as their evidence. It reads the
    "surface" that matched, the first `rerank_max_chars` of the whole "artifact", or the result of a
    function (corpus, hit). `fetch_k` is how many records each leg returns, and how many are
    reranked. `dep_boost` is a function hit -> number that is added to the scores of the first 200
    of each corpus (see `dependency_evidence_boost`); they are then in the order of the sums.
    `formulate` is a function from the query to one or several wordings, each of which is searched:
    an artifact counts once, at its best score; without wordings the query itself is searched. A
    reranker judges by the query, not by the wording that found a candidate.

    For a list of corpora, the `k` best of all: by "confidence" (the highest score comes first),
    "rrf" (by ranks: weight / (merge_rrf_k + rank)), "score" (by weighted score; needs one embedder)
    or a function {name: hits} -> hits. `merge_weights` are by name, 1 by default.
    """
    options = locals()
    asked = _make_query(options)
    choosing = SelectionOptions(None, merge, merge_weights or {}, merge_rrf_k, boost=dep_boost)
    return _join_corpora(options, choosing).search(asked, choosing, formulate).results


def select(
    hits: Sequence[Hit],
    *,
    strategy: str | Selector = "conservative",
    max_k: int = 3,
    rel: float = 0.9,
    gap_ratio: float = 0.5,
    min_score: float | str | None = "auto",
) -> Choice:
    """Select a few of the hits, or none; a callable strategy takes hits and returns some."""
    spec, custom = _make_spec(strategy, max_k, rel, gap_ratio, min_score)
    selection.check_spec(spec, custom)
    return replace(selection.select(hits, spec, custom), candidates=tuple(hits))


def discover(
    corpus: Corpora,
    query: str,
    *,
    k: int = 10,
    mode: str = "hybrid",
    strategy: str | Selector = "conservative",
    disclose_level: str = "metadata",
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] = (),
    fusion: str = "standard",
    surface_weights: Mapping[str, float] | None = None,
    expand: str = "none",
    max_k: int = 3,
    rel: float | None = None,
    gap_ratio: float = 0.5,
    min_score: MinScore = "auto",
    merge: str | MergeHits = "confidence",
    merge_weights: Mapping[str, float] | None = None,
    merge_rrf_k: float = RRF_K,
    alpha: float = UNTUNED.alpha,
    mmr_lambda: float = UNTUNED.mmr_lambda,
    rrf_k: float = UNTUNED.rrf_k,
    rerank: ScoreTexts | str | None = None,
    rerank_text: str | TextOfHit = "surface",
    rerank_max_chars: int = RERANK_CHARS,
    fetch_k: int | None = None,
    bm25: Mapping[str, float] | None = None,
    related: bool = False,
    dep_boost: ScoreBoost | None = None,
    formulate: Formulator | None = None,
) -> DiscoveryResult:
    """Search, select and disclose: few hits, or none with a typed reason.

    A list of corpora is asked as one: each is compared with its own floor, then those above it are
    merged (see `search`). `min_score` may then be a mapping of names to floors, "auto" where a name
    is left out. `signals["per_source"]` reports the results of each. `rel` is used as given; None
    keeps hits with at least half of the first one's odds. With `related` each hit comes with its
    related artifacts in these corpora. With several wordings (see `formulate` of `search`) the
    selection is among the hits of all that are above their floor.
    """
    options = locals()
    floors = min_score if isinstance(min_score, Mapping) else {}
    given = "auto" if isinstance(min_score, Mapping) else min_score
    spec, custom = _make_spec(strategy, max_k, rel, gap_ratio, given)
    asked = replace(_make_query(options), select=spec)
    choosing = SelectionOptions(custom, merge, merge_weights or {}, merge_rrf_k, floors, dep_boost)
    found = _join_corpora(options, choosing).discover(asked, choosing, formulate)
    told = {each.name: getattr(found, each.name) for each in fields(found)}
    named = spec.strategy if custom is None else "custom"
    return DiscoveryResult(**told, strategy=named, disclose_level=disclose_level)


def disclose(
    chosen: Choice | Selection | Sequence[Hit],
    *,
    level: str = "body",
    expand: str | Policy = "none",
    loader: Callable[[Mapping[str, Any]], str] | None = None,
    store: Mapping[str, str] | None = None,
) -> list[Disclosure]:
    """Return the payload of selected hits, in their order; the hits stay as they are.

    Each payload has the summary and the score of its hit, at every level. It comes from the corpus
    that the hit was found in, marked `changed` if the artifact was indexed again since then, `gone`
    if it was deleted. Raises NotFound if that corpus is closed.

    `expand` is as on a Query, or a function (records, seed) -> records. The body comes from
    `loader` (fields -> text) or `store` (pointer -> text) if one of them is given.
    """
    if loader is not None and store is not None:
        raise QueryError("give a loader or a store, not both")
    given = chosen.results if isinstance(chosen, Selection) else chosen
    hits = given.hits if isinstance(given, Choice) else given
    extent = expand if callable(expand) else parse_expand(expand)
    body_of = _choose_body_reader(loader, store)
    found = [(find_origin(hit), hit) for hit in hits]
    payloads = ((built, hit, _read_payload(built, hit, level, body_of)) for built, hit in found)
    whole = ((hit, _add_passage(found, built, hit, extent)) for built, hit, found in payloads)
    return [replace(found, summary=hit.summary, score=hit.score) for hit, found in whole]


def _choose_body_reader(
    loader: Callable[[Mapping[str, Any]], str] | None, store: Mapping[str, str] | None
) -> Callable[[Hit], str | None] | None:
    """Return a function that reads a hit's body from the caller's storage; None without any."""
    if loader is not None:
        return lambda hit: loader(hit.fields)
    return None if store is None else lambda hit: store.get(hit.pointer)


def _read_payload(
    built: Built, hit: Hit, level: str, body_of: Callable[[Hit], str | None] | None
) -> Disclosure:
    if not built.holds(hit.artifact_id):
        return Disclosure(built.name, hit.artifact_id, level, hit.name, hit.pointer, note="gone")
    reference = f"{built.name}/{hit.artifact_id}"
    (found,) = built.engine.disclose([reference], level if body_of is None else "metadata")
    if isinstance(hit.corpus, HitCorpus) and found.indexed_at > hit.corpus.at and not found.note:
        found = replace(found, stale=True, note="changed")
    if body_of is None or level == "metadata":
        return found
    body = body_of(hit)
    return replace(found, level=level, body=body, note="" if body is not None else UNREADABLE)


def _add_passage(
    found: Disclosure, built: Built, hit: Hit, extent: Expand | Policy | None
) -> Disclosure:
    is_symbol = hit.kind == SYMBOL and found.level != "metadata"
    if found.note == "gone" or (extent is None and not is_symbol):
        return found
    records = records_for_artifact(built, hit.artifact_id)
    if extent is None:
        strategy = built.engine.corpora[built.name].strategy
        return add_symbol(found, records, hit.surface_index, strategy)
    if isinstance(extent, Expand):
        return add_passage(found, expand_record(records, hit.surface_index, extent))
    return add_passage(found, _expand_by_policy(records, hit.surface_index, extent))


def _expand_by_policy(records: Sequence[StoredRecord], seed: int, policy: Policy) -> ExpandedText:
    """Return the passage that the caller's policy chooses; if it chooses nothing, the seed alone.

    Raises QueryError for records that are not the artifact's.
    """
    if not records:
        return ExpandedText("", (), "no_ledger_entry")
    matched = next((r for r in records if r["surface_index"] == seed), records[0])
    chosen = list(policy(records, matched)) or [matched]
    known = {record["record_id"] for record in records}
    if foreign := [r["record_id"] for r in chosen if r["record_id"] not in known]:
        raise QueryError(f"the policy returned records of another artifact: {', '.join(foreign)}")
    return ExpandedText(stitch_records(chosen), tuple(record["record_id"] for record in chosen))


def records_for_artifact(
    corpus: Built | str, artifact_id: str, *, surface_kind: str | None = None
) -> list[dict[str, Any]]:
    """Return the stored records of an artifact in plan order, which include its siblings.

    With `surface_kind`, only records of that kind.
    """
    built = find_built(corpus)
    records = built.engine.records(f"{built.name}/{artifact_id}")
    return [each for each in records if surface_kind in (None, each["kind"])]


def coverage(corpus: Built | str) -> CorpusCoverage:
    """Walk a corpus' directories and return how much of their content is indexed.

    The walk is independent of the source: files that the source overlooks count as missing.
    """
    built = find_built(corpus)
    (found,) = built.engine.coverage(built.name)
    return found


def as_retriever(corpus: Built | str, **defaults: Any) -> BoundSearch:
    """Bind one corpus to a function (query, **overrides) -> hits, best first.

    `defaults` and `overrides` are keywords of `search`.
    """
    return BoundSearch(search, find_built(corpus), defaults)


def retrievers(**defaults: Any) -> Mapping[str, BoundSearch]:
    """Return a retriever for each corpus by name: those built by this user, and the daemon's.

    `defaults` are keywords of `search`. A corpus is opened with its retriever.
    """
    return BoundSearches(search, defaults)


# The names in a Query of keywords of the functions above, if they differ.
_QUERY_NAMES = {"filter": "where", "surface_weights": "weights", "disclose_level": "level"}
_QUERY_FIELDS = frozenset("k mode where surfaces fusion weights level expand related place".split())


def _make_query(options: Mapping[str, Any]) -> Query:
    """Make the query that the keywords of a call describe. Raises QueryError for an invalid one."""
    named = {_QUERY_NAMES.get(name, name): value for name, value in options.items()}
    asked = {name: named[name] for name in named.keys() & _QUERY_FIELDS}
    asked |= {"where": named["where"] or {}, "weights": named["weights"] or {}}
    asked["surfaces"] = check_surfaces(named["surfaces"])
    asked["rerank"] = named.get("rerank") is not None
    asked["passages"] = count_passages(named.get("per_artifact", True), named["k"])
    return Query(named["query"], **asked)


def _join_corpora(options: Mapping[str, Any], choosing: SelectionOptions) -> SeveralCorpora:
    """Return the corpora of a call, one or a list, ranked as its keywords say.

    Raises QueryError for an invalid number, and for one that the fusion would ignore.
    """
    numbers = ("alpha", "mmr_lambda", "rrf_k", "bm25", "fetch_k")
    tuning = make_tuning(*(options[name] for name in numbers))
    check_used(tuning, options["fusion"])
    rerank = ("rerank", "rerank_text", "rerank_max_chars")
    reranking = Reranking(*(options[name] for name in rerank)).check()
    corpus = options["corpus"]
    if isinstance(corpus, (list, tuple)):
        return SeveralCorpora([find_built(each) for each in corpus], tuning, reranking)
    _check_single(choosing)
    return SeveralCorpora([find_built(corpus)], tuning, reranking)


def _check_single(choosing: SelectionOptions) -> None:
    """Raise QueryError for one corpus with keywords that need several."""
    if choosing.floors or replace(choosing, selector=None, boost=None) != DEFAULT_OPTIONS:
        raise QueryError(
            "merge, merge_weights, merge_rrf_k and a min_score by name are for a list of corpora",
            "give a list: discover([one, other], ...)",
        )


def _make_spec(
    strategy: str | Callable[[Sequence[Hit]], Sequence[Hit]],
    max_k: int,
    rel: float | None,
    gap_ratio: float,
    min_score: float | str | None,
) -> tuple[SelectSpec, Selector | None]:
    name, custom = (strategy, None) if isinstance(strategy, str) else ("conservative", strategy)
    return SelectSpec(name, max_k, rel, gap_ratio, min_score), custom
