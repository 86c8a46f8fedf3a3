"""Read a package's own words, besides its README: see `read_words`.

A few of its files are read, those that lie highest first, and of each the beginning. Doc comments,
messages of errors and names of tests are found by patterns, in time linear in the length of a text,
which may end anywhere; nothing is run, and no link is followed. What only looks like a sentence
takes the place of another.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import itemgetter

from irdaemon.source.dependencies.site_packages import list_files
from irdaemon.source.dependencies.workspace import read_beginning

MOST_SENTENCES, MOST_WORDS = 300, 4_000
# How many files of a package are read, how many bytes of them all, and at least of each.
_MOST_FILES, _MOST_BYTES, _LEAST_BYTES = 100, 256 * 1024, 32 * 1024
_MOST_TEST_FILES, _TEST_BYTES = 8, 64 * 1024
# The limits of the search for them.
_MOST_DIRECTORIES, _MOST_LISTED, _DEEPEST = 60, 1_500, 4
# How many of each kind come first; the rest of the sentences are of any kind.
_MOST_DOCS, _MOST_ERRORS, _MOST_TESTS = 140, 100, 40

_NPM = (".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx")
_LEFT_OUT = re.compile(
    r"\..*|node_modules|vendor|third_party|locales?|i18n|docs?|examples?|bench(?:marks?|es)?|target"
    r"|scripts?|__pycache__|_vendor|polyfills?"
)
_FIXTURES = re.compile(r"_{0,2}fixtures?_{0,2}|testdata")
_TESTS = re.compile(r"_{0,2}tests?_{0,2}|specs?|testing")
_TEST_FILE = re.compile(
    r"(?:test_.+|.+_test|conftest)\.(?:py|go)|.+[.-](?:test|spec)\.[cm]?[jt]sx?"
)
# The same code for other ways to load it, or for other machines.
_AGAIN = re.compile(
    r"es[m\d]*|cjs|umd|amd|browser|bundles?|min|legacy|internals?|_.*|v\d.*|commonjs"
)
_FIRST = re.compile(r"(?:index|main|lib|mod|doc|__init__|errors?|_?exceptions?)\b.*")
_STEM = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?\Z")
_MINIFIED = re.compile(r".+[.-](?:min|prod|production)\.[cm]?js|.+\.map")


@dataclass(slots=True)
class Sentences:
    """The sentences of doc comments, errors and tests in texts, each once and in order.

    `loose` are literals that read like messages.
    """

    docs: dict[str, None] = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)
    loose: dict[str, None] = field(default_factory=dict)
    tests: dict[str, None] = field(default_factory=dict)


# Lists the files of a package, and adds the names of its fixtures.
_Listing = Callable[[str, Sentences], tuple[str, list[str]]]


def read_words(ecosystem: str, directory: str) -> str:
    """Return the sentences in a package's texts, a line each; its directory is a real path.

    They are first sentences of doc comments, messages of errors, and names of tests and fixtures:
    at most 300, of 4,000 words. The directory of a Python distribution is that of its metadata.
    """
    found = Sentences()
    top, paths = _LISTINGS[ecosystem](directory, found)
    tests = [path for path in paths if _is_test(path)]
    code = [path for path in paths if not _is_test(path)]
    for path, text in _read_files(top, code, _MOST_FILES, _MOST_BYTES):
        gather_sentences(found, text, os.path.splitext(path)[1])
    for _, text in _read_files(top, tests, _MOST_TEST_FILES, _TEST_BYTES):
        gather_tests(found, text)
    return "\n".join(_choose(found))


def _choose(found: Sentences) -> Iterator[str]:
    """Yield the sentences to keep, each once."""
    docs, errors = list(found.docs), list(found.errors)
    tests, left = islice(found.tests, _MOST_TESTS), MOST_WORDS
    ordered = chain(
        *(docs[:_MOST_DOCS], errors[:_MOST_ERRORS], tests, found.loose),
        *(docs[_MOST_DOCS:], errors[_MOST_ERRORS:]),
    )
    for sentence in islice(dict.fromkeys(ordered), MOST_SENTENCES):
        left -= len(sentence.split())
        if left < 0:
            return
        yield sentence


# The files of a package, by their paths relative to a directory, the most telling first.


def _list_tree(directory: str, suffixes: tuple[str, ...], found: Sentences) -> list[str]:
    """Return a directory's files with one of the suffixes, and add the names of fixtures."""
    pending, seen = deque([""]), 0
    paths: list[str] = []
    while pending and seen < _MOST_DIRECTORIES:
        seen, at = seen + 1, pending.popleft()
        for name, is_directory in _list_directory(os.path.join(directory, at)):
            path = os.path.join(at, name)
            if is_directory and _FIXTURES.fullmatch(name):
                held = _list_directory(os.path.join(directory, path))
                names = (each.partition(".")[0] for each, _ in held)
                found.tests.update((re.sub(r"[\W_]+", " ", each).strip(), None) for each in names)
            elif is_directory:
                if path.count("/") < _DEEPEST and not _LEFT_OUT.fullmatch(name):
                    pending.append(path)
            elif name.endswith(suffixes) and not _MINIFIED.fullmatch(name):
                paths.append(path)
    return paths


