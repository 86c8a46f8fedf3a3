"""Check that the directories to index exist, are readable, and can be watched."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

from irdaemon.cli.doctor.finding import Finding, note, ok, wrong
from irdaemon.config.config import Config
from irdaemon.config.corpus import corpora_of
from irdaemon.watch.limits import Mount, mounted, network_kind


def check(config: Config) -> Iterable[Finding]:
    """Yield how each root of each corpus is."""
    corpora, mounts = corpora_of(config), mounted()
    if not corpora:
        yield note("nothing to index was found here", fix="irc add notes files ~/notes")
    for each in config.corpora:
        if each.problem and each.enabled:
            fix = f"irc rm {each.name}, or edit {config.path}"
            yield wrong(f"{each.name} cannot be used: {each.problem}", config.path, fix)
    for corpus in corpora:
        for root in corpus.source.roots():
            yield judged(corpus.name, root.path, mounts)


def judged(corpus: str, path: str, mounts: tuple[Mount, ...]) -> Finding:
    """Judge one root of a corpus."""
    shown = shlex.quote(path)
    if not os.path.exists(path):
        fix = f"mkdir -p {shown}, mount what belongs there, or irc rm {corpus}"
        return wrong(f"a root of {corpus} is missing", path, fix)
    if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
        return wrong(f"a root of {corpus} cannot be read", path, f"sudo chmod a+rX {shown}")
    if kind := network_kind(os.path.realpath(path), mounts):
        return note(f"a root of {corpus} is on {kind}: it is polled, not watched", path)
    return ok(f"a root of {corpus} is there", path)
