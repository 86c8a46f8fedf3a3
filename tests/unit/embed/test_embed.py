"""Embedders that optional packages and endpoints bring, with stand-ins for the packages."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from irclient.errors import QueryError, Unavailable
from irdaemon.embed import FAMILIES, check_embedder, embed_query, make_embedder


class Model:
    """What all three libraries' models are like, as far as they are used."""

    dim = 3

    def __init__(self, name="", **options):
        if "gone" in name:
            raise OSError("no such file on this machine")
        self.options = options

    from_pretrained = classmethod(lambda cls, name: cls(name))

    def encode(self, texts, **options):
        return np.array([[len(text), 3, 0] for text in texts], np.float32)

    def embed(self, texts, batch_size=1):
        yield from self.encode(texts)

    def query_embed(self, texts):
        yield from self.encode(["?" * 9 for _ in texts])


@pytest.fixture(autouse=True)
def packages(monkeypatch):
    library = SimpleNamespace(SentenceTransformer=Model, TextEmbedding=Model, StaticModel=Model)
    for name in ("sentence_transformers", "fastembed", "model2vec"):
        monkeypatch.setitem(sys.modules, name, library)


LOCAL = sorted(set(FAMILIES) - {"openai"})


@pytest.mark.parametrize("family", LOCAL)
def test_a_family_is_named_with_its_model_and_gives_vectors_of_its_own_space(family):
    embedder = make_embedder(f"{family}:some/model")
    assert embedder.id.startswith(f"{family}-")
    assert embedder.id.endswith("model-3")
    assert embedder.dim == 3
    assert embedder.embed(["a", "b"]).dtype == np.float32
    assert embedder.embed([]).shape == (0, 3)
    assert len(embed_query(embedder, "q").vector) == 3


def test_a_query_is_embedded_its_own_way_where_the_model_has_one():
    embedder = make_embedder("fastembed")
    asked = embed_query(embedder, "q").vector
    assert asked == pytest.approx(embedder.embed(["?" * 9])[0])


@pytest.mark.parametrize("family", LOCAL)
def test_a_model_that_is_not_here_is_an_error_that_says_how_to_get_it(family):
    with pytest.raises(Unavailable) as raised:
        make_embedder(f"{family}:gone")
    assert raised.value.hint == f"irdaemon fetch {family}:gone downloads it"


@pytest.mark.parametrize("family", LOCAL)
def test_a_missing_package_names_the_extra_that_brings_it(family, monkeypatch):
    monkeypatch.setitem(sys.modules, family.replace("-", "_"), None)
    with pytest.raises(Unavailable) as raised:
        make_embedder(family)
    assert f"install '{family}>=" in raised.value.hint


def test_nothing_is_downloaded_unless_asked():
    assert make_embedder("sentence-transformers")._model.options == {"local_files_only": True}
    fetched = make_embedder("sentence-transformers", download=True)
    assert fetched._model.options == {"local_files_only": False}


def test_an_unknown_embedder_is_refused_with_the_nearest_name():
    with pytest.raises(QueryError, match="did you mean 'wordllama'"):
        check_embedder("wordlama")
    check_embedder("sentence-transformers:anything")


def test_an_embedder_that_is_unused_is_released_and_made_again_for_the_next_query():
    from irdaemon.embed.hashing import Hashing
    from irdaemon.embed.pool import OnDemand

    made, now = [], [0.0]

    def make():
        made.append(now[0])
        return Hashing()

    embedder = OnDemand(make, clock=lambda: now[0])
    before = embedder.embed(["fill a pdf form"])
    now[0] = 59.0
    assert not embedder.release(60)
    now[0] = 61.0
    assert embedder.release(60)
    assert (embedder.id, embedder.dim) == (Hashing().id, Hashing().dim)
    assert made == [0.0]
    assert (embedder.embed(["fill a pdf form"]) == before).all()
    assert made == [0.0, 61.0]
    now[0] = 200.0
    assert embedder.release(60)
    assert (embedder.read("fill a pdf form")[0] == before[0]).all()
    assert made == [0.0, 61.0, 200.0]


class Own:
    """An embedder of a person's own, with no more than it must have."""

    id, dim = "own-3", 3

    def embed(self, texts):
        return np.array([[1, 0, 0]] * len(texts), np.float32)


class WithQueries(Own):
    """One whose model wants queries embedded otherwise than documents."""

    def embed_query(self, text):
        return np.array([0, 1, 0], np.float32)


class WithTrust(Own):
    """One that knows how much of a query it understands."""

    def read(self, text):
        return np.array([0, 0, 1], np.float32), 0.5


@pytest.mark.parametrize(
    ("own", "vector", "trust"),
    [(Own, (1, 0, 0), 1.0), (WithQueries, (0, 1, 0), 1.0), (WithTrust, (0, 0, 1), 0.5)],
)
def test_an_embedder_of_ones_own_may_embed_queries_in_its_own_way(own, vector, trust):
    embedder = make_embedder(f"{__name__}:{own.__name__}")
    found = embed_query(embedder, "q")
    assert tuple(found.vector) == vector
    assert found.trust == pytest.approx(trust)
    assert (embedder.id, embedder.dim, embedder.embed(["a", "b"]).shape) == ("own-3", 3, (2, 3))


def test_an_embedder_that_is_known_is_made_at_its_first_use_and_must_be_the_same_one():
    from irdaemon.embed.hashing import Hashing
    from irdaemon.embed.pool import OnDemand

    made = []

    def make():
        made.append(1)
        return Hashing()

    known = Hashing().id, Hashing().dim
    embedder = OnDemand(make, known=known)
    assert ((embedder.id, embedder.dim), made) == (known, [])
    assert embedder.release(0.0)
    assert embedder.embed(["a text"]).shape == (1, known[1])
    embedder.read("a text")
    assert made == [1]
    with pytest.raises(Unavailable, match="'former', which is"):
        OnDemand(make, known=("former", 3)).embed(["a text"])