def _list_directory(path: str) -> list[tuple[str, bool]]:
    """Return the names in a directory, sorted, and whether each is a directory; no links."""
    try:
        with os.scandir(path) as entries:
            some = islice((each for each in entries if not each.is_symlink()), _MOST_LISTED)
            return sorted((each.name, each.is_dir(follow_symlinks=False)) for each in some)
    except (OSError, ValueError):
        return []


def _is_test(path: str) -> bool:
    *above, name = path.split("/")
    return bool(_TEST_FILE.fullmatch(name)) or any(map(_TESTS.fullmatch, above))


def _rank(path: str) -> tuple[object, ...]:
    *above, name = path.split("/")
    again = any(map(_AGAIN.fullmatch, above)) or (name.startswith("_") and not _FIRST.match(name))
    return again, len(above), not _FIRST.match(name), path


def _list_npm(directory: str, found: Sentences) -> tuple[str, list[str]]:
    """Return declarations, which have the comments, and code, which has the errors, in turn."""
    stems: dict[tuple[str, bool], str] = {}  # the same code is there for each way to load it
    for path in sorted(_list_tree(directory, _NPM, found), key=_rank):
        stems.setdefault((_STEM.sub("", path), path.endswith(_NPM[:3])), path)
    paths = list(stems.values())
    declared = [path for path in paths if path.endswith(_NPM[:3])]
    code = [path for path in paths if not path.endswith(_NPM[:3])]
    pairs = zip(declared, code, strict=False)
    both = [*chain(*pairs), *declared[len(code) :], *code[len(declared) :]]
    return directory, both


def _list_python(directory: str, found: Sentences) -> tuple[str, list[str]]:
    paths = (each for each in list_files(directory) if each.endswith((".py", ".pyi")))
    shallow = (each for each in paths if each.count("/") <= _DEEPEST)
    kept = (p for p in shallow if not any(map(_LEFT_OUT.fullmatch, p.split("/")[:-1])))
    return os.path.dirname(directory), sorted(kept, key=_rank)


def _list_code(suffix: str) -> _Listing:
    return lambda directory, found: (
        directory,
        sorted(_list_tree(directory, (suffix,), found), key=_rank),
    )


_LISTINGS: Mapping[str, _Listing] = {
    "npm": _list_npm,
    "pypi": _list_python,
    "cargo": _list_code(".rs"),
    "go": _list_code(".go"),
}


