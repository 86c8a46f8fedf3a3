"""The symbol of a program text that a record is about, with the lines around it.

It is put together from the records of its artifact, as they are in the ledger: each holds whole
lines of the text, a later part of a symbol after the signature that is repeated before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from irdaemon.discovery.expand import ExpandedText, StoredRecord


def symbol_passage(records: Sequence[StoredRecord], seed: int, context: int) -> ExpandedText | None:
    """Return the symbol that the record at surface index `seed` is about; None where it has none.

    With at most `context` lines before and after it. Of a class it is the part between two methods.
    """
    at = next((i for i, r in enumerate(records) if r["surface_index"] == seed), None)
    if at is None or not {"symbol", "start_line"} <= records[at]["metadata"].keys():
        return None
    own = _parts(records, at)
    first = min(_lines(record).start for record in own) - context
    last = max(_lines(record).stop for record in own) + context
    shown: dict[int, str] = {}
    used = []
    for record in records:
        within = range(max(first, _lines(record).start), min(last, _lines(record).stop))
        if within:
            _add(shown, record, within)
            used.append(str(record["record_id"]))
    return ExpandedText("\n".join(shown[number] for number in sorted(shown)), tuple(used))


def _parts(records: Sequence[StoredRecord], at: int) -> list[StoredRecord]:
    """Return the records beside one that are of the same symbol, itself among them."""
    names = [_name(record) for record in records]
    first, last = at, at
    while first and names[first - 1] == names[at]:
        first -= 1
    while last + 1 < len(records) and names[last + 1] == names[at]:
        last += 1
    return list(records[first : last + 1])


def _name(record: StoredRecord) -> tuple[object, object]:
    return record["metadata"].get("qualified_name"), record["metadata"].get("symbol_kind")


def _lines(record: StoredRecord) -> range:
    place = record["metadata"]
    if "start_line" not in place:
        return range(0)
    return range(int(place["start_line"]), int(place["end_line"]) + 1)


def _add(shown: dict[int, str], record: StoredRecord, within: range) -> None:
    """Add the lines of a record; of a line that is several records, each has a part."""
    place = _lines(record)
    lines = record["text"].split("\n")
    own = lines[max(0, len(lines) - len(place)) :]
    for number in within:
        shown[number] = shown.get(number, "") + own[number - place.start]
