"""A stored synopsis as one more surface, ahead of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irdaemon.types import IndexPlan, Surface

KIND = "synopsis"


@dataclass(frozen=True, slots=True)
class SynopsisNote:
    """The author of a synopsis, the kind of its surface, and the digest of its source."""

    synthesizer_id: str
    kind: str = KIND
    digest: str = ""

    @classmethod
    def from_dict(cls, metadata: Mapping[str, Any]) -> SynopsisNote:
        """Read it from the metadata of a surface."""
        digest = str(metadata.get("synopsis_of", ""))
        return cls(str(metadata.get("synthesizer_id", "")), digest=digest)

    def metadata(self) -> dict[str, str]:
        """Return it as the metadata of a surface."""
        of = {"synopsis_of": self.digest} if self.digest else {}
        return {"synthesizer_id": self.synthesizer_id, **of}


def is_synopsis(surface: Surface) -> bool:
    """Return whether a surface is a synopsis of an artifact, and no text of its own."""
    return "synthesizer_id" in surface.metadata


def add_synopsis(plan: IndexPlan, artifact_id: str, text: Any, note: SynopsisNote) -> IndexPlan:
    """Return a plan with a synopsis ahead; the plan itself for an empty or invalid synopsis."""
    if not isinstance(text, str) or not text.strip():
        return plan
    surface = Surface(artifact_id, note.kind, text.strip(), "document", note.metadata())
    return IndexPlan(plan.filter_fields, (surface, *plan.surfaces))
