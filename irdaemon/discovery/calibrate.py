"""Calibration: find the usual scores in a corpus, without labels.

Unanswerable queries are ordinary requests (irdaemon.embed.ordinary). Answerable queries are made
from the corpus' own surfaces: some words of a sentence are the query, the remaining words answer.
The surface is held out of matching itself: its own score is that of the remaining words, and its
duplicates and the rest of its artifact take no part. All samples are drawn in an order that depends
on content alone, so the same corpus gives the same floor whatever its history.

A corpus' shift is the mean log-odds of the ordinary requests that find most there; its own queries
tell how well that separates.
"""

from __future__ import annotations

import contextlib
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError, Unavailable
from irclient.types import MODES
from irdaemon.discovery.decide import name_reranked_mode
from irdaemon.discovery.decision import (
    FEATURES,
    FEWEST_ARTIFACTS,
    FORMULA,
    LEAST,
    WEIGHTS,
    Circumstances,
    Numbers,
    compute_logits,
    compute_probability,
    measure,
    weigh_question,
)
from irdaemon.discovery.legs import Question
from irdaemon.discovery.query import ParsedQuery, analyse_query, embed_question
from irdaemon.discovery.rerank import Rereading
from irdaemon.discovery.retrieve import Candidate, retrieve
from irdaemon.embed import QueryVector
from irdaemon.embed.ordinary import draw_requests
from irdaemon.embed.rerankers import DEPTH
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.index.rows import Rows
from irdaemon.text import count_terms, tokenize
from irdaemon.text.tasks import has_task
from irdaemon.types import Floor

# Prompts that people typed, to calibrate the floor of a corpus that has their sessions.
#
# Most prompts at work were not answered in an earlier session. So the scores that prompts get in
# sessions other than their own are the usual ones there, and replace those of ordinary requests.
# Only numbers derived from the prompts are kept, in the floor of the corpus that has them.

# Fewer prompts than this do not show what people type. Of the 24 of a home with nine sessions any
# twelve gave floors that rejected most of what the generated requests let through.
FEWEST_PROMPTS = 20
_MOST = 200
_KIND = "user_prompt"


@dataclass(frozen=True, slots=True)
class TypedPrompt:
    """A prompt, and the records of the sessions other than its own."""

    text: str
    elsewhere: NDArray[np.bool_]


def draw_prompts(index: CorpusIndex) -> Iterator[TypedPrompt]:
    """Yield up to 200 distinct prompts of a corpus, none if it has too few.

    Prompts that only continue a conversation do not count: they never reach a floor. The order
    depends on the texts alone.
    """
    rows = index.rows
    places = _find_prompts(rows)
    with_task = (at for _, at in sorted(places.items()) if has_task(rows.shown[at[0]].text))
    drawn = list(islice(with_task, _MOST))
    if len(drawn) < FEWEST_PROMPTS:
        return
    session_of_record = _number_sessions(rows)[rows.artifact_of.array]
    for positions in drawn:
        elsewhere = ~np.isin(session_of_record, session_of_record[positions])
        yield TypedPrompt(rows.shown[positions[0]].text, elsewhere)


def _find_prompts(rows: Rows) -> dict[bytes, list[int]]:
    """Return the positions of each distinct prompt, by the digest of its text."""
    places: dict[bytes, list[int]] = {}
    for at in rows.list_positions():
        if rows.get_kind(at) == _KIND:
            places.setdefault(rows.shown[at].digest, []).append(at)
    return places


def _number_sessions(rows: Rows) -> NDArray[np.int64]:
    """Return a number for the session of each artifact; one without a session counts as its own."""
    numbers: dict[str, int] = {}
    found = np.full(len(rows.alive), -1, np.int64)
    for owner in rows.list_owners():
        card = rows.cards[owner]
        session = str(card.fields.get("session_id") or card.artifact_id)
        found[owner] = numbers.setdefault(session, len(numbers))
    return found


# Fewer labelled queries of either kind are not enough to set a floor.
FEWEST_LABELLED = 20
_INSIDE, _OUTSIDE = 200, 350
# The shift is the mean of this share of the ordinary requests: 12 of 350, which vary less between
# samples than a quantile does.
_HIGHEST = 0.035
# Pairs of texts are read slowly: only this many queries of each kind go through a reranker.
_REREAD = 50
_ASKING = 0.6
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SHORTEST_SENTENCE = 15

EmbedText = Callable[[str], QueryVector | None]


@dataclass(frozen=True, slots=True)
class Strength:
    """The best scores of a query in a corpus, in each leg, and its other features."""

    cosine: float
    bm25: float
    asked: Circumstances

    def measure(self, mode: str) -> Numbers:
        """Return the features of a record that had both scores, as one row."""
        scores = np.array([self.cosine]), np.array([self.bm25])
        return measure(mode, self.asked, *scores, np.zeros(1))


