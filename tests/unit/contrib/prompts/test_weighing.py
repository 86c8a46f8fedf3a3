"""Prompts as the daemon takes them in: jobs that serve them, weigh them and take them back."""

from dataclasses import replace

import pytest

from irclient.errors import NotFound
from irdaemon.contrib.prompts.observer import Drop, PromptsObserver, serve_new
from irdaemon.contrib.prompts.weighing import leave_one_out, list_unweighed
from irdaemon.engine.queue import Job
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import AGENT, AUTHOR, PERSON
from irdaemon.source.mapping import InMemory
from irdaemon.types import Artifact, Query, Reading
from tests.support.corpora import contents, engine, mapped

WORDS = "amber birch cedar dahlia elder fern gorse hazel ivy juniper".split()
ASKED = "ledger bakery violin submarine orchard telescope kettle glacier lantern saddle".split()
ITEMS = {f"tool{n}": f"{word} service number {n}" for n, word in enumerate(WORDS)}
GOOD = {
    f"tool{n}": Expected.from_prompts(
        [f"something for my {word}", f"repair a {word}", f"where is the {word}"]
    )
    for n, word in enumerate(ASKED)
}
# Prompts of which none says anything about another of the same artifact.
BAD = {
    f"tool{n}": Expected.from_prompts([f"{WORDS[n - 3]} {n}", f"{WORDS[n - 5]} {n}"])
    for n in range(len(WORDS))
}


@pytest.fixture
def made():
    made = engine(mapped(dict(ITEMS)))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


def done(made, number):
    made.drain()
    return made.progress(number).report


def first(made, text):
    return made.search(Query(text)).results[0].artifact_id


def test_prompts_that_are_handed_in_are_served_and_weighed(made):
    said = done(made, PromptsObserver.find_in(made.state.addons).hand_in("m", PERSON, GOOD))
    assert said == "10 artifacts changed; person: counted"
    assert first(made, "my submarine") == "tool3"
    gate = made.ledger.prompts.read_gates("m")[PERSON]
    assert gate.report["after"] > gate.report["before"]
    assert not list_unweighed(made.state, made.ledger, made.corpora["m"])


def test_prompts_that_find_nothing_better_do_not_count(made):
    plain = contents(made.ledger, "m")
    said = done(made, PromptsObserver.find_in(made.state.addons).hand_in("m", AGENT, BAD))
    assert said.startswith("10 artifacts changed; agent: ")
    assert "counted" not in said
    assert contents(made.ledger, "m") == plain


def test_prompts_of_few_artifacts_count_without_being_weighed(made):
    done(
        made,
        PromptsObserver.find_in(made.state.addons).hand_in("m", PERSON, {"tool3": GOOD["tool3"]}),
    )
    assert first(made, "my submarine") == "tool3"


def read_gate(made, provenance):
    return made.ledger.prompts.read_gates("m")[provenance]


@pytest.mark.parametrize("provenance", [PERSON, AGENT])
def test_prompts_in_place_of_others_are_weighed_though_they_are_as_many(made, provenance):
    observer = PromptsObserver.find_in(made.state.addons)
    done(made, observer.hand_in("m", provenance, BAD))
    assert not read_gate(made, provenance).is_open
    said = done(made, observer.hand_in("m", provenance, GOOD))
    assert said == f"10 artifacts changed; {provenance}: counted"
    assert done(made, observer.hand_in("m", provenance, GOOD)).endswith("nothing to test")
    done(made, observer.hand_in("m", provenance, BAD))
    assert not read_gate(made, provenance).is_open


def test_each_change_by_a_person_is_weighed_and_those_of_an_agent_once_they_are_many(made):
    observer = PromptsObserver.find_in(made.state.addons)
    for provenance in (PERSON, AGENT):
        done(made, observer.hand_in("m", provenance, GOOD))
    for n, said in enumerate(("nothing to test",) * 2 + ("; agent: ",)):
        again = {
            f"tool{n}": Expected.from_prompts(
                [*(each.text for each in GOOD[f"tool{n}"].prompts), "x"]
            )
        }
        assert "; person: " in done(made, observer.hand_in("m", PERSON, again))
        assert said in done(made, observer.hand_in("m", AGENT, again))


