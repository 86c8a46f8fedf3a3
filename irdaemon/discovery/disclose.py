"""Disclose: the payload of an artifact, read when it is requested.

`metadata` reads nothing. `body` follows the pointer: a file gives its text, a directory its README.
`bundled` adds the other files of a skill: those under scripts/, references/ and assets/, with their
sizes, and the text of those that fit. For a PDF or an image it is the text read at indexing time;
whether the file has changed since is checked now. Secrets and private blocks are removed as they
were before indexing, hidden characters are flagged, and the origin of the text is given. A hit on
one symbol of a program text comes with that symbol. A pointer that no longer works, or may not be
followed, is a note, not an error.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import shlex
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from irclient.errors import NotFound, QueryError
from irclient.invisible import bound_marks, list_hidden
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.expand import (
    PASSAGE_CHARS,
    Expand,
    ExpandedText,
    StoredRecord,
    expand_record,
    find_symbol_passage,
)
from irdaemon.discovery.merge import rank_scope
from irdaemon.ledger import Ledger, Namesake, StoredArtifact
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source.asset_types import find_asset_type
from irdaemon.source.opening import (
    follow_link,
    is_within,
    open_directory,
    open_regular,
    read_regular,
    read_status,
    resolve_path,
)
from irdaemon.source.redact import Redactor
from irdaemon.source.tree import find_inside
from irdaemon.strategy import IndexingStrategy
from irdaemon.strategy.code import SYMBOL
from irdaemon.types import BundledFile, Disclosure, Hit, SourceError

# References: CORPUS/ID, or CORPUS/NAME and the end of an id's path.
#
# If several artifacts with that name have the same content, it means the one that answers show for
# all of them.

_NEAREST = 3
_ALIKE = 0.6
_COMPARED_CHARS = 100


def resolve_reference(ledger: Ledger, reference: str, corpora: Collection[str]) -> tuple[str, str]:
    """Return the corpus and the artifact id that a reference means.

    Raises NotFound naming what exists, QueryError for an ambiguous reference.
    """
    corpus, wanted = parse_reference(reference, corpora)
    return corpus, find_artifact(ledger, corpus, wanted)


def find_artifact(
    ledger: Ledger,
    stored: str,
    wanted: str,
    corpus: str = "",
    measure: Callable[[StoredArtifact], int] = lambda artifact: 0,
) -> str:
    """Return the id of the artifact with this name in a corpus.

    `corpus` is the name that people know it by, if it is stored under another one. Of several
    artifacts of that name the nearest count, by `measure`. Raises as `resolve_reference` does.
    """
    check_clock()
    corpus = corpus or stored
    if ledger.artifacts.get(stored, wanted) is not None:
        return wanted
    found = _keep_nearest(ledger, stored, ledger.artifacts.find_named(stored, wanted), measure)
    if len({each.content for each in found}) == 1:
        return min(found, key=lambda each: rank_scope(each.scope)).artifact_id
    if found:
        raise QueryError(
            f"{f'{corpus}/{wanted}'!r} is not one artifact but {len(found)}",
            f"one of: {', '.join(f'{corpus}/{each.artifact_id}' for each in found)}",
        )
    near = [f"{corpus}/{each}" for each in _find_near(ledger, stored, wanted)]
    raise NotFound(
        f"no artifact {wanted!r} in corpus {corpus!r}",
        f"the nearest are {', '.join(near)}"
        if near
        else f"irc search {wanted!r} -c {corpus} lists similar items",
    )


def _keep_nearest(
    ledger: Ledger,
    stored: str,
    found: Sequence[Namesake],
    measure: Callable[[StoredArtifact], int],
) -> list[Namesake]:
    held = ((each, ledger.artifacts.get(stored, each.artifact_id)) for each in found)
    far = [(each, measure(artifact)) for each, artifact in held if artifact]
    return [each for each, distance in far if distance == min(d for _, d in far)]


def _find_near(ledger: Ledger, corpus: str, wanted: str) -> list[str]:
    """Return the ids of the artifacts whose names are most similar to a word, best first.

    Only names that share half of its pairs of letters are compared: comparing takes long.
    """
    last = _cut_last(wanted)
    pairs = {last[at : at + 2] for at in range(len(last) - 1)}
    ids: dict[str, str] = {}
    lengths = (len(last) // 2, 2 * len(wanted))
    for artifact_id, name in ledger.artifacts.find_by_length(corpus, lengths):
        called = _cut_last(name)
        if 2 * sum(pair in called for pair in pairs) >= len(pairs):
            ids.setdefault(called, artifact_id)
    near = difflib.get_close_matches(last, ids, n=_NEAREST, cutoff=_ALIKE)
    return [ids[name] for name in near]


def _cut_last(name: str) -> str:
    """Return the last part of a path or a scoped name, normalised for comparison."""
    return name.rpartition("/")[2][:_COMPARED_CHARS].casefold()


def parse_reference(reference: str, corpora: Collection[str]) -> tuple[str, str]:
    """Return the two parts of a reference. Raises NotFound for another corpus, or QueryError."""
    corpus, slash, wanted = reference.partition("/")
    if corpus not in corpora and not slash:
        hint = f"write CORPUS/ID; irc search {shlex.quote(reference)} lists similar items"
        raise NotFound(f"unknown item {reference!r}{did_you_mean(reference, corpora)}", hint)
    if corpus not in corpora:
        raise unknown_corpus(corpus, corpora)
    if not wanted:
        raise QueryError(f"{reference!r} names no artifact", "write CORPUS/ID")
    return corpus, wanted


def unknown_corpus(name: str, corpora: Collection[str]) -> NotFound:
    """Return the error for a corpus that does not exist, naming the nearest."""
    return NotFound(
        f"unknown corpus {name!r}{did_you_mean(name, corpora)}",
        f"corpora here: {', '.join(sorted(corpora)) or 'none'}; see `irc ls`",
    )


# Hidden characters: those that a person would not see, or would see differently.
#
# The client defines them: it is a terminal that they would deceive.

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_CONTROL = ("Cc", "Zl", "Zp")


def find_hidden(*texts: str | None, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the kinds of hidden characters in texts, sorted: bidi, control, invisible, marks.

    `marks` are more combining marks on one character than any language uses. In `names` and paths
    line ends and tabs count, too.
    """
    names = tuple(names)
    ends = ["control" for name in names if "\n" in name or "\t" in name]
    kinds = (kind for text in (*texts, *names) if text for kind in _find_kinds(text))
    return tuple(sorted({*kinds, *ends}))


