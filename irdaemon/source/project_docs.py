"""The documents of a project: those for people to read before they work on it.

They are read by a corpus of kind `files`, as text alone. What hosts load by themselves (CLAUDE.md,
AGENTS.md) is none, nor is what git ignores, nor what is not meant to be shown (`.env*`). A link at
the root is not followed: what it leads to lies elsewhere in the project, or out of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from irdaemon.source.ignores import Ignores
from irdaemon.source.locate_project import MARKER
from irdaemon.source.opening import is_text
from irdaemon.source.tree import PRUNED, is_repository
from irdaemon.types import Project, Root

# The options of that corpus, and how many documents are read of a project.
DOC_OPTIONS: Mapping[str, object] = {
    "pattern": [
        f"**/*{suffix}"
        for suffix in (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org")
    ],
    "exclude": [
        ".*/", ".env*", "node_modules/", "vendor/", "_build/", "_site/", "site/", "build/", "dist/",
        "requirements*.txt", "robots.txt", "LICENSE*", "CLAUDE*.md", "AGENTS*.md", "GEMINI.md",
    ],
    "gitignore": True,
    "max_bytes": 500_000,
}  # fmt: skip
MOST_DOCS = 2_000

_SUFFIXES = frozenset(
    {"", ".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org"}
)
_FILES = frozenset(
    """readme contributing architecture design development hacking install installation building
    testing deployment operations runbook security troubleshooting faq glossary conventions
    styleguide upgrading migration roadmap""".split()
)
_DIRECTORIES = frozenset(
    """docs doc documentation adr adrs decisions rfc rfcs runbook runbooks playbooks guides
    architecture design""".split()
)


def find_doc_roots(project: Project) -> tuple[Root, ...]:
    """Return the documents and directories of documents that lie at a project's root, sorted.

    None where the project opts out, or its root cannot be listed.
    """
    try:
        with os.scandir(project.root) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except (OSError, ValueError):
        return ()
    if any(entry.name == MARKER for entry in found):
        return ()
    ignores = Ignores((project.root,), project.root)
    return tuple(
        Root(entry.path, "project", "none", project.root)
        for entry in found
        if _is_wanted(entry, ignores)
    )


def _is_wanted(entry: os.DirEntry[str], ignores: Ignores) -> bool:
    try:
        is_directory = entry.is_dir(follow_symlinks=False)
        is_document = not is_directory and entry.is_file(follow_symlinks=False)
    except OSError:
        return False
    stem, suffix = os.path.splitext(entry.name.lower())
    if is_directory:
        wanted = entry.name.lower() in _DIRECTORIES and entry.name not in PRUNED
        wanted = wanted and not is_repository(entry.path)
    else:  # README.de.md is one, too
        first = stem.partition(".")[0].partition("-")[0].partition("_")[0]
        wanted = is_document and first in _FILES and suffix in _SUFFIXES
    return wanted and is_text(entry.name) and not ignores.ignores(entry.path, is_directory)
