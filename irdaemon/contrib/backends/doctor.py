"""Check the configured backends: whether they answer, and which corpora are copied to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irclient.counts import format_count
from irclient.errors import Unavailable
from irdaemon.cli.doctor import Finding, note, ok, wrong
from irdaemon.config.backends import LOCAL, BackendAddress, is_shared
from irdaemon.config.corpus import list_wanted
from irdaemon.config.sections import Config
from irdaemon.runtime.deadline import limit_time

_ANSWERS_WITHIN_S = 5.0


def check(config: Config) -> Iterable[Finding]:
    """Yield the findings for each backend; none if no backend is configured."""
    for address in config.list_backends():
        names = [
            each.name
            for each in list_wanted(config)
            if each.enabled
            and each.backend != LOCAL
            and is_shared(each.kind, each.share)
            and config.index.find_address(each.backend) == address
        ]
        sent = f"the text of {', '.join(names)}" if names else "nothing yet"
        yield note(
            f"the index is copied there: {sent}",
            address.shown,
            "share = false keeps a corpus here (docs/backends.md)",
        )
        yield from _ask(address)


def _ask(address: BackendAddress) -> Iterator[Finding]:
    from irdaemon.contrib.backends.making import open_backend

    backend = open_backend(address)
    try:
        with limit_time(_ANSWERS_WITHIN_S, address.shown):
            corpora = backend.read_totals()
    except Unavailable as error:
        yield wrong(f"it does not answer: {error.message}", address.shown, "irdaemon backend check")
    else:
        yield ok(f"it answers, and has {format_count(len(corpora), 'corpus')}", address.shown)
    finally:
        backend.close()
