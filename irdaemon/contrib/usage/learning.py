"""Learning: uses of a corpus' artifacts affect how they are found, if that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.usage.taught import (
    RATES,
    Prompts,
    attest,
    make_expected,
    split_newest_fifth,
    split_newest_of_each,
    teach,
    weigh_uses,
)
from irdaemon.discovery.query import ParsedQuery, analyse_query, embed_question
from irdaemon.embed import Embedder
from irdaemon.engine.indexing import show_changed
from irdaemon.engine.publish import Publisher
from irdaemon.engine.state import State
from irdaemon.engine.trial import (
    MOST_ASKED,
    Asked,
    Gain,
    compare_own_cases,
    index_expecting,
    measure_each,
    measure_gain,
    rank_artifacts,
)
from irdaemon.index import CorpusIndex
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import USE
from irdaemon.types import LearnReport, Use

# Uses are read from corpora of sessions; nothing is learned about their turns.
NOT_LEARNED = ("sessions",)
# Fewer uses than this do not show whether learning from them helps.
FEWEST_USES = 20
# At least this many of the newest uses must be of learned artifacts, or a tenth of them if fewer.
_FEW = 5
# The version of the rule that judges uses; results of another version are judged again. 2: a file
# counts as one session, even if its lines name several.
RULE = "2:"


@dataclass(frozen=True, slots=True)
class Learning:
    """Learn from the uses of one corpus. Only the writer may use it.

    `pause` is called between queries, so that other work can go first.
    """

    state: State
    publisher: Publisher
    corpus: Corpus
    pause: Callable[[], object] = lambda: None

    def learn(self, uses: Iterable[Use]) -> LearnReport:
        """Publish what uses teach, if it ranks the newest uses better.

        The previous state is kept for `roll_back`.
        """
        names = self._names()
        known = [use for use in uses if any(id in names for id in use.gold)]
        now = self.state.clock()
        prompts, held_out = _split_uses(known, names, now)
        if len(known) < FEWEST_USES or not prompts or not held_out:
            return self._note(LearnReport("not enough yet", len(known)))
        everything = teach(known, names, now)
        seen = [_is_of(use, prompts) for use in held_out]
        weights = weigh_uses(seen, sum(_is_of(use, everything) for use in known) / len(known))
        base = self._index_with({})
        asked = [Asked(use.prompt, use.gold) for use in held_out]
        before = measure_each(base, asked, self._rank)
        tried = []
        for rate in RATES:
            candidate = self._index_with(make_expected(prompts, rate))
            found = measure_gain(before, measure_each(candidate, asked, self._rank), weights)
            tried.append((found, candidate, rate))
        best, candidate, rate = max(tried, key=lambda each: each[0].mean)
        if not best.better:
            return self._note(_make_report("no better", known, best))
        own = compare_own_cases(base, candidate, self._rank)
        if own.worse:
            return self._note(_make_report("worse elsewhere", known, best, own))
        wanted = make_expected(everything, rate)
        changed = self._publish(wanted)
        outcome = "published" if changed else "unchanged"
        return self._note(_make_report(outcome, known, best, own, wanted))

    def roll_back(self) -> int:
        """Serve the previous state; return how many artifacts change."""
        prompts = self.state.ledger.prompts
        changed = prompts.roll_back(self.corpus.name)
        self.show(changed)
        noted = prompts.read_state(self.corpus.name)
        prompts.put_state(self.corpus.name, {**noted, "outcome": "rolled back"})
        return changed

    def keep_attested(self, uses: Sequence[Use]) -> None:
        """Forget what was learned of an artifact and a session without remaining uses."""
        names = {id: "" for use in uses for id in use.gold} | self._names()
        attesting = attest(uses, names, self.state.clock())
        pairs = {(id, each.session) for id, prompts in attesting.items() for each in prompts}
        self.show(self.state.ledger.prompts.keep_only(self.corpus.name, pairs))

    # -- trying ----------------------------------------------------------------------------------

    def _names(self) -> dict[str, str]:
        rows = self.state.snapshot.corpora[self.corpus.name].rows
        cards = (rows.cards[owner] for owner in rows.list_owners())
        return {card.artifact_id: card.name for card in cards}

    def _index_with(self, wanted: Mapping[str, Expected]) -> CorpusIndex:
        """Return the index as it would be with this learned."""
        return index_expecting(self.state, self.corpus, wanted, USE)

    @property
    def _embedder(self) -> Embedder:
        return self.state.choose_embedder(self.corpus)

    def _rank(self, index: CorpusIndex, text: str) -> Sequence[str]:
        self.pause()
        return rank_artifacts(self.state, index, text)

    # -- publishing ------------------------------------------------------------------------------

    def _publish(self, wanted: Mapping[str, Expected]) -> int:
        ledger, name = self.state.ledger, self.corpus.name
        if ledger.prompts.list_all(name) == wanted:
            return 0
        changed = ledger.prompts.publish(name, wanted)
        self.show(changed)
        return changed

    def show(self, changed: int) -> None:
        """Publish an index with the changes, with its vectors if they are few."""
        show_changed(self.state, self.publisher, self.corpus, changed)

    def _note(self, report: LearnReport) -> LearnReport:
        told: dict[str, Any] = {**report.to_dict(), "at": self.state.clock()}
        self.state.ledger.prompts.put_state(self.corpus.name, told)
        return report


def find_learnable(state: State) -> list[str]:
    """Return the names of the corpora whose artifacts can be learned about."""
    learning = (each for each in state.corpora.values() if each.learns)
    return [each.name for each in learning if each.kind not in NOT_LEARNED]


def find_outdated(state: State) -> list[str]:
    """Return the names of the corpora that serve prompts learned under another rule."""
    with state.open_reading() as ledger:
        return [
            name
            for name in find_learnable(state)
            if ledger.prompts.count(name)[0]
            and not ledger.prompts.read_state(name).get("seen", "").startswith(RULE)
        ]


def explain_learned(state: State, text: str, reference: str) -> dict[str, Any] | None:
    """Return an item's learned prompts, and its scores for a query without them.

    None if nothing was learned of it.
    """
    name, _, artifact_id = reference.partition("/")
    with state.open_reading() as ledger:
        each = ledger.prompts.find_by_provenance(name, artifact_id).get(USE)
        own = ledger.prompts.find_own_counts(name, artifact_id)
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
        vector = state.choose_embedder(state.corpora[name]).embed([described])[0]
        without["dense"] = float(vector @ question.vector)
    return {
        "prompts": [prompt.text for prompt in each.prompts],
        "without": {leg: round(score, 4) for leg, score in without.items()},
    }


# -- what is told --------------------------------------------------------------------------------


def _split_uses(
    uses: Sequence[Use], names: Mapping[str, str], now: float
) -> tuple[Prompts, list[Use]]:
    """Return what the older uses teach, and the newest uses, which test it; nothing without enough.

    The newest fifth tests, unless hardly any of it uses what the older uses teach.
    """
    for split in (split_newest_fifth, split_newest_of_each):
        older, newest = split(uses, now)
        prompts, held_out = teach(older, names, now), newest[:MOST_ASKED]
        if sum(_is_of(use, prompts) for use in held_out) >= min(_FEW, len(held_out) / 10 + 1):
            return prompts, held_out
    return {}, []


def _is_of(use: Use, prompts: Prompts) -> bool:
    return any(id in prompts for id in use.gold)


def _make_report(
    outcome: str,
    uses: Sequence[Use],
    found: Gain,
    own: Gain | None = None,
    wanted: Mapping[str, Expected] | None = None,
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