def _read_files(
    top: str, paths: Iterable[str], most: int, bytes_left: int
) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of the first files: the fewer files, the more of each."""
    chosen = list(islice(paths, most))
    limit = max(_LEAST_BYTES, bytes_left // (len(chosen) or 1))
    for path in chosen:
        text = read_beginning(os.path.join(top, path), top, min(limit, bytes_left))
        bytes_left -= len(text)
        yield path, text
        if bytes_left <= 0:
            return


# The sentences in program texts.

_ENOUGH = 200
_SENTENCE_CHARS = 300
_COMMENT_CHARS = 1_500
_FEWEST_WORDS, _FEWEST_IN_LOOSE = 2, 4
# How many literals in a row a message may be written as.
_MOST_PIECES = 4

_END = re.compile(r"(?<=[.!?:])(?<!\be\.g\.)(?<!\bi\.e\.)\s")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LINK = re.compile(r"\{@\w{1,20}\s{1,20}([^{}]{0,200})\}")
_QUOTED = re.compile(r":[\w:]{1,20}:(?=`)|[`*]+")
_MARKS = re.compile(r"\|+|<[^<>]{0,80}>|https?://\S+")
_PLACEHOLDER = re.compile(r"\$?\{[^{}]{0,80}\}|%(?:\(\w{0,40}\))?[+#0-9.]{0,6}[a-zA-Z]\b|\\.")
_SUMMARY_TAG = re.compile(r"@(?:summary|description|desc|overview|fileoverview)\s{1,20}")
_RULE = re.compile(r"[\W_]{3,}")
_LEGAL = re.compile(
    r"copyright|licen[sc]e|eslint|prettier|@(?:internal|ignore|hidden)\b|\btslint", re.I
)


def gather_sentences(into: Sentences, text: str, suffix: str) -> None:
    """Add the sentences of a program text; `suffix` (".ts") tells its language."""
    _add(into.docs, _DOCS[suffix](text))
    _add(into.errors, _list_errors(text))
    _add(into.loose, _list_loose(text))


def _add(into: dict[str, None], found: Iterator[str]) -> None:
    """Add sentences until there are enough of their kind."""
    while len(into) < _ENOUGH and (sentence := next(found, "")):
        into[sentence] = None


def gather_tests(into: Sentences, text: str) -> None:
    """Add the names of the tests in a text."""
    _add(into.tests, _list_tests(text))


def _clean(text: str) -> str:
    """Return the first sentence of a text in plain words; "" for none."""
    plain = _QUOTED.sub("", _LINK.sub(r"\1", text[:_COMMENT_CHARS]))
    shown = " ".join(_MARKS.sub(" ", plain).split())
    sentence = _END.split(shown, maxsplit=1)[0][:_SENTENCE_CHARS].rstrip(" .:")
    return sentence if _count_words(sentence) >= _FEWEST_WORDS else ""


def _count_words(text: str) -> int:
    return sum(bool(_WORD.search(part)) for part in text.split())


# Doc comments.


def _list_blocks(text: str) -> Iterator[str]:
    """Yield the first sentences of /** comments */."""
    start = text.find("/**")
    while start >= 0:
        end = text.find("*/", start + 3)
        if end < 0:
            return
        lines = text[start + 3 : min(end, start + _COMMENT_CHARS)].split("\n")
        yield from _read_paragraph(line.strip().lstrip("*").strip() for line in lines)
        start = text.find("/**", end + 2)


def _read_paragraph(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first sentence of a comment or of its summary, unless it is a licence."""
    kept: list[str] = []
    for line in lines:
        if not kept and (tag := _SUMMARY_TAG.match(line)):
            kept = [line[tag.end() :]]
        elif kept and (not line or line.startswith("@")):
            break
        elif line and not line.startswith("@") and not _RULE.fullmatch(line):
            kept.append(line)
    shown = " ".join(kept)
    if not _LEGAL.search(shown[:_SENTENCE_CHARS]) and (sentence := _clean(shown)):
        yield sentence


_QUOTES = re.compile("\"\"\"|'''")
_HEAD_CHARS = 4_000


def _list_docstrings(text: str) -> Iterator[str]:
    """Yield the first sentences of the strings that begin a module, a class or a function."""
    opened, ended = "", 0
    for match in _QUOTES.finditer(text):
        if opened == match[0]:
            opened, ended = "", match.end()
        elif not opened:
            opened = match[0]
            if _begins_block(text, match.start(), ended):
                inside = text[match.end() : match.end() + _COMMENT_CHARS].partition(opened)[0]
                yield from _read_paragraph(line.strip() for line in inside.split("\n"))


def _begins_block(text: str, start: int, after: int) -> bool:
    """Return whether a string is the first thing after a colon, or in a module."""
    before = text[max(after, start - _HEAD_CHARS) : start].rstrip("rRuU").rstrip(" \t")
    if before.endswith("\n") and before.rstrip().endswith(":"):
        return True
    lines = before.split("\n")
    return start < _HEAD_CHARS and not after and all(not x or x.startswith("#") for x in lines)


def _list_slashed(text: str) -> Iterator[str]:
    """Yield the first sentences of /// and //! comments."""
    block: list[str] = []
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith(("///", "//!")) and not line.startswith("////"):
            block.append(line[3:].strip().lstrip("#").strip())
        elif block:
            yield from _read_paragraph(block)
            block = []


_EXPORTED = re.compile(r"(?:func (?:\([^()]{1,100}\) )?|type |var |const |\t)[A-Z]\w*", re.ASCII)


def _list_above(text: str) -> Iterator[str]:
    """Yield the first sentences of the comments above exported names of Go."""
    block: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("//"):
            block += [] if stripped.startswith("//go:") else [stripped[2:].strip()]
            continue
        if block and _EXPORTED.match(line):
            yield from _read_paragraph(block)
        block = []


