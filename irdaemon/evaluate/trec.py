"""TREC's files: qrels (`query 0 id grade`) and runs (`query Q0 id rank score tag`), in and out.

Queries have the ids of `query_id`. White space in an artifact's id is written as in a URL, since it
separates the fields. A run's scores are places counted from the end, so that other programs, which
sort by score alone, keep the order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irclient.errors import QueryError
from irdaemon.evaluate.cases import Case, query_id
from irdaemon.evaluate.runs import Run
from irdaemon.types import Hit

_TAG = "irdaemon"
_WRITTEN = re.compile(r"%(20|09|0A|0D|25)")

Path = str | os.PathLike[str]


def write_qrels(path: Path, cases: Sequence[Case]) -> None:
    """Write the gold of cases, its grades rounded up to whole ones."""
    rows = (
        f"{query_id(number)} 0 {_escaped(each)} {-int(-grade // 1)}\n"
        for number, case in enumerate(cases)
        for each, grade in case.relevance.items()
    )
    _write(path, rows)


def write_run(path: Path, runs: Sequence[Run], tag: str = _TAG) -> None:
    """Write the candidates of runs, best first."""
    rows = (
        f"{query_id(number)} Q0 {_escaped(each)} {rank} {len(run.ranked) - rank + 1} {tag}\n"
        for number, run in enumerate(runs)
        for rank, each in enumerate(run.ranked, start=1)
    )
    _write(path, rows)


def read_qrels(path: Path) -> dict[str, dict[str, float]]:
    """Return the grades by query and id. Raises QueryError naming the file and the line."""
    found: dict[str, dict[str, float]] = {}
    for where, (query, _, artifact_id, grade) in _rows(path, 4):
        found.setdefault(query, {})[_read(artifact_id)] = _number(grade, where)
    return found


def read_run(path: Path) -> dict[str, list[str]]:
    """Return the ids by query, by falling score; of equals the better rank comes first.

    Raises QueryError naming the file and the line.
    """
    found: dict[str, list[tuple[float, float, str]]] = {}
    for where, (query, _, artifact_id, rank, score, _) in _rows(path, 6):
        place = (-_number(score, where), _number(rank, where), _read(artifact_id))
        found.setdefault(query, []).append(place)
    return {query: [each for *_, each in sorted(places)] for query, places in found.items()}


def cases_of(topics: Mapping[str, str], qrels: Mapping[str, Mapping[str, float]]) -> list[Case]:
    """Return a case for each topic {query id: text}, with the grades that are above 0."""
    judged = ((text, qrels.get(query, {})) for query, text in topics.items())
    return [Case.from_dict({"query": text, "gold": dict(grades)}) for text, grades in judged]


def runs_of(run: Mapping[str, Sequence[str]], cases: Sequence[Case]) -> list[Run]:
    """Return what another program ranked for cases, by `query_id`, as runs that commit nothing."""
    empty = Hit("", "", "", "", 0.0, {}, "", "", {})
    made = []
    for number, case in enumerate(cases):
        ranked = run.get(query_id(number), ())
        hits = [
            replace(empty, artifact_id=each, name=each, score=1 / at)
            for at, each in enumerate(ranked, start=1)
        ]
        made.append(Run(case, tuple(hits), (), True, None))
    return made


def _rows(path: Path, columns: int) -> Iterator[tuple[str, list[str]]]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{os.fspath(path)}: {error}", "check the file") from error
    for number, line in enumerate(lines, start=1):
        where, fields = f"{os.fspath(path)}:{number}", line.split()
        if fields and len(fields) != columns:
            raise QueryError(f"{where}: {len(fields)} fields, not {columns}", "is it of this form?")
        if fields:
            yield where, fields


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise QueryError(f"{where}: {text!r:.40} is no number") from error


def _write(path: Path, rows: Iterator[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(rows)


def _escaped(artifact_id: str) -> str:
    return re.sub(r"[%\s]", lambda found: f"%{ord(found[0]):02X}", artifact_id)


def _read(text: str) -> str:
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text)
