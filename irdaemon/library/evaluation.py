# ruff: noqa: I001 (each module is imported once, with the names that are offered again)
"""`ir.eval` and `ir.eval_gen`: measure the answers of corpora on labelled cases.

`evaluate_discovery(tools, load_cases("cases.jsonl"))` asks a corpus every case once; given a list
of `Run`, as made by `answered`, it asks nothing, so one pass is enough for many reports. A corpus
is a handle, its name, a list of them, or anything with `search` and `discover`, such as a `Client`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from irclient.errors import IRError, QueryError
from irclient.results import IndexedArtifact
from irclient.types import MODES
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.evaluate import (
    cases as evaluated_cases,
    choice,
    curve,
    graded,
    ranking,
)
from irdaemon.contrib.evaluate.cases import (
    Catalogue as Catalogue,
    corpus_signature as corpus_signature,
    query_id as query_id,
)
from irdaemon.contrib.evaluate.choice import (
    MAX_K,
    OBJECTIVE,
    REL,
    Calibration as Calibration,
    Cell as Cell,
    SelectionReport as SelectionReport,
    Sweep as Sweep,
    floor_of as floor_of,
)
from irdaemon.contrib.evaluate.curve import SIZES, Ranker, curve_of_ranks as curve_of_ranks
from irdaemon.contrib.evaluate.generate import (
    ABOUT_CHARS,
    ABSTENTION_SHARE,
    QUERIES_EACH,
    Ask,
    CaseMaking,
    Itemised,
    ask_endpoint as ask_endpoint,
    check_share,
    describe_artifacts,
    generate_abstentions as generate_abstentions,
    gives_away as gives_away,
    make_cases,
    mask_name as mask_name,
)
from irdaemon.contrib.evaluate.graded import (
    DEPTH,
    GradedCase as GradedCase,
    GradedQuery as GradedQuery,
    IndexingComparison as IndexingComparison,
    RankHits,
    graded_queries as graded_queries,
    graded_query as graded_query,
    level_histogram as level_histogram,
    load_graded_cases as load_graded_cases,
    read_graded_meta as read_graded_meta,
    save_graded_cases as save_graded_cases,
)
from irdaemon.contrib.evaluate.ranking import (
    K_VALUES,
    METRICS,
    PRIMARY_K,
    DiscoveryReport as DiscoveryReport,
    Run as Run,
    Searcher as Searcher,
    cases_of as cases_of,
    outcome as outcome,
    read_qrels as read_qrels,
    read_run as read_run,
    runs_of as runs_of,
    write_qrels as write_qrels,
    write_run as write_run,
)
from irdaemon.contrib.evaluate.report import Comparison as Comparison, compare as compare
from irdaemon.discovery.cases import (
    Case as Case,
    load_cases as load_cases,
    parse_cases as parse_cases,
    save_cases as save_cases,
)
from irdaemon.discovery.decide import Selector
from irdaemon.discovery.merge import SelectionOptions
from irdaemon.embed import Embedder, make_embedder
from irdaemon.engine import Engine, EngineOptions
from irdaemon.engine.queue import Job
from irdaemon.index import CorpusIndex
from irdaemon.ledger import IN_MEMORY, Ledger
from irdaemon.library.built import Built, find_built, open_corpus
from irdaemon.library.corpus_source import CorpusSource
from irdaemon.library.federate import SeveralCorpora
from irdaemon.library.functions import BoundSearch, as_retriever
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import Skill, WholeText
from irdaemon.types import Floor, Query, Selection, SelectSpec


def generate_cases(
    source_or_corpus: Itemised | str,
    k: int = QUERIES_EACH,
    *,
    ask: Ask | str | None = None,
    mask_names: bool = True,
    max_artifacts: int | None = None,
    corpus_name: str = "",
) -> list[Case]:
    """Return up to `k` cases for each artifact of a source, a corpus or its name, or a mapping.

    `ask` takes a prompt and returns text, or is the `URL#MODEL` of an OpenAI-compatible endpoint,
    to which the text of the artifacts is then sent. `max_artifacts` takes the first by id. A
    warning names the artifacts left out: those with too little text, and those for which the model
    failed. Raises QueryError without `ask`.
    """
    making = CaseMaking(mask_names, max_artifacts, corpus_name)
    made = make_cases(_open_items(source_or_corpus), _choose_model(ask), k, making)
    if made.skipped:
        warnings.warn(made.skipped, RuntimeWarning, stacklevel=2)
    return made.cases


def build_eval_set(
    source_or_corpus: Itemised | str,
    k: int = QUERIES_EACH,
    *,
    ask: Ask | str | None = None,
    abstention_share: float = ABSTENTION_SHARE,
    mask_names: bool = True,
    max_artifacts: int | None = None,
    corpus_name: str = "",
) -> list[Case]:
    """Return cases as `generate_cases` does, and a share of cases that nothing answers."""
    items, asking = _open_items(source_or_corpus), _choose_model(ask)
    check_share(abstention_share)
    cases = generate_cases(
        items,
        k,
        ask=asking,
        mask_names=mask_names,
        max_artifacts=max_artifacts,
        corpus_name=corpus_name,
    )
    about = "; ".join(text for _, text in describe_artifacts(items).values())[:ABOUT_CHARS]
    return [*cases, *generate_abstentions(len(cases), asking, about, abstention_share)]


def _open_items(given: Itemised | str) -> Itemised:
    return open_corpus(given) if isinstance(given, str) else given


def _choose_model(ask: Ask | str | None) -> Ask:
    if ask is None:
        raise QueryError(
            "no model is named that writes the cases",
            'give ask=, a function from a prompt to text, or "http://HOST/v1#MODEL", to which the'
            " text of the artifacts is then sent",
        )
    return ask_endpoint(ask) if isinstance(ask, str) else ask


# Compare corpora, or ways to search one, on queries with graded answers.

_OURS = ("k", "per_artifact")
_PAGE = 1_000
_DRIFT_SHOWN = 5


def compare_indexings(
    corpora: Mapping[str, Built | str | Searcher | RankHits],
    queries: Sequence[GradedQuery],
    *,
    k: int = 20,
    rank_depth: int = DEPTH,
    search_by_label: Mapping[str, Mapping[str, Any]] | None = None,
) -> IndexingComparison:
    """Ask several indexings of corpora the same queries, and measure each ranking at k.

    `corpora` are by label, the baseline first: a handle, a name, an object with `search`, such as a
    `Client`, or a function (text, k=number) -> hits, of which the first `rank_depth` count.
    `search_by_label` gives keywords of `search` for a label, so that one corpus may have several
    labels. A warning names artifacts in queries that no corpus holds. Raises QueryError for an
    unknown label, for keywords of anything but a built corpus, and for those that a comparison sets
    itself.
    """
    given = search_by_label or {}
    for label in given:
        if label not in corpora:
            near = did_you_mean(label, corpora)
            raise QueryError(f"search_by_label names an unknown label {label!r}{near}")
    arms = {label: _make_arm(label, each, given.get(label)) for label, each in corpora.items()}
    catalogue = make_catalogue(arms.values())
    if catalogue is None:
        return graded.compare_indexings(arms, queries, k, rank_depth)
    meant = [query.resolved(catalogue) for query in queries]
    drift = sorted({each for query in meant for each in catalogue.list_unknown(query.named)})
    warn_of_drift(drift)
    found = graded.compare_indexings(arms, meant, k, rank_depth)
    return replace(found, drift=tuple(drift))


def make_catalogue(searchers: Iterable[object]) -> Catalogue | None:
    """Return the artifacts of searchers, as far as they are known; None if none are known.

    Engines, built corpora, their retrievers and clients know their artifacts.
    """
    indexes: list[CorpusIndex] = []
    served: list[IndexedArtifact] = []
    for each in searchers:
        searched = each.corpus if isinstance(each, BoundSearch) else each
        if isinstance(searched, Built):
            indexes.append(searched.engine.snapshot.corpora[searched.name])
        elif isinstance(searched, Engine):
            indexes += searched.snapshot.corpora.values()
        elif hasattr(searched, "artifacts"):
            served += _list_artifacts(searched)
    if not indexes and not served:
        return None
    made = Catalogue.from_indexes(indexes)
    for each in served:
        made.add([(each.artifact_id, each.name)], each.corpus)
    return made


def _list_artifacts(client: Any) -> Iterator[IndexedArtifact]:
    """Yield a daemon's artifacts, page by page; if it does not answer, warn and yield nothing."""
    after = ""
    try:
        while page := client.artifacts(after=after, limit=_PAGE):
            yield from page
            after = f"{page[-1].corpus}/{page[-1].artifact_id}"
    except IRError as error:
        warnings.warn(f"gold counts as ids, since names cannot be asked: {error}", stacklevel=5)


