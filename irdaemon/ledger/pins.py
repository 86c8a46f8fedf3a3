"""Pins: the text of each artifact as it was last disclosed, to show what changed since.

Only the newest thousand are kept, each compressed and no longer than what is disclosed.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable

from irdaemon.ledger.rows import Pin, storable
from irdaemon.ledger.store import Store

MOST = 1_000


def digest_of(text: str) -> str:
    """Return the digest by which a disclosed text is known."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


class Pins:
    """Keep what was disclosed, one row for each artifact."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, pins: Iterable[Pin]) -> None:
        """Note what was disclosed, in place of what was before; the oldest beyond the limit go.

        What was forgotten meanwhile is not noted.
        """
        with self._store.transaction():
            for pin in pins:
                self._store.run(
                    "INSERT OR REPLACE INTO pins(corpus, artifact_id, level, digest, text, at)"
                    " SELECT corpus, artifact_id, ?, ?, ?, ? FROM artifacts"
                    " WHERE corpus = ? AND artifact_id = ?",
                    pin.level,
                    digest_of(pin.text),
                    zlib.compress(storable(pin.text).encode()),
                    pin.at,
                    pin.corpus,
                    pin.artifact_id,
                )
            self._store.run(
                "DELETE FROM pins WHERE (corpus, artifact_id) NOT IN"
                " (SELECT corpus, artifact_id FROM pins ORDER BY at DESC LIMIT ?)",
                MOST,
            )

    def rewrite(self, corpus: str, changed: Callable[[str], str]) -> None:
        """Keep of a corpus' disclosures what a function makes of their texts."""
        with self._store.transaction():
            for pin in self.all(corpus):
                text = changed(pin.text)
                if text != pin.text:
                    self._store.run(
                        "UPDATE pins SET digest = ?, text = ? WHERE corpus = ? AND artifact_id = ?",
                        digest_of(text),
                        zlib.compress(storable(text).encode()),
                        corpus,
                        pin.artifact_id,
                    )

    def all(self, corpus: str | None = None) -> list[Pin]:
        """Return what was disclosed, of one corpus or of all, newest first."""
        rows = self._store.all(
            "SELECT corpus, artifact_id, level, text, at FROM pins"
            " WHERE corpus = coalesce(?, corpus) ORDER BY at DESC, corpus, artifact_id",
            corpus,
        )
        return [
            Pin(corpus, artifact_id, level, zlib.decompress(text).decode(), at)
            for corpus, artifact_id, level, text, at in rows
        ]
