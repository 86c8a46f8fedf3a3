"""Corpora that are built in memory, of a mapping."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import irdaemon as ir
from irdaemon.library.built import Built


def build_mapping(items: Mapping[str, Any], name: str = "tools", **more: Any) -> Built:
    """Build a corpus of a mapping; `more` are keywords of its source."""
    source = ir.CorpusSource.from_mapping(items, name=name, **more)
    return ir.build(source, store=":memory:", embedder="hashing")


def hold(items: Mapping[str, Any], name: str = "tools", **more: Any) -> closing[Built]:
    """Build a corpus of a mapping for as long as a block lasts."""
    return closing(build_mapping(items, name, **more))
