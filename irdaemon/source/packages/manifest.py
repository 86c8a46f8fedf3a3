"""The fields of a package manifest of any ecosystem, and how its values are normalised.

A dependency is written `NAME SPEC` or, from Python, as the PEP 508 string it is. Its bare name
ends at the first of `< > = ! ~ ; @ [ space (` after its first character: the first character is
left out of the cut because npm scopes begin with `@` (`@babel/core ^7.0.0`).
"""

from __future__ import annotations

import configparser
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from irdaemon.runtime import toml
from irdaemon.source.markdown import make_parser
from irdaemon.source.opening import follow_link, has_same_name, read_regular
from irdaemon.source.tree import is_regular
from irdaemon.types import Refused, SourceError

if TYPE_CHECKING:
    from markdown_it.token import Token


_PERSON = re.compile(r"\s*([^<(]*)(?:<([^>]*)>)?")
_LICENSE_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Manifest:
    """A package as its manifest describes it; fields that the manifest leaves out are empty.

    `deps` are needed to use the package, `indirect_deps` only through others (Go),
    `optional_deps` with an extra, `dev_deps` to work on it. `commands` are the names of the
    programs it installs. `readme` is text the manifest itself holds. `given` names the fields that
    it states to be empty, so that no other manifest of the package fills them.
    """

    name: str = ""
    version: str = ""
    description: str = ""
    readme: str = ""
    owner: str = ""
    email: str = ""
    license: str = ""
    homepage: str = ""
    repository: str = ""
    origin: str = ""
    deps: tuple[str, ...] = ()
    indirect_deps: tuple[str, ...] = ()
    optional_deps: tuple[str, ...] = ()
    dev_deps: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    private: bool = False
    editable: bool = False
    flags: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Person:
    """An author or maintainer."""

    name: str = ""
    email: str = ""


def merge_manifests(manifests: Iterable[Manifest]) -> Manifest:
    """Take each field from the first manifest that fills it, or states that it is empty."""
    ordered = tuple(manifests)
    names = [field.name for field in fields(Manifest)]
    filled = {
        name: value
        for name in names
        for each in reversed(ordered)
        if (value := getattr(each, name)) or name in each.given
    }
    return replace(Manifest(), **filled)


def make_error(path: str, reason: str, line: int | None = None) -> SourceError:
    """Build the error for a manifest that cannot be understood."""
    where = f"{path}, line {line}" if line else path
    return SourceError(f"{where}: {reason}", "correct the file; it is read again when it changes")


def clean_text(value: object) -> str:
    """Return a string or number as one line of valid Unicode; anything else as ""."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(replace_surrogates(str(value)).split())


def replace_surrogates(value: str) -> str:
    """Replace lone surrogates, which JSON can spell and no database can keep."""
    return value.encode("utf-8", "replace").decode("utf-8")


def clean_prose(value: object) -> str:
    """Return a README's text with valid Unicode and plain line ends; anything else as ""."""
    return replace_surrogates(value).replace("\r\n", "\n").strip() if isinstance(value, str) else ""


def clean_texts(value: object) -> tuple[str, ...]:
    """Return the non-empty texts of a list, each once, in order; a lone string is one text."""
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(filter(None, map(clean_text, items))))


def split_words(value: object) -> tuple[str, ...]:
    """Return keywords given as a list or as one comma-separated string."""
    return clean_texts(value.split(",") if isinstance(value, str) else value)


def as_table(value: object) -> Mapping[str, object]:
    """Return a table, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return a list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def write_dependency(name: object, spec: object) -> str:
    """Write a dependency as `NAME SPEC`, or `NAME` without a spec."""
    return f"{clean_text(name)} {clean_text(spec)}".strip()


def find_license(value: object) -> str:
    """Return a licence's name: the first line of it, for some manifests hold the whole text."""
    lines = value.strip().splitlines() if isinstance(value, str) else []
    return clean_text(lines[0])[:_LICENSE_LIMIT] if lines else ""


def _parse_person(value: object) -> Person:
    """Read an author from a table with name and email, or from `Name <email> (url)`."""
    if isinstance(value, Person):
        return value
    if isinstance(value, str):
        match = _PERSON.match(value)
        name, email = match.groups() if match else ("", "")
    else:
        name, email = as_table(value).get("name"), as_table(value).get("email")
    return Person(clean_text(name), clean_text(email))


