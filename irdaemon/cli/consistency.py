"""Check the ledger for damage, against an index built of it, and against the disk.

It only reads, so it can run beside the daemon.
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
    """Return what is wrong; of a ledger that cannot be used only that.

    Raises LedgerError for a ledger of a later format, or a failing disk.
    """
    with ledger.hold_snapshot():
        found = ledger.check()
        if any(each.part == "sqlite" for each in found):
            return found
        configured = {each.name: each for each in make_corpora(config, ledger.corpora.list_names())}
        for name in ledger.corpora.list_names():
            found += _compare_index(ledger, name)
            if name not in configured and AT not in name:
                found.append(_find_unconfigured(name))
        for corpus in configured.values():
            found += _compare_disk(ledger, corpus)
    return found


def _find_unconfigured(name: str) -> IntegrityProblem:
    what = "it is not in the configuration any more"
    return IntegrityProblem("disk", what, "the next start deletes it", name, severe=False)


def _compare_index(ledger: Ledger, name: str) -> Iterator[IntegrityProblem]:
    """Build the rows that queries are answered from, and compare their counts with the ledger's."""
    _, embedder = ledger.corpora.find_served(name) or ("", "")
    dim = ledger.vectors.find_dimension(embedder)
    try:
        rows = Rows.empty(dim).sync(ledger, name, embedder)
    except (ValueError, IRError) as error:
        yield IntegrityProblem(
            "index", f"none can be built: {error}", "irdaemon check --repair", name
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
    """Return the keys of entries that the ledger is behind with, by why."""
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
        else:  # written moments before it was read: read again, not wrong
            continue
        behind.setdefault(why, []).append(entry.key)
    return behind


def _name_some(keys: Iterable[str]) -> str:
    """Return the first few keys."""
    first = sorted(keys)
    return ", ".join(first[:3]) + (", ..." if len(first) > 3 else "")


def compare_with_daemon(ledger: Ledger, ask: Callable[[], Status]) -> list[IntegrityProblem]:
    """Compare what a daemon serves, by its status, with the ledger; nothing while it is busy."""
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
