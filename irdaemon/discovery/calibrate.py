"""Calibration: find a corpus' floor without labels.

Unanswerable queries are ordinary requests (`list_negatives`) and sentences out of other corpora.
Answerable ones are made from the corpus' own surfaces: some words of a sentence ask, the words left
answer. The surface is held out of matching itself: its own score is that of the words left, and its
duplicates and the rest of its artifact take no part. A corpus of sessions is also asked the prompts
in it, each without the sessions that it was typed in (`prompts`). All is drawn in an order that
depends on content alone, so the same corpus gives the same floor whatever its history.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError
from irclient.types import MODES
from irdaemon.discovery.decide import (
    FORMULA,
    Strength,
    compute_confidence,
    is_trusted,
    name_reranked_mode,
)
from irdaemon.discovery.rerank import Rereading
from irdaemon.discovery.retrieve import Candidate, Question, retrieve
from irdaemon.embed import QueryVector
from irdaemon.embed.rerankers import DEPTH
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.index.rows import Rows
from irdaemon.text import count_terms, tokenize
from irdaemon.text.tasks import has_task
from irdaemon.types import Floor, Usual

# Negatives: ordinary requests that few corpora answer, to calibrate floors with.
#
# They are of many kinds and lengths on purpose: chat, general knowledge, everyday help, errands,
# shell and programming questions, sums and writing. A corpus that does answer some of them loses
# little: a floor depends on what most of them reach.

REQUESTS = tuple(Path(__file__).with_name("requests.txt").read_text("utf-8").splitlines())


def list_negatives() -> Iterator[str]:
    """Yield the requests alone, then in twos and fours: long queries are negatives too."""
    yield from REQUESTS
    for together, step in ((2, 2), (4, 3)):
        for first in range(0, len(REQUESTS), step):
            places = ((first * (1 + 2 * n) + 7 * n) % len(REQUESTS) for n in range(together))
            yield ". ".join(REQUESTS[place] for place in places)


# Prompts that people typed, where a corpus holds their sessions, to calibrate its floor with.
#
# Most of what people type at work was not answered in an earlier session. So what their prompts
# find in the sessions that they were not typed in is what is usual there. Of the prompts only
# numbers are kept, in the floor of the corpus that holds them.

# Fewer prompts than this do not show what people type. Of the 24 of a home with nine sessions any
# twelve gave floors that kept back most of what the made-up requests let through.
FEWEST_PROMPTS = 20
_MOST = 200
_KIND = "user_prompt"


@dataclass(frozen=True, slots=True)
class TypedPrompt:
    """A prompt, and which records are of sessions that it was not typed in."""

    text: str
    elsewhere: NDArray[np.bool_]


def draw_prompts(index: CorpusIndex) -> Iterator[TypedPrompt]:
    """Yield up to 200 distinct prompts of a corpus, none where it holds too few.

    Those that only continue a conversation do not count: they never reach a floor. The order
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
    """Return a number for the session of each artifact; one without a session is its own."""
    numbers: dict[str, int] = {}
    found = np.full(len(rows.alive), -1, np.int64)
    for owner in rows.list_owners():
        card = rows.cards[owner]
        session = str(card.fields.get("session_id") or card.artifact_id)
        found[owner] = numbers.setdefault(session, len(numbers))
    return found


# Fewer artifacts than this do not show what is usual.
FEWEST_ARTIFACTS = 8
# Fewer labelled queries of either kind are not enough to set a floor by.
FEWEST_LABELLED = 20
_INSIDE = 200
_ELSEWHERE = 100
# Pairs of texts are read slowly: of each kind only so many queries go through a reranker.
_REREAD = 50
_ASKING = 0.6
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SHORTEST_SENTENCE = 15

EmbedText = Callable[[str], QueryVector | None]