def warn_of_drift(drift: Sequence[str]) -> None:
    """Warn of gold that matches no artifact."""
    if drift:
        more = f" and {len(drift) - _DRIFT_SHOWN} more" if len(drift) > _DRIFT_SHOWN else ""
        shown = ", ".join(map(repr, drift[:_DRIFT_SHOWN]))
        warnings.warn(
            f"{shown}{more}: no artifact has this id, and the name is not unique; it counts"
            " as missed. The report's `drift` lists all",
            stacklevel=5,
        )


def _make_arm(
    label: str, corpus: Built | str | Searcher | RankHits, keywords: Mapping[str, Any] | None
) -> Searcher | RankHits:
    if isinstance(corpus, (Built, str)):
        for name in _OURS:
            if name in (keywords or {}):
                raise QueryError(
                    f"search_by_label sets {name} of {label!r}",
                    "each ranking is of artifacts, to rank_depth",
                )
        return as_retriever(corpus, **(keywords or {}))
    if keywords is not None:
        raise QueryError(
            f"{label!r} is not a corpus built here, and takes no search keywords",
            "give a function that searches as it should",
        )
    return corpus


Asked = Built | str | Sequence[Built | str] | Searcher
Evaluated = Asked | Sequence[Run]
Probe = Case | tuple[str, str]

