"""Check what reads the PDFs and images of document corpora, and the symbols of program texts."""

from __future__ import annotations

from collections.abc import Iterable

from irclient.installation import make_extra_command
from irdaemon.cli.doctor.finding import Finding, note, ok
from irdaemon.config.config import Config
from irdaemon.config.corpus import corpora_of
from irdaemon.source.files.asset import find_missing_ocr, list_readers
from irdaemon.strategy.code import list_missing_languages


def check(config: Config) -> Iterable[Finding]:
    """Yield for each format whether its files are read, where there is a corpus that has them."""
    kinds = {corpus.kind for corpus in corpora_of(config)}
    if "code" in kinds:
        yield judged_languages(list_missing_languages())
    if "files" in kinds:
        yield from (judged(name, cure) for name, cure in list_readers().items())
        if not list_readers()["image"]:
            yield judged_ocr(find_missing_ocr())


def judged(name: str, cure: str) -> Finding:
    """Judge one format by the command to install its reader, "" where that is here."""
    if cure:
        return note(
            f"{name}s are left out of corpora of documents: nothing here reads them", "", cure
        )
    return ok(f"{name}s in corpora of documents are read")


def judged_languages(missing: tuple[str, ...]) -> Finding:
    """Judge the languages of program texts by those that are read without their symbols."""
    if missing:
        message = f"no symbols are told of {', '.join(missing)}: nothing reads them"
        return note(message, "", make_extra_command("code"))
    return ok("symbols of program texts are told")


def judged_ocr(cure: str) -> Finding:
    """Judge whether text in pictures is read by the command to install what does."""
    if cure:
        return note("text in pictures is not read: tesseract is not here", "", cure)
    return ok("text in pictures is read")
