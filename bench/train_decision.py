"""Train the weights of the decision (irdaemon/discovery/decision.json), and judge them.

Every labelled home, the labelled day and a third set of prompts (bench/prompts/day.jsonl, of the
day's skills and packages) is indexed by a daemon of its own; then its corpora are asked in process,
and each candidate's features are what the product computes. A candidate is right when a label names
it, as gold or as tolerable. Besides each prompt with gold is asked as if its items were not there,
and the ordinary requests are asked: both want silence. One logistic regression with L2 is fitted
for each mode, with the sign of a feature held where it is known; there is no chance in it, so two
runs write the same file.

It is judged with each home left out in turn: weights, shifts and threshold come from the others.
`--write` fits on all and writes the file with the digests of what it was trained on.

    python bench/train_decision.py [--data DIR] [--write] [--no-pack]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import ROOT, configure, daemon
from daily import furnish, is_gold
from homes import find_project
from scipy.optimize import minimize

from irclient import Query
from irdaemon.daemon.active_config import ActiveConfig, make_engine_options
from irdaemon.discovery import discover
from irdaemon.discovery.calibrate import place_shift, run_trial
from irdaemon.discovery.decide import CorpusRanking
from irdaemon.discovery.decision import (
    FEATURES,
    MOST_BELOW,
    Weights,
    compute_logits,
    compute_probability,
    measure_records,
)
from irdaemon.discovery.merge import NearDuplicates, join_duplicates
from irdaemon.discovery.query import parse_search
from irdaemon.embed.ordinary import draw_requests
from irdaemon.engine import Engine
from irdaemon.ledger import Ledger
from irdaemon.text.tasks import has_task

DECISION = ROOT / "irdaemon" / "discovery" / "decision.json"
THIRD = ROOT / "bench" / "prompts" / "day.jsonl"
NAMES = ("web", "ml", "daily", "third")
JUDGED = ("web", "ml", "daily")
MODES = ("hybrid", "dense", "lexical")
DEPTH = 6
# What an ordinary request counts beside a labelled prompt.
ORDINARY, L2 = 0.3, 3.0
# Never counted against a hit: likeness of meaning, words, a rare identifier.
RISING = {"meaning", "words", "share", "identifier"}
# The share of prompts which want silence that may be answered, of the homes trained on.
FALSE_ALARMS = 0.12


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate: its features in hybrid mode, which gold it is, and whether it is right."""

    features: tuple[float, ...]
    gold: tuple[int, ...] = ()
    right: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt, and what each corpus has for it, best first; no gold where silence is right."""

    group: str
    n_gold: int
    need: str
    task: bool
    found: Mapping[str, Sequence[Found]]


@dataclass(frozen=True, slots=True)
class Home:
    """What one home gave: its prompts, the same without their gold, ordinary requests, and trials.

    `trials` has by corpus the features of what calibration asks of it.
    """

    name: str
    cases: Sequence[Case]
    without: Sequence[Case]
    ordinary: Sequence[Case]
    trials: Mapping[str, Any]


# -- what the homes give -------------------------------------------------------------------------


def read_home(data: Path, name: str, pack: bool) -> Home:
    """Index a home, and ask it everything."""
    with daemon() as running:
        if name == "daily":
            furnish(running.home, data)
        elif name == "third":
            shutil.copytree(data / "skills", running.home / ".claude" / "skills", symlinks=True)
            shutil.copytree(data / "packages", running.home / "code", symlinks=True)
        else:
            home = data / "homes" / name / "home"
            shutil.copytree(home, running.home, symlinks=True, dirs_exist_ok=True)
        if not pack:
            configure(running.home, "[prompts]\npack = false\n")
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1)
        running.stop()
        place = find_project(running.home) if name in ("web", "ml") else ""
        with _at_home(running.home):
            return ask_home(name, read_prompts(data, name), _open_engine(place), place)


def read_prompts(data: Path, name: str) -> list[dict[str, Any]]:
    """Return the labelled prompts of a home."""
    folder = {"third": THIRD, "daily": data / "daily" / "prompts.jsonl"}
    path = folder.get(name, data / "homes" / name / "prompts.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@contextlib.contextmanager
def _at_home(home: Path) -> Iterator[None]:
    """Have HOME, and what follows from it, be another while the block runs."""
    names = ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, ""), HOME=str(home), XDG_RUNTIME_DIR=str(home / "run"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _open_engine(place: str) -> Engine:
    """Open what the daemon indexed, and read the project of a place."""
    settings = ActiveConfig(None, None)
    ledger = Ledger(settings.config.ledger_path)
    corpora = settings.make_corpora(ledger.corpora.list_names())
    engine = Engine(ledger, corpora, make_engine_options(settings.config))
    if place:
        projects = engine.state.projects
        projects.look(place)
        project = projects.locate(place)
        assert project is not None
        projects.register(project)
        for _ in range(3):
            engine.discover(Query("hello", place=place))
            engine.state.tend_project(project.root)
            engine.drain()
    return engine


def ask_home(name: str, labels: Sequence[Mapping[str, Any]], engine: Engine, place: str) -> Home:
    """Ask the corpora of an engine all prompts and requests."""
    cases, without = [], []
    for label in labels:
        rankings = _rank(engine, label["prompt"], place)
        cases.append(_make_case(label, rankings))
        if label["gold"]:
            silent = {**label, "gold": [], "ok": []}
            gone = [*label["gold"], *label.get("ok", ())]
            without.append(_make_case(silent, rankings, gone))
    ordinary = [
        _make_case({"prompt": text, "group": "ordinary", "gold": []}, _rank(engine, text, place))
        for text in draw_requests()
    ]
    query = parse_search(Query("hello", place=place))
    snapshot, _ = engine.narrow_query(query, offering=False)
    trials = {}
    embed = engine.state.embedders.embed_fresh
    for corpus, index in snapshot.corpora.items():
        trial = run_trial(snapshot, corpus, lambda text, id=index.embedder: embed(text, id))
        if trial is not None:
            trials[corpus] = np.concatenate([each.measure("hybrid") for each in trial.outside])
    return Home(name, cases, without, ordinary, trials)


def _rank(engine: Engine, text: str, place: str) -> Sequence[CorpusRanking]:
    query = parse_search(Query(text, place=place))
    snapshot, query = engine.narrow_query(query, offering=False)
    return discover.search(snapshot, query, engine.state.models).merged.rankings


def _make_case(
    label: Mapping[str, Any],
    rankings: Sequence[CorpusRanking],
    gone: Sequence[Mapping[str, Any]] = (),
) -> Case:
    """Return what a prompt found, without the items that are taken for gone."""
    found = {}
    for ranking in rankings:
        candidates = ranking.retrieved.candidates
        if not candidates:
            continue
        question, index = ranking.question, ranking.index
        near = NearDuplicates(3, {index.corpus: question.terms})
        kept = list(join_duplicates(candidates, near=near))
        hits = [each.make_hit(False) for each in kept]
        places = [
            place for place, hit in enumerate(hits) if not any(is_gold(hit, each) for each in gone)
        ][:DEPTH]
        if not places:
            continue
        there = np.array([kept[place].position for place in places])
        scores = tuple(
            np.array([getattr(kept[place], leg) for place in places]) for leg in ("cosine", "bm25")
        )
        features = measure_records(index, question, there, scores)
        golds = [
            tuple(n for n, each in enumerate(label["gold"]) if is_gold(hits[place], each))
            for place in places
        ]
        tolerable = [
            any(is_gold(hits[place], each) for each in label.get("ok", ())) for place in places
        ]
        found[index.corpus] = [
            Found(tuple(row), gold, bool(gold) or ok)
            for row, gold, ok in zip(features.tolist(), golds, tolerable, strict=True)
        ]
    return Case(
        label["group"],
        len(label["gold"]),
        label.get("need", "all"),
        has_task(label["prompt"]),
        found,
    )


# -- training ------------------------------------------------------------------------------------


def fit(homes: Sequence[Home], mode: str) -> Weights:
    """Fit the weights of a mode on the first candidates of each corpus of some homes."""
    rows, right, weight = [], [], []
    for home in homes:
        for cases, each_weight in (
            (home.cases, 1.0),
            (home.without, 1.0),
            (home.ordinary, ORDINARY),
        ):
            for case in cases:
                for found in case.found.values() if case.task else ():
                    rows.append(found[0].features)
                    right.append(found[0].right)
                    weight.append(each_weight)
    return calibrate_weights(
        _regress(np.array(rows), np.array(right), np.array(weight), mode), homes, mode
    )


def _mask(mode: str) -> Any:
    """Return which features take part in a mode."""
    absent = {"dense": {"words", "share"}, "lexical": {"meaning", "coding"}}.get(mode, set())
    return np.array([name not in absent for name in FEATURES], float)


def _regress(rows: Any, right: Any, weight: Any, mode: str) -> Weights:
    """Fit a logistic regression with L2 on standardised features, RISING ones never negative."""
    rows = rows * _mask(mode)
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    scaled = (rows - mean) / spread

    def loss(given: Any) -> tuple[float, Any]:
        logits = scaled @ given[1:] + given[0]
        cost = (weight * (np.logaddexp(0, logits) - right * logits)).sum()
        error = weight * (1 / (1 + np.exp(-logits)) - right)
        slope = np.concatenate([[error.sum()], scaled.T @ error + L2 * given[1:]])
        return cost + L2 * (given[1:] ** 2).sum() / 2, slope

    bounds = [(None, None), *((0, None) if name in RISING else (None, None) for name in FEATURES)]
    start = np.zeros(len(FEATURES) + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = found[1:] / spread * _mask(mode)
    return Weights(float(found[0] - (weights * mean).sum()), weights, 0.0, tuple(mean))


def calibrate_weights(given: Weights, homes: Sequence[Home], mode: str) -> Weights:
    """Return the weights with the usual shift, scaled so that probabilities are what they say.

    By the first candidate of each corpus at labelled prompts, shifts applied (Platt 1999).
    """
    shifts = {home.name: find_shifts(home, given, mode) for home in homes}
    usual = float(np.mean([shift for each in shifts.values() for shift in each.values()]))
    logits, right = [], []
    for home in homes:
        for case in home.cases:
            for corpus, found in case.found.items() if case.task else ():
                logit = _compute_one(given, found[0], mode)
                apart = shifts[home.name].get(corpus, usual) - usual
                logits.append(logit - max(apart, -MOST_BELOW))
                right.append(found[0].right)
    x, y = np.array(logits), np.array(right, float)

    def loss(line: Any) -> float:
        t = line[0] * x + line[1]
        return float((np.logaddexp(0, t) - y * t).sum())

    slope, level = minimize(loss, np.array([1.0, 0.0]), method="BFGS").x
    bias, usual = (float(slope * each + level) for each in (given.bias, usual))
    return Weights(bias, slope * given.weights, usual, given.means)


def _compute_one(given: Weights, found: Found, mode: str) -> float:
    return float(compute_logits(given, np.array([found.features]) * _mask(mode))[0])


def find_shifts(home: Home, given: Weights, mode: str) -> dict[str, float]:
    """Return the shift of each corpus of a home, as calibration finds it."""
    mask = _mask(mode)
    return {
        corpus: place_shift(compute_logits(given, rows * mask))
        for corpus, rows in home.trials.items()
    }


# -- judging -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranked:
    """A case with its candidates in one order: the probability of each, and what it is."""

    case: Case
    found: Sequence[tuple[float, Found]]

    def offer(self, least: float) -> list[Found]:
        """Return what is offered from a least probability on: three at most, by half the odds."""
        if not self.case.task or not self.found or self.found[0][0] < least:
            return []
        top = self.found[0][0]
        reach = max(least, top / (2 - top))
        kept = [(at, found) for at, (score, found) in enumerate(self.found[:3]) if score >= reach]
        return [found for place, (at, found) in enumerate(kept) if place == at]

    def has_gold(self, found: Sequence[Found]) -> bool:
        """Return whether what was found has the gold that is needed."""
        gold = {n for each in found for n in each.gold}
        return bool(gold) if self.case.need == "any" else len(gold) == self.case.n_gold


def rank_cases(home: Home, given: Weights, mode: str = "hybrid") -> list[Ranked]:
    """Return the cases of a home with probabilities, corpora merged by them."""
    shifts = find_shifts(home, given, mode)
    ranked = []
    for case in home.cases:
        merged = []
        for corpus, found in case.found.items():
            shift, lowest = shifts.get(corpus), 1.0
            for each in found:
                logit = np.array(_compute_one(given, each, mode))
                lowest = min(lowest, float(compute_probability(given, logit, shift)))
                merged.append((lowest, each))
        ranked.append(Ranked(case, sorted(merged, key=lambda pair: -pair[0])))
    return ranked


def judge(ranked: Sequence[Ranked], least: float) -> dict[str, float]:
    """Return the figures of a home: of those ranked, of all gold, false alarms, wrong items."""
    gold = [each for each in ranked if each.case.n_gold]
    silent = [each for each in ranked if not each.case.n_gold]
    listed = [each for each in gold if each.has_gold([found for _, found in each.found[:3]])]
    offered = [each.offer(least) for each in gold]
    answered = [found for found in offered if found]
    return {
        "ranked": len(listed) / len(gold),
        "right of ranked": np.mean([each.has_gold(each.offer(least)) for each in listed]),
        "right of all": np.mean(
            [e.has_gold(found) for e, found in zip(gold, offered, strict=True)]
        ),
        "false alarms": np.mean([bool(each.offer(least)) for each in silent]),
        "wrong items": sum(not f.right for found in answered for f in found)
        / max(len(answered), 1),
    }


def choose_least(homes: Sequence[Sequence[Ranked]]) -> float:
    """Return the least probability at which the homes have few enough false alarms on average."""
    for least in np.arange(0.05, 0.95, 0.005):
        if np.mean([judge(ranked, least)["false alarms"] for ranked in homes]) <= FALSE_ALARMS:
            return round(float(least), 3)
    return 0.95


def measure_calibration(ranked: Sequence[Ranked]) -> float:
    """Return the mean difference of probability and share of right ones, in five equal bins."""
    tops = sorted(each.found[0] for each in ranked if each.case.task and each.found)
    bins = np.array_split(np.array([(score, found.right) for score, found in tops], float), 5)
    return float(np.mean([abs(each[:, 0].mean() - each[:, 1].mean()) for each in bins]))


def main() -> None:
    """Judge with each home left out, and write the weights of all where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--write", action="store_true", help="write the weights of all homes")
    parser.add_argument("--no-pack", action="store_true", help="without the shipped prompts")
    options = parser.parse_args()
    homes = [read_home(options.data, name, not options.no_pack) for name in NAMES]
    figures = [judge_left_out(homes, name) for name in JUDGED]
    for name in figures[0]:
        mean = np.mean([each[name] for each in figures])
        cells = "".join(f"{each[name]:>10.3f}" for each in figures)
        print(f"{name:<24}{cells}{mean:>10.3f}")
    if options.write:
        write(homes, options.data)