@dataclass(frozen=True, slots=True)
class Probe:
    """A query made from a record: its words, the remaining words, and the record."""

    position: int
    asking: str
    left: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """Queries labelled by a person: those that a corpus answers, and those that it does not."""

    snapshot: Snapshot
    corpus: str
    inside: tuple[str, ...]
    outside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """The scores of answerable and unanswerable queries in a corpus.

    `reread` are the scores with the best candidates reranked by `reread_by`. `labelled` has, by
    mode, the best scores of labelled queries of both kinds, ascending; `labels` is the digest of
    their file, whether it had enough of them or not.
    """

    inside: tuple[Strength, ...]
    outside: tuple[Strength, ...]
    reread: Trial | None = None
    reread_by: str = ""
    labelled: Mapping[str, tuple[Numbers, Numbers]] = field(default_factory=dict)
    labels: str = ""


def run_trial(
    snapshot: Snapshot,
    name: str,
    embed: EmbedText,
    pause: Callable[[], object] = lambda: None,
    rereading: Rereading | None = None,
) -> Trial | None:
    """Run answerable and unanswerable queries in a corpus; None if it is too small.

    `pause` is called between queries: a caller in the background can let others go first. With a
    rereading, fewer queries are repeated with it.
    """
    index = snapshot.corpora[name]
    if index.rows.n_artifacts < FEWEST_ARTIFACTS:
        return None
    asker = _Asker(snapshot, index, embed)
    reread = None
    if rereading is not None:
        reread = run_reread_trial(snapshot, name, embed, pause, rereading)
    return Trial(
        inside=_collect(map(asker.ask_held_out, make_probes(index, _INSIDE)), pause),
        outside=_collect(map(asker.ask_other_sessions, draw_prompts(index)), pause)
        or _collect(map(asker.measure_strength, list_outside()), pause),
        reread=reread,
        reread_by=rereading.key if rereading else "",
    )


def run_reread_trial(
    snapshot: Snapshot,
    name: str,
    embed: EmbedText,
    pause: Callable[[], object],
    rereading: Rereading,
) -> Trial | None:
    """Run a trial as `run_trial` does, with the best candidates reranked."""
    index = snapshot.corpora[name]
    if index.rows.n_artifacts < FEWEST_ARTIFACTS:
        return None
    again = _Rereader(_Asker(snapshot, index, embed), rereading)
    return Trial(
        inside=_collect(
            map(again.ask_held_out, islice(make_probes(index, _REREAD), _REREAD)), pause
        ),
        outside=_collect(map(again.measure_strength, islice(list_outside(), _REREAD)), pause),
        reread_by=rereading.key,
    )


def _collect(strengths: Iterator[Strength], pause: Callable[[], object]) -> tuple[Strength, ...]:
    found = []
    for strength in strengths:
        found.append(strength)
        pause()
    return tuple(found)


def check_labels(index: CorpusIndex, inside: int, outside: int) -> None:
    """Raise QueryError if labelled queries, or the artifacts of a corpus, are too few."""
    if min(inside, outside) < FEWEST_LABELLED:
        raise QueryError(
            f"{inside} answerable and {outside} unanswerable queries are too few to set a floor by",
            f"{FEWEST_LABELLED} of each are enough",
        )
    if index.rows.n_artifacts < FEWEST_ARTIFACTS:
        raise QueryError(
            f"corpus {index.corpus!r} is too small for a floor: {index.rows.n_artifacts} artifacts",
            f"{FEWEST_ARTIFACTS} are enough",
        )


def add_labels(trial: Trial, labelled: Labelled, embed: EmbedText) -> Trial:
    """Return the trial with labelled queries instead of generated ones, if there are enough."""
    if min(len(labelled.inside), len(labelled.outside)) < FEWEST_LABELLED:
        return trial
    index = replace(labelled.snapshot.corpora[labelled.corpus], floors={})
    asker = _Asker(labelled.snapshot, index, embed)
    scores = {
        mode: (
            np.sort([asker.find_best_score(text, mode) for text in labelled.inside]),
            np.sort([asker.find_best_score(text, mode) for text in labelled.outside]),
        )
        for mode in MODES
    }
    return replace(trial, labelled=scores)


def make_floors(trial: Trial, index: CorpusIndex, recipe: str, now: float) -> dict[str, Floor]:
    """Return the floor of each mode for a trial of `index`."""
    draft = _draft_floor(trial, index, recipe, now)
    made = {mode: _make_floor(replace(draft, mode=mode), trial) for mode in MODES}
    if trial.reread is not None:
        reread = make_reread_floor(replace(trial.reread, labels=trial.labels), index, recipe, now)
        made[reread.mode] = reread
    return made