# How doc comments are read, by the suffix of a file.
_DOCS: Mapping[str, Callable[[str], Iterator[str]]] = {
    **dict.fromkeys((".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".tsx", ".jsx"), _list_blocks),
    **dict.fromkeys((".py", ".pyi"), _list_docstrings),
    ".rs": _list_slashed,
    ".go": _list_above,
}

# Messages: the literals in a call whose name says that something is wrong.

# Searched one after the other, in a tenth of the time of one pattern for all.
_CALLED = tuple(
    """rror( rrorf( rrors.New( xception( arn( arning( nvariant( ail( ailed( anic( anic!( bail!(
    anyhow!( ensure!( xpect( eject(""".split()
)
_INTRODUCED = ("raise ", "throw new ", "assert", "message", "msg")
# What stands before a literal; a line ends only behind a parenthesis or a comma.
_ARGUMENT = re.compile(r"(?:[^\"'`\n;]|(?<=[(,])\n){0,160}+(?=[\"'`])")
_INTRODUCTION = re.compile(rf"(?:[\w.$]{{0,60}}\(|[\"']?\s{{0,4}}[:=]){_ARGUMENT.pattern}")
_LITERAL = re.compile(
    r"""(?:\s{0,20}\+\s{0,20}[\w.$\[\]]{1,60}(?:\(\w{0,40}\))?\s{0,20}\+)?+  # + name +
    [\s+\\(]{0,40}[rbufRBUF]{0,2}
    (?:"((?:[^"\\\n]|\\.){0,400})"|'((?:[^'\\\n]|\\.){0,400})'|`((?:[^`\\]|\\.){0,400})`)""",
    re.VERBOSE,
)
_LOOSE = re.compile(
    r"\"([A-Z][^\"\\\n]{15,240})\"|'([A-Z][^'\\\n]{15,240})'|`([A-Z][^`\\]{15,240})`"
)
# Not prose: markup, code, a pattern, a list of words for a program.
_CODE = re.compile(r"[{};=<>|^~]|\w\(|::|//|\w,\w")


def _list_errors(text: str) -> Iterator[str]:
    starts = sorted(
        [(at, _ARGUMENT) for each in _CALLED for at in _find_ends(text, each)]
        + [(at, _INTRODUCTION) for each in _INTRODUCED for at in _find_ends(text, each)],
        key=itemgetter(0),
    )
    for start, pattern in starts:
        if not (match := pattern.match(text, start)):
            continue
        pieces, at = list[str](), match.end()
        while len(pieces) < _MOST_PIECES and (literal := _LITERAL.match(text, at)):
            pieces.append(literal[1] or literal[2] or literal[3] or "")
            at = literal.end()
        if message := _clean_message("".join(pieces)):
            yield message


def _find_ends(text: str, part: str) -> Iterator[int]:
    """Yield the offset after each occurrence of a part."""
    at = text.find(part)
    while at >= 0:
        yield at + len(part)
        at = text.find(part, at + len(part))


def _list_loose(text: str) -> Iterator[str]:
    for found in _LOOSE.findall(text):
        message = _clean_message("".join(found))
        if len(message.split()) >= _FEWEST_IN_LOOSE and not _CODE.search(message):
            yield message


def _clean_message(text: str) -> str:
    shown = " ".join(_PLACEHOLDER.sub(" ", text).split())[:_SENTENCE_CHARS].rstrip(" .:")
    few = _count_words(shown) < _FEWEST_WORDS
    return "" if few or " " not in shown else shown


# Names of tests, in each of the languages.

_TEST = re.compile(
    r"^[ \t]{0,40}(?:async )?def test_(\w{3,100})"
    r"|\b(?:describe|it|test|t\.Run)(?:\.\w{1,10})?\(\s{0,20}"
    r"(?:\"((?:[^\"\\\n]|\\.){3,120})\"|'((?:[^'\\\n]|\\.){3,120})'|`([^`\n]{3,120})`)"
    r"|^func Test_?(\w{3,100})\("
    r"|\#\[(?:\w{1,20}::)?test(?:\([^()\n]{0,80}\))?\]\s{1,40}(?:async )?fn (\w{3,100})",
    re.MULTILINE,
)


def _list_tests(text: str) -> Iterator[str]:
    for found in _TEST.findall(text):
        if name := " ".join(_PLACEHOLDER.sub(" ", "".join(found)).replace("_", " ").split()):
            yield name
