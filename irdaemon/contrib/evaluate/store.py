"""Store the last evaluation of each corpus in a file next to the ledger, for its owner alone.

The file holds the queries of the cases. Losing it loses only a report, which `irc eval run` makes
again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irclient.errors import NotFound
from irdaemon.engine.observer import Observer
from irdaemon.engine.state import State
from irdaemon.ledger import IN_MEMORY
from irdaemon.runtime.replacing import replace_file

_HINT = "irc eval run CASES.jsonl -c {} makes one"


@dataclass(frozen=True, slots=True)
class EvaluationStore(Observer):
    """Store one evaluation for each corpus: in a directory, or in memory without one."""

    directory: str = ""
    _kept: dict[str, str] = field(default_factory=dict)

    def keep(self, evaluation: Mapping[str, Any]) -> None:
        """Store an evaluation as the last one of each of its corpora.

        On a full disk only the evaluation is lost.
        """
        text = json.dumps(evaluation)
        for corpus in evaluation["corpora"]:
            if not self.directory:
                self._kept[corpus] = text
                continue
            with contextlib.suppress(OSError):
                os.makedirs(self.directory, mode=0o700, exist_ok=True)
                replace_file(self._make_path(corpus), text)

    def read_last(self, corpus: str) -> dict[str, Any]:
        """Return the last evaluation of a corpus. Raises NotFound if none can be read."""
        try:
            kept: dict[str, Any] = json.loads(self._read(corpus))
            return kept
        except (OSError, KeyError, ValueError) as error:
            message = f"no evaluation of corpus {corpus!r} is kept"
            raise NotFound(message, _HINT.format(corpus)) from error

    def forget_corpus(self, corpus: str) -> None:
        """Delete the last evaluation of a corpus."""
        self._kept.pop(corpus, None)
        if self.directory:
            with contextlib.suppress(OSError):
                os.unlink(self._make_path(corpus))

    def _read(self, corpus: str) -> str:
        if not self.directory:
            return self._kept[corpus]
        with open(self._make_path(corpus), encoding="utf-8") as file:
            return file.read()

    def _make_path(self, corpus: str) -> str:
        return os.path.join(self.directory, f"{corpus}.json")


def make_store(state: State) -> EvaluationStore:
    """Return the store next to an engine's ledger."""
    if (ledger := state.ledger.path) == IN_MEMORY:
        return EvaluationStore()
    return EvaluationStore(os.path.join(os.path.dirname(os.path.abspath(ledger)), "evaluations"))
