"""A daemon with a model that chooses, at an endpoint that answers, hangs and fails."""

import concurrent.futures
import time

import pytest

from irdaemon.types import Query
from tests.support.model_server import ModelServer
from tests.support.prompt_hook import asks
from tests.support.running import Running, until

TEXT = "fill a pdf form"
CONFIG = """
embedder = "hashing"

[models]
endpoint = "{}"
model = "tiny"
key_env = "SOME_KEY"
{}

[corpora.skills]
selector = "llm"
"""


@pytest.fixture
def model(home):
    with ModelServer("none") as server:
        home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
        home.skill("pdf-merge", "Merge PDF files")
        home.config.write_text(CONFIG.format(server.url, ""))
        yield server


def test_the_model_chooses_for_discover_and_none_is_an_answer(home, model):
    model.reply = lambda prompt: "~/.claude/skills/pdf-merge\nmade-up"
    with Running(home, SOME_KEY="sesame") as running:
        running.wait_idle()
        answer = home.answer("discover", TEXT)
        assert [hit["name"] for hit in answer["results"]] == ["pdf-merge"]
        assert answer["reason"] == "llm"
        model.reply = lambda prompt: "none"
        told = home.irc("discover", TEXT)
        assert told.returncode == 1
        assert "the model found nothing suitable here" in told.stdout + told.stderr
        assert set(model.keys) == {"Bearer sesame"}
        status = home.irc("status").stdout
        assert f"model: tiny at {model.url}, on this machine; selects in skills" in status
        assert home.answer("status")["model"]["local"] is True


def test_with_an_endpoint_that_hangs_discover_and_hook_are_answered_in_time(home, model):
    model.behaviour = "hangs"
    with Running(home) as running, concurrent.futures.ThreadPoolExecutor() as pool:
        running.wait_idle()
        with home.client(timeout=1.5) as client:
            waiting = pool.submit(client.discover, Query(TEXT))
            time.sleep(0.2)
            # Meanwhile the loop answers others, and the hook, which has a budget, without a model.
            assert '"pdf-forms"' in asks(home, TEXT)
            assert not waiting.done()
            answer = waiting.result()
        assert answer.results[0].name == "pdf-forms"
        assert "in time" in answer.signals["fallback"]
        assert len(model.prompts) == 1
        # What failed is left alone for a while.
        assert "a moment ago" in home.answer("discover", TEXT)["signals"]["fallback"]
        assert len(model.prompts) == 1


@pytest.mark.parametrize("behaviour", ["500", "truncated", "wrong_types"])
def test_with_an_endpoint_that_fails_the_heuristic_answers(home, model, behaviour):
    model.behaviour = behaviour
    with Running(home) as running:
        running.wait_idle()
        answer = home.answer("discover", TEXT)
        assert answer["results"][0]["name"] == "pdf-forms"
        assert answer["signals"]["fallback"]


def test_a_model_writes_synopses_in_a_quiet_moment_and_the_old_surfaces_serve_meanwhile(
    home, model
):
    home.config.write_text(
        CONFIG.format(model.url, "quiet_minutes = 0.005").replace(
            'selector = "llm"', "synopsis = true"
        )
    )
    model.behaviour = "hangs"
    with Running(home) as running:
        running.wait_idle()
        assert home.answer("discover", TEXT)["results"][0]["name"] == "pdf-forms"
        until(lambda: model.prompts)
        model.behaviour = "answers"
    model.reply = lambda prompt: "Completes bureaucratic questionnaires."
    with Running(home) as running:
        running.wait_idle()
        reference = "skills/~/.claude/skills/pdf-forms"

        def kinds():
            time.sleep(1.0)  # a request ends the quiet
            return [each["kind"] for each in home.answer("records", reference)]

        until(lambda: kinds() == ["synopsis", "capability"])
        assert any("Use qpdf for this." in prompt for prompt in model.prompts)
        found = home.answer("search", "bureaucratic questionnaires")["results"][0]
        assert found["kind"] == "synopsis"


def test_the_doctor_says_where_the_model_is_and_whether_it_answers(home, model):
    model.reply = lambda prompt: "ok"
    told = home.run("irdaemon", "doctor").stdout
    assert f"the model tiny at {model.url} answers" in told
    model.behaviour = "401"
    told = home.run("irdaemon", "doctor").stdout
    assert "refused (401" in told
    assert "SOME_KEY" in told
    home.config.write_text(CONFIG.format("http://192.0.2.1:9/v1", "timeout_s = 0.2"))
    told = home.run("irdaemon", "doctor").stdout
    assert "is not on this machine" in told


def test_a_corpus_that_asks_for_a_model_without_one_is_a_mistake_of_the_configuration(home):
    home.config.write_text('[corpora.skills]\nselector = "llm"\n')
    started = home.run("irdaemon", "start")
    assert started.returncode == 2
    assert "irdaemon.toml:2: selector needs a model" in started.stderr
