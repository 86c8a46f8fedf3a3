"""Learning in process: let uses and expected prompts affect how artifacts are found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from irclient.errors import NotFound, QueryError, Unavailable
from irclient.prompts import LineProblem, read_record
from irdaemon.contrib.prompts.given import make_expected
from irdaemon.contrib.prompts.observer import serve_new
from irdaemon.contrib.usage.learning import Learning
from irdaemon.contrib.usage.taught import parse_uses
from irdaemon.discovery.calibrate import make_reread_floor, run_reread_trial
from irdaemon.discovery.decision import FEWEST_ARTIFACTS
from irdaemon.embed import QueryVector
from irdaemon.engine.indexing import show_changed
from irdaemon.engine.queue import Job
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import PERSON
from irdaemon.library.built import Built, find_built
from irdaemon.library.reranking import RERANK_CHARS, Reranking, ScoreTexts, TextOfHit
from irdaemon.types import Floor, LearnReport, Use

# Floors for reranked answers, computed and stored on request.


def calibrate(
    corpus: Built | str,
    rerank: ScoreTexts | str,
    *,
    rerank_text: str | TextOfHit = "surface",
    rerank_max_chars: int = RERANK_CHARS,
) -> Floor:
    """Compute and store the floor for a corpus' answers as this reranker scores them.

    `discover` applies it, with `min_score="auto"`, to queries reranked in exactly this way, until
    the corpus is calibrated again. Its `j` says how well it separates.

    Raises QueryError for a reranker without a name to store it by and for a corpus that is too
    small, Unavailable if the corpus is open for reading only or a model is missing.
    """
    built = find_built(corpus)
    engine, configured = built.engine, built.engine.corpora[built.name]
    if engine.ledger.read_only:
        raise Unavailable(f"corpus {built.name!r} is open for reading only", "build it here")
    rereading = Reranking(rerank, rerank_text, rerank_max_chars).check().bind({built.name: built})
    if not rereading.key:
        raise QueryError(
            "a floor is kept under the reranker's name, and this one has no stable name",
            'give the function an attribute: rerank.rerank_id = "NAME"',
        )
    index = engine.snapshot.corpora[built.name]

    def vector(text: str) -> QueryVector | None:
        return engine.state.embedders.embed_fresh(text, index.embedder)

    trial = run_reread_trial(engine.snapshot, built.name, vector, _go_on, rereading)
    if trial is None:
        raise QueryError(
            f"corpus {built.name!r} is too small to calibrate",
            f"it takes {FEWEST_ARTIFACTS} artifacts",
        )
    floor = make_reread_floor(trial, index, configured.recipe, time.time())
    kept = engine.ledger.corpora.read_floors(built.name)
    engine.ledger.corpora.put_floors(built.name, {**kept, floor.mode: floor})
    engine.writer.publisher.publish(configured)
    return floor


def _go_on() -> None:
    """Never yield: no other work waits for the caller's thread."""


def learn(corpus: Built | str, uses: Iterable[Use | Mapping[str, Any]]) -> LearnReport:
    """Learn from prompts that led to a use of a corpus' artifacts, if that helps.

    `uses` are all known uses: they replace what was learned before, which is stored for
    `roll_back`. Each is a Use, or a mapping with `prompt`, `gold` (ids) and, if known, `session`
    and `at`. Nothing changes unless the newest fifth of them is ranked better with what the others
    teach, and the queries of calibration are ranked no worse.

    Raises QueryError for an invalid use, Unavailable for a corpus that is open for reading only.
    """
    built = find_built(corpus)
    report = _make_learning(built).learn(parse_uses(uses))
    built.engine.drain()
    return report


def roll_back(corpus: Built | str) -> int:
    """Restore what a corpus had learned before the last time; return how many items change.

    Only one step can be undone.
    """
    built = find_built(corpus)
    changed = _make_learning(built).roll_back()
    built.engine.drain()
    return changed


def add_prompts(
    corpus: Built | str,
    prompts: Mapping[str, Sequence[str]],
    *,
    misses: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> int:
    """Make artifacts findable by prompts that people would type; return how many change.

    `prompts` has, by id, prompts that a person would type, `misses` similar prompts that mean
    another artifact. They replace the prompts given earlier for these ids; an empty list removes
    them. They count at once, and for ten artifacts or more as long as they help: see
    docs/prompts.md.

    Raises NotFound for an unknown id, QueryError for an invalid prompt, Unavailable for a corpus
    that is open for reading only.
    """
    built = find_built(corpus)
    state = built.engine.state
    if state.ledger.read_only:
        raise Unavailable("the corpus is open for reading only", "build it again")
    if stray := [id for id in misses if not prompts.get(id)]:
        raise QueryError(f"{stray[0]!r} has misses and no prompts", "give prompts beside them")
    given = {id: _read_prompts(id, texts, misses.get(id, ())) for id, texts in prompts.items()}
    contents = state.ledger.artifacts.list_contents(built.name, given)
    if missing := [id for id in given if id not in contents]:
        raise NotFound(f"corpus {built.name!r} has no artifact {missing[0]!r}", "ids are exact")
    changed = serve_new(state.ledger, built.name, PERSON, given, contents)
    show_changed(state, built.engine.writer.publisher, state.corpora[built.name], changed)
    built.engine.request(Job("weigh_prompts", built.name))
    built.engine.drain()
    return changed


def _read_prompts(id: str, prompts: Sequence[str], misses: Sequence[str]) -> Expected:
    if not isinstance(prompts, str) and not prompts:
        return Expected(())
    texts = {
        key: given if isinstance(given, str) else list(given)
        for key, given in (("prompts", prompts), ("not", misses))
    }
    read = read_record({"id": id, **texts}, 0)
    if isinstance(read, LineProblem):
        raise QueryError(f"{id!r:.80}: {read.message}", '{"id": ["what somebody would type"]}')
    return make_expected(read)


def _make_learning(built: Built) -> Learning:
    state, writer = built.engine.state, built.engine.writer
    if state.ledger.read_only:
        raise Unavailable("the corpus is open for reading only", "build it again")
    return Learning(state, writer.publisher, state.corpora[built.name])