def make_reread_floor(trial: Trial, index: CorpusIndex, recipe: str, now: float) -> Floor:
    """Return the floor for a trial of `run_reread_trial`: a score of the reranker."""
    inside, outside = (
        np.sort([each.cosine for each in those]) for those in (trial.inside, trial.outside)
    )
    least = _separate(inside, outside)
    return replace(
        _draft_floor(trial, index, recipe, now),
        mode=name_reranked_mode("hybrid", trial.reread_by),
        at_least=round(least, 4),
        j=_compute_j(inside, outside, least),
    )


def _make_floor(draft: Floor, trial: Trial) -> Floor:
    mode, given = draft.mode, WEIGHTS[draft.mode]
    if mode in trial.labelled:  # people's own queries tell from which score to offer a hit
        inside, outside = trial.labelled[mode]
        least = _separate(inside, outside)
        return replace(
            draft,
            labelled=True,
            shift=given.usual,
            at_least=math.floor(least * 1e4) / 1e4,
            j=_compute_j(inside, outside, least),
            n_inside=len(inside),
            n_outside=len(outside),
        )
    inside, outside = _list_logits(mode, trial.inside), _list_logits(mode, trial.outside)
    shift = place_shift(outside)
    inside, outside = (compute_probability(given, each, shift) for each in (inside, outside))
    return replace(draft, shift=round(shift, 4), j=_compute_j(inside, outside, LEAST))


def _draft_floor(trial: Trial, index: CorpusIndex, recipe: str, now: float) -> Floor:
    return Floor(
        mode="",
        embedder=index.embedder,
        recipe=recipe,
        at_least=LEAST,
        j=0.0,
        n_inside=len(trial.inside),
        n_outside=len(trial.outside),
        calibrated_at=now,
        artifacts=index.rows.n_artifacts,
        last=index.rows.last,
        formula=FORMULA,
        labels=trial.labels,
    )


def _list_logits(mode: str, found: Sequence[Strength]) -> Numbers:
    """Return the log-odds of the best scores, ascending."""
    rows = [each.measure(mode) for each in found]
    features = np.concatenate(rows) if rows else np.empty((0, len(FEATURES)))
    return np.sort(compute_logits(WEIGHTS[mode], features))


def place_shift(outside: Numbers) -> float:
    """Return the shift of a corpus from the log-odds of ordinary requests in it."""
    n = max(round(_HIGHEST * len(outside)), 1)
    return float(np.sort(outside)[-n:].mean())


def _separate(inside: Numbers, outside: Numbers) -> float:
    """Return the score that best separates inside queries, at or above it, from outside ones."""
    steps = np.unique(np.concatenate([inside, outside]))
    return float(steps[np.argmax([_compute_j(inside, outside, step) for step in steps])])


def _compute_j(inside: Numbers, outside: Numbers, floor: float) -> float:
    """Return Youden's J (1950): answered share of inside plus abstained share of outside, - 1."""
    answered = 1 - np.searchsorted(inside, floor) / max(len(inside), 1)
    abstained = np.searchsorted(outside, floor) / max(len(outside), 1)
    return round(float(answered + abstained - 1), 4)


# -- what is asked -------------------------------------------------------------------------------


def list_outside() -> Iterator[str]:
    """Yield ordinary requests without those that have no task, which never reach a floor."""
    yield from islice(filter(has_task, draw_requests()), _OUTSIDE)


