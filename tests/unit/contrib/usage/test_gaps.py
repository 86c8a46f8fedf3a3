"""What was needed and not found."""

from irdaemon.contrib.usage.gaps import LEAST, GapWorld, find_gaps, make_report
from irdaemon.contrib.usage.names import JoinedLog
from tests.support.usage import considered, offer, turn

PDF = ("skill", "pdf")
PROMPTS = {
    "S:1": "merge the scanned invoices for the tax office",
    "T:1": "the tax office wants scanned invoices as one file",
    "U:1": "a lonely prompt about gardening tools",
}


class Names:
    def __init__(self):
        self.by_item = {}

    def resolve_use(self, how, what):
        return (("skills", what),) if what != "gone" else ()


class Artifacts:
    def list_prompts(self, corpus, turn_id):
        return [PROMPTS[turn_id]] if turn_id in PROMPTS else []

    def list_records(self, corpus, artifact_id):
        return [{"text": "Fill and merge PDF forms"}]


class Ledger:
    artifacts = Artifacts()


def found(turns, offers, ask=lambda prompt: [], least=LEAST):
    names, world = Names(), GapWorld(Ledger(), ask)
    return make_report(
        find_gaps(JoinedLog(turns, offers, names), offers, names, world), world, least
    )


def of(session, *uses, digest):
    return turn(f"{session}:1", *uses, own=[digest], session=f"claude:{session}")


def test_a_file_counts_as_one_session_of_a_gap():
    named = [turn(f"{s}:1", PDF, session=s, entry="forged.jsonl") for s in "STU"]
    gone = [turn(f"{s}:2", ("skill", "gone"), session=s, entry="forged.jsonl") for s in "STU"]
    assert {each["sessions"] for each in found([*named, *gone], [])["gaps"]} == {1}


def test_an_item_that_two_prompts_needed_is_a_gap_with_the_words_it_lacks():
    below = considered("pdf", "below_floor", 2, score=0.31)
    offers = [
        offer(b"a", below, session="claude:S", reason="below_floor"),
        offer(b"b", below, session="claude:T", reason="below_floor"),
    ]
    turns = [of("S", PDF, digest=b"a"), of("T", PDF, digest=b"b")]
    report = found(turns, offers)
    (gap,) = report["gaps"]
    assert (gap["kind"], gap["reference"], gap["prompts"], gap["sessions"]) == (
        *("missed", "skills/pdf"),
        *(2, 2),
    )
    assert set(gap["words"]) == {"scanned", "invoices", "tax", "office"}
    assert gap["cure"].startswith("add to the description of skills/pdf: ")
    assert gap["states"] == {"near_miss": 2}
    assert (gap["reasons"], gap["evidence"]) == ({"below_floor": 2}, 0.31)
    assert report["watching"] == 0


def test_what_one_prompt_shows_is_counted_and_not_listed():
    missed = considered("pdf", "below_floor", 9)
    report = found([of("S", PDF, digest=b"a")], [offer(b"a", missed)])
    assert (report["gaps"], report["watching"]) == ([], 1)


def test_prompts_without_a_known_answer_are_asked_anew():
    turns = [of("S", PDF, digest=b"a"), of("T", PDF, digest=b"b")]
    report = found(turns, [], lambda prompt: [considered("pdf", "below_floor", 7)])
    (gap,) = report["gaps"]
    assert (gap["states"], gap["replayed"], report["replayed"]) == ({"buried": 2}, 2, 2)
    offered = found(turns, [], lambda prompt: [considered("pdf")])
    assert (offered["gaps"], offered["watching"], offered["replayed"]) == ([], 0, 2)


def test_prompts_that_nothing_was_offered_for_are_put_together_by_their_words():
    offers = [
        offer(b"a", considered("pdf", "below_floor", 1), reason="below_floor"),
        offer(b"b", considered("pdf", "below_floor", 1), session="claude:T", reason="below_floor"),
        offer(b"c", session="claude:U", reason="below_floor"),
    ]
    turns = [of("S", digest=b"a"), of("T", digest=b"b"), of("U", digest=b"c")]
    report = found(turns, offers)
    (gap,) = report["gaps"]
    assert (gap["kind"], gap["prompts"], gap["reference"]) == ("nothing_found", 2, "skills/pdf")
    assert "write or install it" in gap["cure"]
    assert report["watching"] == 1


def test_what_is_no_miss_is_no_gap():
    turns = [of("S", digest=b"a"), of("T", digest=b"b")]
    for reason in ("no_task", "building", "filtered_out", "offered_before"):
        offers = [offer(each, reason=reason) for each in (b"a", b"b")]
        assert found(turns, offers)["gaps"] == []
    used = [of("S", PDF, digest=b"a"), of("T", PDF, digest=b"b")]
    assert found(used, [offer(b"a", considered("pdf")), offer(b"b", considered("pdf"))])[
        "watching"
    ] in (0, 1)


def test_what_is_used_and_not_indexed_is_a_gap():
    turns = [of("S", ("skill", "gone"), digest=b"a"), of("T", ("skill", "gone"), digest=b"b")]
    (gap,) = found(turns, [])["gaps"]
    assert (gap["kind"], gap["name"], gap["prompts"], gap["sessions"]) == (
        *("not_indexed", "gone"),
        *(2, 2),
    )


def test_gaps_of_one_prompt_are_listed_on_request():
    missed = considered("pdf", "below_floor", 9)
    report = found([of("S", PDF, digest=b"a")], [offer(b"a", missed)], least=1)
    assert [gap["prompts"] for gap in report["gaps"]] == [1]
    assert report["watching"] == 0
