"""Scanning: compare what a source has now with the ledger; nothing is written.

A scan is authoritative except for lost or suddenly empty roots, whose entries are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from irdaemon.config.corpus import Corpus
from irdaemon.ledger import Delta, Ledger
from irdaemon.ledger.rows import make_storable
from irdaemon.source import Source
from irdaemon.source.opening import is_within
from irdaemon.source.redact import Redactor
from irdaemon.types import Entry, Problem, Refused, Scan, SourceError

# Admission: which entries of a scan may be read at all.
#
# Entries under an opt-out marker are skipped as if they were not there. Where a corpus does not
# follow links out of its roots, entries behind such a link are refused with a reason.

# A file called `.noirdaemon` keeps its directory, and everything below it, out of every corpus.
# A session about a project with such a marker is left out too, wherever its transcript lies.

MARKER = ".noirdaemon"


class OptOuts:
    """Check for markers, each directory once; good for one scan of a corpus."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def covers(self, path: str) -> bool:
        """Return whether a marker lies in a directory or in one above it; "" has none."""
        above: list[str] = []
        while path and path not in self._known:
            above.append(path)
            self._known[path] = os.path.lexists(os.path.join(path, MARKER))
            if self._known[path]:
                break
            path = os.path.dirname(path) if os.path.dirname(path) != path else ""
        covered = self._known.get(path, False)
        self._known.update(dict.fromkeys(above, covered))
        return covered


def find_marked_directory(path: str) -> str:
    """Return the directory that a marker applies to; any other path unchanged."""
    return os.path.dirname(path) if os.path.basename(path) == MARKER else path


@dataclass(frozen=True, slots=True)
class Admitted:
    """A scan reduced to the entries that may be read, and the refused ones outside the roots."""

    scan: Scan
    outside: tuple[Entry, ...] = ()


def admit(corpus: Corpus, scan: Scan, optouts: OptOuts) -> Admitted:
    """Sort the entries of a scan into those to read, to refuse, and to skip."""
    # The path may be a directory itself: a package, a skill.
    open_entries = (e for e in scan.entries if not (e.path and optouts.covers(e.path)))
    entries = _drop_within(open_entries, corpus.ignored)
    tops = () if corpus.may_leave_roots else tuple(set(corpus.resolve_roots().values()))
    outside = tuple(e for e in _drop_within(entries, tops) if e.path) if tops else ()
    if outside:
        entries = tuple(entry for entry in entries if entry not in outside)
    return Admitted(replace(scan, entries=entries), outside)


def _drop_within(entries: Iterable[Entry], tops: tuple[str, ...]) -> tuple[Entry, ...]:
    """Return the entries that do not lie in one of some directories."""
    return tuple(e for e in entries if not any(is_within(e.path, top) for top in tops))


def refuse(entry: Entry) -> Refused:
    """Return why an entry outside the roots is refused."""
    return Refused(
        f"{entry.path}: a link leads here, out of the corpus' roots",
        "add this directory to the roots, or set follow_links = true",
    )


NAMELESS = "its name is not valid UTF-8"


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """A request to scan a corpus: the changed paths (none: all), and how thoroughly.

    `full` reads every entry again, with `from_start` also files that are otherwise read from their
    last position; `prune` forgets the entries of missing or empty roots; `routine` marks a
    scheduled scan, which expects nothing new. `workers` is the number of child processes for a
    large scan, and `heads` whether they may read the heads of new entries first. Entries in one of
    `without` belong to other corpora.
    """

    under: tuple[str, ...] = ()
    full: bool = False
    prune: bool = False
    routine: bool = False
    from_start: bool = False
    workers: int = 0
    heads: bool = True
    without: tuple[str, ...] = ()


def compare(
    ledger: Ledger, corpus: Corpus, request: ScanRequest, optouts: OptOuts
) -> tuple[Admitted, Delta]:
    """Compare what the ledger knows of a corpus with what its source has now; write nothing."""
    scan = _mark_suspect_roots(ledger, corpus, request, _scan(corpus.source, request))
    if request.without:
        scan = replace(scan, entries=_drop_within(scan.entries, request.without))
    found = admit(corpus, scan, optouts)
    return found, ledger.entries.diff(corpus.name, found.scan, corpus.recipe, full=request.full)


