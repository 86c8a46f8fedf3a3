"""A language model behind an endpoint, as it writes cases."""

import socket

import pytest

import irdaemon as ir
from irclient.errors import QueryError, Unavailable
from irdaemon.contrib.evaluate.generate import (
    ask_endpoint,
    find_host,
    generate_abstentions,
)
from tests.support.chat import chatting


def test_a_model_is_asked_with_the_text_and_its_lines_are_queries(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with chatting(lambda prompt: "1. fill a form\n- sign it") as (address, seen):
        ask = ask_endpoint(address)
        cases = ir.eval_gen.generate_cases(
            {"x": ("pdf-forms", "Fills MARKED forms in a file.")}, 2, ask=ask
        )
        outside = generate_abstentions(6, ask, "THEME")
    assert [case.query for case in cases] == ["fill a form", "sign it"]
    assert [case.query for case in outside] == ["fill a form", "sign it"]
    path, body, key = seen[0]
    assert (path, body["model"], key) == ("/v1/chat/completions", "small", "Bearer secret")
    assert "MARKED" in body["messages"][0]["content"]
    assert "Write 2 different" in body["messages"][0]["content"]
    assert "THEME" in seen[1][1]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (500, "refused .500"),
        (b"not json", "did not answer with JSON"),
        (b'{"choices": []}', "did not answer with a reply"),
        (b'{"choices": [{"message": {"content": null}}]}', "did not answer with a reply"),
    ],
)
def test_a_model_that_fails_or_lies_is_unavailable_and_says_how(answer, reason):
    with chatting(lambda prompt: answer) as (address, _), pytest.raises(Unavailable, match=reason):
        ask_endpoint(address)("x")


def test_a_model_that_hangs_or_is_not_there_is_unavailable():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1#small"
        with pytest.raises(Unavailable, match="did not answer in time"):
            ask_endpoint(address, timeout_s=0.2)("x")
    with pytest.raises(Unavailable, match="cannot be reached"):
        ask_endpoint(address)("x")


@pytest.mark.parametrize("address", ["", "small", "http://host/v1", "ftp://host/v1#small"])
def test_what_is_no_address_of_a_model_is_refused(address):
    with pytest.raises(QueryError, match="is not an endpoint"):
        ask_endpoint(address)


def test_where_the_text_goes_is_told_without_a_password():
    assert find_host("https://ann:secret@models.example:8443/v1#small") == "models.example:8443"
