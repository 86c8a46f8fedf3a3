"""Small corpora and ledgers for tests: no model, no thread, no network."""

import itertools
import os
from collections import Counter

from irclient.errors import Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.embed.hashing import Hashing
from irdaemon.engine import Engine, EngineOptions
from irdaemon.ledger import Decomposed, Ledger, Record, Upsert, hash_content, make_record_id
from irdaemon.ledger import hash_version as version_of
from irdaemon.source.mapping import InMemory
from irdaemon.source.projects import Located
from irdaemon.source.skills import Skills
from irdaemon.strategy import WholeText
from irdaemon.types import Artifact, Entry, Project, Root, Surface

LATER = 4e9  # a clock far from every file's time: no stamp is racy


def decomposed(artifact_id, text, recipe="r"):
    artifact = Artifact(artifact_id, text, artifact_id, body=text)
    record = Record(
        make_record_id(artifact_id, "document", 0),
        "document",
        "document",
        0,
        text,
        {},
        Counter(text.split()),
    )
    version = version_of(artifact, {}, recipe)
    return Decomposed(
        artifact, {}, (record,), hash_content([Surface(artifact_id, "document", text)]), version
    )


def upsert(key, texts, recipe="r", stamp="1", **more):
    made = tuple(decomposed(id, text, recipe) for id, text in texts.items())
    return Upsert(Entry(key, f"/{key}", stamp), recipe, made, **more)


def ledger(*corpora):
    made = Ledger(":memory:")
    for name in corpora or ("c",):
        made.corpora.declare(name, "files", "r", "e")
    return made


def mapped(items, name="m", strategy=None):
    return Corpus(name, "mapping", InMemory(items), strategy or WholeText(), "hashing")


def skills(*roots, name="s", strategy=None):
    source = Skills(tuple(Root(str(root)) for root in roots), {})
    return Corpus(name, "skills", source, strategy or WholeText(), "hashing")


def engine(*corpora, path=":memory:", clock=lambda: LATER, notify=None, **options):
    return Engine(Ledger(path), corpora, EngineOptions(**options), clock, notify or _quiet)


def _quiet(topic, data):
    pass


def write_skill(directory, text):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "SKILL.md").write_text(f"---\nname: x\ndescription: {text}\n---\n{text}\n")
    return directory


def contents(ledger, corpus):
    """Return all that a corpus holds, without row numbers and times: for comparing ledgers."""
    words = {number: term for term, number in ledger.terms.get_table().items()}
    found = {}
    for _, id, name, pointer, fields, content, _ in ledger.index_rows.list_artifacts(corpus):
        found[id] = (name, pointer, fields, content, [])
    ids = {row[0]: row[1] for row in ledger.index_rows.list_artifacts(corpus)}
    for (
        artifact,
        kind,
        index,
        summary,
        metadata,
        digest,
        terms,
        counts,
    ) in ledger.index_rows.list_records(corpus):
        numbers = memoryview(terms).cast("i")
        counted = dict(zip((words[n] for n in numbers), memoryview(counts).cast("f"), strict=True))
        found[ids[artifact]][4].append((kind, index, summary, metadata, digest, counted))
    return found


def ticking(start=LATER):
    """Return a clock that moves on by itself."""
    times = itertools.count(start)
    return lambda: next(times)


class Counting:
    """An embedder that hashes, under an id of its own, and can be made to fail."""

    down = False
    id, dim = "counting-64", 64

    def embed(self, texts):
        if type(self).down:
            raise Unavailable("the endpoint is down", "start it")
        return Hashing(64).embed(texts)


class Missing:
    """An embedder whose package is not there."""

    def __init__(self):
        raise Unavailable("Missing needs the package 'missing'", 'pip install "irdaemon[missing]"')


def locate_by_git(place: str, rules: object) -> Located:
    """Locate a project by its .git alone, in this process."""
    if not os.path.isdir(place):
        return Located(problem="it does not exist")
    while place != "/":
        if os.path.lexists(f"{place}/.git"):
            return Located(Project(place, os.path.basename(place), (".git",)))
        place = os.path.dirname(place)
    return Located(reason="nothing marks a project")