def _choose_person(candidates: tuple[object, ...]) -> Person:
    """Return the first named person among people and lists of people, else the first e-mail."""
    lists = [c if isinstance(c, list | tuple) else [c] for c in candidates]
    people = [_parse_person(value) for candidate in lists for value in candidate]
    email = next((p.email for p in people if p.email), "")
    return next((p for p in people if p.name), Person("", email))


# Read manifest files as plain values. Raises SourceError for invalid ones.

# A semicolon that no environment marker follows.
_SEMICOLON = re.compile(
    r";(?!\s*+\(*+\s*+(?:python_|os_name|sys_platform|platform_|implementation_|extra\b|[\"']))"
)
MANIFEST_LIMIT = 4 * 1024 * 1024


def read_text(path: str) -> str:
    """Read a UTF-8 manifest, with or without a byte order mark."""
    return decode_text(read_regular(follow_link(path, by_name=True), MANIFEST_LIMIT), path)


def decode_text(data: bytes, path: str) -> str:
    """Return the text of a UTF-8 manifest at a path. Raises SourceError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise make_error(path, f"not UTF-8 at byte {error.start:,}") from error


def parse_toml(source: str, path: str) -> Mapping[str, object]:
    """Parse the TOML text of a file."""
    try:
        return toml.parse_toml(source)
    except (ValueError, RecursionError) as error:  # the message names the line
        raise make_error(path, f"not valid TOML: {error}") from error


def parse_json(source: str, path: str) -> Mapping[str, object]:
    """Parse the JSON text of a file that holds an object."""
    try:
        value = json.loads(source)
    except json.JSONDecodeError as error:
        raise make_error(path, f"not valid JSON: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise make_error(path, f"not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise make_error(path, "not a JSON object", 1)
    return value


def parse_ini(source: str, path: str) -> configparser.ConfigParser:
    """Parse ini text leniently: repeated sections merge, `%` is just a character."""
    parser = configparser.ConfigParser(
        strict=False, interpolation=None, allow_no_value=True, default_section="\0"
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # commands keep their case
    try:
        parser.read_string(source)
    except configparser.Error as error:
        unparsed = getattr(error, "errors", None)
        line = unparsed[0][0] if unparsed else getattr(error, "lineno", None)
        raise make_error(path, "not a valid ini file", line) from error
    return parser


def split_requirements(value: str | None) -> tuple[str, ...]:
    """Split an ini value that lists requirements: one a line, or on one line with semicolons.

    A semicolon before an environment marker belongs to the requirement, as in PEP 508.
    """
    if len(split_lines(value)) != 1:
        return split_lines(value)
    return tuple(filter(None, (part.strip() for part in _SEMICOLON.split(split_lines(value)[0]))))


def split_lines(value: str | None) -> tuple[str, ...]:
    """Split an ini value that lists one item a line."""
    return tuple(filter(None, (line.strip() for line in (value or "").splitlines())))


# Homepages and repositories, by the labels that manifests give them.

_HOMEPAGE = ("homepage", "home", "url")
_REPOSITORY = ("source", "repository", "sourcecode", "github", "code")
_SHORTHAND = re.compile(r"(?:github:)?([\w.-]+/[\w.-]+)$")


def _choose_url(urls: Mapping[str, object], labels: tuple[str, ...]) -> str:
    return next((url for label in labels if (url := clean_url(urls.get(label)))), "")


def clean_url(value: object) -> str:
    """Return a repository URL as a browser takes it, without credentials."""
    url = clean_text(value).removeprefix("git+").removesuffix(".git")
    if shorthand := _SHORTHAND.match(url):
        return f"https://github.com/{shorthand[1]}"
    if "://" not in url:
        return url
    return _drop_credentials(url)


def _drop_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    scheme = "https" if parts.scheme in ("git", "ssh") else parts.scheme
    return urlunsplit(parts._replace(scheme=scheme, netloc=parts.netloc.rpartition("@")[2]))


def find_organisation(remote: str) -> str:
    """Return the owner of a git remote: the first part of its path; "" for a local one."""
    if "://" in remote:
        parts = urlsplit(_drop_credentials(remote))
        host, path = parts.netloc, parts.path
    else:
        host, _, path = remote.partition(":")
    owner, _, repository = path.strip("/").partition("/")
    return owner if host and "/" not in host and repository else ""


def make_manifest(
    stated: Mapping[str, object], people: tuple[object, ...], urls: Mapping[str, object]
) -> Manifest:
    """Make a manifest of the fields that all ecosystems call alike, people and labelled URLs."""
    author, classifiers = _choose_person(people), clean_texts(stated.get("classifiers"))
    # The label folding and the well-known labels are those of PEP 753.
    folded = {re.sub(r"[\W_]", "", label).lower(): value for label, value in urls.items()}
    return Manifest(
        name=clean_text(stated.get("name")),
        version=clean_text(stated.get("version")),
        description=clean_text(stated.get("description")),
        owner=author.name,
        email=author.email,
        license=find_license(stated.get("license")),
        homepage=_choose_url(folded, _HOMEPAGE),
        repository=_choose_url(folded, _REPOSITORY),
        keywords=split_words(stated.get("keywords")),
        private=any(each.startswith("Private ::") for each in classifiers),
    )


README_LIMIT = 4 * 1024 * 1024
README_CHARS = 20_000
_PREFERRED = ("readme.md", "readme.rst", "readme.txt", "readme")
_OPENING_CHARS = 4_000
_PARAGRAPH_CHARS = 500


@dataclass(frozen=True, slots=True)
class Readme:
    """A README's opening 20,000 characters, and the SHA-256 of all its bytes."""

    text: str = ""
    digest: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PackageText:
    """The text of a package: its manifest, its README, and the names it exports.

    `pointer` is the file or directory that shows it.
    """

    manifest: Manifest
    pointer: str
    readme: Readme
    exports: tuple[str, ...] = ()


