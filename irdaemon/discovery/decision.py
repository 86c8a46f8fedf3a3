"""The decision: the probability that a hit is what the person wants.

A logistic regression of seven numbers, all known when a query is made:

- *meaning*: the cosine of query and record, as far as the embedder knows the query's words;
- *words*: b / (b + 8) of the record's BM25 score b;
- *share*: b / (b + 2 + m / 4), m being the sum of the idf of the query's words;
- *length*: ln(1 + m), with which all scores grow;
- *excess*: how far the length exceeds LONG, some thirty words of a corpus: a request of several
sentences matches something by chance;
- *coding*: how near the query is to a programming task that an agent does without any item
(irdaemon.embed.ordinary);
- *identifier*: whether the record contains an identifier of the query that at most two records
contain.

In a small corpus every word is rare and weighs little: BM25 and idf are scaled as if a word of one
record weighed as much as among REFERENCE records, and a corpus too small to calibrate gets SMALL
added to its log-odds. A query in another language than the corpus' has no meaning to compare, and
its unknown words do not count for its length. `decision.json` has the weights by mode;
bench/train_decision.py trains them and evaluates them with each home left out in turn.

The usual scores differ between corpora, so each has a **shift** that calibration finds
(Floor.shift) and that is subtracted: one probability then means the same everywhere. It is the
score of a hit, it merges corpora, and from LEAST on a hit is offered.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.legs import SATURATION, Question
from irdaemon.index import CorpusIndex
from irdaemon.text.languages import is_foreign
from irdaemon.types import Floor

Numbers = NDArray[Any]

FEATURES = ("meaning", "words", "share", "length", "coding", "identifier", "excess")
LONG = 5.2
# A corpus that lacks this share of a query's words may be in another language.
_MOSTLY_UNKNOWN = 0.3
# An identifier in at most this many records leads to those that contain it.
_FEW = 2
_FARTHEST = 30.0
MOST_BELOW = 1.5
REFERENCE = 200
_RAREST = math.log1p((REFERENCE - 0.5) / 1.5)
# Fewer artifacts than this do not show what is usual. Over 100 seeded corpora of one to seven
# artifacts of the five labelled sets their own queries are answered from lower odds on than others.
FEWEST_ARTIFACTS, SMALL = 8, 1.6


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of one mode, in the order of FEATURES.

    `usual` is the shift of a corpus that has no calibrated one; `means` are the features' means in
    the training data, with which an explanation tells which features counted.
    """

    bias: float
    weights: Numbers
    usual: float
    means: tuple[float, ...]


def _read_weights() -> tuple[Mapping[str, Weights], float]:
    told: dict[str, Any] = json.loads(Path(__file__).with_name("decision.json").read_text("utf-8"))
    modes = {
        mode: Weights(
            given["bias"],
            np.array([given["weights"][name] for name in FEATURES]),
            given["usual"],
            tuple(given["means"][name] for name in FEATURES),
        )
        for mode, given in told["modes"].items()
    }
    return modes, told["least"]


