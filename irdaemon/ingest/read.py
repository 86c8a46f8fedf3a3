"""Read one entry, redact it and decompose it, ready to be stored."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import filterfalse
from typing import Any

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.scan import NAMELESS, OptOuts
from irdaemon.ledger import (
    Decomposed,
    Expected,
    KnownEntry,
    Record,
    Secret,
    Upsert,
    hash_content,
    hash_version,
    make_record_id,
)
from irdaemon.ledger.prompts import AUTHOR, PACK
from irdaemon.ledger.rows import (
    RecordTerms,
    hash_stated,
    make_storable,
)
from irdaemon.ledger.synopses import Synopses
from irdaemon.source.opening import follow_link, open_regular
from irdaemon.source.pack import find_packed
from irdaemon.source.redact import FoundSecret, Redactor
from irdaemon.source.redact.private import has_private
from irdaemon.strategy.edges import find_edges
from irdaemon.strategy.synopses import KIND, SynopsisNote, add_synopsis, is_synopsis
from irdaemon.text import count_terms, tokenize_name
from irdaemon.types import (
    FIRST_LINE,
    Artifact,
    Entry,
    IndexPlan,
    Reading,
    Refused,
    SessionTurn,
    SourceError,
)

# Redaction of a reading, before it is decomposed.
#
# An artifact about a project that opted out is skipped; the others lose their private blocks and
# secrets. The path and line of each secret are recorded while its value is still known.

OPTED_OUT = "opted_out"
# A file in which more lines than this hold a secret needs no exact list.
_MOST_PLACES = 1_000
_NEEDLE = 200
# A shorter value may occur by chance: it is searched together with the text before it.
_TELLING = 16


@dataclass(frozen=True, slots=True)
class Redacted:
    """The storable part of a reading, the places of its secrets, and the projects it is about.

    `skipped` counts what was left out, by reason; `projects` maps each directory to whether it had
    opted out at this reading. `turns` are a session's, without those about such a project and those
    with a private block.
    """

    artifacts: tuple[Artifact, ...]
    skipped: Mapping[str, int]
    secrets: tuple[Secret, ...] = ()
    projects: Mapping[str, bool] = field(default_factory=dict)
    turns: tuple[SessionTurn, ...] = ()


def redact_reading(reading: Reading, entry: Entry, level: str, optouts: OptOuts) -> Redacted:
    """Remove secrets and opted-out projects. Raises Refused for what cannot be redacted."""
    about = [artifact.project for artifact in reading.artifacts]
    about += [turn.project for turn in reading.turns]
    projects = {each: optouts.covers(each) for each in dict.fromkeys(about) if each}
    wanted = [a for a in reading.artifacts if not projects.get(a.project, False)]
    artifacts, secrets = list[Artifact](), list[Secret]()
    for artifact in wanted:
        cleaner = Redactor(level)
        artifacts.append(_redact_artifact(artifact, cleaner))
        secrets += _locate_secrets(cleaner.found, artifact, entry)
    out = len(reading.artifacts) - len(wanted)
    skipped = {**reading.skipped, OPTED_OUT: out} if out else reading.skipped
    open_turns = (each for each in reading.turns if not projects.get(each.project))
    turns = tuple(each for each in open_turns if not any(map(has_private, each.prompts)))
    return Redacted(tuple(artifacts), skipped, tuple(dict.fromkeys(secrets)), projects, turns)


def redact_kept(text: str, level: str) -> str:
    """Redact a text stored by an earlier version; "" if it may not be kept at all."""
    try:
        return Redactor(level).redact_text(text)
    except Refused:
        return ""


def _redact_artifact(artifact: Artifact, cleaner: Redactor) -> Artifact:
    return replace(
        artifact,
        raw=_forget_line(artifact.raw, cleaner.redact_value(artifact.raw)),
        name=cleaner.redact_text(artifact.name),
        metadata=cleaner.redact_value(artifact.metadata),
        body=None if artifact.body is None else cleaner.redact_text(artifact.body),
        uses=tuple(map(cleaner.redact_text, artifact.uses)),
        prompts=tuple(filter(str.strip, map(cleaner.redact_text, artifact.prompts))),
        misses=tuple(filter(str.strip, map(cleaner.redact_text, artifact.misses))),
    )


def _forget_line(raw: Any, redacted: Any) -> Any:
    """Return a redacted raw text, without its line number in the file if lines were removed."""
    if not isinstance(raw, dict) or FIRST_LINE not in raw:
        return redacted
    if str(raw["text"]).count("\n") == str(redacted["text"]).count("\n"):
        return redacted
    return {name: value for name, value in redacted.items() if name != FIRST_LINE}


def _locate_secrets(
    found: Iterable[FoundSecret], artifact: Artifact, entry: Entry
) -> Iterator[Secret]:
    """Yield the place of each secret; line 0 if its file spells it differently."""
    kinds = {needle: each.kind for each in found if (needle := _make_needle(each))}
    if not kinds:
        return
    path = next(filter(os.path.isfile, (artifact.pointer, entry.path)), "")
    # An entry's own path is real; files in a directory may be links.
    places = list(_find_lines(path, kinds, by_name=path != entry.path)) if path else []
    yield from places
    for kind in set(kinds.values()) - {place.kind for place in places}:
        yield Secret(path or entry.path or artifact.artifact_id, 0, kind)


def _make_needle(found: FoundSecret) -> str:
    line = found.value.strip().partition("\n")[0][:_NEEDLE]
    return line if len(line) >= _TELLING else (found.lead + line).strip()


def _find_lines(path: str, kinds: Mapping[str, str], *, by_name: bool) -> Iterator[Secret]:
    """Yield the lines of a file that hold one of the needles, plain or escaped as in JSON."""
    spelled = {
        form.encode("utf-8", "replace"): kind
        for needle, kind in kinds.items()
        for form in (needle, json.dumps(needle)[1:-1], json.dumps(needle, ensure_ascii=False)[1:-1])
    }
    left = _MOST_PLACES
    try:
        with open_regular(follow_link(path, by_name=by_name)) as file:
            for number, line in enumerate(file, start=1):
                if b"\0" in line:  # a database has no lines
                    return
                for kind in {kind for form, kind in spelled.items() if form in line}:
                    yield Secret(path, number, kind)
                    left -= 1
                if left <= 0:
                    return
    except (OSError, SourceError):
        return


# The limits that an entry may exceed, and the remedy for each.
TOO_LARGE = "it takes more memory than it may"
CURE = "exclude it, or split its content"


@dataclass(frozen=True, slots=True)
class ReadRules:
    """What all readings of a scan share.

    `synopses` are those of the ledger, for a corpus that has any; `count` turns a surface's text
    and its extra lexical text into the terms of a record.
    """

    optouts: OptOuts
    synopses: Synopses | None = None
    count: Callable[[str, str], RecordTerms] = count_terms


def read_entry(
    corpus: Corpus,
    entry: Entry,
    known: KnownEntry | None,
    rules: ReadRules,
) -> Upsert | SourceError | None:
    """Return the content of an entry, or why it cannot be read; None if it is gone."""
    cursor = known.cursor if known and known.recipe == corpus.recipe else None
    what = f"{entry.path or entry.key}: reading failed"
    try:
        with _as_source_error(what, FileNotFoundError, SourceError):
            reading = corpus.source.read(entry, cursor)
        kept = redact_reading(reading, entry, corpus.redaction, rules.optouts)
        artifacts = tuple(
            _decompose(corpus, each, rules, is_head=reading.is_head) for each in kept.artifacts
        )
    except FileNotFoundError:
        return None
    except SourceError as error:
        return error
    return Upsert(
        entry,
        corpus.recipe,
        artifacts,
        reading.cursor,
        reading.partial,
        kept.skipped,
        kept.secrets,
        kept.projects,
        kept.turns,
        reading.is_head,
    )


# No hash: a head is stored once, and reading the body replaces it.
_OF_HEAD = "head"


def _decompose(
    corpus: Corpus,
    artifact: Artifact,
    rules: ReadRules,
    *,
    is_head: bool,
) -> Decomposed:
    shown = make_storable(artifact.artifact_id)
    with _as_source_error(f"{shown}: it could not be decomposed", SourceError):
        if shown != artifact.artifact_id:
            raise ValueError(NAMELESS)
        plan = corpus.strategy.decompose(artifact.artifact_id, artifact.raw, artifact.metadata)
        if project := corpus.project:
            own = {"project": project.name, "project_root": make_storable(project.root)}
            plan = replace(plan, filter_fields={**plan.filter_fields, **own})
        recipe = corpus.recipe
        synopses = rules.synopses
        held = synopses.find(corpus.name, artifact.artifact_id, KIND) if synopses else None
        if corpus.synopsis and held:
            text, about = held
            plan = add_synopsis(plan, artifact.artifact_id, text, SynopsisNote.from_dict(about))
            recipe += f" synopsis {hash_content(plan.surfaces[:1])}"
        stated = _find_stated(corpus, artifact, plan)
        if stated:
            recipe += f" {hash_stated(stated)}"
        plain, written = filterfalse(is_synopsis, plan.surfaces), filter(is_synopsis, plan.surfaces)
        return Decomposed(
            artifact,
            plan.filter_fields,
            tuple(_make_records(artifact.artifact_id, plan, rules.count)),
            hash_content(plain, written),
            _OF_HEAD if is_head else hash_version(artifact, plan.filter_fields, recipe),
            # A turn's name is its first words, which are no real name.
            tuple(tokenize_name(artifact.name)) if getattr(corpus.strategy, "named", True) else (),
            () if is_head else find_edges(artifact, plan.filter_fields, corpus.edge_extractor),
            stated,
        )


def _find_stated(corpus: Corpus, artifact: Artifact, plan: IndexPlan) -> dict[str, Expected]:
    """Return the expected prompts that come with an artifact, by provenance.

    None for a corpus with a backend that learns nothing: the words would leave this machine.
    """
    if corpus.backend and not corpus.learns:
        return {}
    by_author = Expected.from_prompts(artifact.prompts, artifact.misses)
    found = {AUTHOR: by_author} if by_author.prompts else {}
    text = plan.surfaces[0].text if plan.surfaces and corpus.packed else ""
    by_pack = find_packed(corpus.kind, artifact, plan.filter_fields, text) if text else ()
    return {**found, PACK: Expected.from_prompts(by_pack)} if by_pack else found


def _make_records(
    artifact_id: str, plan: IndexPlan, count: Callable[[str, str], RecordTerms]
) -> Iterator[Record]:
    for index, surface in enumerate(plan.surfaces):
        yield Record(
            make_record_id(artifact_id, surface.kind, index),
            surface.kind,
            surface.granularity,
            index,
            surface.text,
            surface.metadata,
            count(surface.text, surface.lexical),
        )


@contextmanager
def _as_source_error(what: str, *passed: type[Exception]) -> Iterator[None]:
    """Turn any error of a source or strategy into a SourceError, except `passed` ones."""
    try:
        yield
    except passed:
        raise
    except MemoryError as error:
        raise SourceError(f"{what}: {TOO_LARGE}", CURE) from error
    except Exception as error:
        raise SourceError(f"{what}: {error!r}") from error
