"""Admission: which of the entries that a scan found may be read at all.

What lies under a marker of opting out is passed over, as if it were not there. What a link leads
to outside of the roots is refused with a reason, in corpora that do not follow links out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.optout import OptOuts
from irdaemon.source.opening import at_or_under
from irdaemon.types import Entry, Refused, Scan


@dataclass(frozen=True, slots=True)
class Admitted:
    """A scan with the entries that may be read, and those outside the roots, which are refused."""

    scan: Scan
    outside: tuple[Entry, ...] = ()


def admitted(corpus: Corpus, scan: Scan, optouts: OptOuts) -> Admitted:
    """Sort the entries of a scan into those to read, those to refuse, and those passed over."""
    entries = tuple(entry for entry in scan.entries if not _is_out(entry, optouts))
    outside = () if corpus.may_leave_roots else _outside(corpus, entries)
    if outside:
        entries = tuple(entry for entry in entries if entry not in outside)
    return Admitted(replace(scan, entries=entries), outside)


def refusal(entry: Entry) -> Refused:
    """Return why an entry outside the roots is refused."""
    return Refused(
        f"{entry.path}: a link leads here, out of the corpus' roots",
        "add this directory to the roots, or set follow_links = true",
    )


def _is_out(entry: Entry, optouts: OptOuts) -> bool:
    # The path may be a directory itself: a package, a skill.
    return bool(entry.path) and optouts.covers(entry.path)


def _outside(corpus: Corpus, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    tops = set(corpus.real_roots().values())
    if not tops:
        return ()
    return tuple(
        entry
        for entry in entries
        if entry.path and not any(at_or_under(entry.path, top) for top in tops)
    )
