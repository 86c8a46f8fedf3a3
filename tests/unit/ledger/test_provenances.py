"""Expected prompts by where they are from: each counts, goes and comes back by itself."""

from dataclasses import replace

import pytest

from irdaemon.ledger import Expected, PromptRate
from irdaemon.ledger.prompts import AGENT, AUTHOR, PACK, PERSON, USE, Gate, find_common, merge
from tests.support.corpora import contents, ledger, upsert

NOW = 4e9
JOIN = Expected.from_prompts(["join the pages"])
WRITE = Expected.from_prompts(["write a letter"], misses=["read a letter"])


def read_with(stated, text="red fish"):
    """Make an upsert of an artifact that brings prompts with it."""
    given = upsert("f", {"a": text, "b": "blue bird"})
    first, *others = given.artifacts
    stating = replace(first, stated=stated, version=f"{text} {stated}")
    return replace(given, artifacts=(stating, *others))


@pytest.fixture
def store():
    made = ledger()
    made.entries.put("c", read_with({AUTHOR: JOIN}), NOW)
    return made


def words(store, id="a"):
    return contents(store, "c")[id][4][0][5]


def test_prompts_that_come_with_an_artifact_count_and_go_with_it(store):
    assert {"join", "page"} <= set(words(store))
    assert store.prompts.list_all("c", AUTHOR) == {"a": JOIN}
    store.entries.put("c", read_with({}), NOW)
    assert "join" not in words(store)
    assert store.prompts.list_all("c", AUTHOR) == {}


def test_each_provenance_is_published_and_rolled_back_by_itself(store):
    plain = contents(store, "c")
    assert store.prompts.publish("c", {"a": WRITE}, PERSON) == 1
    assert store.prompts.publish("c", {"a": Expected.from_prompts(["bind a book"])}, AGENT) == 1
    assert {"join", "write", "bind"} <= set(words(store))
    store.prompts.roll_back("c", PERSON)
    assert "write" not in words(store)
    assert "bind" in words(store)
    store.prompts.forget("c", provenance=AGENT)
    assert contents(store, "c") == plain
    assert store.check() == []


def test_what_is_near_and_means_another_adds_no_words(store):
    store.prompts.publish("c", {"b": WRITE}, PERSON)
    assert "write" in words(store, "b")
    assert "read" not in words(store, "b")


@pytest.mark.parametrize("provenance", [AUTHOR, PERSON])
def test_prompts_behind_a_closed_gate_are_held_and_do_not_count(store, provenance):
    store.prompts.publish("c", {"a": WRITE}, PERSON)
    both = contents(store, "c")
    word = {AUTHOR: "join", PERSON: "write"}[provenance]
    shut = Gate(False, {"outcome": "no better"}, NOW)
    assert store.prompts.set_gate("c", provenance, shut) == {"c": 1}
    assert word not in words(store)
    assert store.prompts.list_all("c", provenance)
    store.entries.put("c", read_with({AUTHOR: JOIN}, "red herring"), NOW)
    assert word not in words(store)
    store.entries.put("c", read_with({AUTHOR: JOIN}), NOW)
    assert store.prompts.set_gate("c", provenance, Gate(True, {}, NOW)) == {"c": 1}
    assert contents(store, "c")["a"][4] == both["a"][4]


def test_a_part_of_a_corpus_has_the_gates_of_the_corpus(store):
    store.prompts.set_gate("c", PACK, Gate(False, {}, NOW))
    assert not store.prompts.read_gates("c@0123456789")[PACK].is_open


def test_a_gate_reaches_the_parts_of_its_corpus_and_no_other():
    store = ledger("c", "c@0123456789", "cc", "cc@0123456789")
    for name in store.corpora.list_names():
        given = upsert(name, {"a": "red fish"})
        stating = replace(given.artifacts[0], stated={AUTHOR: JOIN})
        store.entries.put(name, replace(given, artifacts=(stating,)), NOW)
    shut = store.prompts.set_gate("c", AUTHOR, Gate(False, {}, NOW))
    assert shut == {"c": 1, "c@0123456789": 1}
    held = {name: contents(store, name)["a"][4][0][5] for name in store.corpora.list_names()}
    assert {name for name, found in held.items() if "join" in found} == {"cc", "cc@0123456789"}


def test_a_gate_of_a_transaction_that_failed_was_never_set(store):
    def fail():
        with store.transaction():
            store.prompts.set_gate("c", AUTHOR, Gate(False, {}, NOW))
            store.prompts.publish("c", {"b": WRITE})
            assert store.prompts.find_common("c").prompts
            assert not store.prompts.read_gates("c")[AUTHOR].is_open
            raise RuntimeError("a full disk")

    with pytest.raises(RuntimeError):
        fail()
    assert store.prompts.read_gates("c") == {}
    assert store.prompts.find_common("c") == find_common({})


def test_a_corpus_that_was_forgotten_and_comes_back_has_neither_gates_nor_what_was_common(store):
    store.prompts.set_gate("c", PERSON, Gate(False, {}, NOW))
    store.prompts.publish("c", {"b": WRITE})
    assert store.prompts.read_gates("c")
    assert store.prompts.find_common("c") != find_common({})
    store.corpora.forget("c")
    store.corpora.declare("c", "files", "r", "e")
    assert store.prompts.read_gates("c") == {}
    assert store.prompts.find_common("c") == find_common({})


def test_prompts_that_were_written_for_another_text_say_so(store):
    content = store.artifacts.list_contents("c", ["a", "gone"])
    store.prompts.add("c", {"a": WRITE}, AGENT, content)
    told = {each.provenance: each.is_outdated for each in store.prompts.list_held("c")}
    assert told == {AUTHOR: False, AGENT: False}
    store.entries.put("c", read_with({AUTHOR: JOIN}, "green fish"), NOW)
    told = {each.provenance: each.is_outdated for each in store.prompts.list_held("c")}
    assert told == {AUTHOR: False, AGENT: bool(content)}
    assert "write" in words(store)


def test_prompts_are_added_beside_those_of_other_artifacts(store):
    store.prompts.add("c", {"a": WRITE}, PERSON, {})
    store.prompts.add("c", {"b": JOIN}, PERSON, {})
    assert store.prompts.list_all("c", PERSON) == {"a": WRITE, "b": JOIN}
    assert store.prompts.count("c", PERSON) == (2, 3)


def test_several_provenances_count_each_word_at_its_own_rate():
    slow = replace(JOIN, rate=PromptRate(words=0.1, share=0.2))
    fast = replace(WRITE, rate=PromptRate(words=0.5, share=0.3))
    merged = merge([slow, fast])
    assert merged.rate == PromptRate(words=0.5, share=0.3)
    assert merged.prompts[0].weight == pytest.approx(0.2)
    assert merge([]) is None
    assert merge([slow]) is slow


def test_a_near_miss_of_one_provenance_is_no_prompt_of_another():
    merged = merge([JOIN, Expected.from_prompts(["bind a book"], misses=["join the pages"])])
    weights = {prompt.text: prompt.weight for prompt in merged.prompts}
    assert weights["join the pages"] < 0
    assert weights["bind a book"] == 1.0


def test_what_use_taught_is_one_provenance_of_them(store):
    store.prompts.publish("c", {"b": JOIN})
    assert set(store.prompts.find_by_provenance("c", "b")) == {USE}
    assert set(store.prompts.find_counting("c", "a")) == {AUTHOR}
