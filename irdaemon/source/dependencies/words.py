"""Read what a package says in its own words, beside its README: see `read_words`.

A few of its files are read, and of each the beginning: those that lie highest first. What is in
them is looked for by patterns (`sentences`); nothing is run, and no link is followed.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice

from irdaemon.source.dependencies.found import read_beginning
from irdaemon.source.dependencies.sentences import Sentences, gather_sentences, gather_tests
from irdaemon.source.dependencies.site_packages import list_files

MOST_SENTENCES, MOST_WORDS = 300, 4_000
# What is read of a package: so many files, together so many bytes, of one at least so many.
_MOST_FILES, _MOST_BYTES, _LEAST_BYTES = 100, 256 * 1024, 32 * 1024
_MOST_TEST_FILES, _TEST_BYTES = 8, 64 * 1024
# Where they are looked for.
_MOST_DIRECTORIES, _MOST_LISTED, _DEEPEST = 60, 1_500, 4
# Of which there are so many at first; what is left of the sentences goes to whatever there is more.
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
# The same again for other ways to load it, or for other machines.
_AGAIN = re.compile(
    r"es[m\d]*|cjs|umd|amd|browser|bundles?|min|legacy|internals?|_.*|v\d.*|commonjs"
)
_FIRST = re.compile(r"(?:index|main|lib|mod|doc|__init__|errors?|_?exceptions?)\b.*")
_STEM = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?\Z")
_MINIFIED = re.compile(r".+[.-](?:min|prod|production)\.[cm]?js|.+\.map")


def read_words(ecosystem: str, directory: str) -> str:
    """Return the sentences in a package's texts, a line each; its directory is a real path.

    First sentences of doc comments, messages of errors, names of tests and fixtures: at most 300
    of them and 4,000 words. Of a distribution of Python the directory is that of its metadata.
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
    """Yield the sentences that are kept, each once."""
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


# The files of a package, by their paths below a directory, those first that say most.


def _list_tree(directory: str, suffixes: tuple[str, ...], found: Sentences) -> list[str]:
    """Return the files in a directory with one of the suffixes, and note the names of fixtures."""
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
    """Return the names in a directory, in order, with which are directories; links are left out."""
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
    """Return declarations and code in turn: the ones have the comments, the others the errors."""
    stems: dict[tuple[str, bool], str] = {}  # the same is there for each way to load it
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


def _list_cargo(directory: str, found: Sentences) -> tuple[str, list[str]]:
    return directory, sorted(_list_tree(directory, (".rs",), found), key=_rank)


def _list_go(directory: str, found: Sentences) -> tuple[str, list[str]]:
    return directory, sorted(_list_tree(directory, (".go",), found), key=_rank)


_LISTINGS: Mapping[str, Callable[[str, Sentences], tuple[str, list[str]]]] = {
    "npm": _list_npm,
    "pypi": _list_python,
    "cargo": _list_cargo,
    "go": _list_go,
}


def _read_files(
    top: str, paths: Iterable[str], most: int, bytes_left: int
) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of the first files; where they are few, more of each."""
    chosen = list(islice(paths, most))
    limit = max(_LEAST_BYTES, bytes_left // (len(chosen) or 1))
    for path in chosen:
        text = read_beginning(os.path.join(top, path), top, min(limit, bytes_left))
        bytes_left -= len(text)
        yield path, text
        if bytes_left <= 0:
            return
