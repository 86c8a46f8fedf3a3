from irclient.mcp.items import found, found_text
from irclient.types import Selection


def test_an_answer_of_a_corpus_that_is_building_is_no_verdict():
    fresh = {"building": ["skills"]}
    answer = Selection("q", "hybrid", (), True, "building", {}, 0, 0, 1, fresh, 0.1)
    said = found_text(found(answer))
    assert said == (
        "Nothing was found yet, which is no verdict: ask again in a moment;"
        " still being read: skills."
    )
    assert found(answer).reason == "building"
