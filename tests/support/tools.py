"""Corpora of tools: small ones to search, and one large enough to calibrate a floor."""

from irdaemon.engine.queue import Job
from irdaemon.strategy import Skill
from tests.support.corpora import engine, mapped

WORDS = ["pdf", "form", "merge", "python", "test", "deploy", "cloud", "invoice"]


def engine_of(items, hnsw_above=0, **more):
    """Return an engine with the corpus `tools`, and one for each further keyword, all indexed."""
    corpora = {"tools": items, **more}
    mappings = [mapped(held, name, Skill()) for name, held in corpora.items()]
    made = engine(*mappings, hnsw_above=hnsw_above)
    for name in corpora:
        made.request(Job("reconcile", name))
    made.drain()
    return made


def tool(description, **more):
    return {"description": description, **more}


def names(answer):
    return [hit.name for hit in answer.results]


TOOLS = {
    "fill": tool("Fill a pdf form", team="docs", tags=["pdf", "office"], size=3),
    "merge": tool("Merge pdf files", team="docs", tags=["pdf"], size=10),
    "deploy": tool("Deploy to the cloud", team="ops", since="2026-09-01"),
}

_THINGS = "pdf forms invoices kubernetes clusters camera"
_DOINGS = "fill sign deploy rotate fold audit parse resize archive convert translate summarise"
MANY_TOOLS = {
    f"{doing}-{thing}": tool(f"Use this to {doing} {thing} of any kind, and to check the {thing}")
    for doing in _DOINGS.split()
    for thing in _THINGS.split()
}
