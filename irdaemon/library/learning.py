"""Learning in process: uses of a corpus' artifacts, counted into how they are found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from irclient.errors import Unavailable
from irdaemon.engine.learning import Learning
from irdaemon.library.built import Built, open_corpus
from irdaemon.types import LearnReport, Use
from irdaemon.usage.given import given_uses


def learn(corpus: Built | str, uses: Iterable[Use | Mapping[str, Any]]) -> LearnReport:
    """Count prompts that led to a use into how a corpus' artifacts are found, where that helps.

    `uses` are all that are known: what was learned before is replaced, and kept for `roll_back`.
    Each is a Use, or a mapping with `prompt`, `gold` (ids) and, where known, `session` and `at`.
    Nothing changes unless the newest fifth of them is ranked better with what the others teach, and
    what calibration asks is ranked no worse.

    Raises QueryError for what is no use, Unavailable for a corpus that is open for reading only.
    """
    built = corpus if isinstance(corpus, Built) else open_corpus(corpus)
    report = _learning(built).learn(given_uses(uses))
    built.engine.drain()
    return report


def roll_back(corpus: Built | str) -> int:
    """Serve what a corpus had learned before the last time, once; return how many items change."""
    built = corpus if isinstance(corpus, Built) else open_corpus(corpus)
    changed = _learning(built).roll_back()
    built.engine.drain()
    return changed


def _learning(built: Built) -> Learning:
    state, writer = built.engine.state, built.engine.writer
    if state.ledger.read_only:
        raise Unavailable("the corpus is open for reading only", "build it again")
    return Learning(state, writer.publisher, state.corpora[built.name])