@dataclass(frozen=True, slots=True)
class Probe:
    """A query made out of a record: what asks, what is left to answer, and where it is from."""

    position: int
    asking: str
    left: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """Queries labelled by a person: those that a corpus answers, and those it does not."""

    snapshot: Snapshot
    corpus: str
    inside: tuple[str, ...]
    outside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What answerable and unanswerable queries find in a corpus; `list_negatives` is of the latter.

    `prompts` is what those typed in its sessions find in others, `reread` what is found with the
    best read again by what `reread_by` names. With `labelled`, `inside` and
    `elsewhere` are labelled queries; `labels` is the digest of the file that they are from, whether
    there was enough in it or not.
    """

    inside: tuple[Strength, ...]
    negatives: tuple[Strength, ...]
    elsewhere: tuple[Strength, ...]
    prompts: tuple[Strength, ...] = ()
    reread: Trial | None = None
    reread_by: str = ""
    labelled: bool = False
    labels: str = ""


def run_trial(
    snapshot: Snapshot,
    name: str,
    embed: EmbedText,
    pause: Callable[[], object] = lambda: None,
    rereading: Rereading | None = None,
) -> Trial | None:
    """Ask a corpus what it can and what it cannot answer; None for one that is too small.

    `pause` is called between queries: a caller in the background can let others go first.
    With a rereading fewer are asked again, through it.
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
        negatives=_collect(map(asker.strength, list_negatives()), pause),
        elsewhere=_collect(
            map(asker.strength, _draw_sentences(snapshot, index, _ELSEWHERE)), pause
        ),
        prompts=_collect(map(asker.ask_other_sessions, draw_prompts(index)), pause),
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
    """Ask a corpus as `run_trial` does, and have the best of what it finds read again."""
    index = snapshot.corpora[name]
    if index.rows.n_artifacts < FEWEST_ARTIFACTS:
        return None
    again = _Rereader(_Asker(snapshot, index, embed), rereading)
    return Trial(
        inside=_collect(
            map(again.ask_held_out, islice(make_probes(index, _REREAD), _REREAD)), pause
        ),
        negatives=_collect(map(again.strength, REQUESTS[:_REREAD]), pause),
        elsewhere=_collect(map(again.strength, _draw_sentences(snapshot, index, _REREAD)), pause),
        reread_by=rereading.key,
    )


def _collect(strengths: Iterator[Strength], pause: Callable[[], object]) -> tuple[Strength, ...]:
    found = []
    for strength in strengths:
        found.append(strength)
        pause()
    return tuple(found)


def check_labels(index: CorpusIndex, inside: int, outside: int) -> None:
    """Raise QueryError where labelled queries, or the artifacts of a corpus, are too few."""
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
    """Return the trial with labelled queries in place of those made up, where there are enough."""
    if min(len(labelled.inside), len(labelled.outside)) < FEWEST_LABELLED:
        return trial
    asker = _Asker(labelled.snapshot, labelled.snapshot.corpora[labelled.corpus], embed)
    return replace(
        trial,
        inside=tuple(map(asker.strength, labelled.inside)),
        elsewhere=tuple(map(asker.strength, labelled.outside)),
        labelled=True,
    )


def make_floors(trial: Trial, index: CorpusIndex, recipe: str, now: float) -> dict[str, Floor]:
    """Return the floor of each mode that a trial of `index` gives."""
    made = {mode: _make_floor(mode, trial, index, recipe, now) for mode in MODES}
    if trial.prompts and not trial.labelled:
        typed = _use_prompts(trial)
        by_prompts = {mode: _make_floor(mode, typed, index, recipe, now) for mode in MODES}
        made |= {mode: floor for mode, floor in by_prompts.items() if is_trusted(floor)}
    if trial.reread is not None:
        reread = make_reread_floor(replace(trial.reread, labels=trial.labels), index, recipe, now)
        made[reread.mode] = reread
    return made


def make_reread_floor(trial: Trial, index: CorpusIndex, recipe: str, now: float) -> Floor:
    """Return the floor that a trial of `run_reread_trial` gives."""
    return _make_floor(name_reranked_mode("hybrid", trial.reread_by), trial, index, recipe, now)


def _use_prompts(trial: Trial) -> Trial:
    """Return the trial in which people's prompts show what is usual, not the requests made up."""
    return replace(trial, negatives=trial.prompts, elsewhere=trial.elsewhere + trial.negatives)