_NAME = "drawn"


def answered(
    corpus: Asked,
    cases: Iterable[Case],
    template: Query,
    tell: Callable[[int], None] = lambda done: None,
) -> list[Run]:
    """Ask a corpus every case, shaped like `template`; return the runs, for reports.

    Gold is an id, or a reference to one artifact (see `Catalogue`). Unknown gold causes a warning.
    """
    return _ask_cases(corpus, cases, template, tell)


def evaluate_discovery(
    corpus: Evaluated,
    cases: Sequence[Case] | None = None,
    *,
    mode: str = "hybrid",
    k: int = PRIMARY_K,
    k_values: Sequence[int] = K_VALUES,
    metrics: Sequence[str] = METRICS,
    primary_k: int = PRIMARY_K,
    abstain_threshold: float | None = None,
) -> DiscoveryReport:
    """Measure rankings: the measures on average and for each query, and outcomes.

    At least `k` candidates are requested, and as many as the measures need.
    """
    deepest = max(k, primary_k, *k_values)
    runs = _make_runs(corpus, cases, Query("", k=deepest, mode=mode))
    return ranking.evaluate_discovery(runs, k_values, primary_k, abstain_threshold, metrics)


def evaluate_selection(
    corpus: Evaluated,
    cases: Sequence[Case] | None = None,
    *,
    strategy: str | Selector = "conservative",
    max_k: int = 3,
    rel: float | None = None,
    min_score: float | str | None = "auto",
    mode: str = "hybrid",
    k: int = PRIMARY_K,
) -> SelectionReport:
    """Measure what is committed, given that the gold is among the `k` candidates."""
    name, custom = (strategy, None) if isinstance(strategy, str) else ("conservative", strategy)
    spec = SelectSpec(name, max_k, rel, min_score=min_score)
    return choice.evaluate_selection(
        _make_runs(corpus, cases, Query("", k=k, mode=mode, select=spec), custom)
    )