def _find_kinds(text: str) -> Iterator[str]:
    if text.isascii() and text.isprintable():
        return
    yield from map(_kind, list_hidden(text.replace("\r\n", "\n")))
    if bound_marks(text) != text:
        yield "marks"


def _kind(char: str) -> str:
    if char in _BIDI:
        return "bidi"
    return "control" if unicodedata.category(char) in _CONTROL else "invisible"


# The payload: the current content of a pointer, or why it is refused.
#
# A pointer was a real path when its artifact was indexed. If it is a link by now, it is followed
# only back into the corpus' roots, or next to or below itself; for kinds whose installers link
# single files (a SKILL.md, a README), also to a file of the same name. The checked file is opened
# by its real path with no link allowed on the way.

_READ_BYTES = 16 * 1024 * 1024
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")  # in any case


@dataclass(frozen=True, slots=True)
class Bounds:
    """The real directories that a corpus' payloads lie in, and how their secrets are redacted.

    `by_name` is whether a link may lead out of them, to a file of the same name; `bundled` whether
    other files belong to an artifact. `project` is the root of a project's part, "" for others: the
    target of a link out of it is not looked at.
    """

    roots: tuple[str, ...] = ()
    redaction: str = "tokens"
    by_name: bool = False
    bundled: bool = True
    project: str = ""

    @classmethod
    def for_corpus(cls, corpus: Corpus) -> Bounds:
        """Return the bounds of a corpus."""
        roots = tuple(dict.fromkeys(corpus.resolve_roots().values()))
        project = corpus.project.root if corpus.project else ""
        by_name, bundled = corpus.has_linked_files, corpus.has_bundles
        return cls(roots, corpus.redaction, by_name, bundled, project)

    def root_of(self, path: str) -> str:
        """Return the innermost root a path lies at or under, or ""."""
        around = [root for root in self.roots if path and is_within(os.path.normpath(path), root)]
        return max(around, key=len, default="")

    def leads_out(self, path: str) -> bool:
        """Return whether a path in a project is now a link out of it."""
        inside = bool(self.project) and is_within(path, self.project)
        return inside and not find_inside(path, self.project)


