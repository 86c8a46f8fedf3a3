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
    from irdaemon.contrib.models.synopsis import (
        Synthesizer,
        make_thin_description_predicate,
        thin_description_predicate,
    )
    from irdaemon.discovery.links import WalkPolicy, WalkState
    from irdaemon.discovery.wordings import Formulator
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
    from irdaemon.library.federate import fuse_hits
    from irdaemon.library.functions import (
        DiscoveryResult,
        as_retriever,
        coverage,
        disclose,
        discover,
        records_for_artifact,
        retrievers,
        search,
        select,
    )
    from irdaemon.library.inmemory import DocsTool, docs_tool
    from irdaemon.library.learning import calibrate, learn, roll_back
    from irdaemon.library.models import (
        make_llm_formulator,
        make_llm_selector,
        make_llm_synthesizer,
        with_synopsis,
    )
    from irdaemon.library.reranking import dependency_evidence_boost
    from irdaemon.library.tools import make_search, search_tool
    from irdaemon.library.walks import (
        CorpusGraph,
        GraphStore,
        canonical_node_id,
        collapsed_tree_policy,
        reverse_dependency_policy,
        traverse,
    )
    from irdaemon.source import SOURCES
    from irdaemon.strategy import (
        STRATEGY_REGISTRY,
        Chunked,
        ClaudeTurn,
        Code,
        IndexingStrategy,
        Package,
        Skill,
        WholeText,
        strategy_from_spec,
        strategy_to_spec,
        text_of,
    )
    from irdaemon.strategy.edges import EdgeExtractor, default_edge_extractor
    from irdaemon.types import Artifact, IndexPlan, LearnReport, Surface, Use

# Where each public name lives. They are imported when first used: asking for the version, or for
# the path of the socket, need not load the search engine.
_HOMES = {
    "irclient.types": ("Disclosure", "Hit", "Query", "SelectSpec", "Selection"),
    "irdaemon.discovery.links": ("WalkPolicy", "WalkState"),
    "irdaemon.embed": ("EMBEDDERS", "Embedder"),
    "irdaemon.engine": ("Engine",),
    "irdaemon.library.built": ("Built", "build", "open_corpus"),
    "irdaemon.library.corpus_source": ("CorpusSource",),
    "irdaemon.library.functions": (
        "DiscoveryResult",
        "as_retriever",
        "coverage",
        "disclose",
        "discover",
        "records_for_artifact",
        "retrievers",
        "search",
        "select",
    ),
    "irdaemon.library.federate": ("fuse_hits",),
    "irdaemon.library.tools": ("make_search", "search_tool"),
    "irdaemon.library.walks": (
        "CorpusGraph",
        "GraphStore",
        "canonical_node_id",
        "collapsed_tree_policy",
        "reverse_dependency_policy",
        "traverse",
    ),
    "irdaemon.library.reranking": ("dependency_evidence_boost",),
    "irdaemon.strategy.edges": ("EdgeExtractor", "default_edge_extractor"),
    "irdaemon.library.learning": ("calibrate", "learn", "roll_back"),
    "irdaemon.library.agentic": (
        "AgenticRetrieval",
        "AgenticRetrievalPipeline",
        "OnInsufficientPolicy",
        "RetrievalResult",
    ),
    "irdaemon.library.inmemory": ("DocsTool", "docs_tool"),
    "irdaemon.library.models": (
        "make_llm_formulator",
        "make_llm_selector",
        "make_llm_synthesizer",
        "with_synopsis",
    ),
    "irdaemon.discovery.wordings": ("Formulator",),
    "irdaemon.source": ("SOURCES",),
    "irdaemon.strategy": (
        "STRATEGY_REGISTRY",
        "Chunked",
        "ClaudeTurn",
        "Code",
        "IndexingStrategy",
        "Package",
        "Skill",
        "WholeText",
        "strategy_from_spec",
        "strategy_to_spec",
        "text_of",
    ),
    "irdaemon.contrib.models.synopsis": (
        "Synthesizer",
        "make_thin_description_predicate",
        "thin_description_predicate",
    ),
    "irdaemon.types": ("Artifact", "IndexPlan", "LearnReport", "Surface", "Use"),
}
_MODULES = {
    "eval": "irdaemon.library.evaluation",
    "eval_gen": "irdaemon.library.evaluation",
    "inmemory": "irdaemon.library.inmemory",
    "tools": "irdaemon.library.tools",
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
    "Code",
    "CorpusGraph",
    "CorpusSource",
    "Disclosure",
    "DiscoveryResult",
    "DocsTool",
    "EdgeExtractor",
    "Embedder",
    "Engine",
    "Formulator",
    "GraphStore",
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
    "Synthesizer",
    "Use",
    "WalkPolicy",
    "WalkState",
    "WholeText",
    "as_retriever",
    "build",
    "calibrate",
    "canonical_node_id",
    "collapsed_tree_policy",
    "coverage",
    "default_edge_extractor",
    "dependency_evidence_boost",
    "disclose",
    "discover",
    "docs_tool",
    "fuse_hits",
    "learn",
    "make_llm_formulator",
    "make_llm_selector",
    "make_llm_synthesizer",
    "make_search",
    "make_thin_description_predicate",
    "open_corpus",
    "records_for_artifact",
    "retrievers",
    "reverse_dependency_policy",
    "roll_back",
    "search",
    "search_tool",
    "select",
    "strategy_from_spec",
    "strategy_to_spec",
    "text_of",
    "thin_description_predicate",
    "traverse",
    "with_synopsis",
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
