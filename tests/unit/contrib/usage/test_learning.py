"""Learning as the daemon does it: jobs that take uses in, publish, roll back and forget."""

from dataclasses import replace

import pytest

from irclient.errors import NotFound
from irdaemon.contrib.usage.learning import Learning, explain_learned, find_learnable, find_outdated
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.engine.queue import Job
from irdaemon.types import Query, Use
from tests.support.corpora import contents, engine, mapped

WORDS = "amber birch cedar dahlia elder fern gorse hazel ivy juniper".split()
ASKED = "ledger bakery violin submarine orchard telescope kettle glacier lantern saddle".split()
ITEMS = {f"tool{n}": f"{word} service number {n}" for n, word in enumerate(WORDS)}


@pytest.fixture
def made():
    made = engine(mapped(dict(ITEMS)))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


def uses(times=5):
    return [
        Use(
            f"something for my {word} on day {turn}",
            (f"tool{n}",),
            f"{turn}-{n}",
            1.7e9 + turn,
            "m",
        )
        for turn in range(times)
        for n, word in enumerate(ASKED)
    ]


def done(made, number):
    made.drain()
    return made.progress(number).report


def sessions(made):
    served = made.ledger.prompts.list_all("m").values()
    return {prompt.session for each in served for prompt in each.prompts}


def first(made, text):
    return made.search(Query(text)).results[0].artifact_id


def test_uses_from_elsewhere_are_learned_from_and_kept(made):
    assert done(
        made, UsageObserver.find_in(made.state.addons).request_learning("m", uses())
    ).startswith("published: NDCG@10")
    assert first(made, "my submarine") == "tool3"
    assert len(made.ledger.prompts.list_imported("m")) == 50
    assert made.ledger.prompts.read_state("m")["outcome"] == "published"


def test_the_same_uses_are_judged_only_once(made):
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    assert done(made, made.request(Job("learn", "m"))) == "no new uses"


def test_roll_back_gives_what_was_served_before(made):
    before = contents(made.ledger, "m")
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    assert done(made, made.request(Job("roll_back", "m"))) == "10 artifacts are as before"
    assert contents(made.ledger, "m") == before
    assert made.ledger.prompts.read_state("m")["outcome"] == "rolled back"
    assert made.ledger.prompts.count("m") == (0, 0)
    assert done(made, made.request(Job("roll_back", "m"))) == "0 artifacts are as before"


@pytest.mark.parametrize(
    ("what", "left"), [(("m", "tool3", ""), 9), (("", "", "4-3"), 10), (("", "", ""), 0)]
)
def test_what_is_forgotten_of_use_is_unlearned(made, what, left):
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    assert "4-3" in sessions(made)
    done(made, UsageObserver.find_in(made.state.addons).request_unlearning(*what))
    assert len(made.ledger.prompts.list_all("m")) == left
    assert "4-3" not in sessions(made)


def test_what_was_taught_by_sessions_that_are_gone_goes_with_them(made):
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    with made.ledger.transaction():
        made.ledger._store.run("DELETE FROM imported_uses WHERE gold = '[\"tool3\"]'")
    done(made, made.request(Job("learn", "m")))
    assert "tool3" not in made.ledger.prompts.list_all("m", before=True)
    assert "tool3" not in made.ledger.prompts.list_all("m")


def test_what_one_file_taught_under_many_session_ids_is_judged_again_and_goes(made):
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    assert find_outdated(made.state) == []
    noted = made.ledger.prompts.read_state("m")
    made.ledger.prompts.put_state(
        "m", {**noted, "seen": "0123456789abcdef"}
    )  # as a version before had
    assert find_outdated(made.state) == ["m"]
    learning = Learning(made.state, made.writer.publisher, made.corpora["m"])
    learning.keep_attested([replace(use, entry="one.jsonl") for use in uses()])
    assert made.ledger.prompts.list_all("m") == {}


def test_while_transcripts_are_still_to_be_read_nothing_that_was_learned_is_taken_for_gone(made):
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    UsageObserver.find_in(made.state.addons).notes = NotRead()
    sessions = replace(mapped({}, "s"), kind="sessions")
    made.state.served = made.state.served._replace(corpora={**made.state.corpora, "s": sessions})
    assert done(made, made.request(Job("learn", "m"))).startswith(
        "not all transcripts have been searched"
    )
    assert len(made.ledger.prompts.list_all("m")) == 10


class NotRead:
    """A log of use that was made again."""

    def must_read_all(self, corpus):
        return corpus == "s"

    def tick(self, corpora):
        pass


def test_a_corpus_that_there_is_not_learns_nothing(made):
    with pytest.raises(NotFound):
        UsageObserver.find_in(made.state.addons).request_learning("other", uses())


def test_the_owner_is_told_what_was_learned_of_an_item_and_what_it_changes(made):
    text = "something for the submarine"
    assert explain_learned(made.state, text, "m/tool3") is None
    before = made.search(Query(text, k=10)).results
    own = next(hit.scores for hit in before if hit.artifact_id == "tool3")
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    told = explain_learned(made.state, text, "m/tool3")
    assert len(told["prompts"]) == 5
    assert told["without"]["dense"] == pytest.approx(own["dense"], abs=1e-3)
    assert made.search(Query(text)).results[0].scores["dense"] > told["without"]["dense"]


def test_nothing_is_learned_of_sessions():
    made = engine(mapped(dict(ITEMS)))
    assert find_learnable(made.state) == ["m"]


def test_a_change_during_learning_is_served_and_keeps_what_was_learned(made):
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    made.state.corpora["m"].source._items["tool3"] = "dahlia service renamed"
    made.request(Job("reconcile", "m"))
    made.drain()
    assert first(made, "my submarine") == "tool3"
    assert first(made, "renamed") == "tool3"


def test_a_corpus_that_is_not_to_learn_forgets_what_use_taught_and_learns_no_more(
    made,
):
    done(made, UsageObserver.find_in(made.state.addons).request_learning("m", uses()))
    assert made.ledger.prompts.list_all("m")
    made.reconfigure([replace(made.corpora["m"], learns=False)])
    made.drain()
    assert not made.ledger.prompts.list_all("m")
    assert "share = true" in done(
        made, UsageObserver.find_in(made.state.addons).request_learning("m", uses())
    )
    assert not made.ledger.prompts.list_all("m")
