"""Engines over corpora in memory, built and ready to be asked."""

from irdaemon.config.corpus import Corpus
from irdaemon.engine.queue import Job
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import Skill
from tests.support.corpora import engine

WORDS = ["pdf", "form", "merge", "python", "test", "deploy", "cloud", "invoice"]


def corpus_of(items, name="tools"):
    return Corpus(name, "mapping", InMemory(items), Skill(), "hashing")


def engine_of(items, hnsw_above=0, **more):
    """Return an engine with a corpus of tools, and of `more` by name."""
    corpora = {"tools": items, **more}
    made = engine(
        *(corpus_of(items, name) for name, items in corpora.items()), hnsw_above=hnsw_above
    )
    for name in corpora:
        made.request(Job("reconcile", name))
    made.drain()
    return made


def tool(description, **more):
    return {"description": description, **more}


TOOLS = {
    "fill": tool("Fill a pdf form", team="docs", tags=["pdf", "office"], size=3),
    "merge": tool("Merge pdf files", team="docs", tags=["pdf"], size=10),
    "deploy": tool("Deploy to the cloud", team="ops", since="2026-09-01"),
}

_THINGS = "pdf forms invoices kubernetes clusters camera lenses protein chains ledgers compilers"
_DOINGS = "fill sign deploy rotate fold audit parse resize archive convert translate summarise"
# Enough to find a floor with.
MANY_TOOLS = {
    f"{doing}-{thing}": tool(f"Use this to {doing} {thing} of any kind, and to check the {thing}")
    for doing in _DOINGS.split()
    for thing in _THINGS.split()[:6]
}


def names(answer):
    return [hit.name for hit in answer.results]