# For an artifact of an unknown corpus: no roots.
ANYWHERE = Bounds()


@dataclass(frozen=True, slots=True)
class PointerContent:
    """The bytes a pointer leads to, and when they were last changed (Unix seconds)."""

    content: bytes
    mtime: float


def read_payload(pointer: str, bounds: Bounds) -> PointerContent:
    """Read the content of a pointer: a file, or the README of a directory.

    Raises FileNotFoundError if it does not exist, SourceError if it is refused.
    """
    if os.pardir in pointer.split(os.sep):
        raise SourceError(f"{pointer}: a pointer that leads upwards")
    if bounds.leads_out(pointer):
        raise SourceError(f"{pointer}: a link leads out of the project")
    path = _find_readme(pointer) if os.path.isdir(pointer) else pointer
    with open_regular(follow_link(path, bounds.roots, by_name=bounds.by_name)) as file:
        status = os.fstat(file.fileno())
        if status.st_size > _READ_BYTES:
            raise SourceError(f"{path}: {status.st_size:,} bytes, the limit is {_READ_BYTES:,}")
        return PointerContent(file.read(_READ_BYTES), status.st_mtime)


def _find_readme(directory: str) -> str:
    found = [name for name in os.listdir(directory) if name.lower() in _READMES]
    found.sort(key=lambda name: (_READMES.index(name.lower()), name))
    paths = (os.path.join(directory, name) for name in found)
    path = next(filter(os.path.isfile, paths), None)
    if path is None:
        raise FileNotFoundError(2, "no README", directory)
    return path


# Bundles: the other files of an artifact, listed, and shown if possible.
#
# Nothing outside of the artifact's own directory is read, and nothing but regular files.
# Directories are listed and files opened by their real paths with no link allowed on the way, so
# that nothing can replace them after the check. A file that is not shown has a note why.

BUNDLE_CHARS = 40_000
BUNDLE_FILES = 100
# A larger directory is not even counted to its end.
BUNDLE_COUNTED = 10_000
_FOLDERS = ("scripts", "references", "assets")
LEADS_OUT = "a link that leads out of the directory"
NOT_REGULAR = "not a regular file"
TOO_LARGE = "too large to show here"
NOT_TEXT = "not text"
UNREADABLE = "unreadable"
NO_UTF8 = "its name is not UTF-8"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The first files of a bundle, and how many more there are."""

    files: tuple[BundledFile, ...]
    omitted: int


@dataclass(frozen=True, slots=True)
class _Named:
    """A file by its path below the artifact's directory, and that directory."""

    shown: str
    path: str


def collect_bundle(pointer: str, bounds: Bounds, cleaner: Redactor) -> Bundle:
    """Return the bundle of the artifact that a pointer leads to; texts are cleaned.

    It is empty if the artifact's directory has become a link out of the roots.
    """
    if not bounds.bundled or bounds.leads_out(pointer):
        return Bundle((), 0)
    home = pointer if os.path.isdir(pointer) else os.path.dirname(pointer)
    real = resolve_path(home)
    if real != home and not bounds.root_of(real):
        return Bundle((), 0)
    named = list(islice(_list_files(real), BUNDLE_COUNTED))
    files = tuple(_read_files(real, named[:BUNDLE_FILES], cleaner))
    return Bundle(files, len(named) - len(files))