def sweep_selector(
    corpus: Evaluated,
    cases: Sequence[Case] | None = None,
    *,
    max_k_grid: Sequence[int] = MAX_K,
    rel_grid: Sequence[float] = REL,
    min_score_grid: Sequence[float | None] = (None,),
    objective: str = OBJECTIVE,
    mode: str = "hybrid",
    k: int = PRIMARY_K,
) -> Sweep:
    """Try every combination of the grids on the candidates of one pass."""
    grids = max_k_grid, rel_grid, min_score_grid
    choice.sweep_selector((), *grids, objective)  # errors come before any query
    runs = _make_runs(corpus, cases, Query("", k=k, mode=mode))
    return choice.sweep_selector(runs, *grids, objective)


def calibrate_min_score(
    corpus: Evaluated,
    cases: Sequence[Case] | None = None,
    *,
    mode: str = "hybrid",
    persist: bool = False,
    k: int = PRIMARY_K,
    sensitivity_weight: float = 0.5,
    floor_grid: Sequence[float] | None = None,
) -> Calibration:
    """Return the floor on the first score that separates the cases best.

    With `persist` the cases also set the floors that one built corpus uses for `min_score="auto"`:
    floors on scores, for every mode, until the corpus has changed so much that it is calibrated
    again. Raises QueryError if there are too few cases for that.
    """
    choice.floor_of((), (), grid=floor_grid)  # errors come before any query
    made = choice.calibrate_min_score(
        _make_runs(corpus, cases, Query("", k=k, mode=mode)), sensitivity_weight, floor_grid
    )
    if persist:
        _store_floors(corpus, cases or ())
    return made


def load_calibration(corpus: Built | str, mode: str = "hybrid") -> Floor | None:
    """Return the stored floor of a corpus for a mode; None without one."""
    built = find_built(corpus)
    floors = built.engine.ledger.corpora.read_floors(built.name)
    if mode not in (*MODES, *floors):
        raise QueryError(f"unknown mode {mode!r}", f"modes: {', '.join(MODES)}")
    return floors.get(mode)


def validate_cases(
    cases: Sequence[Case], corpus: Built | str | Iterable[str]
) -> dict[int, list[str]]:
    """Return gold that no artifact of a corpus, or no given id, has, by the index of its case."""
    if not isinstance(corpus, (Built, str)):
        return evaluated_cases.validate_cases(cases, corpus)
    built = find_built(corpus)
    held = Catalogue.from_indexes([built.engine.snapshot.corpora[built.name]])
    return evaluated_cases.validate_cases([held.resolve_case(each) for each in cases], held.ids)


def distractor_robustness_curve(
    items_or_source: CorpusSource | Mapping[str, Any],
    probes: Sequence[Probe],
    ranker: Ranker | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    trials: int = 20,
    seed: int = 0,
    k: int = 1,
) -> dict[int, float]:
    """Return, by catalogue size, the share of probes with gold among the first `k`.

    A probe is a case, or a query with the id of its gold. `ranker`, by default `ranked_in_memory`,
    indexes each catalogue again; `functools.partial` can change its settings. Raises QueryError
    naming a probe without gold, or with gold outside the scope.
    """
    given = items_or_source
    scope: Mapping[str, Any] = given.scope if isinstance(given, CorpusSource) else given
    cases = [each if isinstance(each, Case) else Case(each[0], (each[1],)) for each in probes]
    names = Catalogue()
    names.add((each, item["name"] if _is_named(item) else each) for each, item in scope.items())
    cases = [names.resolve_case(each) for each in cases]
    return curve.distractor_robustness_curve(
        scope, cases, ranker or ranked_in_memory, sizes, trials, seed, k
    )


