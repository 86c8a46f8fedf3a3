"""Graded cases: artifacts with the level at which each answers one theme or another, in a file.

One JSON object a line, `{"artifact_id": ..., "levels": {theme: level}, "reasons"?, "observed"?,
"is_thin"?, "is_distractor"?, "metadata"?}`. A first line `{"__meta__": {...}}` holds what is said
of all cases, such as the text that is searched for each theme.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irclient.errors import QueryError
from irdaemon.evaluate.graded import GAINS, GradedQuery, check_level

_META = "__meta__"
_NONE = "none"
# What answers a theme this well is a hard positive where little is said of it.
_RELEVANT = ("strong", "core")
_FORM = 'write {"artifact_id": "...", "levels": {"theme": "core"}}'


@dataclass(frozen=True, slots=True)
class GradedCase:
    """An artifact, and the level at which it answers each theme; none where a theme is left out.

    `reasons` say why, by theme; `observed` is the score that a ranking once gave it, by theme.
    `is_thin`: so little is said of it that it hardly comes up. `is_distractor` decides by theme
    what is otherwise found by `observed`. Raises QueryError for an unknown level.
    """

    artifact_id: str
    levels: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    observed: Mapping[str, float] = field(default_factory=dict)
    is_thin: bool = False
    is_distractor: Mapping[str, bool] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for level in self.levels.values():
            check_level(level, self.artifact_id)

    def level(self, theme: str) -> str:
        """Return the level at which it answers a theme."""
        return self.levels.get(theme, _NONE)

    def gain(self, theme: str, gains: Mapping[str, float] = GAINS) -> float:
        """Return the gain of its level, 0 for a level that `gains` does not name."""
        return gains.get(self.level(theme), 0.0)

    def distracts(self, theme: str, observed_floor: float) -> bool:
        """Return whether it came up for a theme that it does not answer."""
        if theme in self.is_distractor:
            return self.is_distractor[theme]
        return not self.gain(theme) and self.observed.get(theme, -1.0) >= observed_floor

    def is_hard(self, theme: str) -> bool:
        """Return whether it answers a theme well and hardly says so."""
        return self.is_thin and self.level(theme) in _RELEVANT

    @classmethod
    def from_dict(cls, data: Any, where: str = "the case") -> GradedCase:
        """Build a case from plain data. Raises QueryError naming `where`."""
        if not isinstance(data, Mapping) or not isinstance(data.get("artifact_id"), str):
            raise QueryError(f"{where} has no artifact_id", _FORM)
        parts: dict[str, Any] = {}
        for name in ("levels", "reasons", "observed", "is_distractor", "metadata"):
            part = data.get(name) or {}
            if not isinstance(part, Mapping):
                raise QueryError(f"{where}: {name} must be a mapping, not {part!r:.60}", _FORM)
            parts[name] = dict(part)
        return cls(data["artifact_id"], is_thin=bool(data.get("is_thin")), **parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the case as plain data, without what is empty."""
        plain: dict[str, Any] = {"artifact_id": self.artifact_id, "levels": dict(self.levels)}
        for name in ("reasons", "observed", "is_thin", "is_distractor", "metadata"):
            if value := getattr(self, name):
                plain[name] = dict(value) if isinstance(value, Mapping) else value
        return plain


def save_graded_cases(
    path: str | os.PathLike[str], cases: Iterable[GradedCase], meta: Mapping[str, Any] | None = None
) -> None:
    """Write cases as JSON lines, after a line of `meta` where it is given."""
    rows: list[Mapping[str, Any]] = [{_META: dict(meta)}] if meta is not None else []
    rows += [case.to_dict() for case in cases]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def load_graded_cases(path: str | os.PathLike[str]) -> list[GradedCase]:
    """Read a file of cases. Raises QueryError naming the file, and the line that is none."""
    return [
        GradedCase.from_dict(data, where)
        for where, data in _rows(path)
        if not (isinstance(data, Mapping) and _META in data)
    ]


def read_graded_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the first line of a file says of all cases; nothing where it is a case."""
    for _, data in _rows(path):
        return dict(data.get(_META) or {}) if isinstance(data, Mapping) else {}
    return {}


def _rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    """Yield each line's place and what it holds."""
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{name}: {error}", "check the file") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield f"{name}:{number}", json.loads(line)
        except ValueError as error:
            raise QueryError(f"{name}:{number}: not JSON: {error}", _FORM) from error


def level_histogram(cases: Sequence[GradedCase], theme: str) -> dict[str, int]:
    """Count the artifacts at each level of a theme, from the weakest level to the strongest."""
    counts = Counter(case.level(theme) for case in cases)
    return {level: counts[level] for level in GAINS}


def graded_query(
    cases: Sequence[GradedCase], theme: str, text: str, observed_floor: float
) -> GradedQuery:
    """Return the query of a theme, with what is watched taken from the cases.

    Distractors do not answer it and had a score of at least `observed_floor`; hard positives
    answer it and are thin. Both are sorted, so that the same cases give the same query.
    """
    distractors = {case.artifact_id for case in cases if case.distracts(theme, observed_floor)}
    hard = {case.artifact_id for case in cases if case.is_hard(theme)}
    levels = {case.artifact_id: case.level(theme) for case in cases if theme in case.levels}
    return GradedQuery(text, levels, tuple(sorted(distractors)), tuple(sorted(hard)), theme)


def graded_queries(
    cases: Sequence[GradedCase], texts: Mapping[str, str], observed_floor: float
) -> list[GradedQuery]:
    """Return the query of each theme that `texts` has a text for; see `graded_query`.

    Raises QueryError for a theme of the cases that has no text.
    """
    for theme in sorted({theme for case in cases for theme in case.levels}):
        if theme not in texts:
            raise QueryError(f"theme {theme!r} has no text", "give what is searched for it")
    return [graded_query(cases, theme, text, observed_floor) for theme, text in texts.items()]
