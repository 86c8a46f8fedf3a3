"""Audit: find artifacts whose text has changed since it was last disclosed, and show the changes.

Disclosures are pinned: their text, bundled files included, as it was handed over. Someone else may
later change an artifact that a person has come to trust.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from itertools import islice
from typing import Any

from irdaemon.config.corpus import Corpus
from irdaemon.discovery.disclose import Bounds, disclose
from irdaemon.ledger import Ledger, Pin
from irdaemon.types import Disclosure

_DIFF_LINES = 400
_COMPARED_LINES = 2_000


def make_pin(found: Disclosure, now: float) -> Pin | None:
    """Return the pin of a disclosure; None if no file was read for it."""
    if not found.current_digest:
        return None
    return Pin(found.corpus, found.artifact_id, found.level, _join_texts(found), now)


def audit(
    ledger: Ledger, corpora: Mapping[str, Corpus], corpus: str | None = None
) -> list[dict[str, Any]]:
    """Return the changes since the last disclosures, newest disclosure first.

    `state` is `changed`, or `unreadable` if nothing can be read any more.
    """
    pins = [pin for pin in ledger.pins.list_all(corpus) if pin.corpus in corpora]
    compared = (_compare_pin(ledger, corpora[pin.corpus], pin) for pin in pins)
    return [change for change in compared if change]


def _compare_pin(ledger: Ledger, corpus: Corpus, pin: Pin) -> dict[str, Any] | None:
    artifact = ledger.artifacts.get(pin.corpus, pin.artifact_id)
    if artifact is None:
        return None
    found = disclose(artifact, pin.level, Bounds.for_corpus(corpus))
    text = _join_texts(found)
    if found.current_digest and text == pin.text:
        return None
    return {
        "corpus": pin.corpus,
        "artifact_id": pin.artifact_id,
        "name": artifact.name,
        "pointer": artifact.pointer,
        "state": "changed" if found.current_digest else "unreadable",
        "disclosed_at": pin.at,
        "mtime": found.mtime,
        "diff": _diff(pin.text, text) if found.current_digest else found.reason,
    }


def _join_texts(found: Disclosure) -> str:
    """Return all texts of a disclosure, joined for comparison."""
    files = [f"--- {file.path} ({file.size} bytes)\n{file.text or ''}" for file in found.files]
    return "\n".join([found.body or "", *files])


def _diff(before: str, after: str) -> str:
    old, new = (text.splitlines()[:_COMPARED_LINES] for text in (before, after))
    lines = difflib.unified_diff(old, new, "as disclosed", "now", n=2, lineterm="")
    return "\n".join(islice(lines, _DIFF_LINES))