def _make_floor(mode: str, trial: Trial, index: CorpusIndex, recipe: str, now: float) -> Floor:
    outside = trial.elsewhere if trial.labelled else trial.negatives + trial.elsewhere
    draft = Floor(
        mode=mode,
        embedder=index.embedder,
        recipe=recipe,
        dense=_fit_usual([s.cosine for s in trial.negatives], trial.negatives),
        lexical=_fit_usual([s.words for s in trial.negatives], trial.negatives),
        at_least=0.5,
        j=0.0,
        n_inside=len(trial.inside),
        n_outside=len(outside),
        calibrated_at=now,
        artifacts=index.rows.n_artifacts,
        last=index.rows.last,
        formula=FORMULA,
        labelled=trial.labelled,
        labels=trial.labels,
    )
    return _place_floor(draft, trial.inside, outside)


def _place_floor(draft: Floor, inside: Sequence[Strength], outside: Sequence[Strength]) -> Floor:
    """Set the floor halfway between where the weights have it and where it separates best here.

    Made-up queries are not people's: they move the floor, they do not set it, and never raise it
    above where the weights have it; they are easier to answer than people's. Labelled ones do both.
    """
    answerable = np.sort([compute_confidence(draft, each) for each in inside])
    unanswerable = np.sort([compute_confidence(draft, each) for each in outside])
    steps = np.unique(np.concatenate([answerable, unanswerable]))
    best = float(steps[np.argmax([_compute_j(answerable, unanswerable, step) for step in steps])])
    believed = 1.0 if draft.labelled else 0.5
    at_least = 1 / (1 + math.exp(-_compute_logit(best) * believed))
    at_least = at_least if draft.labelled else min(at_least, 0.5)
    j = _compute_j(answerable, unanswerable, at_least)
    return replace(draft, at_least=round(at_least, 4), j=round(j, 4))


def _compute_j(inside: NDArray[np.float64], outside: NDArray[np.float64], floor: float) -> float:
    """Return Youden's J (1950): the answered share of the answerable, and the rest's abstained."""
    answered = 1 - np.searchsorted(inside, floor) / max(len(inside), 1)
    abstained = np.searchsorted(outside, floor) / max(len(outside), 1)
    return float(answered + abstained - 1)


def _compute_logit(share: float) -> float:
    share = min(max(share, 1e-3), 1 - 1e-3)
    return math.log(share / (1 - share))


def _fit_usual(scores: Sequence[float], found: Sequence[Strength]) -> Usual:
    """Fit scores as a line over the mass of their queries (least squares)."""
    masses = np.array([each.mass for each in found])
    slope, level = np.polyfit(masses, scores, 1) if np.ptp(masses) > 1e-6 else (0, np.mean(scores))
    rest = np.asarray(scores) - level - slope * masses
    return Usual(float(level), float(slope), max(float(rest.std()), 1e-3))


# -- what is asked -------------------------------------------------------------------------------


def make_probes(index: CorpusIndex, wanted: int = _INSIDE) -> Iterator[Probe]:
    """Yield queries out of the corpus' surfaces, several of each where there are few."""
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