def test_a_closed_gate_opens_where_too_few_are_left_to_be_weighed(made):
    observer = PromptsObserver.find_in(made.state.addons)
    done(made, observer.hand_in("m", AGENT, BAD))
    done(made, observer.take_back(Drop("m", "tool0", AGENT, is_forgotten=True)))
    assert read_gate(made, AGENT).is_open
    done(made, observer.hand_in("m", AGENT, {"tool3": GOOD["tool3"]}))
    assert first(made, "my submarine") == "tool3"


class Stating(InMemory):
    """Items, each a text and the prompts that its author states."""

    def read(self, entry, cursor=None):
        text, prompts = self._items[entry.key]
        return Reading((Artifact(entry.key, text, entry.key, body=text, prompts=prompts),))


def state_prompts(made, given):
    items = made.corpora["m"].source._items
    for id, text in ITEMS.items():
        items[id] = text, tuple(each.text for each in given[id].prompts) if id in given else ()
    made.request(Job("reconcile", "m"))
    made.drain()


@pytest.fixture
def stating():
    return engine(replace(mapped({}), source=Stating({})))


def test_prompts_of_authors_in_place_of_others_are_weighed_and_below_ten_they_count(stating):
    state_prompts(stating, BAD)
    assert not read_gate(stating, AUTHOR).is_open
    state_prompts(stating, GOOD)
    assert read_gate(stating, AUTHOR).report["outcome"] == "counted"
    state_prompts(stating, BAD)
    assert not read_gate(stating, AUTHOR).is_open
    state_prompts(stating, {"tool3": GOOD["tool3"]})
    assert read_gate(stating, AUTHOR).is_open
    assert first(stating, "my submarine") == "tool3"


def test_prompts_of_authors_that_are_not_to_count_stay_so_below_ten(stating):
    state_prompts(stating, GOOD)
    done(
        stating,
        PromptsObserver.find_in(stating.state.addons).take_back(
            Drop("m", "", AUTHOR, is_forgotten=True)
        ),
    )
    state_prompts(stating, {"tool3": GOOD["tool3"]})
    assert not read_gate(stating, AUTHOR).is_open


def test_an_edit_of_an_author_does_not_have_all_prompts_weighed(stating):
    state_prompts(stating, GOOD)
    at = read_gate(stating, AUTHOR).report
    state_prompts(stating, {**GOOD, "tool3": BAD["tool3"]})
    assert read_gate(stating, AUTHOR).report == at


def test_prompts_are_weighed_again_with_another_embedder(made):
    done(made, PromptsObserver.find_in(made.state.addons).hand_in("m", PERSON, GOOD))
    corpus = made.corpora["m"]
    made.reconfigure([replace(corpus, embedder="tests.support.corpora:Counting")])
    made.drain()
    assert list_unweighed(made.state, made.ledger, made.corpora["m"]) == [PERSON]


def test_prompts_that_a_process_took_in_and_did_not_weigh_are_weighed_at_the_next_start(made):
    observer, present = PromptsObserver.find_in(made.state.addons), dict.fromkeys(ITEMS, "")
    serve_new(made.ledger, "m", AGENT, BAD, present)
    (job,) = observer.find_due_jobs(at_start=True)
    assert done(made, made.request(job)).startswith("agent: ")
    assert not read_gate(made, AGENT).is_open
    assert observer.find_due_jobs(at_start=True) == []


def test_what_an_agent_gave_is_weighed_later_though_it_is_little(made):
    observer = PromptsObserver.find_in(made.state.addons)
    done(made, observer.hand_in("m", AGENT, GOOD))
    assert observer.find_due_jobs(at_start=False) == []
    done(made, observer.hand_in("m", AGENT, {"tool3": BAD["tool3"]}))
    assert observer.find_due_jobs(at_start=False) == [Job("weigh_prompts", "m")]


