"""Redaction: what of a reading may be kept, between reading it and decomposing it.

An artifact about a project that opted out is left out; the texts of the others lose their private
blocks and secrets. Where a secret lies is noted by path and line, found by a search of the
file, while its value is still at hand.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from irdaemon.ingest.optout import OptOuts
from irdaemon.ledger import Secret
from irdaemon.source.opening import followed, open_regular
from irdaemon.source.redact import FoundSecret, Redactor
from irdaemon.source.redact.private_blocks import has_private
from irdaemon.types import Artifact, Entry, Reading, Refused, SessionTurn, SourceError

OPTED_OUT = "opted_out"
# A file in which more lines than this hold a secret needs no exact list.
_MOST_PLACES = 1_000
_NEEDLE = 200
# A shorter value may occur in a file by chance: it is searched together with what precedes it.
_TELLING = 16


@dataclass(frozen=True, slots=True)
class Redacted:
    """What of a reading may be kept, where its secrets lie, and the projects it was about.

    `skipped` counts by reason what was left out; `projects` maps each directory to whether it had
    opted out at this reading. `turns` are a session's, but for those about a project that has, and
    those in which something private was said.
    """

    artifacts: tuple[Artifact, ...]
    skipped: Mapping[str, int]
    secrets: tuple[Secret, ...] = ()
    projects: Mapping[str, bool] = field(default_factory=dict)
    turns: tuple[SessionTurn, ...] = ()


def redacted(reading: Reading, entry: Entry, level: str, optouts: OptOuts) -> Redacted:
    """Return what of a reading may be kept. Raises Refused for what cannot be redacted."""
    about = [artifact.project for artifact in reading.artifacts]
    about += [turn.project for turn in reading.turns]
    projects = {each: optouts.covers(each) for each in dict.fromkeys(about) if each}
    wanted = [a for a in reading.artifacts if not projects.get(a.project, False)]
    artifacts, secrets = list[Artifact](), list[Secret]()
    for artifact in wanted:
        cleaner = Redactor(level)
        artifacts.append(_redacted_artifact(artifact, cleaner))
        secrets += _placed(cleaner.found, artifact, entry)
    out = len(reading.artifacts) - len(wanted)
    skipped = {**reading.skipped, OPTED_OUT: out} if out else reading.skipped
    turns = tuple(t for t in reading.turns if not (projects.get(t.project) or _is_private(t)))
    return Redacted(tuple(artifacts), skipped, tuple(dict.fromkeys(secrets)), projects, turns)


def _is_private(turn: SessionTurn) -> bool:
    return any(has_private(prompt) for prompt in turn.prompts)


def redacted_again(text: str, level: str) -> str:
    """Return what of a text kept by an earlier version may be kept; "" where none of it may."""
    try:
        return Redactor(level).text(text)
    except Refused:
        return ""


def _redacted_artifact(artifact: Artifact, cleaner: Redactor) -> Artifact:
    return replace(
        artifact,
        raw=cleaner.value(artifact.raw),
        name=cleaner.text(artifact.name),
        metadata=cleaner.value(artifact.metadata),
        body=None if artifact.body is None else cleaner.text(artifact.body),
        uses=tuple(map(cleaner.text, artifact.uses)),
    )


def _placed(found: Iterable[FoundSecret], artifact: Artifact, entry: Entry) -> Iterator[Secret]:
    """Yield where each secret lies; line 0 where its file does not spell it as it was read."""
    kinds = {needle: each.kind for each in found if (needle := _needle(each))}
    if not kinds:
        return
    path = next(filter(os.path.isfile, (artifact.pointer, entry.path)), "")
    # An entry's own path is real; what a directory holds may be linked by its name.
    places = list(_lines(path, kinds, by_name=path != entry.path)) if path else []
    yield from places
    for kind in set(kinds.values()) - {place.kind for place in places}:
        yield Secret(path or entry.path or artifact.artifact_id, 0, kind)


def _needle(found: FoundSecret) -> str:
    line = found.value.strip().partition("\n")[0][:_NEEDLE]
    return line if len(line) >= _TELLING else (found.lead + line).strip()


def _lines(path: str, kinds: Mapping[str, str], *, by_name: bool) -> Iterator[Secret]:
    """Yield the lines of a file that hold one of the needles, plain or as JSON spells it."""
    spelled = {
        form.encode("utf-8", "replace"): kind
        for needle, kind in kinds.items()
        for form in (needle, json.dumps(needle)[1:-1], json.dumps(needle, ensure_ascii=False)[1:-1])
    }
    left = _MOST_PLACES
    try:
        with open_regular(followed(path, by_name=by_name)) as file:
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
