"""Read Codex's rollout files.

A rollout holds everything twice, as events and as response items. The events are what the person
saw, so they are used where they hold prompts; the items otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irdaemon.source.sessions.codex_stream import EVENT, ITEM, RolloutStream
from irdaemon.source.sessions.cursor import TurnContext
from irdaemon.source.sessions.lines import LineReader, part, plain
from irdaemon.source.sessions.pairing import turns_of
from irdaemon.source.sessions.transcript import Start, Transcript

_LINES = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
)


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is a rollout's, by its structure."""
    return plain(record.get("type")) in _LINES and isinstance(record.get("payload"), dict)


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return whether a rollout is a sub-agent's, by its first line."""
    meta = part(record, "payload")
    return meta.get("thread_source") == "subagent" or "subagent" in part(meta, "source")


def transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a rollout, or its tail, into turns."""
    streams = [RolloutStream(name, start.session, start.place) for name in (EVENT, ITEM)]
    for line in reader.records():
        _count_unknown(line.record, reader.skipped)
        for stream in streams:
            stream.take(line)
    used = next((stream for stream in streams if stream.opened), streams[-1])
    return _transcript(used, start)


def _count_unknown(record: Mapping[str, Any], skipped: Counter[str]) -> None:
    kind = plain(record.get("type"), 40)
    if kind not in _LINES:
        skipped[f"record:{kind or 'untyped'}"] += 1


def _transcript(stream: RolloutStream, start: Start) -> Transcript:
    turns = turns_of(stream.steps, assume_end=not stream.place.marked)
    place = stream.openings.get(turns[-1].opening.offset) if turns else None
    resume = turns[-1].opening.offset if turns and place else 0
    first_stands = bool(turns) and turns[0].opening is stream.opened[0]
    holds = not start.is_tail or (stream.name == start.place.stream and first_stands)
    after = replace(place or TurnContext(), stream=stream.name)
    return Transcript(tuple(turns), stream.session, after, resume, holds)
