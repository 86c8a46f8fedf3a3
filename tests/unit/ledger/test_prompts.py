import pytest

from irdaemon.ledger import Expected, ExpectedPrompt, PromptRate
from irdaemon.ledger.prompts import find_common
from tests.support.corpora import contents, ledger, upsert

NOW = 4e9
RATE = PromptRate(words=0.5, share=0.5)


def learned(*texts, session="s", weight=1.0):
    return Expected(tuple(ExpectedPrompt(text, session, NOW, weight) for text in texts), RATE)


@pytest.fixture
def store():
    made = ledger()
    made.entries.put("c", upsert("f", {"a": "red fish", "b": "blue bird"}), NOW)
    return made


def counts(store, id):
    return contents(store, "c")[id][4][0][5]


def test_prompts_count_beside_the_words_of_the_text(store):
    before = counts(store, "a")
    assert (
        store.prompts.publish("c", {"a": learned("join the fish", "join the boat", weight=0.5)})
        == 1
    )
    after = counts(store, "a")
    assert after["join"] == 0.5
    assert after["boat"] == 0.25
    assert after["fish"] == before["fish"] + 0.25
    assert store.prompts.list_all("c") == {
        "a": learned("join the fish", "join the boat", weight=0.5)
    }


def test_what_is_shown_of_an_artifact_stays_as_it_is(store):
    before = store.artifacts.list_records("c", "a"), store.artifacts.get("c", "a")
    store.prompts.publish("c", {"a": learned("join the pages")})
    records, artifact = store.artifacts.list_records("c", "a"), store.artifacts.get("c", "a")
    assert (records, artifact) == before
    assert store.check() == []


def test_roll_back_restores_every_count_and_digest_and_only_once(store):
    plain = contents(store, "c")
    store.prompts.publish("c", {"a": learned("join the pages")})
    first = contents(store, "c")
    store.prompts.publish("c", {"a": learned("join the pages"), "b": learned("write a letter")})
    assert store.prompts.roll_back("c") == 2
    assert contents(store, "c") == first
    assert store.prompts.roll_back("c") == 1
    assert contents(store, "c") == plain


def test_a_changed_artifact_keeps_what_was_learned_of_it(store):
    store.prompts.publish("c", {"a": learned("join the pages")})
    store.entries.put("c", upsert("f", {"a": "red boat", "b": "blue bird"}, stamp="2"), NOW)
    assert {"red", "boat", "join", "page"} <= set(counts(store, "a"))
    assert "fish" not in counts(store, "a")
    store.prompts.roll_back("c")
    assert {"join", "page"}.isdisjoint(counts(store, "a"))


def test_what_is_learned_of_an_artifact_that_is_gone_does_no_harm(store):
    assert store.prompts.publish("c", {"gone": learned("join the pages")}) == 0
    assert store.prompts.roll_back("c") == 0


@pytest.mark.parametrize("which", [{"session": "s"}, {"artifact_id": "a"}, {}])
def test_forgetting_leaves_nothing_in_either_state(store, which):
    plain = contents(store, "c")
    store.prompts.publish("c", {"a": learned("join the pages")})
    store.prompts.publish("c", {"a": learned("join the pages", "bind them")})
    assert store.prompts.forget("c", **which) == 1
    assert (store.prompts.list_all("c"), store.prompts.list_all("c", before=True)) == (
        {},
        {},
    )
    assert contents(store, "c") == plain


def test_forgetting_a_session_keeps_what_others_taught(store):
    store.prompts.publish("c", {"a": learned("join pages", session="x"), "b": learned("write")})
    store.prompts.forget("c", session="x")
    assert set(store.prompts.list_all("c")) == {"b"}
    assert store.prompts.count("c") == (1, 1)


def test_a_text_that_was_taught_has_a_digest_of_its_own(store):
    plain = {row[1] for row in store.vectors.list_missing("c", "e", 9)}
    store.prompts.publish("c", {"a": learned("join the pages")})
    assert len({row[1] for row in store.vectors.list_missing("c", "e", 9)} - plain) == 1


def test_what_is_common_follows_each_change_of_what_is_served(store):
    assert store.prompts.find_common("c").prompts == ()
    store.prompts.publish("c", {"a": learned("join the pages")})
    assert store.prompts.find_common("c").prompts == ("join the pages",)
    store.prompts.roll_back("c")
    assert store.prompts.find_common("c").prompts == ()


def test_what_prompts_have_in_common_is_believed_the_more_artifacts_there_are():
    few = find_common({"a": learned("x")}).taken_off
    many = find_common({str(n): learned("x") for n in range(100)}).taken_off
    assert 0 < few < many < 1
    assert find_common({}).prompts == ()
