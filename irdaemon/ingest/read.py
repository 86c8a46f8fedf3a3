"""One entry on its way in: read, redacted, decomposed, ready to be stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.optout import OptOuts
from irdaemon.ingest.redact import redacted
from irdaemon.ingest.scan import NAMELESS
from irdaemon.ledger import (
    Decomposed,
    KnownEntry,
    Record,
    Upsert,
    content_hash,
    record_id,
    version_hash,
)
from irdaemon.ledger.rows import storable
from irdaemon.ledger.synopses import Synopses
from irdaemon.strategy.edges import edges_of
from irdaemon.strategy.synopsis import KIND, SynopsisNote, with_surface
from irdaemon.text import name_tokens, term_counts
from irdaemon.types import Artifact, Entry, IndexPlan, SourceError

# What an entry takes that exceeds a limit, and what then helps.
TOO_LARGE = "it takes more memory than it may"
CURE = "exclude it, or split what it holds"


def read_entry(
    corpus: Corpus,
    entry: Entry,
    known: KnownEntry | None,
    optouts: OptOuts,
    synopses: Synopses | None = None,
) -> Upsert | SourceError | None:
    """Return what an entry holds, or why it cannot be read; None where it is gone.

    `synopses` are those of the ledger, for a corpus that has any.
    """
    try:
        return _read(corpus, entry, known, optouts, synopses)
    except FileNotFoundError:
        return None
    except SourceError as error:
        return error


def _read(
    corpus: Corpus,
    entry: Entry,
    known: KnownEntry | None,
    optouts: OptOuts,
    synopses: Synopses | None,
) -> Upsert:
    same_recipe = known is not None and known.recipe == corpus.recipe
    with _as_source_error(
        f"{entry.path or entry.key}: reading failed", FileNotFoundError, SourceError
    ):
        reading = corpus.source.read(entry, known.cursor if known and same_recipe else None)
    kept = redacted(reading, entry, corpus.redaction, optouts)
    return Upsert(
        entry,
        corpus.recipe,
        tuple(_decomposed(corpus, artifact, synopses) for artifact in kept.artifacts),
        reading.cursor,
        reading.partial,
        kept.skipped,
        kept.secrets,
        kept.projects,
        kept.turns,
    )


def _decomposed(corpus: Corpus, artifact: Artifact, synopses: Synopses | None) -> Decomposed:
    shown = storable(artifact.artifact_id)
    with _as_source_error(f"{shown}: it could not be decomposed", SourceError):
        if shown != artifact.artifact_id:
            raise ValueError(NAMELESS)
        plan = corpus.strategy.decompose(artifact.artifact_id, artifact.raw, artifact.metadata)
        recipe = corpus.recipe
        held = synopses.of(corpus.name, artifact.artifact_id, KIND) if synopses else None
        if corpus.synopsis and held:
            text, about = held
            plan = with_surface(plan, artifact.artifact_id, text, SynopsisNote.of(about))
            recipe += f" {content_hash(plan.surfaces[:1])}"
        return Decomposed(
            artifact,
            plan.filter_fields,
            tuple(_records(artifact.artifact_id, plan)),
            content_hash(plan.surfaces),
            version_hash(artifact, plan.filter_fields, recipe),
            # A turn is called after its first words, which name nothing.
            tuple(name_tokens(artifact.name)) if getattr(corpus.strategy, "named", True) else (),
            edges_of(artifact, plan.filter_fields, corpus.edge_extractor),
        )


def _records(artifact_id: str, plan: IndexPlan) -> Iterator[Record]:
    for index, surface in enumerate(plan.surfaces):
        yield Record(
            record_id(artifact_id, surface.kind, index),
            surface.kind,
            surface.granularity,
            index,
            surface.text,
            surface.metadata,
            term_counts(surface.text, surface.lexical),
        )


@contextmanager
def _as_source_error(what: str, *passed: type[Exception]) -> Iterator[None]:
    """Turn whatever a source or strategy raises into a SourceError, save what is `passed` on."""
    try:
        yield
    except passed:
        raise
    except MemoryError as error:
        raise SourceError(f"{what}: {TOO_LARGE}", CURE) from error
    except Exception as error:
        raise SourceError(f"{what}: {error!r}") from error