def _scan(source: Source, request: ScanRequest) -> Scan:
    if not request.under:
        return _drop_nameless(_scan_safely(source))
    parts = [_scan_safely(source, path) for path in _list_places(request.under)]
    entries = {entry.key: entry for part in parts for entry in part.entries}
    return _drop_nameless(
        Scan(
            tuple(entries.values()),
            tuple(top for part in parts for top in part.covered),
            tuple(problem for part in parts for problem in part.problems),
        )
    )


def _scan_safely(source: Source, under: str | None = None) -> Scan:
    """Scan a source. Any error, even a bug in the source, becomes a SourceError."""
    try:
        return source.scan(under)
    except SourceError:
        raise
    except Exception as error:  # a custom source may raise anything
        reason = Redactor("all").redact_text(repr(error))  # it may quote the file
        raise SourceError(f"scanning {under or 'everything'} failed: {reason}") from error


def _list_places(under: tuple[str, ...]) -> Iterable[str]:
    """Return where to scan for changed paths: for a marker that is its directory."""
    return dict.fromkeys(find_marked_directory(_trim_to_nameable(path)) for path in under)


def _trim_to_nameable(path: str) -> str:
    """Return the path, or the nearest directory above it whose name is valid UTF-8."""
    while make_storable(path) != path:
        path = os.path.dirname(path)
    return path


def _drop_nameless(scan: Scan) -> Scan:
    """Turn entries whose key or path is not valid UTF-8 into problems: they cannot be stored."""
    named = tuple(
        each for each in scan.entries if all(make_storable(t) == t for t in (each.key, each.path))
    )
    if len(named) == len(scan.entries):
        return scan
    nameless = [Problem(make_storable(e.key), NAMELESS) for e in scan.entries if e not in named]
    return replace(scan, entries=named, problems=(*scan.problems, *nameless))


def _mark_suspect_roots(ledger: Ledger, corpus: Corpus, request: ScanRequest, scan: Scan) -> Scan:
    """Return the scan with every suspiciously empty root as a problem, unless `prune` is set."""
    roots = set(corpus.resolve_roots().values())
    if request.prune:
        whole = () if request.under else tuple(roots)
        return replace(scan, covered=(*scan.covered, *whole), problems=())
    suspects = [
        Problem(root, "gone; its items are kept until it is back")
        for root in _find_lost_roots(ledger, corpus).values()
    ]
    suspects += [
        Problem(root, "suddenly empty; its items are kept until it is back")
        for root in sorted(filter(os.path.isdir, roots))
        if any(is_within(root, top) for top in scan.covered)
        and not any(is_within(entry.path, root) for entry in scan.entries)
        and _was_lost_unseen(ledger, corpus.name, root, request.under)
    ]
    return replace(scan, problems=(*scan.problems, *suspects)) if suspects else scan


def _find_lost_roots(ledger: Ledger, corpus: Corpus) -> dict[str, str]:
    """Return the missing roots of the last whole scan, with their real paths.

    A source that finds its own roots does not name one that vanished, and only the ledger remembers
    where a deleted link led to.
    """
    return {
        path: real
        for path, real in ledger.corpora.read_roots(corpus.name).items()
        if not os.path.exists(path) and ledger.entries.count_under(corpus.name, real)
    }


def list_present_roots(ledger: Ledger, corpus: Corpus, request: ScanRequest) -> dict[str, str]:
    """Return the directories that are roots now, and lost ones that are not given up.

    A root that is a file can be deleted like any other: nothing is mounted there.
    """
    there = {path: real for path, real in corpus.resolve_roots().items() if os.path.isdir(path)}
    return there if request.prune else {**_find_lost_roots(ledger, corpus), **there}


def _was_lost_unseen(ledger: Ledger, corpus: str, root: str, seen: tuple[str, ...]) -> bool:
    """Return whether an empty root had entries whose deletion was not observed.

    A deletion that was observed, at its own path below the root, is no reason for doubt.
    """
    below = [path for path in seen if path != root and is_within(path, root)]
    seen_going = sum(ledger.entries.count_under(corpus, path) for path in below)
    return ledger.entries.count_under(corpus, root) > seen_going
