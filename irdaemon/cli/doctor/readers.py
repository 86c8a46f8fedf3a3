"""Check what reads the PDFs and images of document corpora."""

from __future__ import annotations

from collections.abc import Iterable

from irdaemon.cli.doctor.finding import Finding, note, ok
from irdaemon.config.config import Config
from irdaemon.config.corpus import corpora_of
from irdaemon.source.files.extraction import missing_ocr, readers


def check(config: Config) -> Iterable[Finding]:
    """Yield for each format whether its files are read, where there is a corpus that has them."""
    if any(corpus.kind == "files" for corpus in corpora_of(config)):
        yield from (judged(name, cure) for name, cure in readers().items())
        if not readers()["image"]:
            yield judged_ocr(missing_ocr())


def judged(name: str, cure: str) -> Finding:
    """Judge one format by the command to install its reader, "" where that is here."""
    if cure:
        return note(
            f"{name}s are left out of corpora of documents: nothing here reads them", "", cure
        )
    return ok(f"{name}s in corpora of documents are read")


def judged_ocr(cure: str) -> Finding:
    """Judge whether text in pictures is read by the command to install what does."""
    if cure:
        return note("text in pictures is not read: tesseract is not here", "", cure)
    return ok("text in pictures is read")