def ranked_in_memory(
    items: Mapping[str, Any], embedder: str = "wordllama", mode: str = "hybrid"
) -> Callable[[str, int], list[str]]:
    """Index items in memory; return a function that ranks the ids of the `k` best for a query."""
    described = any(isinstance(each, Mapping) and "description" in each for each in items.values())
    strategy = Skill() if described else WholeText()
    corpus = Corpus(_NAME, "mapping", InMemory(items), strategy, embedder, redact="tokens")
    made = {embedder: _load_embedder(embedder)}
    engine = Engine(Ledger(IN_MEMORY), [corpus], EngineOptions(calibrating=False, embedders=made))
    engine.request(Job("reconcile", _NAME))
    engine.drain()
    engine.ledger.close()
    return partial(_rank_ids, engine, mode)


def _is_named(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("name"), str)


def _rank_ids(engine: Engine, mode: str, query: str, k: int) -> list[str]:
    return [hit.artifact_id for hit in engine.search(Query(query, k=k, mode=mode)).results]


@lru_cache(maxsize=4)
def _load_embedder(name: str) -> Embedder:
    return make_embedder(name)


# -- asking ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Corpora:
    """Corpora asked as one, with the caller's selector."""

    built: Sequence[Built]
    choosing: SelectionOptions

    def search(self, query: Query) -> Selection:
        return SeveralCorpora(self.built).search(query)

    def discover(self, query: Query) -> Selection:
        return SeveralCorpora(self.built).discover(query, self.choosing)


def _make_runs(
    corpus: Evaluated,
    cases: Sequence[Case] | None,
    template: Query,
    custom: Selector | None = None,
) -> Sequence[Run]:
    """Return the given runs, or ask a corpus every case."""
    if cases is None:
        if isinstance(corpus, (list, tuple)) and all(isinstance(each, Run) for each in corpus):
            if (template.mode, template.select, custom) != ("hybrid", SelectSpec(), None):
                raise QueryError(
                    "runs were asked already: mode, strategy, max_k, rel and min_score say nothing"
                    " of them",
                    "ask again with answered(corpus, cases, Query(...)), or give corpus and cases",
                )
            return corpus
        raise QueryError("cases are missing", "give a corpus and cases, or a list of runs alone")
    return _ask_cases(corpus, cases, template, custom=custom)


def _ask_cases(
    corpus: Evaluated,
    cases: Iterable[Case],
    template: Query,
    tell: Callable[[int], None] = lambda done: None,
    custom: Selector | None = None,
) -> list[Run]:
    searcher = _make_searcher(corpus, custom)
    held = searcher.built if isinstance(searcher, _Corpora) else [searcher]
    runs = ranking.ask_cases(searcher, cases, template, tell, make_catalogue(held))
    warn_of_drift(ranking.list_drift(runs))
    return runs


def _make_searcher(corpus: Evaluated, custom: Selector | None) -> Searcher:
    given: Any = corpus
    several = given if isinstance(given, (list, tuple)) else [given]
    if several and all(isinstance(each, (Built, str)) for each in several):
        built = [find_built(each) for each in several]
        return _Corpora(built, SelectionOptions(custom))
    if not (hasattr(given, "search") and hasattr(given, "discover")):
        raise QueryError(f"{given!r:.60} is not a corpus", "give what build returned, or its name")
    if custom is not None:
        raise QueryError("a selector of one's own is for corpora built here", "name a strategy")
    searcher: Searcher = given
    return searcher


def _store_floors(corpus: Evaluated, cases: Sequence[Case]) -> None:
    built = find_built(corpus) if isinstance(corpus, str) else corpus
    if not isinstance(built, Built):
        raise QueryError("a floor belongs to one built corpus", "give its handle, or its name")
    built.engine.calibrate(built.name, cases)
    built.engine.drain()
