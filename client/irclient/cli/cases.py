"""Read and write cases for `irc eval`, as JSON lines or as TREC files."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irclient.cli.query import read_source
from irclient.errors import QueryError
from irclient.results import KnownUse

_FORM = 'write {"query": "...", "gold": ["id"]}'
# White space in an id would end its field.
_ESCAPED = str.maketrans({" ": "%20", "\t": "%09", "\n": "%0A", "\r": "%0D", "%": "%25"})
_QRELS = "query 0 id grade"
_TOPICS = "query text"
_RUN = "query Q0 id rank score tag"

PlainCase = dict[str, Any]


def read_cases(path: str) -> list[PlainCase]:
    """Read a file of cases, or stdin for "-"; the daemon validates their fields.

    Raises QueryError naming the file and the invalid line.
    """
    cases = []
    for number, case in read_json_lines(path):
        if "__meta__" in case and number == 1:
            continue
        if not isinstance(case.get("query"), str):
            raise QueryError(f"{_name_source(path)}:{number}: the case has no query", _FORM)
        cases.append(case)
    if not cases:
        raise QueryError(f"{_name_source(path)}: it contains no cases", _FORM)
    return cases


def read_json_lines(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line numbers and maps of a file of JSON lines, or of stdin for "-".

    Raises QueryError naming the file and the invalid line.
    """
    for number, line in _read_lines(path):
        where = f"{_name_source(path)}:{number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise QueryError(f"{where}: not JSON: {error}", "one map a line") from error
        if not isinstance(value, dict):
            raise QueryError(f"{where}: not a map, but {value!r:.40}", "one map a line")
        yield number, value