def judge_left_out(homes: Sequence[Home], name: str) -> dict[str, float]:
    """Return the figures of one home, by what was trained on the others."""
    others = [home for home in homes if home.name != name]
    (home,) = (home for home in homes if home.name == name)
    given = fit(others, "hybrid")
    least = choose_least([rank_cases(each, given) for each in others])
    ranked = rank_cases(home, given)
    figures = {
        "least": least,
        **judge(ranked, least),
        "calibration error": measure_calibration(ranked),
    }
    silent = [each for each in ranked if not each.case.n_gold and each.case.task]
    tops = sorted((each.found[0][0] for each in silent if each.found), reverse=True)
    for alarms in (3, 5, 8):
        if len(tops) > alarms:
            figures[f"right of ranked at {alarms}"] = judge(ranked, tops[alarms] + 1e-9)[
                "right of ranked"
            ]
        else:
            figures[f"right of ranked at {alarms}"] = judge(ranked, 0.0)["right of ranked"]
    low, high = _bootstrap(ranked, least)
    return figures | {"right of ranked, 2.5%": low, "right of ranked, 97.5%": high}


def _bootstrap(ranked: Sequence[Ranked], least: float) -> tuple[float, float]:
    """Return the 95% interval of the share that is right of those ranked, by resampling."""
    listed = [
        each
        for each in ranked
        if each.case.n_gold and each.has_gold([found for _, found in each.found[:3]])
    ]
    right = np.array([each.has_gold(each.offer(least)) for each in listed], float)
    drawn = np.random.default_rng(0).choice(right, (1_000, len(right)))
    low, high = np.quantile(drawn.mean(1), (0.025, 0.975))
    return float(low), float(high)


