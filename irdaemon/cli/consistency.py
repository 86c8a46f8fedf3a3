"""Check the ledger for damage, against an index built from it, and against the disk.

The checks only read, so they can run beside the daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from irclient.counts import format_count
from irclient.errors import IRError
from irclient.results import Status
from irdaemon.config.corpus import Corpus, make_corpora
from irdaemon.config.sections import Config
from irdaemon.engine.project_parts import leave_to_projects
from irdaemon.engine.projects import AT
from irdaemon.index import Rows
from irdaemon.ingest.scan import OptOuts, ScanRequest, compare
from irdaemon.ledger import Delta, IntegrityProblem, Ledger

_BUILD = "irc build, or the next start, reads them"
_REBUILD = "irdaemon restart rebuilds it"


def examine_ledger(ledger: Ledger, config: Config) -> list[IntegrityProblem]:
    """List the problems of a ledger; if SQLite finds it damaged, only those.

    Raises LedgerError for a later format or a failing disk.
    """
    with ledger.hold_snapshot():
        found = ledger.check()
        if any(each.part == "sqlite" for each in found):
            return found
        configured = {each.name: each for each in make_corpora(config, ledger.corpora.list_names())}
        for name in ledger.corpora.list_names():
            found += _compare_index(ledger, name)
            if name not in configured and AT not in name:
                what, advice = "it is no longer in the configuration", "the next start deletes it"
                found.append(IntegrityProblem("disk", what, advice, name, severe=False))
        for corpus in configured.values():
            found += _compare_disk(ledger, corpus)
    return found


def _compare_index(ledger: Ledger, name: str) -> Iterator[IntegrityProblem]:
    """Build the rows that answer queries, and compare their counts with the ledger's."""
    _, embedder = ledger.corpora.find_served(name) or ("", "")
    dim = ledger.vectors.find_dimension(embedder)
    try:
        rows = Rows.make_empty(dim).sync(ledger, name, embedder)
    except (ValueError, IRError) as error:
        yield IntegrityProblem(
            "index", f"it cannot be built: {error}", "irdaemon check --repair", name
        )
        return
    counts = ledger.artifacts.count_all(name, embedder)
    embedded = int(rows.embedded.sum()) if dim else 0
    for noun, has, holds in (
        ("artifacts", rows.n_artifacts, counts.artifacts),
        ("records", rows.n_records, counts.records),
        ("vectors", embedded, counts.vectors),
    ):
        if has != holds:
            what = f"it would have {has} {noun}, the ledger holds {holds}"
            yield IntegrityProblem("index", what, _REBUILD, name)


def _compare_disk(ledger: Ledger, corpus: Corpus) -> Iterator[IntegrityProblem]:
    """Scan the corpus' source, without reading its entries."""
    try:
        request = ScanRequest(without=leave_to_projects(corpus, ledger.known_projects.list_all()))
        found, delta = compare(ledger, corpus, request, OptOuts())
    except (OSError, IRError) as error:
        yield IntegrityProblem("disk", f"it cannot be scanned: {error}", "irc status", corpus.name)
        return
    for problem in found.scan.problems:
        what = f"{problem.path}: {problem.reason}"
        advice = "restore it, or let irc build --prune forget its items"
        yield IntegrityProblem("disk", what, advice, corpus.name)
    if delta.gone:
        what = f"{format_count(len(delta.gone), 'entry', 'is')} gone: {_name_some(delta.gone)}"
        yield IntegrityProblem(
            "disk", what, "irc build, or the next start, forgets them", corpus.name
        )
    for why, keys in _find_outdated(delta, corpus.recipe).items():
        yield IntegrityProblem(
            "disk",
            f"{format_count(len(keys), 'entry')} {why}: {_name_some(keys)}",
            _BUILD,
            corpus.name,
        )
    if failures := ledger.failures.count(corpus.name):
        what = f"{format_count(failures, 'entry')} could not be read"
        yield IntegrityProblem(
            "disk", what, "irc status --failures lists why", corpus.name, severe=False
        )


def _find_outdated(delta: Delta, recipe: str) -> dict[str, list[str]]:
    """Return the keys of the outdated entries by reason."""
    behind: dict[str, list[str]] = {}
    for entry in delta.stale:
        known = delta.known.get(entry.key)
        if known is None:
            why = "not indexed yet"
        elif not known.stamp:
            why = "to be read again"
        elif known.stamp != entry.stamp:
            why = "changed since"
        elif known.recipe != recipe:
            why = "decomposed differently"
        else:  # modified just before it was read: it is read again, but nothing is wrong
            continue
        behind.setdefault(why, []).append(entry.key)
    return behind


def _name_some(keys: Iterable[str]) -> str:
    """Return the first three keys as text."""
    first = sorted(keys)
    return ", ".join(first[:3]) + (", ..." if len(first) > 3 else "")


def compare_with_daemon(ledger: Ledger, ask: Callable[[], Status]) -> list[IntegrityProblem]:
    """Compare the daemon's status with the ledger; return nothing while the daemon is busy."""
    before = ask()
    held = {name: ledger.artifacts.count_all(name, "") for name in ledger.corpora.list_names()}
    after = ask()
    if after.queue or before.generation != after.generation:
        return []
    return [
        IntegrityProblem(
            "index", f"the daemon serves {has} {noun}, the ledger holds {holds}", _REBUILD, name
        )
        for state in after.corpora
        if (name := state.name) in held
        for noun, has, holds in (
            ("artifacts", state.artifacts, held[name].artifacts),
            ("records", state.records, held[name].records),
        )
        if has != holds
    ]
