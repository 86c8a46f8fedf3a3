"""Prompts that a person gives: the items they are for, and lines waiting for the rest of a file.

A file is sent in parts, as large as requests may be, and imported as a whole with the last one: so
it is imported completely or not at all, and one roll-back undoes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from irclient.errors import IRError, LimitError, NotFound, QueryError
from irclient.nearest import did_you_mean
from irclient.prompts import MOST_LINES, GivenPrompts, LineProblem
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.prompts.weighing import NOT_PROMPTED
from irdaemon.discovery.disclose import unknown_corpus
from irdaemon.engine.scope import PlaceScope
from irdaemon.ledger import Expected, Ledger
from irdaemon.source.redact import Redactor
from irdaemon.types import Refused

_MOST_CHARS = 64_000_000
_MOST_UPLOADS, _KEPT_S = 4, 600.0
# Comparing a name with all others takes long.
_MOST_HINTS = 20
_SHOWN = 3


class _Names:
    """The artifacts of one stored corpus, by every way in which a line may name them."""

    def __init__(self, ledger: Ledger, corpus: str):
        self.ids = set[str]()
        self.by_name = dict[str, list[str]]()
        self._by_path = dict[str, list[str]]()
        for _, artifact_id, name, pointer, _ in ledger.artifacts.list_all([corpus]):
            self.ids.add(artifact_id)
            for key in {name, _cut_last(artifact_id)}:
                self.by_name.setdefault(key, []).append(artifact_id)
            for path in {pointer, pointer.rpartition("/")[0]} - {""}:
                self._by_path.setdefault(path, []).append(artifact_id)

    def find(self, by: str, wanted: str) -> list[str]:
        """Return the ids of the artifacts with an id, a name or a path."""
        if by == "path":
            return self._by_path.get(wanted.rstrip("/"), [])
        if wanted in self.ids:
            return [wanted]
        if by == "id":
            return []
        below = (id for id in self.by_name.get(_cut_last(wanted), ()) if id.endswith(f"/{wanted}"))
        return list(dict.fromkeys((*self.by_name.get(wanted, ()), *below)))


def _cut_last(name: str) -> str:
    return name.rpartition("/")[2]


@dataclass(slots=True)
class Upload:
    """The lines received, by stored corpus and artifact."""

    name: str
    at: float
    given: dict[str, dict[str, Expected]] = field(default_factory=dict)
    _lines: dict[tuple[str, str], int] = field(default_factory=dict)
    _names: dict[str, _Names] = field(default_factory=dict)
    _n_lines: int = 0
    _n_chars: int = 0
    _n_hints: int = 0

    def take(
        self,
        ledger: Ledger,
        scope: PlaceScope,
        lines: Sequence[GivenPrompts | LineProblem],
        corpus: str = "",
    ) -> tuple[list[Expected], list[LineProblem]]:
        """Accept lines; return what they contain, and what is wrong with the rejected ones.

        Raises LimitError if they are too many.
        """
        taken, problems = list[Expected](), list[LineProblem]()
        self._check_size(lines)
        for line in lines:
            try:
                if isinstance(line, LineProblem):
                    problems.append(line)
                else:
                    taken.append(self._take_line(ledger, scope, line, line.corpus or corpus))
            except IRError as error:
                told = f"{error.message} ({error.hint})" if error.hint else error.message
                problems.append(LineProblem(line.line, told))
        return taken, problems

    def _check_size(self, lines: Sequence[GivenPrompts | LineProblem]) -> None:
        self._n_lines += len(lines)
        given = (line for line in lines if isinstance(line, GivenPrompts))
        self._n_chars += sum(len(text) for each in given for text in (*each.prompts, *each.misses))
        if self._n_lines > MOST_LINES or self._n_chars > _MOST_CHARS:
            raise LimitError(
                f"an import has at most {MOST_LINES:,} lines and {_MOST_CHARS:,} characters",
                "split it into two files",
            )

    def _take_line(
        self, ledger: Ledger, scope: PlaceScope, line: GivenPrompts, corpus: str
    ) -> Expected:
        stored, artifact_id = self._find(ledger, scope, line, corpus)
        _check_prompted(stored)
        place = stored.name, artifact_id
        if (first := self._lines.setdefault(place, line.line)) != line.line:
            raise QueryError(f"the item of line {first} again", "put all its prompts into one line")
        try:
            expected = make_expected(line)
        except QueryError:
            del self._lines[place]
            raise
        self.given.setdefault(stored.name, {})[artifact_id] = expected
        return expected

    def _find(
        self, ledger: Ledger, scope: PlaceScope, line: GivenPrompts, corpus: str
    ) -> tuple[Corpus, str]:
        """Return a line's item. Raises NotFound, and QueryError for several."""
        wanted = line.item
        if not corpus and line.by != "path" and "/" in wanted:
            before, _, rest = wanted.partition("/")  # a reference, as in answers
            if before in scope.names and self._find_in(ledger, scope, before, line.by, rest):
                corpus, wanted = before, rest
        if corpus and corpus not in scope.names:
            raise unknown_corpus(corpus, scope.names)
        look = partial(self._find_in, ledger, scope, by=line.by, wanted=wanted)
        searched = [corpus] if corpus else _list_prompted(scope)
        found = {name: held for name in searched if (held := look(name))}
        if not found:
            raise self._tell_missing(ledger, scope, searched, wanted)
        if len(found) > 1:
            raise QueryError(
                f"{wanted!r:.80} is in {' and in '.join(found)}", 'say which: "corpus": "..."'
            )
        ((name, (stored, ids)),) = found.items()
        if len(ids) == 1:
            return stored, ids[0]
        if line.by == "name":
            return scope.resolve(ledger, f"{name}/{wanted}")
        shown = ", ".join(ids[:_SHOWN])
        raise QueryError(f"{len(ids)} items are at {wanted!r:.80}", f"give an id: {shown}")

    def _find_in(
        self, ledger: Ledger, scope: PlaceScope, corpus: str, by: str, wanted: str
    ) -> tuple[Corpus, list[str]] | None:
        """Return the part of a corpus that has an item, and its ids there."""
        for stored in scope.list_stored(corpus):
            if ids := self._list_names(ledger, stored.name).find(by, wanted):
                return stored, ids
        return None

    def _list_names(self, ledger: Ledger, stored: str) -> _Names:
        if stored not in self._names:
            self._names[stored] = _Names(ledger, stored)
        return self._names[stored]

    def _tell_missing(
        self, ledger: Ledger, scope: PlaceScope, corpora: Iterable[str], wanted: str
    ) -> NotFound:
        near, self._n_hints = "", self._n_hints + 1
        if self._n_hints <= _MOST_HINTS:
            stored = [each.name for corpus in corpora for each in scope.list_stored(corpus)]
            names = {n: n for at in stored for n in self._list_names(ledger, at).by_name}
            near = did_you_mean(_cut_last(wanted), names)
        return NotFound(f"no item {wanted!r:.80} in {' or '.join(corpora) or 'any corpus'}{near}")