def _draw_sentences(snapshot: Snapshot, index: CorpusIndex, wanted: int) -> Iterator[str]:
    """Yield sentences out of the other corpora."""
    others = [each for each in snapshot.corpora.values() if each is not index]
    for other in others:
        present = [other.rows.shown[at] for at in other.rows.list_positions()]
        ordered = sorted(present, key=lambda shown: shown.digest)
        for shown in ordered[: wanted // len(others)]:
            yield random.Random(shown.digest).choice(_split_sentences(shown.summary))


# -- what is found -------------------------------------------------------------------------------


class _Asker:
    """Ask one corpus, and note how strong the best of each leg is."""

    def __init__(self, snapshot: Snapshot, index: CorpusIndex, embed: EmbedText):
        self._known = snapshot.vocabulary
        self._index = index
        self._embed = embed
        self._duplicates: dict[str, list[int]] = {}
        for owner in index.rows.list_owners():
            self._duplicates.setdefault(index.rows.cards[owner].content, []).append(owner)

    def strength(self, text: str) -> Strength:
        """Return what a query finds at best."""
        return self._strength(text, self._embed(text))

    def ask_other_sessions(self, prompt: TypedPrompt) -> Strength:
        """Return what a prompt finds at best in sessions that it was not typed in."""
        return self._strength(prompt.text, self._embed(prompt.text), prompt.elsewhere)

    def ask_held_out(self, probe: Probe) -> Strength:
        """Return what a query finds at best where its own surface has only the words left."""
        rows = self._index.rows
        owner_of = rows.artifact_of.array
        content = rows.cards[owner_of[probe.position]].content
        hidden = np.isin(owner_of, self._duplicates[content])
        vector, left = self._embed(probe.asking), self._embed(probe.left)
        found = self._strength(probe.asking, vector, ~hidden)
        own = float(vector.vector @ left.vector) if vector and left else 0.0
        return replace(
            found,
            cosine=max(found.cosine, own),
            bm25=max(found.bm25, self._score_left(probe)),
        )

    def nearest(self, text: str, without: Probe | None = None) -> list[Candidate]:
        """Return the candidates that a reranker would read, not those a probe was made of."""
        tokens = list(dict.fromkeys(tokenize(text)))
        vector = self._embed(text)
        question = Question(
            text=text,
            terms=tuple(self._known[token] for token in tokens if token in self._known),
            vector=vector.vector if vector else None,
            k=DEPTH,
            trust=vector.trust if vector else 0.0,
        )
        rows, hidden = self._index.rows, ""
        if without is not None:
            hidden = rows.cards[rows.artifact_of.array[without.position]].content
        found = retrieve(self._index, question).candidates
        return [each for each in found if each.content != hidden]

    def _strength(
        self, text: str, vector: QueryVector | None, seen: NDArray[np.bool_] | None = None
    ) -> Strength:
        tokens = list(dict.fromkeys(tokenize(text)))
        terms = [self._known[token] for token in tokens if token in self._known]
        bm25 = self._index.lexical.score_all(terms)
        cosines = self._index.dense.scores(vector.vector) if vector else np.zeros_like(bm25)
        if seen is not None:
            bm25, cosines = bm25[seen], cosines[seen]
        return Strength(
            cosine=float(cosines.max(initial=0)),
            bm25=float(bm25.max(initial=0)),
            mass=self._index.lexical.mass(terms, len(tokens) - len(terms)),
            trust=vector.trust if vector else 0.0,
        )

    def _score_left(self, probe: Probe) -> float:
        """Score the record on its terms less those of the words that ask."""
        held = self._index.rows.count_terms(probe.position)
        summary = count_terms(self._index.rows.shown[probe.position].summary)
        left = count_terms(probe.left)
        # A surface beside a body was counted twice (see `count_terms`).
        twice = all(held.get(self._known.get(t, -1), 0) >= 2 * n for t, n in summary.items())
        counts = {}
        for token in dict.fromkeys(tokenize(probe.asking)):
            number = self._known.get(token, -1)
            gone = (summary[token] - left[token]) * (2 if twice else 1)
            if (count := held.get(number, 0) - gone) > 0:
                counts[number] = count
        return self._index.lexical.score(counts, sum(held.values()))


class _Rereader:
    """Ask a corpus through a reranker: how strong the best that it reads is."""

    def __init__(self, asker: _Asker, rereading: Rereading):
        self._asker = asker
        self._rereading = rereading

    def strength(self, text: str) -> Strength:
        """Return the best score that the reranker gives."""
        return self._best(text, self._texts(self._asker.nearest(text)))

    def ask_held_out(self, probe: Probe) -> Strength:
        """Return the best score where the query's own surface has only the words left."""
        others = self._texts(self._asker.nearest(probe.asking, probe))
        return self._best(probe.asking, [*others, probe.left])

    def _texts(self, candidates: Iterable[Candidate]) -> list[str]:
        return [self._rereading.text_of(each) for each in candidates]

    def _best(self, query: str, texts: list[str]) -> Strength:
        scores = self._rereading.reranker.scores(query, texts) if texts else np.zeros(1)
        best = float(scores.max())
        return Strength(best, 0.0, 0.0)
