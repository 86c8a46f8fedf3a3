"""Find the owner of a package whose manifest names none.

Asked in turn: the repository's CODEOWNERS, its git remote's organisation, that of the repository
URL in the manifest, the domain of the author's e-mail address. Git is never run: its files are
read as text.
"""

from __future__ import annotations

import os

from irdaemon.source.opening import resolved
from irdaemon.source.packages.links import organisation
from irdaemon.source.packages.manifest import Manifest
from irdaemon.source.packages.parse import parse_ini, read_text
from irdaemon.types import SourceError

_CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
# These domains name the mail provider, not the owner of the package.
_MAIL_CARRIERS = frozenset(
    {
        "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "yahoo.com",
        "icloud.com", "me.com", "proton.me", "protonmail.com", "qq.com", "163.com", "gmx.de",
        "users.noreply.github.com",
    }
)  # fmt: skip


def owner_of(directory: str, manifest: Manifest) -> str:
    """Return the owner of the package in `directory`, or ""."""
    if manifest.owner:
        return manifest.owner
    repository = _repository(directory)
    return (
        (repository and _code_owner(repository, directory))
        or (repository and organisation(_remote(repository)))
        or organisation(manifest.repository)
        or _domain(manifest.email)
    )


def _domain(email: str) -> str:
    domain = email.rpartition("@")[2].lower()
    return "" if domain in _MAIL_CARRIERS else domain


def _repository(directory: str) -> str:
    while not os.path.exists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return ""
        directory = above
    return directory


def _text(path: str) -> str:
    try:
        return read_text(path)
    except (OSError, SourceError):
        return ""


def _code_owner(repository: str, directory: str) -> str:
    held = (_text(os.path.join(repository, name)) for name in _CODEOWNERS)
    rules = [line.partition("#")[0].split() for line in next(filter(None, held), "").splitlines()]
    # Patterns are about files; this one stands for whatever the package holds.
    inside = os.path.normpath(os.path.join(os.path.relpath(directory, repository), "package"))
    for pattern, *owners in reversed([rule for rule in rules if rule]):
        if _matches(pattern, inside):
            return owners[0] if owners else ""
    return ""


def _matches(pattern: str, path: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines([pattern]).match_file(path)
    except ValueError:
        return False


def _remote(repository: str) -> str:
    """Return the URL of `origin`, else of the first remote; "" without any."""
    path = os.path.join(_git_directory(repository), "config")
    # Git indents its keys, which the ini parser would take for continued lines.
    source = "\n".join(line.strip() for line in _text(path).splitlines())
    try:
        config = parse_ini(source, path)
    except SourceError:
        return ""
    remotes = [s for s in config.sections() if s.startswith("remote ")]
    chosen = 'remote "origin"' if 'remote "origin"' in remotes else next(iter(remotes), "")
    return config.get(chosen, "url", fallback=None) or ""


def _git_directory(repository: str) -> str:
    """Return the directory that holds the config; a worktree's `.git` is a file naming it."""
    git = os.path.join(repository, ".git")
    if os.path.isdir(git):
        return git
    named = _text(git).removeprefix("gitdir:").strip()
    linked = resolved(os.path.join(repository, named))
    return resolved(os.path.join(linked, _text(os.path.join(linked, "commondir")).strip()))