def test_an_edit_of_an_author_waits_until_the_next_start(stating):
    observer = PromptsObserver.find_in(stating.state.addons)
    state_prompts(stating, GOOD)
    state_prompts(stating, {**GOOD, "tool3": BAD["tool3"]})
    assert observer.find_due_jobs(at_start=False) == []
    assert observer.find_due_jobs(at_start=True) == [Job("weigh_prompts", "m")]


def test_prompts_of_what_is_not_there_are_left_out(made):
    given = {"tool3": GOOD["tool3"], "gone": GOOD["tool4"]}
    done(made, PromptsObserver.find_in(made.state.addons).hand_in("m", PERSON, given))
    assert set(made.ledger.prompts.list_all("m", PERSON)) == {"tool3"}


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_what_was_handed_in_is_taken_back(made, is_forgotten):
    plain = contents(made.ledger, "m")
    observer = PromptsObserver.find_in(made.state.addons)
    done(made, observer.hand_in("m", PERSON, GOOD))
    assert done(made, observer.take_back(Drop("m", "", PERSON, is_forgotten))).startswith("10 ")
    assert contents(made.ledger, "m") == plain


def test_one_artifact_can_be_forgotten_by_itself(made):
    observer = PromptsObserver.find_in(made.state.addons)
    done(made, observer.hand_in("m", PERSON, GOOD))
    done(made, observer.take_back(Drop("m", "tool3", PERSON, True)))
    assert "tool3" not in made.ledger.prompts.list_all("m", PERSON)
    assert len(made.ledger.prompts.list_all("m", PERSON)) == 9


def test_what_waits_is_done_in_the_order_in_which_it_was_asked_for(made):
    observer = PromptsObserver.find_in(made.state.addons)
    observer.hand_in("m", PERSON, {"tool3": GOOD["tool3"]})
    observer.take_back(Drop("m", "", PERSON, is_forgotten=True))
    done(made, observer.hand_in("m", PERSON, {"tool4": GOOD["tool4"]}))
    assert set(made.ledger.prompts.list_all("m", PERSON)) == {"tool4"}


def test_of_two_imports_that_waited_together_one_roll_back_undoes_the_second_alone(made):
    observer = PromptsObserver.find_in(made.state.addons)
    observer.hand_in("m", PERSON, {"tool3": GOOD["tool3"]})
    observer.hand_in("m", PERSON, {"tool4": GOOD["tool4"]})
    made.drain()
    done(made, observer.take_back(Drop("m", "", PERSON, is_forgotten=False)))
    assert set(made.ledger.prompts.list_all("m", PERSON)) == {"tool3"}


def test_a_corpus_that_is_not_there_is_not_found_and_nothing_waits_for_it(made):
    observer = PromptsObserver.find_in(made.state.addons)
    with pytest.raises(NotFound):
        observer.hand_in("n", PERSON, GOOD)
    assert not observer.waiting["n"]


def test_an_explanation_shows_what_is_expected_of_an_item_and_whether_it_counts(made):
    observer = PromptsObserver.find_in(made.state.addons)
    done(made, observer.hand_in("m", PERSON, {"tool3": Expected.from_prompts(["dive"], ["drive"])}))
    given = {"prompts": ["dive"], "misses": ["drive"], "counts": True}
    given |= {"outcome": "", "outdated": False}
    assert observer.explain_item("dive", "m/tool3") == {"expected": {"person": given}}
    assert observer.explain_item("dive", "m/tool4") == {}


def test_what_is_left_out_to_be_asked_is_left_out_of_every_artifact_that_has_it():
    given = {
        "a": Expected.from_prompts(["one", "two"]),
        "b": Expected.from_prompts(["one", "two", "three"]),
    }
    kept, asked = leave_one_out(given)
    assert asked
    for each in asked:
        assert set(each.gold) == {id for id, held in given.items() if has(held, each.text)}
        assert not any(has(held, each.text) for held in kept.values())


def has(expected, text):
    return any(prompt.text == text for prompt in expected.prompts)
