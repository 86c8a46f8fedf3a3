"""Uses from elsewhere: records as JSONL has them, one use a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from irclient.errors import QueryError
from irdaemon.types import Use

_HOW = 'a use is {"prompt": "...", "gold": ["id"], "session": "...", "at": "2026-01-31T12:00:00Z"}'
_KEYS = ("prompt", "gold", "session", "at", "corpus")


def given_uses(given: Iterable[Use | Mapping[str, Any]]) -> list[Use]:
    """Return uses out of records; Raises QueryError naming the first that is none."""
    return [
        each if isinstance(each, Use) else _use(each, f"use {number}")
        for number, each in enumerate(given, start=1)
    ]


def read_uses(path: str) -> list[Use]:
    """Return the uses of a JSONL file; blank lines are skipped.

    Raises QueryError naming file and line of what is no use, and for a file that cannot be read.
    """
    return list(_read(path))


def _read(path: str) -> Iterator[Use]:
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{path}: {error}", "give a file of JSON, one use a line") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except ValueError as error:
                raise QueryError(f"{where}: not JSON: {error}", _HOW) from error
            yield _use(record, where)


def _use(record: Any, where: str) -> Use:
    if not isinstance(record, Mapping):
        raise QueryError(f"{where}: not an object but {record!r:.60}", _HOW)
    if unknown := [key for key in record if key not in _KEYS]:
        raise QueryError(f"{where}: unknown key {unknown[0]!r}", _HOW)
    prompt, gold = record.get("prompt"), record.get("gold")
    if not isinstance(prompt, str) or not prompt.strip():
        raise QueryError(f"{where}: `prompt` must be text, not {prompt!r:.60}", _HOW)
    ids = gold if isinstance(gold, (list, tuple)) else ()
    if not ids or not all(isinstance(id, str) and id for id in ids):
        raise QueryError(f"{where}: `gold` must be a list of ids, not {gold!r:.60}", _HOW)
    texts = {key: record.get(key) or "" for key in ("session", "corpus")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise QueryError(f"{where}: `{key}` must be text, not {text!r:.60}", _HOW)
    return Use(
        prompt, tuple(ids), texts["session"], _time(record.get("at"), where), texts["corpus"]
    )


def _time(at: Any, where: str) -> float:
    if at is None or at == "":
        return 0.0
    if isinstance(at, (int, float)) and not isinstance(at, bool):
        return float(at)
    try:
        moment = datetime.fromisoformat(at)
    except (TypeError, ValueError):
        raise QueryError(f"{where}: `at` is no time: {at!r:.60}", _HOW) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
