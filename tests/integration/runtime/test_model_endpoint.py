"""An OpenAI-compatible endpoint that answers, hangs, fails and lies."""

import pytest

from irclient.errors import QueryError, Unavailable
from irdaemon.runtime.model_endpoint import ModelEndpoint, RestingModel
from tests.support.model_server import ModelServer

LONG_S = 20.0
SHORT_S = 0.3


def asked(behaviour, timeout_s=LONG_S):
    with ModelServer(behaviour=behaviour) as server:
        return ModelEndpoint.from_address(server.address).complete("hello", timeout_s)


def test_a_prompt_is_sent_with_the_model_and_the_key_and_its_reply_comes_back(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame")
    with ModelServer(lambda prompt: prompt.upper()) as server:
        endpoint = ModelEndpoint.from_address(server.address, key_env="MY_KEY")
        assert endpoint.complete("hello", LONG_S) == "HELLO"
    assert (server.bodies[0]["model"], server.keys) == ("tiny", ["Bearer sesame"])


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ModelServer() as server:
        ModelEndpoint.from_address(server.address).complete("hello", LONG_S)
    assert server.keys == [None]


@pytest.mark.parametrize("behaviour", ["hangs", "drips"])
def test_an_endpoint_that_hangs_or_sends_a_byte_now_and_then_is_given_up(behaviour):
    with pytest.raises(Unavailable, match="in time"):
        asked(behaviour, SHORT_S)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("500", "refused .500"),
        ("401", "refused .401"),
        ("truncated", "did not answer with JSON"),
        ("no_json", "did not answer with JSON"),
        ("wrong_types", "did not answer with a reply"),
        ("redirects", "refused .302"),
    ],
)
def test_an_endpoint_that_fails_or_lies_is_unavailable_and_says_how(behaviour, words):
    with pytest.raises(Unavailable, match=words):
        asked(behaviour)


def test_a_refused_key_names_the_variable_to_set():
    with pytest.raises(Unavailable) as raised:
        asked("401")
    assert "OPENAI_API_KEY" in raised.value.hint


def test_an_endpoint_that_is_not_there_is_unavailable():
    with pytest.raises(Unavailable, match="cannot be reached"):
        ModelEndpoint.from_address("http://127.0.0.1:9/v1#m").complete("hello", LONG_S)


def test_a_model_that_failed_is_left_alone_for_a_while_and_then_asked_again():
    now = [0.0]
    with ModelServer("fine", behaviour="500") as server:
        model = RestingModel(ModelEndpoint.from_address(server.address).complete, lambda: now[0])
        with pytest.raises(Unavailable, match="refused"):
            model("one", LONG_S)
        server.behaviour = "answers"
        with pytest.raises(Unavailable, match="a moment ago"):
            model("two", LONG_S)
        now[0] += 60.0
        assert (model("three", LONG_S), model.problem) == ("fine", "")
    assert server.prompts == ["one", "three"]


@pytest.mark.parametrize("address", ["", "tiny", "ftp://host/v1#m", "http://host/v1", "http://#m"])
def test_what_is_no_address_of_a_model_is_refused(address):
    with pytest.raises(QueryError, match="is not an endpoint"):
        ModelEndpoint.from_address(address)


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("http://127.0.0.1:11434/v1#m", True),
        ("http://[::1]:8080/v1#m", True),
        ("http://localhost/v1#m", True),
        ("https://api.example.com/v1#m", False),
        ("http://192.168.1.7/v1#m", False),
    ],
)
def test_an_endpoint_is_on_this_machine_or_not(address, is_local):
    assert ModelEndpoint.from_address(address).is_local is is_local
