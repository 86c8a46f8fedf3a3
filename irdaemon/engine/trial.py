"""An index as it would be with other expected prompts: to try them, not to serve them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from irdaemon.config.corpus import Corpus
from irdaemon.discovery.calibrate import make_probes
from irdaemon.discovery.query import ParsedQuery, analyse_query, embed_question
from irdaemon.discovery.retrieve import retrieve
from irdaemon.embed.prompts import PromptedText, embed_prompted
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex, Recounted
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import USE, find_common, merge


def index_expecting(
    state: State, corpus: Corpus, wanted: Mapping[str, Expected], provenance: str
) -> CorpusIndex:
    """Return a corpus' index as it would be with only these prompts of a provenance.

    `wanted` has them by artifact id. Prompts of other provenances count as before. Only the writer
    may call this.
    """
    index = state.snapshot.corpora[corpus.name]
    ids = {*state.ledger.prompts.list_all(corpus.name, provenance), *wanted}
    owners = {
        card.artifact_id: owner
        for owner in index.rows.list_owners()
        if (card := index.rows.cards[owner]).artifact_id in ids
    }
    changed = dict(_recount(state, corpus, owners, wanted, provenance))
    return index.recount(changed) if changed else index


def _recount(
    state: State,
    corpus: Corpus,
    owners: Mapping[str, int],
    wanted: Mapping[str, Expected],
    provenance: str,
) -> Iterator[tuple[int, Recounted]]:
    ledger, index = state.ledger, state.snapshot.corpora[corpus.name]
    texts, counts, positions = [], [], []
    with ledger.transaction():  # new words get their ids
        for id, owner in owners.items():
            own = ledger.prompts.find_own_counts(corpus.name, id)
            records = index.rows.find_records(owner)
            if own is None or not records:
                continue
            parts = ledger.prompts.find_counting(corpus.name, id)
            parts.pop(provenance, None)
            if id in wanted:
                parts[provenance] = wanted[id]
            expected, (text, terms) = merge(parts.values()), own
            for term, count in (ledger.prompts.count_added(expected) if expected else {}).items():
                terms[term] = terms.get(term, 0.0) + count
            texts.append(_make_prompted(text, expected, USE if USE in parts else ""))
            counts.append(terms)
            positions.append(records[0])
    of_use = wanted if provenance == USE else ledger.prompts.list_all(corpus.name)
    vectors = embed_prompted(state.choose_embedder(corpus), texts, find_common(of_use))
    for position, terms, vector in zip(positions, counts, vectors, strict=True):
        yield position, Recounted(terms, vector)


def _make_prompted(text: str, expected: Expected | None, common: str) -> PromptedText:
    if expected is None:
        return PromptedText(text)
    prompts = [(each.text, each.weight) for each in expected.prompts]
    return PromptedText(text, prompts, expected.rate.share, common)


# The most texts measured: enough for an interval of two hundredths.
MOST_ASKED = 400
K = 10
_TWO_SIDED_95 = 1.96
# Means of equal figures may differ by this.
_EXACT = 1e-9

# Ids of the artifacts that a text finds in an index, best first.
Rank = Callable[[CorpusIndex, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A text, and the artifacts that it should find."""

    text: str
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gain:
    """NDCG@10 before and after over the same texts.

    `half_width` is half that of the 95% interval of their difference, `lowest` the lower end of the
    95% interval of the mean before.
    """

    before: float
    after: float
    half_width: float
    lowest: float
    n: int

    @property
    def mean(self) -> float:
        """Return by how much NDCG@10 grew."""
        return self.after - self.before

    @property
    def better(self) -> bool:
        """Return whether it grew."""
        return self.mean > _EXACT

    @property
    def worse(self) -> bool:
        """Return whether it fell below the 95% interval of the mean before."""
        return self.after < self.lowest


def measure_gain(
    before: Sequence[float], after: Sequence[float], weights: Sequence[float] | None = None
) -> Gain:
    """Return the gain of paired figures, each by its weight; the interval is that of the mean.

    The standard error of a weighted mean is taken as that of a stratified sample (Cochran 1977,
    section 5.4) with one spread for all strata.
    """
    n = len(before)
    if not n:
        return Gain(0.0, 0.0, 0.0, 0.0, 0)
    shares = [1 / n] * n if weights is None else [each / sum(weights) for each in weights]
    differences = [b - a for a, b in zip(before, after, strict=True)]
    means = [sum(map(mul, shares, figures)) for figures in (before, after)]
    lowest = means[0] - _compute_half_width(before, shares)
    return Gain(means[0], means[1], _compute_half_width(differences, shares), lowest, n)


def _compute_half_width(figures: Sequence[float], shares: Sequence[float]) -> float:
    """Return half the width of the 95% interval of a weighted mean."""
    if len(figures) < 2:
        return math.inf
    from statistics import stdev

    return _TWO_SIDED_95 * stdev(figures) * math.sqrt(sum(share * share for share in shares))


def measure_each(index: CorpusIndex, asked: Iterable[Asked], rank: Rank) -> list[float]:
    """Return the NDCG@10 of each text in an index."""
    return [_compute_ndcg(rank(index, each.text), set(each.gold)) for each in asked]


def _compute_ndcg(ranked: Sequence[str], gold: set[str]) -> float:
    found = (1 / math.log2(at + 2) for at, each in enumerate(ranked[:K]) if each in gold)
    return sum(found) / sum(1 / math.log2(at + 2) for at in range(min(len(gold), K)))


def rank_artifacts(state: State, index: CorpusIndex, text: str) -> list[str]:
    """Return the artifact ids that a text finds in an index, best first. For the writer only."""
    question = analyse_query(ParsedQuery(text), state.ledger.terms.get_table())
    question = embed_question(question, index, state.embedders.embed_fresh)
    return [each.card.artifact_id for each in retrieve(index, question).candidates]


def compare_own_cases(base: CorpusIndex, candidate: CorpusIndex, rank: Rank) -> Gain:
    """Return the gain for the queries that calibration makes from a corpus' texts."""
    rows = base.rows
    asked = [
        Asked(probe.asking, (rows.cards[rows.artifact_of.array[probe.position]].artifact_id,))
        for probe in make_probes(base)
    ]
    return measure_gain(measure_each(base, asked, rank), measure_each(candidate, asked, rank))