def write_cases(path: str, cases: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> None:
    """Write cases as JSON lines after a line of `meta`, into a new file.

    Raises QueryError if the file exists or cannot be written.
    """
    rows = [{"__meta__": dict(meta)}, *cases]
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_text(path: str, text: str, *, over: bool = False) -> None:
    """Write a file, by default a new one. Raises QueryError if that fails."""
    try:
        with open(path, "w" if over else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise QueryError(f"{path} exists", "it may have been reviewed: name another") from error
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror or error}", "name another file") from error


# -- TREC ------------------------------------------------------------------------------------------


def read_trec_cases(qrels: str, topics: str) -> list[PlainCase]:
    """Read topics (a `query text` on each line) and their qrels as cases, in topic order."""
    grades: dict[str, dict[str, float]] = {}
    for number, line in _read_lines(qrels):
        fields = line.split()
        try:
            query, _, artifact_id, grade = fields
            grades.setdefault(query, {})[_unescape_id(artifact_id)] = float(grade)
        except ValueError as error:
            raise QueryError(f"{_name_source(qrels)}:{number}: it is not `{_QRELS}`") from error
    cases = []
    for number, line in _read_lines(topics):
        query, _, text = line.strip().replace("\t", " ", 1).partition(" ")
        if not text.strip():
            raise QueryError(f"{_name_source(topics)}:{number}: it is not `{_TOPICS}`")
        gold = {each: grade for each, grade in grades.get(query, {}).items() if grade > 0}
        cases.append({"query": text.strip(), "gold": gold, "metadata": {"topic": query}})
    if not cases:
        raise QueryError(
            f"{_name_source(topics)}: it contains no topics", f"write `{_TOPICS}` a line"
        )
    return cases


def read_trec_run(path: str) -> dict[str, list[str]]:
    """Read a TREC run: the ids by query, by falling score, then by rank.

    Raises QueryError naming the file and the line.
    """
    found: dict[str, list[tuple[float, float, str]]] = {}
    for number, line in _read_lines(path):
        try:
            query, _, artifact_id, rank, score, _ = line.split()
            found.setdefault(query, []).append(
                (-float(score), float(rank), _unescape_id(artifact_id))
            )
        except ValueError as error:
            raise QueryError(f"{_name_source(path)}:{number}: it is not `{_RUN}`") from error
    return {query: [each for *_, each in sorted(places)] for query, places in found.items()}


def write_trec_run(path: str, cases: Sequence[Mapping[str, Any]]) -> None:
    """Write the rankings of an evaluation as a TREC run."""
    rows = (
        f"{case['id']} Q0 {each.translate(_ESCAPED)} {at} {len(case['ranked']) - at + 1} irdaemon\n"
        for case in cases
        for at, each in enumerate(case["ranked"], start=1)
    )
    write_text(path, "".join(rows), over=True)


def write_trec_qrels(path: str, cases: Sequence[Mapping[str, Any]]) -> None:
    """Write the gold of an evaluation as TREC qrels."""
    rows = (
        f"{case['id']} 0 {each.translate(_ESCAPED)} {-int(-grade // 1)}\n"
        for case in cases
        for each, grade in case["gold"].items()
    )
    write_text(path, "".join(rows), over=True)


def _unescape_id(artifact_id: str) -> str:
    for char, written in _ESCAPED.items():
        if char != ord("%"):
            artifact_id = artifact_id.replace(str(written), chr(char))
    return artifact_id.replace("%25", "%")


def _read_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers and texts of the non-blank lines of a file, or of stdin for "-"."""
    try:
        text = read_source(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise QueryError(f"{_name_source(path)}: {error}", "check the file") from error
    lines = enumerate(text.splitlines(), start=1)
    return ((number, line) for number, line in lines if line.strip())


def _name_source(path: str) -> str:
    return "stdin" if path == "-" else os.fspath(path)


# -- cases from uses -------------------------------------------------------------------------------
#
# A use is a prompt and what was used for it: {"prompt", "gold": [ids], "session", "at" (Unix
# seconds), "corpus"}. Uses are split by time, the older part for tuning and the newer one for
# judging, so no prompt or session of the older part is in the newer one. A person reviews both,
# since the items that were used are not all that would have served.

_USE_FORM = 'write {"prompt": "...", "gold": ["id"], "session": "...", "at": 1795228222}'


def read_uses(path: str) -> list[KnownUse]:
    """Read a file of uses, or stdin for "-". Raises QueryError naming the file and the line."""
    name = "stdin" if path == "-" else path
    uses = [_read_use(value, f"{name}:{number}") for number, value in read_json_lines(path)]
    if not uses:
        raise QueryError(f"{name}: it contains no uses", _USE_FORM)
    return uses


def mine_cases(uses: Iterable[KnownUse], newest: float) -> tuple[list[PlainCase], list[PlainCase]]:
    """Return the cases of the older uses, and those of the `newest` share (0 to 1) by time.

    Prompts that differ only in case and white space become one case with all their gold.
    """
    uses = [replace(use, prompt=use.prompt.strip()) for use in uses]
    ordered = sorted(uses, key=lambda use: (use.at, use.session, use.prompt))
    cut = len(ordered) - round(len(ordered) * newest)
    older = ordered[:cut]
    prompts, sessions = set(map(_make_key, older)), {use.session for use in older if use.session}
    newer = [
        use
        for use in ordered[cut:]
        if _make_key(use) not in prompts and use.session not in sessions
    ]
    return _make_cases(older), _make_cases(newer)


def _make_key(use: KnownUse) -> tuple[str, str]:
    """Return a key that is equal for uses of the same prompt in the same corpus."""
    return use.corpus, " ".join(use.prompt.casefold().split())


def _make_cases(uses: Sequence[KnownUse]) -> list[PlainCase]:
    by_prompt: dict[tuple[str, str], list[KnownUse]] = {}
    for use in uses:
        by_prompt.setdefault(_make_key(use), []).append(use)
    return list(map(_make_case, by_prompt.values()))


def _make_case(uses: Sequence[KnownUse]) -> PlainCase:
    """Return the case of one prompt, with the evidence that a reviewer needs."""
    first = uses[0]
    counts = Counter(each for use in uses for each in use.gold)
    metadata: dict[str, Any] = {
        "reviewed": False,
        "uses": dict(counts),
        "sessions": len({use.session for use in uses}),
        "at": first.at,
    }
    if named := [each for each in counts if _is_named(each, first.prompt)]:
        metadata["names"] = named  # such a prompt tests spelling, not finding
    own = {"corpus": first.corpus} if first.corpus else {}
    return {"query": first.prompt, "gold": list(counts), **own, "metadata": metadata}


def _is_named(artifact_id: str, prompt: str) -> bool:
    name = artifact_id.rstrip("/").rpartition("/")[2].casefold()
    words = [word for word in re.split(r"[\s_-]+", name) if word]
    spelled = r"[\s_-]*".join(map(re.escape, words))
    return bool(words) and re.search(rf"(?<!\w){spelled}(?!\w)", prompt.casefold()) is not None


def _read_use(value: Mapping[str, Any], where: str) -> KnownUse:
    gold = value.get("gold")
    gold = [gold] if isinstance(gold, str) else gold
    is_text = isinstance(value.get("prompt"), str) and value["prompt"].strip()
    if not is_text or not isinstance(gold, list) or not gold:
        raise QueryError(f"{where}: a use has a prompt and gold", _USE_FORM)
    at = value.get("at", 0)
    if not all(isinstance(each, str) for each in gold) or not _is_time(at):
        raise QueryError(f"{where}: gold is a list of ids, `at` in Unix seconds", _USE_FORM)
    session, corpus = value.get("session") or "", value.get("corpus") or ""
    return KnownUse(value["prompt"].strip(), tuple(gold), str(session), float(at), str(corpus))


def _is_time(at: object) -> bool:
    return isinstance(at, (int, float)) and not isinstance(at, bool) and abs(at) < float("inf")