def _list_files(home: str) -> Iterator[_Named]:
    for folder in _FOLDERS:
        top = find_inside(os.path.join(home, folder), home)
        if not top:
            yield _Named(folder, os.path.join(home, folder))
            continue
        try:
            with open_directory(top) as descriptor:
                yield from _walk_below(folder, top, descriptor)
        except (OSError, SourceError):
            continue


def _walk_below(folder: str, top: str, descriptor: int) -> Iterator[_Named]:
    """Yield the files below an open directory; links to directories are listed as links."""
    for directory, below, names, at in os.fwalk(".", dir_fd=descriptor):
        below.sort()
        links = [name for name in below if _is_link(name, at)]
        for name in sorted([*names, *links]):
            inside = os.path.normpath(os.path.join(directory, name))
            yield _Named(os.path.join(folder, inside), os.path.join(top, inside))


def _is_link(name: str, directory: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=directory).st_mode)
    except OSError:
        return False


def _read_files(home: str, named: list[_Named], cleaner: Redactor) -> Iterator[BundledFile]:
    left = BUNDLE_CHARS
    for each in named:
        file = _read_file(home, each, left, cleaner)
        left -= len(file.text or "")
        yield file


def _read_file(home: str, named: _Named, left: int, cleaner: Redactor) -> BundledFile:
    shown = named.shown.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if shown != named.shown:
        return BundledFile(shown, 0, None, NO_UTF8)
    real, size = find_inside(named.path, home), 0
    if not real:  # not even whether the target exists is looked at
        return BundledFile(shown, 0, None, LEADS_OUT)
    try:
        status = read_status(real)
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            return BundledFile(shown, size, None, NOT_REGULAR)
        if size > left:
            return BundledFile(shown, size, None, TOO_LARGE)
        content = read_regular(real, left)
        text = None if b"\0" in content else cleaner.redact_text(content.decode("utf-8", "replace"))
    except (OSError, SourceError):
        return BundledFile(shown, size, None, UNREADABLE)
    return BundledFile(shown, size, text, NOT_TEXT if text is None else "")


BODY_CHARS = 20_000
# Files whose bytes are not text.
_EXTRACTED = ("pdf", "image")


def disclose(artifact: StoredArtifact, level: str, bounds: Bounds = ANYWHERE) -> Disclosure:
    """Disclose `artifact` at a valid level; the module describes the content of each."""
    plain = Disclosure(
        artifact.corpus,
        artifact.artifact_id,
        level,
        artifact.name,
        artifact.pointer,
        root=bounds.root_of(artifact.pointer),
        indexed_at=artifact.indexed_at,
    )
    if level == "metadata":
        return plain
    if find_asset_type(artifact.fields) in _EXTRACTED and artifact.body is not None:
        dated = _compare_now(replace(plain, indexed_digest=artifact.digest), bounds)
        return _flag_hidden(_add_body(dated, artifact.body))
    if not artifact.pointer or artifact.body is not None:
        return _flag_hidden(_add_body(plain, artifact.body or ""))
    return _flag_hidden(_read_now(replace(plain, indexed_digest=artifact.digest), bounds))


def disclose_artifact(
    ledger: Ledger, corpus: Corpus, artifact_id: str, level: str, expand: Expand | None
) -> Disclosure:
    """Disclose one artifact, its first record expanded. Raises NotFound if it is gone."""
    artifact = ledger.artifacts.get(corpus.name, artifact_id)
    if artifact is None:
        raise NotFound(
            f"{corpus.part_of or corpus.name}/{artifact_id} is gone", "ask discover again"
        )
    disclosed = disclose(artifact, level, Bounds.for_corpus(corpus))
    return _expand(ledger, disclosed, None, expand)


