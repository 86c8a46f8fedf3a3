"""The gate: test whether the prompts of a provenance help to find their artifacts.

One prompt of each artifact is held out and asked, with and without the others counted in. They must
rank it better, and must not rank the corpus' own cases worse: the queries that calibration makes
from its texts. Until they are tested, and if they are too few for a test, they count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from irdaemon.config.corpus import Corpus
from irdaemon.engine.state import State
from irdaemon.engine.trial import (
    Asked,
    compare_own_cases,
    index_expecting,
    measure_each,
    measure_gain,
    rank_artifacts,
)
from irdaemon.index import CorpusIndex
from irdaemon.ledger import Expected, Ledger
from irdaemon.ledger.prompts import PROVENANCES, USE, Gate

# At least this many artifacts need prompts; at most this many are asked about.
FEWEST_ARTIFACTS, _MOST_ASKED = 10, 200
# After a change of more than this share of them, test again.
_CHANGED_SHARE = 0.2
# Prompts learned from use have a separate test.
GATED = tuple(each for each in PROVENANCES if each != USE)
ROLLED_BACK = "rolled back"
# Turns of sessions have no expected prompts.
NOT_PROMPTED = ("sessions",)


def is_much(state: State, ledger: Ledger, corpus: str, provenance: str, changed: int = 0) -> bool:
    """Return whether it is worth testing again, given the number of changed artifacts.

    It is if a share of the tested ones has changed, too few are left to test, or another embedder
    serves them.
    """
    report = ledger.prompts.read_gates(corpus).get(provenance, Gate()).report
    if changed > _CHANGED_SHARE * int(report.get("artifacts", 0)):
        return True
    if report and report.get("embedder") != _find_embedder(state, corpus):
        return True
    return ledger.prompts.count(corpus, provenance)[0] < FEWEST_ARTIFACTS


def _find_embedder(state: State, corpus: str) -> str:
    index = state.snapshot.find_index(corpus)
    return index.embedder if index else ""


def list_unweighed(
    state: State, ledger: Ledger, corpus: Corpus, provenances: Iterable[str] = GATED
) -> list[str]:
    """Return the provenances whose prompts were not tested in a corpus' present state."""
    if corpus.project or corpus.kind in NOT_PROMPTED:
        return []
    return [each for each in provenances if _must_weigh(state, ledger, corpus.name, each)]


def _must_weigh(state: State, ledger: Ledger, corpus: str, provenance: str) -> bool:
    report = ledger.prompts.read_gates(corpus).get(provenance, Gate()).report
    if report.get("outcome") == ROLLED_BACK:
        return False
    if not report and ledger.prompts.count(corpus, provenance)[0] < FEWEST_ARTIFACTS:
        return False
    given = _list_given(ledger, corpus, provenance)
    weighed = report.get("of"), report.get("embedder")
    return weighed != _describe_given(state, corpus, given) if given else bool(report)


def _list_given(ledger: Ledger, corpus: str, provenance: str) -> dict[str, Expected]:
    """Return a provenance's prompts by artifact id, without those of missing artifacts."""
    held = ledger.prompts.list_all(corpus, provenance)
    present = ledger.artifacts.list_contents(corpus, held)
    return {id: each for id, each in held.items() if id in present}


def _describe_given(state: State, corpus: str, given: Mapping[str, Expected]) -> tuple[str, str]:
    """Return a digest of prompts and their embedder, which a test depends on."""
    digest = blake2b(digest_size=16)
    for id, each in sorted(given.items()):
        prompts = [(prompt.text, prompt.weight) for prompt in each.prompts]
        digest.update(repr((id, each.rate, prompts)).encode("utf-8", "replace"))
    return digest.hexdigest(), _find_embedder(state, corpus)


def weigh_prompts(
    state: State, corpus: Corpus, provenance: str, pause: Callable[[], object]
) -> Gate:
    """Return whether a provenance's prompts should count in a corpus, with figures.

    If none is left, the gate is reset for later prompts.
    """
    given, now = _list_given(state.ledger, corpus.name, provenance), state.clock()
    if not given:
        return Gate(at=now)
    kept, asked = leave_one_out(given)
    n_prompts = sum(len(each.prompts) for each in given.values())
    report: dict[str, Any] = {"artifacts": len(given), "prompts": n_prompts}
    report["of"], report["embedder"] = _describe_given(state, corpus.name, given)
    if len(asked) < FEWEST_ARTIFACTS:
        return Gate(True, {**report, "outcome": "too few to test"}, now)

    def rank(index: CorpusIndex, text: str) -> Sequence[str]:
        pause()
        return rank_artifacts(state, index, text)

    base = index_expecting(state, corpus, {}, provenance)
    candidate = index_expecting(state, corpus, kept, provenance)
    found = measure_gain(measure_each(base, asked, rank), measure_each(candidate, asked, rank))
    own = compare_own_cases(base, candidate, rank)
    report |= {
        "asked": found.n,
        "before": round(found.before, 4),
        "after": round(found.after, 4),
        "own_change": round(own.mean, 4),
    }
    if not found.better:
        return Gate(False, {**report, "outcome": "no better"}, now)
    if own.worse:
        return Gate(False, {**report, "outcome": "worse elsewhere"}, now)
    return Gate(True, {**report, "outcome": "counted"}, now)


def leave_one_out(
    given: Mapping[str, Expected],
) -> tuple[dict[str, Expected], list[Asked]]:
    """Return the prompts without one of each artifact, and the held-out ones, chosen at random.

    Prompts that several artifacts share are left out of each.
    """
    left_out: dict[str, list[str]] = {}
    for artifact_id in sorted(given, key=_hash_text)[:_MOST_ASKED]:
        meant = [prompt.text for prompt in given[artifact_id].prompts if prompt.weight > 0]
        if len(meant) > 1:
            left_out[min(meant, key=_hash_text)] = []
    kept = dict[str, Expected]()
    for artifact_id, each in given.items():
        for prompt in each.prompts:
            if prompt.weight > 0 and prompt.text in left_out:
                left_out[prompt.text].append(artifact_id)
        others = tuple(prompt for prompt in each.prompts if prompt.text not in left_out)
        kept[artifact_id] = replace(each, prompts=others)
    return kept, [Asked(text, tuple(gold)) for text, gold in left_out.items()]


def _hash_text(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