def make_probes(index: CorpusIndex, wanted: int = _INSIDE) -> Iterator[Probe]:
    """Yield queries made from the corpus' surfaces, several of each if there are few."""
    shown = index.rows.shown
    order = sorted(index.rows.list_positions(), key=lambda at: shown[at].digest)
    rounds = -(-wanted // max(len(order), 1))
    for turn in range(min(rounds, 4)):
        for position in order[:wanted]:
            summary = shown[position].summary
            chance = random.Random(shown[position].digest + bytes([turn]))
            words = chance.choice(_split_sentences(summary)).split()
            asking = [word for word in words if chance.random() < _ASKING]
            left = [word for word in summary.split() if word not in set(asking)]
            if asking and left:
                yield Probe(position, " ".join(asking), " ".join(left))


def _split_sentences(text: str) -> list[str]:
    long = [part for part in _SENTENCE.split(text) if len(part.strip()) >= _SHORTEST_SENTENCE]
    return long or [text]


# -- what is found -------------------------------------------------------------------------------


class _Asker:
    """Query one corpus, and record the best scores of each leg."""

    def __init__(self, snapshot: Snapshot, index: CorpusIndex, embed: EmbedText):
        self._known = snapshot.vocabulary
        self._index = index
        self._embed = embed
        self._duplicates: dict[str, list[int]] = {}
        for owner in index.rows.list_owners():
            self._duplicates.setdefault(index.rows.cards[owner].content, []).append(owner)

    def measure_strength(self, text: str) -> Strength:
        """Return the best scores of a query."""
        return self._measure(text, self._embed(text))

    def ask_other_sessions(self, prompt: TypedPrompt) -> Strength:
        """Return a prompt's best scores in sessions other than its own."""
        return self._measure(prompt.text, self._embed(prompt.text), prompt.elsewhere)

    def ask_held_out(self, probe: Probe) -> Strength:
        """Return a query's best scores while its own surface has only the remaining words."""
        rows = self._index.rows
        owner_of = rows.artifact_of.array
        content = rows.cards[owner_of[probe.position]].content
        hidden = np.isin(owner_of, self._duplicates[content])
        vector, left = self._embed(probe.asking), self._embed(probe.left)
        found = self._measure(probe.asking, vector, ~hidden)
        own = float(vector.vector @ left.vector) if vector and left else 0.0
        return replace(
            found,
            cosine=max(found.cosine, own),
            bm25=max(found.bm25, self._score_left(probe)),
        )

    def find_best_score(self, text: str, mode: str) -> float:
        """Return the best score of any candidate in a mode, 0 without candidates."""
        question = analyse_query(ParsedQuery(text, mode=mode), self._known)
        with contextlib.suppress(Unavailable):
            question = embed_question(question, self._index, lambda text, _: self._embed(text))
        found = retrieve(self._index, question).candidates
        return found[0].score if found else 0.0

    def find_nearest(self, text: str, without: Probe | None = None) -> list[Candidate]:
        """Return the candidates that a reranker would read, without those a probe was made from."""
        question = self._pose(text, self._embed(text))
        rows, hidden = self._index.rows, ""
        if without is not None:
            hidden = rows.cards[rows.artifact_of.array[without.position]].content
        found = retrieve(self._index, question).candidates
        return [each for each in found if each.card.content != hidden]

    def _measure(
        self, text: str, vector: QueryVector | None, seen: NDArray[np.bool_] | None = None
    ) -> Strength:
        question = self._pose(text, vector)
        bm25 = self._index.lexical.score_all(question.terms)
        cosines = self._index.dense.scores(vector.vector) if vector else np.zeros_like(bm25)
        if seen is not None:
            bm25, cosines = bm25[seen], cosines[seen]
        return Strength(
            cosine=float(cosines.max(initial=0)),
            bm25=float(bm25.max(initial=0)),
            asked=weigh_question(self._index, question),
        )

    def _pose(self, text: str, vector: QueryVector | None) -> Question:
        tokens = list(dict.fromkeys(tokenize(text)))
        terms = tuple(self._known[token] for token in tokens if token in self._known)
        question = Question(text, terms, k=DEPTH, trust=0.0, unknown=len(tokens) - len(terms))
        if vector is None:
            return question
        return replace(question, vector=vector.vector, trust=vector.trust, coding=vector.coding)

    def _score_left(self, probe: Probe) -> float:
        """Score the record on its terms less those of the query's words."""
        held = self._index.rows.count_terms(probe.position)
        summary = count_terms(self._index.rows.shown[probe.position].summary)
        left = count_terms(probe.left)
        # A surface with a body was counted twice (see `count_terms`).
        twice = all(held.get(self._known.get(t, -1), 0) >= 2 * n for t, n in summary.items())
        counts = {}
        for token in dict.fromkeys(tokenize(probe.asking)):
            number = self._known.get(token, -1)
            gone = (summary[token] - left[token]) * (2 if twice else 1)
            if (count := held.get(number, 0) - gone) > 0:
                counts[number] = count
        return self._index.lexical.score(counts, sum(held.values()))


class _Rereader:
    """Query a corpus through a reranker, and record its best score."""

    def __init__(self, asker: _Asker, rereading: Rereading):
        self._asker = asker
        self._rereading = rereading

    def measure_strength(self, text: str) -> Strength:
        """Return the best score of the reranker."""
        return self._find_best(text, self._asker.find_nearest(text))

    def ask_held_out(self, probe: Probe) -> Strength:
        """Return the best score while the query's own surface has only the remaining words."""
        others = self._asker.find_nearest(probe.asking, probe)
        return self._find_best(probe.asking, others, probe.left)

    def _find_best(self, query: str, candidates: Iterable[Candidate], *more: str) -> Strength:
        texts = [*map(self._rereading.text_of, candidates), *more]
        scores = self._rereading.reranker.scores(query, texts) if texts else np.zeros(1)
        return Strength(float(scores.max()), 0.0, _UNWEIGHED)


# A reranked candidate has one score, and nothing else counts.
_UNWEIGHED = Circumstances(0.0, 0.0)
