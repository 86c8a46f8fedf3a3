"""A source with functions of its owner's: further fields, and what counts as a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from irdaemon.source import Source
from irdaemon.source.mapping import content_stamp, plain
from irdaemon.types import Artifact, Entry, Reading, Root, Scan, SourceError

# From an artifact's id and raw content: its further filter fields.
MetadataOf = Callable[[str, Any], Mapping[str, Any]]
# From an artifact's id and raw content: a text that is equal as long as nothing changed.
ChangeSignal = Callable[[str, Any], str]


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Serve another source's entries, with fields by `metadata_of`, stamped by `change_signal`.

    With a `change_signal` a scan reads every entry, to ask it; without, stamps are the source's.
    """

    inner: Source
    metadata_of: MetadataOf | None = None
    change_signal: ChangeSignal | None = None
    limits: ClassVar[tuple[str, ...]] = ()

    def roots(self) -> tuple[Root, ...]:
        """Return the source's roots."""
        return self.inner.roots()

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the source's entries."""
        found = self.inner.scan(under)
        if self.change_signal is None:
            return found
        return replace(found, entries=tuple(map(self._stamped, found.entries)))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one entry, with its further fields."""
        reading = self.inner.read(entry, cursor)
        if self.metadata_of is None:
            return reading
        return replace(reading, artifacts=tuple(map(self._with_fields, reading.artifacts)))

    def _stamped(self, entry: Entry) -> Entry:
        assert self.change_signal is not None
        try:
            artifacts = self.inner.read(entry).artifacts
        except (OSError, SourceError):
            return entry  # it fails again where it is read, and is listed there
        signals = [str(self.change_signal(each.artifact_id, each.raw)) for each in artifacts]
        return replace(entry, stamp=content_stamp(signals), mtime_ns=0)

    def _with_fields(self, artifact: Artifact) -> Artifact:
        assert self.metadata_of is not None
        try:
            fields = dict(self.metadata_of(artifact.artifact_id, artifact.raw))
        except Exception as error:  # the owner's code may raise anything
            reason = f"metadata_of: {type(error).__name__}: {error}"
            raise SourceError(f"{artifact.artifact_id}: {reason}") from error
        further = {str(name): plain(value) for name, value in fields.items()}
        return replace(artifact, metadata={**artifact.metadata, **further})
