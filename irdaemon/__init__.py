# ruff: noqa: I001 (each module is imported once, with the names that are offered again)
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
    from irclient.types import (
        Disclosure as Disclosure,
        Hit as Hit,
        Query as Query,
        Selection as Selection,
        SelectSpec as SelectSpec,
    )
    from irdaemon.contrib.models.synopsis import (
        Synthesizer as Synthesizer,
        make_thin_description_predicate as make_thin_description_predicate,
        thin_description_predicate as thin_description_predicate,
    )
    from irdaemon.library.walks import WalkPolicy as WalkPolicy, WalkState as WalkState
    from irdaemon.library.wordings import Formulator as Formulator
    from irdaemon.embed import EMBEDDERS as EMBEDDERS, Embedder as Embedder
    from irdaemon.engine import Engine as Engine
    from irdaemon.library.agentic import (
        AgenticRetrieval as AgenticRetrieval,
        AgenticRetrievalPipeline as AgenticRetrievalPipeline,
        OnInsufficientPolicy as OnInsufficientPolicy,
        RetrievalResult as RetrievalResult,
    )
    from irdaemon.library.built import Built as Built, build as build, open_corpus as open_corpus
    from irdaemon.library.corpus_source import CorpusSource as CorpusSource
    from irdaemon.library.federate import fuse_hits as fuse_hits
    from irdaemon.library.functions import (
        DiscoveryResult as DiscoveryResult,
        as_retriever as as_retriever,
        coverage as coverage,
        disclose as disclose,
        discover as discover,
        records_for_artifact as records_for_artifact,
        retrievers as retrievers,
        search as search,
        select as select,
    )
    from irdaemon.library.inmemory import DocsTool as DocsTool, docs_tool as docs_tool
    from irdaemon.library.learning import (
        add_prompts as add_prompts,
        calibrate as calibrate,
        learn as learn,
        roll_back as roll_back,
    )
    from irdaemon.library.models import (
        make_llm_formulator as make_llm_formulator,
        make_llm_selector as make_llm_selector,
        make_llm_synthesizer as make_llm_synthesizer,
        with_synopsis as with_synopsis,
    )
    from irdaemon.library.reranking import dependency_evidence_boost as dependency_evidence_boost
    from irdaemon.library.tools import make_search as make_search, search_tool as search_tool
    from irdaemon.library.walks import (
        CorpusGraph as CorpusGraph,
        GraphStore as GraphStore,
        canonical_node_id as canonical_node_id,
        collapsed_tree_policy as collapsed_tree_policy,
        reverse_dependency_policy as reverse_dependency_policy,
        traverse as traverse,
    )
    from irdaemon.source import SOURCES as SOURCES
    from irdaemon.strategy import (
        STRATEGY_REGISTRY as STRATEGY_REGISTRY,
        Chunked as Chunked,
        ClaudeTurn as ClaudeTurn,
        Code as Code,
        IndexingStrategy as IndexingStrategy,
        Package as Package,
        Skill as Skill,
        WholeText as WholeText,
        strategy_from_spec as strategy_from_spec,
        strategy_to_spec as strategy_to_spec,
        text_of as text_of,
    )
    from irdaemon.strategy.edges import (
        EdgeExtractor as EdgeExtractor,
        default_edge_extractor as default_edge_extractor,
    )
    from irdaemon.types import (
        Artifact as Artifact,
        IndexPlan as IndexPlan,
        LearnReport as LearnReport,
        Surface as Surface,
        Use as Use,
    )

# Where each public name lives. They are imported when first used: asking for the version, or for
# the path of the socket, need not load the search engine.
_HOMES = {
    "irclient.types": "Disclosure Hit Query SelectSpec Selection",
    "irdaemon.embed": "EMBEDDERS Embedder",
    "irdaemon.engine": "Engine",
    "irdaemon.library.built": "Built build open_corpus",
    "irdaemon.library.corpus_source": "CorpusSource",
    "irdaemon.library.functions": (
        "DiscoveryResult as_retriever coverage disclose discover records_for_artifact "
        "retrievers search select"
    ),
    "irdaemon.library.federate": "fuse_hits",
    "irdaemon.library.tools": "make_search search_tool",
    "irdaemon.library.walks": (
        "CorpusGraph GraphStore WalkPolicy WalkState canonical_node_id collapsed_tree_policy "
        "reverse_dependency_policy traverse"
    ),
    "irdaemon.library.reranking": "dependency_evidence_boost",
    "irdaemon.strategy.edges": "EdgeExtractor default_edge_extractor",
    "irdaemon.library.learning": "add_prompts calibrate learn roll_back",
    "irdaemon.library.agentic": (
        "AgenticRetrieval AgenticRetrievalPipeline OnInsufficientPolicy RetrievalResult"
    ),
    "irdaemon.library.inmemory": "DocsTool docs_tool",
    "irdaemon.library.models": (
        "make_llm_formulator make_llm_selector make_llm_synthesizer with_synopsis"
    ),
    "irdaemon.library.wordings": "Formulator",
    "irdaemon.source": "SOURCES",
    "irdaemon.strategy": (
        "STRATEGY_REGISTRY Chunked ClaudeTurn Code IndexingStrategy Package Skill WholeText "
        "strategy_from_spec strategy_to_spec text_of"
    ),
    "irdaemon.contrib.models.synopsis": (
        "Synthesizer make_thin_description_predicate thin_description_predicate"
    ),
    "irdaemon.types": "Artifact IndexPlan LearnReport Surface Use",
}
_MODULES = {
    "eval": "irdaemon.library.evaluation",
    "eval_gen": "irdaemon.library.evaluation",
    "inmemory": "irdaemon.library.inmemory",
    "tools": "irdaemon.library.tools",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
