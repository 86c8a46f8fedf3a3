"""The model that is read beside the rest of a start."""

import pytest

from irclient.errors import Unavailable
from irdaemon.daemon import early_model
from irdaemon.daemon.early_model import EarlyModel
from irdaemon.embed.hashing import Hashing


def started(name):
    model = EarlyModel(name)
    model.start()
    return model


def test_it_is_given_to_the_engine_by_its_name_and_made_anew_after_its_release(monkeypatch):
    made = []
    monkeypatch.setattr(early_model, "make_embedder", lambda name: made.append(name) or Hashing())
    embedder = started("hashing").wait_for_embedder()["hashing"]
    assert embedder.id == Hashing().id
    assert made == ["hashing"]
    assert embedder.release(0.0)
    assert embedder.embed(["fill a form"]).shape == (1, embedder.dim)
    assert made == ["hashing", "hashing"]


def test_what_cannot_be_made_is_left_to_the_engine(monkeypatch):
    def absent(name):
        raise Unavailable(f"{name} is not installed")

    monkeypatch.setattr(early_model, "make_embedder", absent)
    assert started("wordllama").wait_for_embedder() == {}


@pytest.mark.parametrize("name", ["hashing", "wordllama"])
def test_the_engine_makes_none_of_that_name_itself(name):
    model = started(name)
    assert list(model.wait_for_embedder()) == [name]
