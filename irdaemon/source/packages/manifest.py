"""The fields of a package manifest of any ecosystem, and how its values are normalised.

A dependency is written `NAME SPEC` or, from Python, as the PEP 508 string it is. Its bare name
ends at the first of `< > = ! ~ ; @ [ space (` after its first character: the first character is
left out of the cut because npm scopes begin with `@` (`@babel/core ^7.0.0`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from irdaemon.types import SourceError

_PERSON = re.compile(r"\s*([^<(]*)(?:<([^>]*)>)?")
_LICENSE_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Manifest:
    """One package as its manifest describes it; what the manifest leaves out is empty.

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


def merged(manifests: Iterable[Manifest]) -> Manifest:
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


def broken(path: str, reason: str, line: int | None = None) -> SourceError:
    """Build the error for a manifest that cannot be understood."""
    where = f"{path}, line {line}" if line else path
    return SourceError(f"{where}: {reason}", "correct the file; it is read again when it changes")


def text(value: object) -> str:
    """Return a string or number as one line of valid Unicode; anything else as ""."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(unicode(str(value)).split())


def unicode(value: str) -> str:
    """Replace lone surrogates, which JSON can spell and no database can keep."""
    return value.encode("utf-8", "replace").decode("utf-8")


def prose(value: object) -> str:
    """Return a README's text with valid Unicode and plain line ends; anything else as ""."""
    return unicode(value).replace("\r\n", "\n").strip() if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """Return the non-empty texts of a list, each once, in order; a lone string is one text."""
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(filter(None, map(text, items))))


def words(value: object) -> tuple[str, ...]:
    """Return keywords given as a list or as one comma-separated string."""
    return texts(value.split(",") if isinstance(value, str) else value)


def table(value: object) -> Mapping[str, object]:
    """Return a table, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def dependency(name: object, spec: object) -> str:
    """Write a dependency as `NAME SPEC`, or `NAME` without a spec."""
    return f"{text(name)} {text(spec)}".strip()


def license_name(value: object) -> str:
    """Return a licence's name: the first line of it, for some manifests hold the whole text."""
    lines = value.strip().splitlines() if isinstance(value, str) else []
    return text(lines[0])[:_LICENSE_LIMIT] if lines else ""


def person(value: object) -> Person:
    """Read an author from a table with name and email, or from `Name <email> (url)`."""
    if isinstance(value, Person):
        return value
    if isinstance(value, str):
        match = _PERSON.match(value)
        name, email = match.groups() if match else ("", "")
    else:
        name, email = table(value).get("name"), table(value).get("email")
    return Person(text(name), text(email))


def first_person(*candidates: object) -> Person:
    """Return the first named person among people and lists of people, else the first e-mail."""
    lists = [c if isinstance(c, list | tuple) else [c] for c in candidates]
    people = [person(value) for candidate in lists for value in candidate]
    email = next((p.email for p in people if p.email), "")
    return next((p for p in people if p.name), Person("", email))
