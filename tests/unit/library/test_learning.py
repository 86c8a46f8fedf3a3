import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.corpora import contents

ITEMS = {
    f"tool{n}": {"name": f"tool{n}", "description": f"{word} service number {n}"}
    for n, word in enumerate("amber birch cedar dahlia elder fern gorse hazel ivy juniper".split())
}
# How people ask for each of them: words that its description does not have.
ASKED = "ledger bakery violin submarine orchard telescope kettle glacier lantern saddle".split()


@pytest.fixture
def corpus():
    made = ir.build(ir.CorpusSource.from_mapping(ITEMS, name="learning"), store=":memory:")
    yield made
    made.close()


def uses(times):
    return [
        {
            "prompt": f"i need something for my {ASKED[n]} on day {turn}",
            "gold": [f"tool{n}"],
            "session": f"{turn}-{n}",
            "at": 1.7e9 + 3600 * (turn * len(ASKED) + n),
        }
        for turn in range(times)
        for n in range(len(ASKED))
    ]


def found(corpus, text):
    return [hit.artifact_id for hit in ir.search(corpus, text, k=3)]


def test_what_people_asked_when_they_used_an_item_finds_it(corpus):
    assert found(corpus, "a thing for the submarine")[:1] != ["tool3"]
    report = ir.learn(corpus, uses(5))
    assert report.outcome == "published"
    assert report.after > report.before
    assert (report.artifacts, report.held_out) == (10, 10)
    assert found(corpus, "a thing for the submarine")[0] == "tool3"


def test_learned_prompts_are_never_shown(corpus):
    ir.learn(corpus, uses(5))
    (hit, *_) = ir.search(corpus, "a thing for the submarine")
    assert "submarine" not in hit.summary
    assert all(
        "submarine" not in r["text"] for r in ir.records_for_artifact(corpus, hit.artifact_id)
    )


def test_few_uses_teach_nothing_yet(corpus):
    before = contents(corpus.engine.ledger, "learning")
    assert ir.learn(corpus, uses(1)).outcome == "not enough yet"
    assert ir.learn(corpus, []).outcome == "not enough yet"
    assert contents(corpus.engine.ledger, "learning") == before


def test_uses_one_item_after_another_and_without_times_are_learned_from_as_well(corpus):
    plain = [{"prompt": use["prompt"], "gold": use["gold"]} for use in uses(5)]
    by_item = sorted(plain, key=lambda use: use["gold"])
    assert ir.learn(corpus, by_item).outcome == "published"
    hourly = [{**use, "at": 1.7e9 + 3600 * n} for n, use in enumerate(by_item)]
    ir.roll_back(corpus)
    assert ir.learn(corpus, hourly).outcome == "published"


def test_uses_that_do_not_help_the_newest_are_not_learned(corpus):
    misled = [{**use, "gold": [f"tool{(n * 7 + n // 10) % 10}"]} for n, use in enumerate(uses(6))]
    before = contents(corpus.engine.ledger, "learning")
    assert ir.learn(corpus, misled).outcome == "no better"
    assert contents(corpus.engine.ledger, "learning") == before


def test_the_same_uses_again_change_nothing(corpus):
    ir.learn(corpus, uses(5))
    generation = corpus.engine.snapshot.generation
    assert ir.learn(corpus, uses(5)).outcome == "unchanged"
    assert corpus.engine.snapshot.generation == generation


def test_roll_back_restores_answers_to_the_digit(corpus):
    texts = [f"i need something for my {word}" for word in ASKED]
    before = [[(h.artifact_id, h.score) for h in ir.search(corpus, text)] for text in texts]
    ir.learn(corpus, uses(5))
    assert ir.roll_back(corpus) == 10
    after = [[(h.artifact_id, h.score) for h in ir.search(corpus, text)] for text in texts]
    assert after == before


def test_a_rebuilt_corpus_keeps_what_it_learned(tmp_path):
    path = str(tmp_path / "learned.sqlite")
    source = ir.CorpusSource.from_mapping(dict(ITEMS), name="kept")
    corpus = ir.build(source, store=path)
    ir.learn(corpus, uses(5))
    corpus.close()
    again = ir.build(source, store=path, full=True)
    assert found(again, "a thing for the submarine")[0] == "tool3"
    again.close()


def test_what_is_no_use_is_refused_and_nothing_changes(corpus):
    with pytest.raises(QueryError, match="use 2"):
        ir.learn(corpus, [{"prompt": "p", "gold": ["tool1"]}, {"prompt": "p"}])
