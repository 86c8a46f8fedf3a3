"""The configuration file that `irdaemon init` writes: commented, with what was found here."""

from __future__ import annotations

import inspect
import os
from dataclasses import fields
from typing import Any

from irdaemon.config.config import config_path
from irdaemon.config.corpus import find_known_roots
from irdaemon.config.sections import KNOWN_KINDS, SECTIONS

_HEAD = """\
# irdaemon's configuration. Everything here is optional; what is commented out is the default.
# After a change: irdaemon reload, or irdaemon restart where that says so.

# The embedder of every corpus that names none: wordllama, hashing, sentence-transformers:MODEL,
# fastembed:MODEL, model2vec:MODEL, openai:BASE_URL#MODEL, or "module:attr".
# embedder = "wordllama"
# What `--rerank` lets read the best candidates again.
# reranker = "cross-encoder"

# Index the known directories of this machine as corpora of their own (listed below).
# known = true
"""

_EXAMPLE = """
# A corpus of your own. Kinds: skills, agents, commands, rules, plugins, packages, sessions, files,
# code, reports, records, mcp_tools.
# [corpora.notes]
# kind = "files"
# roots = ["~/notes"]
# pattern = ["**/*.md"]
# exclude = ["drafts/"]
# strategy = { name = "Chunked", params = { chunk_size = 1200, overlap = 200 } }
# redact = "tokens"     # leaves passwords in: samples, where it is published to be read
# follow_links = true   # also what links lead to outside of the roots
# writable = true       # clients may write documents there, where [documents] has write = true
# selector = "llm"      # the model of [models] chooses among its hits
# synopsis = true       # the model of [models] writes a synopsis of each document
# backend = "local"     # where else it lies, if not where [index] says
# share = false         # it never lies elsewhere; sessions do only with share = true
"""

_CLIENT = """
# A client that may do less than you: known by a CURVE key, a uid, or a token in a file.
# [[client]]
# name = "agent"
# token = "agent.token"
# corpora = ["skills"]
# levels = ["metadata", "body"]
# read_only = true
"""


def make_config(path: str | None = None) -> tuple[str, str]:
    """Return the path and the text of a new configuration file."""
    found = "".join(_write_corpus(kind) for kind in KNOWN_KINDS)
    sections = "".join(_write_section(name, kind) for name, kind in SECTIONS.items())
    return os.path.abspath(path or config_path()), _HEAD + found + _EXAMPLE + sections + _CLIENT


def _write_corpus(kind: str) -> str:
    roots = find_known_roots(kind)
    lines = [f"\n# {kind}: found here" if roots else f"\n# {kind}: nothing found here"]
    lines += [f"#   {root.path}" for root in roots]
    lines += [f"# [corpora.{kind}]", "# enabled = false   # to leave them out"]
    return "\n".join(lines) + "\n"


def _write_section(name: str, kind: type[Any]) -> str:
    about = "".join(
        f"# {line}".rstrip() + "\n" for line in inspect.cleandoc(kind.__doc__ or "").splitlines()
    )
    values = "".join(f"# {f.name} = {_write_value(f.default)}\n" for f in fields(kind))
    return f"\n{about}# [{name}]\n{values}"


def _write_value(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
