"""Expansion: the text around the record that matched, reassembled.

`window:K` takes the K neighbours of the same kind on either side in plan order, `artifact` all the
surfaces of the artifact. Neighbouring chunks overlap; an overlap of at least eight characters is
kept once, otherwise parts are joined by a blank line: a repetition is better than a loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from irclient.errors import QueryError
from irdaemon.runtime.plugins import did_you_mean

PASSAGE_CHARS = 20_000
EXPANSIONS = ("none", "window", "artifact")
_SHORTEST_OVERLAP = 8
# Chunk overlaps are a few hundred characters; a longer one would be the author's repetition.
_LONGEST_OVERLAP = 2_000
_WIDEST = 50

StoredRecord = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Expand:
    """How far to expand: `window` by `width` neighbours on either side, or to the `artifact`."""

    kind: str
    width: int = 1


@dataclass(frozen=True, slots=True)
class ExpandedText:
    """An expanded text, the ids of its records, and a note if it is not as requested."""

    text: str
    records: tuple[str, ...]
    note: str = ""


def parse_expand(text: str) -> Expand | None:
    """Parse `none`, `window`, `window:K` or `artifact`; return None for `none`.

    Raises QueryError for anything else.
    """
    kind, colon, width = str(text).partition(":")
    if kind not in EXPANSIONS or (colon and kind != "window"):
        raise QueryError(
            f"unknown expansion {text!r}{did_you_mean(kind, EXPANSIONS)}",
            "use none, window, window:K or artifact",
        )
    if kind == "none":
        return None
    if colon and not (width.isascii() and width.isdigit() and 1 <= int(width) <= _WIDEST):
        raise QueryError(f"a window is 1 to {_WIDEST} records wide, not {width!r}")
    return Expand(kind, int(width) if colon else 1)


def expand_record(
    records: Sequence[StoredRecord], seed: int | None, expand: Expand
) -> ExpandedText:
    """Return the passage around the record at surface index `seed` (None: the first record)."""
    if not records:
        return ExpandedText("", (), "no_ledger_entry")
    found = next((r for r in records if r["surface_index"] == seed), None)
    note = "" if found or seed is None or expand.kind == "artifact" else "seed_not_found"
    chosen = choose_records(records, found or records[0], expand)
    return ExpandedText(
        stitch_records(chosen), tuple(record["record_id"] for record in chosen), note
    )


def choose_records(
    records: Sequence[StoredRecord], seed: StoredRecord, expand: Expand
) -> list[StoredRecord]:
    """Return the records that an expansion takes, in plan order."""
    if expand.kind == "artifact":
        return list(records)
    same = [record for record in records if record["kind"] == seed["kind"]]
    at = same.index(seed)
    return same[max(0, at - expand.width) : at + expand.width + 1]


def stitch_records(records: Sequence[StoredRecord]) -> str:
    """Join the texts of records in plan order, keeping overlaps of neighbours once.

    An overlap lies within the previous record, never across the blank line that joins two others.
    """
    text, before = "", None
    for record in records:
        overlap = _find_overlap(before["text"], record["text"]) if _is_next(before, record) else 0
        if overlap:
            text += record["text"][overlap:]
        else:
            text += ("\n\n" if text else "") + record["text"]
        before = record
    return text


def _is_next(before: StoredRecord | None, record: StoredRecord) -> TypeGuard[StoredRecord]:
    """Return whether a record is the next of the same kind."""
    if before is None or before["kind"] != record["kind"]:
        return False
    return bool(record["surface_index"] == before["surface_index"] + 1)


def _find_overlap(left: str, right: str) -> int:
    """Return the length, 0 if below eight, of the longest end of `left` that begins `right`."""
    longest = min(len(left), len(right), _LONGEST_OVERLAP)
    for size in range(longest, _SHORTEST_OVERLAP - 1, -1):
        if left.endswith(right[:size]):
            return size
    return 0


# The symbol of a program text that a record belongs to, with the lines around it.
#
# It is reassembled from the records of its artifact in the ledger: each has whole lines of the
# text, and later parts of a symbol repeat the signature before them.


def find_symbol_passage(
    records: Sequence[StoredRecord], seed: int, context: int
) -> ExpandedText | None:
    """Return the symbol of the record at surface index `seed`, or None.

    With at most `context` lines before and after it. For a class it is the part between two
    methods.
    """
    at = next((i for i, r in enumerate(records) if r["surface_index"] == seed), None)
    if at is None or not {"symbol", "start_line"} <= records[at]["metadata"].keys():
        return None
    own = _find_parts(records, at)
    first = min(_get_lines(record).start for record in own) - context
    last = max(_get_lines(record).stop for record in own) + context
    shown: dict[int, str] = {}
    used = []
    for record in records:
        within = range(max(first, _get_lines(record).start), min(last, _get_lines(record).stop))
        if within:
            _add_lines(shown, record, within)
            used.append(str(record["record_id"]))
    return ExpandedText("\n".join(shown[number] for number in sorted(shown)), tuple(used))


def _find_parts(records: Sequence[StoredRecord], at: int) -> list[StoredRecord]:
    """Return the records of the same symbol as one, including it."""
    names = [_name_symbol(record) for record in records]
    first, last = at, at
    while first and names[first - 1] == names[at]:
        first -= 1
    while last + 1 < len(records) and names[last + 1] == names[at]:
        last += 1
    return list(records[first : last + 1])


def _name_symbol(record: StoredRecord) -> tuple[object, object]:
    return record["metadata"].get("qualified_name"), record["metadata"].get("symbol_kind")


def _get_lines(record: StoredRecord) -> range:
    place = record["metadata"]
    if "start_line" not in place:
        return range(0)
    return range(int(place["start_line"]), int(place["end_line"]) + 1)


def _add_lines(shown: dict[int, str], record: StoredRecord, within: range) -> None:
    """Add the lines of a record; the parts of a line in several records are joined."""
    place = _get_lines(record)
    lines = record["text"].split("\n")
    own = lines[max(0, len(lines) - len(place)) :]
    for number in within:
        shown[number] = shown.get(number, "") + own[number - place.start]
