"""Disclose: the payload of an artifact, read at the moment it is asked for.

`metadata` reads nothing. `body` follows the pointer: a file gives its text, a directory its README.
`bundled` adds what travels with a skill: the files under scripts/, references/ and assets/, with
their sizes, and the text of those that fit. Nothing outside the artifact's own directory is ever
read, whatever a link says. A pointer that no longer works is a note, not an error.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from irclient.errors import NotFound, QueryError
from irclient.types import LEVELS
from irdaemon.expansion import PASSAGE_CHARS, Expand, Passage, expanded
from irdaemon.ledger import Ledger, StoredArtifact
from irdaemon.load import did_you_mean
from irdaemon.source.tree import at_or_under, read_regular
from irdaemon.types import BundledFile, Disclosure, Hit, SourceError

BODY_CHARS = 20_000
BUNDLE_CHARS = 40_000
BUNDLE_FILES = 100
# Beyond this a directory is not even counted on.
BUNDLE_COUNTED = 10_000
_BUNDLE_DIRS = ("scripts", "references", "assets")
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")  # in any case
_READ_BYTES = 16 * 1024 * 1024


def check_level(level: str) -> None:
    """Raise QueryError for a level that does not exist."""
    if level not in LEVELS:
        raise QueryError(
            f"unknown level {level!r}{did_you_mean(level, LEVELS)}", f"levels: {', '.join(LEVELS)}"
        )


def disclose(artifact: StoredArtifact, level: str) -> Disclosure:
    """Return the payload of `artifact` at `level`; see the module for what each holds."""
    check_level(level)
    plain = Disclosure(
        artifact.corpus, artifact.artifact_id, level, artifact.name, artifact.pointer
    )
    if level == "metadata":
        return plain
    if not artifact.pointer or artifact.body is not None:
        return _with_body(plain, artifact.body or "", stale=False)
    plain = replace(plain, indexed_digest=artifact.digest)
    try:
        content = _read(artifact.pointer)
    except (OSError, SourceError):
        return replace(plain, stale=True, note="pointer_unreadable")
    digest = hashlib.sha256(content).hexdigest()
    stale = bool(artifact.digest) and digest != artifact.digest
    plain = replace(plain, current_digest=digest)
    disclosed = _with_body(plain, content.decode("utf-8", "replace"), stale)
    return _with_bundle(disclosed) if level == "bundled" else disclosed


def disclose_artifact(
    ledger: Ledger, corpus: str, artifact_id: str, level: str, expand: Expand | None
) -> Disclosure:
    """Disclose one artifact, its first record expanded. Raises NotFound where it is gone."""
    artifact = ledger.artifact(corpus, artifact_id)
    if artifact is None:
        raise NotFound(f"{corpus}/{artifact_id} is gone", "ask discover again")
    return _expanded(ledger, artifact, level, None, expand)


def disclose_hit(ledger: Ledger, hit: Hit, level: str, expand: Expand | None) -> Hit:
    """Return a hit with its disclosure, expanded around the record that matched."""
    artifact = ledger.artifact(hit.corpus, hit.artifact_id)
    if artifact is None:
        return hit
    return replace(hit, disclosure=_expanded(ledger, artifact, level, hit.surface_index, expand))


def _expanded(
    ledger: Ledger, artifact: StoredArtifact, level: str, around: int | None, expand: Expand | None
) -> Disclosure:
    disclosed = disclose(artifact, level)
    if expand is None:
        return disclosed
    records = ledger.records_for_artifact(artifact.corpus, artifact.artifact_id)
    return with_passage(disclosed, expanded(records, around, expand))


def with_passage(disclosed: Disclosure, passage: Passage) -> Disclosure:
    """Add an expanded text, cut where it is long."""
    return replace(
        disclosed,
        passage=passage.text[:PASSAGE_CHARS],
        passage_records=passage.records,
        expansion=passage.note,
        truncated=disclosed.truncated or len(passage.text) > PASSAGE_CHARS,
    )


def _with_body(plain: Disclosure, text: str, stale: bool) -> Disclosure:
    text = text.removeprefix("\ufeff")
    return replace(
        plain,
        body=text[:BODY_CHARS],
        truncated=len(text) > BODY_CHARS,
        stale=stale,
        note="changed" if stale else "",
    )


def _read(pointer: str) -> bytes:
    if not os.path.isdir(pointer):
        return read_regular(pointer, _READ_BYTES)
    for name in sorted(filter(_is_readme, os.listdir(pointer)), key=_preference):
        path = os.path.join(pointer, name)
        if os.path.isfile(path):
            return read_regular(path, _READ_BYTES)
    raise FileNotFoundError(pointer)


def _is_readme(name: str) -> bool:
    return name.lower() in _READMES


def _preference(name: str) -> tuple[int, str]:
    return _READMES.index(name.lower()), name


def _with_bundle(disclosed: Disclosure) -> Disclosure:
    pointer = disclosed.pointer
    home = os.path.realpath(pointer if os.path.isdir(pointer) else os.path.dirname(pointer))
    paths = list(islice(_bundled_paths(home), BUNDLE_COUNTED))
    files = tuple(_bundle(home, paths[:BUNDLE_FILES]))
    return replace(disclosed, files=files, files_omitted=len(paths) - len(files))


def _bundle(home: str, paths: list[str]) -> Iterator[BundledFile]:
    left = BUNDLE_CHARS
    for path in paths:
        text = _small_text(path, left)
        left -= len(text or "")
        yield BundledFile(os.path.relpath(path, home), os.stat(path).st_size, text)


def _bundled_paths(home: str) -> Iterator[str]:
    for folder in _BUNDLE_DIRS:
        top = os.path.join(home, folder)
        if not at_or_under(os.path.realpath(top), home):
            continue
        for directory, below, names in os.walk(top):
            below.sort()
            for name in sorted(names):
                path = os.path.join(directory, name)
                if os.path.isfile(path) and at_or_under(os.path.realpath(path), home):
                    yield path


def _small_text(path: str, limit: int) -> str | None:
    try:
        content = read_regular(path, limit)
    except (OSError, SourceError):
        return None
    return None if b"\0" in content else content.decode("utf-8", "replace")
