"""Check the corpora: readers of files, roots, projects and embedders."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

from irclient.errors import Unavailable
from irclient.installation import make_extra_command
from irdaemon.cli.doctor import Finding, note, ok, wrong
from irdaemon.config.corpus import make_corpora
from irdaemon.config.sections import Config
from irdaemon.embed import make_embedder
from irdaemon.source.files.asset import find_missing_ocr, list_readers
from irdaemon.strategy.code import list_missing_languages
from irdaemon.watch.limits import Mount, find_network_kind, list_mounts


def check_readers(config: Config) -> Iterable[Finding]:
    """Check the readers of formats that some corpus may contain."""
    kinds = {corpus.kind for corpus in make_corpora(config)}
    if "code" in kinds:
        yield judge_languages(list_missing_languages())
    if "files" in kinds:
        yield from (judge_format(name, cure) for name, cure in list_readers().items())
        if not list_readers()["image"]:
            yield judge_ocr(find_missing_ocr())


def judge_format(name: str, cure: str) -> Finding:
    """Judge a format by the command that installs its reader, "" if it is installed."""
    if cure:
        return note(f"{name}s are left out of document corpora: no reader is installed", "", cure)
    return ok(f"{name}s in document corpora are read")


def judge_languages(missing: tuple[str, ...]) -> Finding:
    """Judge the code parsers by the languages that have none."""
    if missing:
        message = f"no parser is installed for {', '.join(missing)}: their symbols are not indexed"
        return note(message, "", make_extra_command("code"))
    return ok("symbols of code are indexed")


def judge_ocr(cure: str) -> Finding:
    """Judge the text recognition by the command that installs it, "" if it is installed."""
    if cure:
        return note("text in images is not read: tesseract is not installed", "", cure)
    return ok("text in images is read")


def check_roots(config: Config) -> Iterable[Finding]:
    """Check every root of every corpus."""
    corpora, mounts = make_corpora(config), list_mounts()
    if not corpora:
        yield note("nothing to index was found here", fix="irc add notes files ~/notes")
    for each in config.corpora:
        if each.problem and each.enabled:
            fix = f"irc rm {each.name}, or edit {config.path}"
            yield wrong(f"{each.name} cannot be used: {each.problem}", config.path, fix)
    for corpus in corpora:
        for root in corpus.source.roots():
            yield judge_root(corpus.name, root.path, mounts)


def judge_root(corpus: str, path: str, mounts: tuple[Mount, ...]) -> Finding:
    """Judge one root of a corpus."""
    shown = shlex.quote(path)
    if not os.path.exists(path):
        fix = f"mkdir -p {shown}, mount what belongs there, or irc rm {corpus}"
        return wrong(f"a root of {corpus} is missing", path, fix)
    if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
        return wrong(f"a root of {corpus} cannot be read", path, f"sudo chmod a+rX {shown}")
    if kind := find_network_kind(os.path.realpath(path), mounts):
        return note(f"a root of {corpus} is on {kind}: it is polled, not watched", path)
    return ok(f"a root of {corpus} is there", path)


def check_projects(config: Config) -> Iterable[Finding]:
    """Check the directories that [projects] names."""
    settings, mounts = config.projects, list_mounts()
    if not settings.enabled:
        yield note("projects are not read: [projects] has enabled = false")
        return
    yield ok("items of a project are offered inside it; irc projects lists the known ones")
    for path in map(os.path.expanduser, settings.roots):
        yield judge_project_root(path, mounts)
    environment = os.path.expanduser(settings.environment)
    if environment and not os.path.isfile(os.path.join(environment, "pyvenv.cfg")):
        fix = "irdaemon config unset projects.environment"
        yield wrong("the environment of [projects] is not a Python environment", environment, fix)


def judge_project_root(path: str, mounts: tuple[Mount, ...]) -> Finding:
    """Judge one of the directories below which projects are read."""
    if not os.path.isdir(path):
        fix = "irdaemon config edit, and take it out of roots of [projects]"
        return wrong("a root of [projects] is not a directory", path, fix)
    if kind := find_network_kind(os.path.realpath(path), mounts):
        return note(f"a root of [projects] is on {kind}: projects there are polled", path)
    if os.stat(path).st_uid != os.getuid():
        return note(
            "a root of [projects] belongs to another user: only your files in it are read", path
        )
    return ok("a root of [projects] is there", path)


def check_embedders(config: Config) -> Iterable[Finding]:
    """Check that the model of each configured embedder is installed."""
    names = {config.embedder, *(corpus.embedder for corpus in make_corpora(config))}
    return (_judge_embedder(name) for name in sorted(names))


def _judge_embedder(name: str) -> Finding:
    try:
        embedder = make_embedder(name)
    except Unavailable as error:
        return wrong(f"the embedder {name} cannot be used: {error.message}", fix=error.hint)
    return ok(f"the embedder {name} is installed: {embedder.id}, {embedder.dim} dimensions")
