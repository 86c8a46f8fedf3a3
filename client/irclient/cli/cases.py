"""Files of cases, and TREC's files in their place, for `irc eval`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from irclient.errors import QueryError

_FORM = 'write {"query": "...", "gold": ["id"]}'
# White space in an id would end its field.
_ESCAPED = str.maketrans({" ": "%20", "\t": "%09", "\n": "%0A", "\r": "%0D", "%": "%25"})
_QRELS = "query 0 id grade"
_TOPICS = "query text"
_RUN = "query Q0 id rank score tag"

PlainCase = dict[str, Any]


def read_cases(path: str) -> list[PlainCase]:
    """Read a file of cases, or stdin for "-"; the daemon checks what is in them.

    Raises QueryError naming the file, and the line that is no case.
    """
    cases = []
    for number, case in json_lines(path):
        if "__meta__" in case and number == 1:
            continue
        if not isinstance(case.get("query"), str):
            raise QueryError(f"{_name(path)}:{number}: the case has no query", _FORM)
        cases.append(case)
    if not cases:
        raise QueryError(f"{_name(path)}: no cases are in it", _FORM)
    return cases


def json_lines(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the maps of a file of JSON lines, or of stdin for "-", with the numbers of the lines.

    Raises QueryError naming the file and the line that is none.
    """
    for number, line in _lines(path):
        where = f"{_name(path)}:{number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise QueryError(f"{where}: not JSON: {error}", "one map a line") from error
        if not isinstance(value, dict):
            raise QueryError(f"{where}: not a map, but {value!r:.40}", "one map a line")
        yield number, value


def write_cases(path: str, cases: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> None:
    """Write cases as JSON lines after a line of `meta`; "-" is stdout. Overwrites nothing.

    Raises QueryError where the file cannot be written, or is there already.
    """
    rows = [{"__meta__": dict(meta)}, *cases]
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_text(path: str, text: str, *, over: bool = False) -> None:
    """Write a file, by default a new one; raise QueryError where that is not possible."""
    try:
        with open(path, "w" if over else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise QueryError(f"{path} exists", "it may have been reviewed: name another") from error
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror or error}", "name another file") from error


# -- TREC ------------------------------------------------------------------------------------------


def trec_cases(qrels: str, topics: str) -> list[PlainCase]:
    """Read topics (`query text` a line) with their qrels as cases, in the order of the topics."""
    grades: dict[str, dict[str, float]] = {}
    for number, line in _lines(qrels):
        fields = line.split()
        try:
            query, _, artifact_id, grade = fields
            grades.setdefault(query, {})[_read(artifact_id)] = float(grade)
        except ValueError as error:
            raise QueryError(f"{_name(qrels)}:{number}: it is not `{_QRELS}`") from error
    cases = []
    for number, line in _lines(topics):
        query, _, text = line.strip().replace("\t", " ", 1).partition(" ")
        if not text.strip():
            raise QueryError(f"{_name(topics)}:{number}: it is not `{_TOPICS}`")
        gold = {each: grade for each, grade in grades.get(query, {}).items() if grade > 0}
        cases.append({"query": text.strip(), "gold": gold, "metadata": {"topic": query}})
    if not cases:
        raise QueryError(f"{_name(topics)}: no topics are in it", f"write `{_TOPICS}` a line")
    return cases


def read_trec_run(path: str) -> dict[str, list[str]]:
    """Read a TREC run: the ids by query, by falling score; of equals the better rank comes first.

    Raises QueryError naming the file and the line.
    """
    found: dict[str, list[tuple[float, float, str]]] = {}
    for number, line in _lines(path):
        try:
            query, _, artifact_id, rank, score, _ = line.split()
            found.setdefault(query, []).append((-float(score), float(rank), _read(artifact_id)))
        except ValueError as error:
            raise QueryError(f"{_name(path)}:{number}: it is not `{_RUN}`") from error
    return {query: [each for *_, each in sorted(places)] for query, places in found.items()}


def write_trec_run(path: str, cases: Sequence[Mapping[str, Any]]) -> None:
    """Write what was ranked for each case of an evaluation, best first, as a TREC run."""
    rows = (
        f"{case['id']} Q0 {each.translate(_ESCAPED)} {at} {len(case['ranked']) - at + 1} irdaemon\n"
        for case in cases
        for at, each in enumerate(case["ranked"], start=1)
    )
    write_text(path, "".join(rows), over=True)


def write_trec_qrels(path: str, cases: Sequence[Mapping[str, Any]]) -> None:
    """Write the gold of each case of an evaluation, as TREC qrels."""
    rows = (
        f"{case['id']} 0 {each.translate(_ESCAPED)} {-int(-grade // 1)}\n"
        for case in cases
        for each, grade in case["gold"].items()
    )
    write_text(path, "".join(rows), over=True)


def _read(artifact_id: str) -> str:
    for char, written in _ESCAPED.items():
        if char != ord("%"):
            artifact_id = artifact_id.replace(str(written), chr(char))
    return artifact_id.replace("%25", "%")


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, or of stdin for "-", that are not blank, with their numbers."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{_name(path)}: {error}", "check the file") from error
    lines = enumerate(text.splitlines(), start=1)
    return ((number, line) for number, line in lines if line.strip())


def _name(path: str) -> str:
    return "stdin" if path == "-" else os.fspath(path)