WEIGHTS, LEAST = _read_weights()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The features of a query that are the same for all records; see the features above."""

    trust: float
    length: float
    coding: float = 0.0
    scale: float = 1.0


def weigh_question(index: CorpusIndex, question: Question) -> Circumstances:
    """Return the features of a question in a corpus."""
    unknown, trust = question.unknown, question.trust
    n = len(question.terms) + unknown
    if unknown > _MOSTLY_UNKNOWN * n and is_foreign(question.text):
        unknown, trust = 0, 0.0
    n_records = index.lexical.n
    # The idf of a word of one record, in this corpus and among as many records as in the training.
    rarest = math.log1p((n_records - 0.5) / 1.5) if n_records else 1.0
    scale = max(1.0, _RAREST / rarest)
    mass = scale * index.lexical.sum_idf(question.terms, unknown)
    return Circumstances(trust, math.log1p(mass), question.coding, scale)


def measure(
    mode: str, asked: Circumstances, cosines: Numbers, bm25: Numbers, identifiers: Numbers
) -> Numbers:
    """Return the features of records as rows; a leg that is not part of the mode counts zero."""
    trust = 0.0 if mode == "lexical" else asked.trust
    rows = np.empty((len(cosines), len(FEATURES)))
    rows[:, 0] = trust * cosines
    if mode == "dense":
        rows[:, 1:3] = 0.0
    else:
        scaled = asked.scale * bm25
        rows[:, 1] = scaled / (scaled + SATURATION)
        rows[:, 2] = scaled / (scaled + 2 + math.expm1(asked.length) / 4)
    rows[:, 3], rows[:, 4], rows[:, 5] = asked.length, trust * asked.coding, identifiers
    rows[:, 6] = max(asked.length - LONG, 0.0)
    return rows


def compute_logits(given: Weights, features: Numbers) -> Numbers:
    """Return the log-odds of rows of features, before any shift of a corpus."""
    logits: Numbers = features @ given.weights + given.bias
    return logits


def compute_probability(given: Weights, logits: Numbers, shift: float | None) -> Numbers:
    """Return probabilities in a corpus with a shift; None for the usual one.

    A shift counts as at most MOST_BELOW under the usual one: a corpus in which ordinary requests
    find nothing is not right more often.
    """
    if shift is not None:
        logits = logits - max(shift - given.usual, -MOST_BELOW)
    bounded = np.minimum(np.maximum(logits, -_FARTHEST), _FARTHEST)  # a third of np.clip's time
    probabilities: Numbers = 1 / (1 + np.exp(-bounded))
    return probabilities


def decide_records(
    index: CorpusIndex, question: Question, positions: NDArray[np.int64], scores: tuple[Any, Any]
) -> list[float]:
    """Return the probability that each record is what the person wants.

    `scores` are their cosines and their BM25 scores.
    """
    mode = find_mode(question)
    given = WEIGHTS[mode]
    logits = compute_logits(given, measure_records(index, question, positions, scores))
    if index.n_artifacts < FEWEST_ARTIFACTS:
        logits += SMALL
    shift = find_shift(index.floors.get(mode))
    probabilities: list[float] = compute_probability(given, logits, shift).tolist()
    return probabilities


def find_mode(question: Question) -> str:
    """Return the mode of a decision: words alone if the question's vector is not ready."""
    return "lexical" if question.vector is None else question.mode


def measure_records(
    index: CorpusIndex, question: Question, positions: NDArray[np.int64], scores: tuple[Any, Any]
) -> Numbers:
    """Return the features of records as rows; `scores` are their cosines and BM25 scores."""
    lexical, identifiers = index.lexical, np.zeros(len(positions))
    for term in question.identifiers:
        if lexical.count_records(term) <= _FEW:
            for holders in lexical.find_holders(term):
                identifiers[np.isin(positions, holders)] = 1
    return measure(find_mode(question), weigh_question(index, question), *scores, identifiers)


def find_shift(floor: Floor | None) -> float | None:
    """Return the calibrated shift of a corpus; None without a trusted one."""
    return floor.shift if floor is not None and is_usable(floor) and is_trusted(floor) else None


# Floors of another version are useless if the features or the weights differ.
FORMULA = 6
# Below this separability (Youden's J) a floor is stored and shown, but not applied.
TRUSTED_J = 0.5


def is_usable(floor: Floor) -> bool:
    """Return whether a floor was found with the formulas of this version."""
    return floor.formula == FORMULA


def is_trusted(floor: Floor) -> bool:
    """Return whether a floor separates well enough to be applied."""
    return floor.j >= TRUSTED_J


def explain_features(mode: str, features: Numbers) -> dict[str, float]:
    """Return what each feature of a record adds to the log-odds, above its mean; largest first."""
    given = WEIGHTS[mode]
    added = given.weights * (features - np.array(given.means))
    told = dict(zip(FEATURES, np.round(added, 3).tolist(), strict=True))
    return dict(sorted(told.items(), key=lambda pair: -abs(pair[1])))