def write(homes: Sequence[Home], data: Path) -> None:
    """Write the weights that all homes give, by mode."""
    modes = {mode: fit(homes, mode) for mode in MODES}
    least = choose_least([rank_cases(home, modes["hybrid"]) for home in homes])
    told = {
        "least": least,
        "modes": {
            mode: {
                "bias": round(each.bias, 4),
                "weights": _name(each.weights),
                "usual": round(each.usual, 4),
                "means": _name(each.means),
            }
            for mode, each in modes.items()
        },
        "trained_on": digest_data(data),
    }
    DECISION.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    print(f"wrote {DECISION.relative_to(ROOT)}: least {least}")


def _name(values: Sequence[float]) -> dict[str, float]:
    return {name: round(float(each), 4) for name, each in zip(FEATURES, values, strict=True)}


def digest_data(data: Path) -> dict[str, str]:
    """Return the SHA-256 of the prompts, requests and shipped prompts that weights come from."""
    paths = {
        "web": data / "homes" / "web" / "prompts.jsonl",
        "ml": data / "homes" / "ml" / "prompts.jsonl",
        "daily": data / "daily" / "prompts.jsonl",
        "third": THIRD,
        "coding_requests": ROOT / "irdaemon" / "embed" / "coding_requests.txt",
        "other_requests": ROOT / "irdaemon" / "embed" / "other_requests.txt",
        "pack": ROOT / "irdaemon" / "source" / "pack.bin",
    }
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}


if __name__ == "__main__":
    main()