def disclose_hit(
    ledger: Ledger, corpus: Corpus, hit: Hit, level: str, expand: Expand | None
) -> Hit:
    """Return a hit with its disclosure, expanded around the record that matched."""
    artifact = ledger.artifacts.get(corpus.name, hit.artifact_id)
    if artifact is None:
        return hit
    disclosed = disclose(artifact, level, Bounds.for_corpus(corpus))
    if expand is None and hit.kind == SYMBOL and level != "metadata":
        records = ledger.artifacts.list_records(corpus.name, hit.artifact_id)
        shown = add_symbol(disclosed, records, hit.surface_index, corpus.strategy)
        return replace(hit, disclosure=shown)
    return replace(hit, disclosure=_expand(ledger, disclosed, hit.surface_index, expand))


def add_symbol(
    disclosed: Disclosure, records: Sequence[StoredRecord], seed: int, strategy: IndexingStrategy
) -> Disclosure:
    """Add the symbol that matched, with as many lines around it as its strategy says."""
    passage = find_symbol_passage(records, seed, getattr(strategy, "context", 0))
    return disclosed if passage is None else add_passage(disclosed, passage)


def _expand(
    ledger: Ledger, disclosed: Disclosure, around: int | None, expand: Expand | None
) -> Disclosure:
    if expand is None:
        return disclosed
    records = ledger.artifacts.list_records(disclosed.corpus, disclosed.artifact_id)
    return add_passage(disclosed, expand_record(records, around, expand))


def add_passage(disclosed: Disclosure, passage: ExpandedText) -> Disclosure:
    """Add an expanded text, truncated if it is long."""
    return replace(
        disclosed,
        passage=passage.text[:PASSAGE_CHARS],
        passage_records=passage.records,
        expansion=passage.note,
        truncated=disclosed.truncated or len(passage.text) > PASSAGE_CHARS,
    )


def _read_now(plain: Disclosure, bounds: Bounds) -> Disclosure:
    cleaner = Redactor(bounds.redaction)
    try:
        payload = read_payload(plain.pointer, bounds)
        text = cleaner.redact_text(
            payload.content.decode("utf-8", "replace").removeprefix("\ufeff")
        )
    except (OSError, SourceError) as error:
        return _mark_unreadable(plain, error)
    body = _add_body(_date_payload(plain, payload), text)
    if plain.level == "bundled":
        bundle = collect_bundle(plain.pointer, bounds, cleaner)
        body = replace(body, files=bundle.files, files_omitted=bundle.omitted)
    return replace(body, redacted=len(cleaner.found))


def _compare_now(plain: Disclosure, bounds: Bounds) -> Disclosure:
    """Report whether the file of a text still has the indexed content."""
    try:
        return _date_payload(plain, read_payload(plain.pointer, bounds))
    except (OSError, SourceError) as error:
        return _mark_unreadable(plain, error)


def _date_payload(plain: Disclosure, payload: PointerContent) -> Disclosure:
    digest = hashlib.sha256(payload.content).hexdigest()
    stale = bool(plain.indexed_digest) and digest != plain.indexed_digest
    note = "changed" if stale else ""
    return replace(plain, current_digest=digest, mtime=payload.mtime, stale=stale, note=note)


def _mark_unreadable(plain: Disclosure, error: OSError | SourceError) -> Disclosure:
    known = error.message if isinstance(error, SourceError) else error.strerror
    return replace(plain, stale=True, note="pointer_unreadable", reason=known or str(error))


def _add_body(plain: Disclosure, text: str) -> Disclosure:
    return replace(plain, body=text[:BODY_CHARS], truncated=len(text) > BODY_CHARS)


def _flag_hidden(found: Disclosure) -> Disclosure:
    texts = (file.text for file in found.files)
    names = (found.name, *(file.path for file in found.files))
    return replace(found, hidden=find_hidden(found.body, *texts, names=names))
