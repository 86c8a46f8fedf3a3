"""Pick a homepage and a repository out of what manifests call them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from irdaemon.source.packages.manifest import text

# The label folding and the well-known labels are those of PEP 753.
_HOMEPAGE = ("homepage", "home", "url")
_REPOSITORY = ("source", "repository", "sourcecode", "github", "code")
_SHORTHAND = re.compile(r"(?:github:)?([\w.-]+/[\w.-]+)$")


@dataclass(frozen=True, slots=True)
class Links:
    """Where a package lives on the web."""

    homepage: str = ""
    repository: str = ""


def links(urls: Mapping[str, object]) -> Links:
    """Choose homepage and repository from labelled URLs."""
    folded = {re.sub(r"[\W_]", "", label).lower(): value for label, value in urls.items()}
    return Links(_first(folded, _HOMEPAGE), _first(folded, _REPOSITORY))


def _first(urls: Mapping[str, object], labels: tuple[str, ...]) -> str:
    return next((url for label in labels if (url := web_url(urls.get(label)))), "")


def web_url(value: object) -> str:
    """Return a repository URL as a browser takes it, without credentials."""
    url = text(value).removeprefix("git+").removesuffix(".git")
    if shorthand := _SHORTHAND.match(url):
        return f"https://github.com/{shorthand[1]}"
    if "://" not in url:
        return url
    return _anonymous(url)


def _anonymous(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    scheme = "https" if parts.scheme in ("git", "ssh") else parts.scheme
    return urlunsplit(parts._replace(scheme=scheme, netloc=parts.netloc.rpartition("@")[2]))


def organisation(remote: str) -> str:
    """Return who a git remote belongs to: the first part of its path; "" for a local one."""
    if "://" in remote:
        parts = urlsplit(_anonymous(remote))
        host, path = parts.netloc, parts.path
    else:
        host, _, path = remote.partition(":")
    owner, _, repository = path.strip("/").partition("/")
    return owner if host and "/" not in host and repository else ""