def is_readme(name: str) -> bool:
    """Return whether a file name is one of a README, in any case."""
    return name.lower() in _PREFERRED


def choose_readme(names: Iterable[str]) -> str:
    """Return the README to read among file names: Markdown, then reST, then plain; or ""."""
    found = sorted(filter(is_readme, names), key=lambda n: (_PREFERRED.index(n.lower()), n))
    return found[0] if found else ""


def read_readme(directory: str, *, by_name: bool = True) -> Readme:
    """Read the README in `directory`; flag one that cannot be read `unreadable_readme`.

    `by_name` is whether it may be a link to a file of its name elsewhere.
    """
    try:
        with os.scandir(directory) as entries:
            named = [each for each in entries if is_readme(each.name)]
        name = choose_readme(each.name for each in named if _is_own(each, by_name))
        path = follow_link(os.path.join(directory, name), by_name=by_name) if name else ""
        data = read_regular(path, README_LIMIT) if name else b""
    except FileNotFoundError:
        return Readme()
    except (OSError, SourceError):
        return Readme(flags=("unreadable_readme",))
    opening = clean_prose(data.decode("utf-8-sig", "replace"))[:README_CHARS]
    return Readme(opening, hash_bytes(data) if name else "")


def _is_own(entry: os.DirEntry[str], by_name: bool) -> bool:
    """Return whether a file is the package's own, or a link to one of its name in the package.

    With `by_name` that one may lie elsewhere.
    """
    try:
        real = follow_link(entry.path, by_name=by_name)
        return is_regular(entry) and (by_name or has_same_name(entry.path, real))
    except Refused:
        return False


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def find_prose(readme: str) -> str:
    """Return the first paragraph of prose: not a heading, badge, image, directive or HTML."""
    tokens = make_parser().parse(readme[:_OPENING_CHARS])
    for paragraph in _list_paragraphs(tokens):
        if not paragraph.startswith("..") and any(c.isalpha() for c in paragraph):
            return paragraph[:_PARAGRAPH_CHARS]
    return ""


def _list_paragraphs(tokens: list[Token]) -> Iterator[str]:
    for before, inline in pairwise(tokens):
        if before.type == "paragraph_open" and before.level == 0:
            yield clean_text("".join(_list_words(inline.children or [])))


def _list_words(children: list[Token]) -> Iterator[str]:
    for child in children:
        if child.type in ("text", "code_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield " "
