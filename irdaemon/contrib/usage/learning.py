"""Learning: the uses of a corpus' artifacts become part of how they are found, where that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.usage.taught import (
    MOST_ASKED,
    RATES,
    Asked,
    Gain,
    Prompts,
    attested,
    gain,
    learned,
    ndcg_of_each,
    newest_fifth,
    newest_of_each,
    taught,
    weights_of,
)
from irdaemon.discovery.calibrate import make_probes
from irdaemon.discovery.query import ParsedQuery, analyse_query, embed_question
from irdaemon.discovery.retrieve import retrieve
from irdaemon.embed import Embedder
from irdaemon.embed.learned import TaughtText, embed_taught
from irdaemon.engine.due import EMBEDDED_AT_ONCE, request_followups
from irdaemon.engine.publish import Publisher
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex, Recounted
from irdaemon.ingest.reconcile import embed
from irdaemon.ledger import Learned
from irdaemon.ledger.learned import find_common
from irdaemon.types import LearnReport, Use

# A corpus of sessions is where uses are read from; nothing is learned of its turns.
NOT_LEARNED = ("sessions",)
# Fewer uses than this do not show whether what they teach helps.
FEWEST_USES = 20
# So many of the newest uses have to be of what is learned of, or a tenth of them if that is fewer.
_FEW = 5
# By which rule uses were judged; what was learned by another is judged again. 2: a file counts as
# one session, whatever its lines say.
RULE = "2:"


@dataclass(frozen=True, slots=True)
class Learning:
    """Learn what uses teach of one corpus. Only the writer may use it.

    `pause` is called between queries, so that others can go first.
    """

    state: State
    publisher: Publisher
    corpus: Corpus
    pause: Callable[[], object] = lambda: None

    def learn(self, uses: Iterable[Use]) -> LearnReport:
        """Publish what uses teach, where the newest of them are found better for it.

        What was served before is kept for `roll_back`.
        """
        names = self._names()
        known = [use for use in uses if any(id in names for id in use.gold)]
        now = self.state.clock()
        prompts, held_out = _trial(known, names, now)
        if len(known) < FEWEST_USES or not prompts or not held_out:
            return self._noted(LearnReport("not enough yet", len(known)))
        everything = taught(known, names, now)
        seen = [_is_of(use, prompts) for use in held_out]
        weights = weights_of(seen, sum(_is_of(use, everything) for use in known) / len(known))
        base = self._index_with({})
        asked = [Asked(use.prompt, use.gold) for use in held_out]
        before = ndcg_of_each(base, asked, self._rank)
        tried = []
        for rate in RATES:
            candidate = self._index_with(learned(prompts, rate))
            found = gain(before, ndcg_of_each(candidate, asked, self._rank), weights)
            tried.append((found, candidate, rate))
        best, candidate, rate = max(tried, key=lambda each: each[0].mean)
        if not best.better:
            return self._noted(_report("no better", known, best))
        own = self._gain_of_own_cases(base, candidate)
        if own.worse:
            return self._noted(_report("worse elsewhere", known, best, own))
        wanted = learned(everything, rate)
        changed = self._publish(wanted)
        outcome = "published" if changed else "unchanged"
        return self._noted(_report(outcome, known, best, own, wanted))

    def roll_back(self) -> int:
        """Serve what was served before; return how many artifacts change."""
        learned = self.state.ledger.learned
        changed = learned.roll_back(self.corpus.name)
        self.show(changed)
        learned.put_state(
            self.corpus.name, {**learned.read_state(self.corpus.name), "outcome": "rolled back"}
        )
        return changed

    def keep_attested(self, uses: Sequence[Use]) -> None:
        """Forget what was learned of an artifact and a session that uses no longer attest."""
        names = {id: "" for use in uses for id in use.gold} | self._names()
        attesting = attested(uses, names, self.state.clock())
        pairs = {(id, each.session) for id, prompts in attesting.items() for each in prompts}
        self.show(self.state.ledger.learned.keep_only(self.corpus.name, pairs))

    # -- trying ----------------------------------------------------------------------------------

    def _names(self) -> dict[str, str]:
        rows = self.state.snapshot.corpora[self.corpus.name].rows
        cards = (rows.cards[owner] for owner in rows.list_owners())
        return {card.artifact_id: card.name for card in cards}

    def _index_with(self, wanted: Mapping[str, Learned]) -> CorpusIndex:
        """Return the index as it would be with just this learned."""
        index = self.state.snapshot.corpora[self.corpus.name]
        served = self.state.ledger.learned.list_all(self.corpus.name)
        ids = {*served, *wanted}
        owners = {
            card.artifact_id: owner
            for owner in index.rows.list_owners()
            if (card := index.rows.cards[owner]).artifact_id in ids
        }
        changed = dict(self._recounted(index, owners, wanted))
        return index.recounted(changed) if changed else index

    def _recounted(
        self, index: CorpusIndex, owners: Mapping[str, int], wanted: Mapping[str, Learned]
    ) -> Iterator[tuple[int, Recounted]]:
        ledger = self.state.ledger
        texts, counts, positions = [], [], []
        with ledger.transaction():  # words that are new get their ids
            for id, owner in owners.items():
                own = ledger.learned.find_own_counts(self.corpus.name, id)
                records = index.rows.find_records(owner)
                if own is None or not records:
                    continue
                text, terms = own
                each = wanted.get(id)
                for term, count in (ledger.learned.count_added(each) if each else {}).items():
                    terms[term] = terms.get(term, 0.0) + count
                texts.append(_to_embed(text, each))
                counts.append(terms)
                positions.append(records[0])
        vectors = embed_taught(self._embedder, texts, find_common(wanted))
        for position, terms, vector in zip(positions, counts, vectors, strict=True):
            yield position, Recounted(terms, vector)

    @property
    def _embedder(self) -> Embedder:
        return self.state.serving(self.corpus)

    def _rank(self, index: CorpusIndex, text: str) -> Sequence[str]:
        self.pause()
        question = analyse_query(ParsedQuery(text), self.state.ledger.terms.get_table())
        question = embed_question(question, index, self.state.embedders.embed_fresh)
        return [each.card.artifact_id for each in retrieve(index, question).candidates]

    def _gain_of_own_cases(self, base: CorpusIndex, candidate: CorpusIndex) -> Gain:
        rows = base.rows
        asked = [
            Asked(probe.asking, (rows.cards[rows.artifact_of.array[probe.position]].artifact_id,))
            for probe in make_probes(base)
        ]
        return gain(
            ndcg_of_each(base, asked, self._rank), ndcg_of_each(candidate, asked, self._rank)
        )

    # -- publishing ------------------------------------------------------------------------------

    def _publish(self, wanted: Mapping[str, Learned]) -> int:
        ledger, name = self.state.ledger, self.corpus.name
        if ledger.learned.list_all(name) == wanted:
            return 0
        changed = ledger.learned.publish(name, wanted)
        self.show(changed)
        return changed

    def show(self, changed: int) -> None:
        """Publish an index with what has changed, with its vectors where they are few."""
        if not changed:
            return
        state, corpus = self.state, self.corpus
        next(embed(state.ledger, corpus.name, self._embedder, EMBEDDED_AT_ONCE), 0)
        self.publisher.publish(corpus)
        request_followups(state, corpus)

    def _noted(self, report: LearnReport) -> LearnReport:
        told: dict[str, Any] = {**report.to_dict(), "at": self.state.clock()}
        self.state.ledger.learned.put_state(self.corpus.name, told)
        return report


def find_learnable(state: State) -> list[str]:
    """Return the names of the corpora of whose artifacts something can be learned."""
    learning = (each for each in state.corpora.values() if each.learns)
    return [each.name for each in learning if each.kind not in NOT_LEARNED]


def find_outdated(state: State) -> list[str]:
    """Return the names of the corpora of which something is served that another rule taught."""
    with state.reading() as ledger:
        return [
            name
            for name in find_learnable(state)
            if ledger.learned.count(name)[0]
            and not ledger.learned.read_state(name).get("seen", "").startswith(RULE)
        ]


def explain_learned(state: State, text: str, reference: str) -> dict[str, Any] | None:
    """Return the prompts learned of an item, and what its scores for a query are without them.

    None where nothing was learned of it.
    """
    name, _, artifact_id = reference.partition("/")
    with state.reading() as ledger:
        each = ledger.learned.find_learned(name, artifact_id)
        own = ledger.learned.find_own_counts(name, artifact_id)
    if each is None or own is None:
        return None
    index = state.snapshot.corpora[name]
    question = embed_question(
        analyse_query(ParsedQuery(text), state.snapshot.vocabulary),
        index,
        state.embedders.embed_fresh,
    )
    described, counts = own
    held = {term: counts[term] for term in question.terms if term in counts}
    without = {"lexical": index.lexical.score(held, sum(counts.values()))}
    if question.vector is not None:
        vector = state.serving(state.corpora[name]).embed([described])[0]
        without["dense"] = float(vector @ question.vector)
    return {
        "prompts": [prompt.text for prompt in each.prompts],
        "without": {leg: round(score, 4) for leg, score in without.items()},
    }


# -- what is told --------------------------------------------------------------------------------


def _trial(uses: Sequence[Use], names: Mapping[str, str], now: float) -> tuple[Prompts, list[Use]]:
    """Return what the older uses teach, and the newest, which judge it; nothing where none can.

    The newest fifth judges, unless hardly any of it is of what the older teach.
    """
    for split in (newest_fifth, newest_of_each):
        older, newest = split(uses, now)
        prompts, held_out = taught(older, names, now), newest[:MOST_ASKED]
        if sum(_is_of(use, prompts) for use in held_out) >= min(_FEW, len(held_out) / 10 + 1):
            return prompts, held_out
    return {}, []


def _is_of(use: Use, prompts: Prompts) -> bool:
    return any(id in prompts for id in use.gold)


def _to_embed(text: str, each: Learned | None) -> TaughtText:
    if each is None:
        return TaughtText(text)
    return TaughtText(text, [(p.text, p.weight) for p in each.prompts], each.rate.share)


def _report(
    outcome: str,
    uses: Sequence[Use],
    found: Gain,
    own: Gain | None = None,
    wanted: Mapping[str, Learned] | None = None,
) -> LearnReport:
    wanted = wanted or {}
    return LearnReport(
        outcome,
        len(uses),
        held_out=found.n,
        before=round(found.before, 4),
        after=round(found.after, 4),
        half_width=round(found.half_width, 4),
        own_change=round(own.mean, 4) if own else 0.0,
        artifacts=len(wanted),
        prompts=sum(len(each.prompts) for each in wanted.values()),
    )