def _list_prompted(scope: PlaceScope) -> list[str]:
    """Return the corpora whose items may have prompts."""
    return [
        name
        for name in scope.names
        if any(stored.kind not in NOT_PROMPTED for stored in scope.list_stored(name))
    ]


def _check_prompted(corpus: Corpus) -> None:
    if corpus.kind in NOT_PROMPTED:
        raise QueryError(f"items of {corpus.name} have no expected prompts: they are sessions")
    if not corpus.learns and not corpus.project:
        raise QueryError(
            f"{corpus.name} is copied to a backend, and its prompts would be copied too",
            f"to allow that, set share = true in [corpora.{corpus.name}]",
        )


def make_expected(line: GivenPrompts) -> Expected:
    """Return a line's prompts without secrets. Raises QueryError if one may not be stored."""
    return Expected.from_prompts(_redact(line.prompts), _redact(line.misses))


def _redact(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts without secrets. Raises QueryError for one that may not be stored."""
    for text in texts:
        try:
            redacted = " ".join(Redactor("all").redact_text(text).split())
        except Refused as error:
            raise QueryError(f"{error}") from error
        if not redacted:
            raise QueryError("a prompt is entirely private")
        yield redacted


def open_upload(uploads: dict[str, Upload], name: str, now: float) -> Upload:
    """Return the upload of a name, a new one without a name; drop the oldest of too many.

    Raises NotFound for an upload that was dropped: its lines must be sent again.
    """
    for each in [each for each in uploads.values() if not 0 <= now - each.at < _KEPT_S]:
        uploads.pop(each.name, None)
    if name:
        if (found := uploads.get(name)) is None:
            raise NotFound(
                "the daemon no longer has the first lines of this import",
                "nothing was imported: import the file again",
            )
        found.at = now
        return found
    while len(uploads) >= _MOST_UPLOADS:
        uploads.pop(min(uploads, key=lambda each: uploads[each].at), None)
    made = Upload(secrets.token_hex(8), now)
    uploads[made.name] = made
    return made
