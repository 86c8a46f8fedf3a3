"""irdaemon: a live, warm index of what an agent could use, and honest answers from it.

    import irdaemon as ir

    tools = ir.build(ir.CorpusSource.from_mapping({"pdf": "fill a pdf form"}, name="tools"))
    ir.discover(tools, "complete this PDF").results

Everything here works in process, without a daemon and without a thread of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from irclient.types import Disclosure, Hit, Query, Selection, SelectSpec
    from irdaemon.embed import EMBEDDERS, Embedder
    from irdaemon.engine import Engine
    from irdaemon.library.agentic import (
        AgenticRetrieval,
        AgenticRetrievalPipeline,
        OnInsufficientPolicy,
        RetrievalResult,
    )
    from irdaemon.library.built import Built, build, open_corpus
    from irdaemon.library.corpus_source import CorpusSource
    from irdaemon.library.docs_tool import DocsTool, docs_tool
    from irdaemon.library.functions import (
        as_retriever,
        disclose,
        discover,
        records_for_artifact,
        retrievers,
        search,
        select,
    )
    from irdaemon.library.fuse import fuse_hits
    from irdaemon.library.learning import learn, roll_back
    from irdaemon.source import SOURCES
    from irdaemon.strategy import (
        STRATEGY_REGISTRY,
        Chunked,
        ClaudeTurn,
        IndexingStrategy,
        Package,
        Skill,
        WholeText,
        strategy_from_spec,
        strategy_to_spec,
        text_of,
    )
    from irdaemon.types import Artifact, IndexPlan, LearnReport, Surface, Use

# Where each public name lives. They are imported when first used: asking for the version, or for
# the path of the socket, need not load the search engine.
_HOMES = {
    "irclient.types": ("Disclosure", "Hit", "Query", "SelectSpec", "Selection"),
    "irdaemon.embed": ("EMBEDDERS", "Embedder"),
    "irdaemon.engine": ("Engine",),
    "irdaemon.library.built": ("Built", "build", "open_corpus"),
    "irdaemon.library.corpus_source": ("CorpusSource",),
    "irdaemon.library.functions": (
        "as_retriever",
        "disclose",
        "discover",
        "records_for_artifact",
        "roll_back",
        "retrievers",
        "search",
        "select",
    ),
    "irdaemon.library.fuse": ("fuse_hits",),
    "irdaemon.library.learning": ("learn", "roll_back"),
    "irdaemon.library.agentic": (
        "AgenticRetrieval",
        "AgenticRetrievalPipeline",
        "OnInsufficientPolicy",
        "RetrievalResult",
    ),
    "irdaemon.library.docs_tool": ("DocsTool", "docs_tool"),
    "irdaemon.source": ("SOURCES",),
    "irdaemon.strategy": (
        "STRATEGY_REGISTRY",
        "Chunked",
        "ClaudeTurn",
        "IndexingStrategy",
        "Package",
        "Skill",
        "WholeText",
        "strategy_from_spec",
        "strategy_to_spec",
        "text_of",
    ),
    "irdaemon.types": ("Artifact", "IndexPlan", "LearnReport", "Surface", "Use"),
}
_MODULES = {
    "eval": "irdaemon.evaluate",
    "eval_gen": "irdaemon.evaluate.generate",
    "inmemory": "irdaemon.library.inmemory",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "EMBEDDERS",
    "SOURCES",
    "STRATEGY_REGISTRY",
    "AgenticRetrieval",
    "AgenticRetrievalPipeline",
    "Artifact",
    "Built",
    "Chunked",
    "ClaudeTurn",
    "CorpusSource",
    "Disclosure",
    "DocsTool",
    "Embedder",
    "Engine",
    "Hit",
    "IndexPlan",
    "IndexingStrategy",
    "LearnReport",
    "OnInsufficientPolicy",
    "Package",
    "Query",
    "RetrievalResult",
    "SelectSpec",
    "Selection",
    "Skill",
    "Surface",
    "Use",
    "WholeText",
    "as_retriever",
    "build",
    "disclose",
    "discover",
    "docs_tool",
    "fuse_hits",
    "learn",
    "open_corpus",
    "records_for_artifact",
    "retrievers",
    "roll_back",
    "search",
    "select",
    "strategy_from_spec",
    "strategy_to_spec",
    "text_of",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
