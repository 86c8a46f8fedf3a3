"""The report on what was offered and used."""

from irdaemon.contrib.usage.names import JoinedLog, NamedItem
from irdaemon.contrib.usage.reports import report_adoption
from tests.support.usage import NOW, considered, offer, turn

PDF = ("skill", "pdf")


class Names:
    def __init__(self, *ids):
        kept = [NamedItem("skills", id, "skills", id.upper(), "", {}) for id in ids]
        self.items = kept
        self.by_item = {(each.corpus, each.artifact_id): each for each in kept}

    def resolve_use(self, how, what):
        return (("skills", what),) if ("skills", what) in self.by_item else ()


def report(turns, offers, names, item=""):
    return report_adoption(JoinedLog(turns, offers, names), offers, names, item)


def test_an_item_is_adopted_where_its_session_used_it_after_the_offer():
    offers = [
        offer(b"d", considered("pdf", chars=100)),
        offer(b"e", considered("pdf"), session="codex:T"),
        offer(b"f", considered("pdf"), session="claude:U", at=NOW + 1_000),
    ]
    turns = [
        turn("S:1", PDF, own=[b"d"]),
        turn("T:1", own=[b"e"], session="codex:T"),
        turn("U:1", PDF, session="claude:U"),  # before it was offered
    ]
    found = report(turns, offers, Names("pdf"))
    (row,) = found["items"]
    assert (row["reference"], row["name"]) == ("skills/pdf", "PDF")
    assert (row["offered"], row["adopted"], row["uses"], row["share"]) == (3, 1, 2, 0.3333)
    assert row["low"] < row["share"] < row["high"]
    by = {
        (each["by"], each["name"]): (each["offered"], each["adopted"]) for each in found["adoption"]
    }
    assert by == {
        ("agent", "claude"): (2, 1),
        ("agent", "codex"): (1, 0),
        ("wording", "plain"): (3, 1),
        ("week", "2027-W02"): (3, 1),
    }
    assert found["context"] == {"items": 3, "chars": 100, "tokens": 25}


def test_a_session_counts_once_however_often_it_repeats():
    offers = [offer(b"%d" % n, considered("pdf"), at=NOW + n) for n in range(50)]
    turns = [turn(f"S:{n}", PDF, own=[b"%d" % n], at=NOW + n) for n in range(50)]
    (row,) = report(turns, offers, Names("pdf"))["items"]
    assert (row["offered"], row["adopted"], row["uses"]) == (1, 1, 50)


def test_a_file_counts_for_one_session_whatever_sessions_its_lines_are_of():
    named = [f"claude:{n}" for n in range(10)]
    offers = [offer(b"%d" % n, considered("pdf"), session=s) for n, s in enumerate(named)]
    turns = [turn(f"{s}:1", PDF, session=s, entry="forged.jsonl") for s in named]
    (row,) = report(turns, offers, Names("pdf"))["items"]
    assert (row["offered"], row["adopted"]) == (10, 1)


def test_wordings_are_compared():
    offers = [
        offer(b"a", considered("pdf"), session="claude:A", variant="call"),
        offer(b"b", considered("pdf"), session="claude:B", variant="facts"),
    ]
    found = report([turn("A:1", PDF, own=[b"a"], session="claude:A")], offers, Names("pdf"))
    wording = {each["name"]: each["share"] for each in found["adoption"] if each["by"] == "wording"}
    assert wording == {"call": 1.0, "facts": 0.0}


def test_weeks_are_those_of_the_offers():
    offers = [
        offer(b"a", considered("pdf"), session="claude:A"),
        offer(b"b", considered("pdf"), session="claude:B", at=NOW + 8 * 86_400),
    ]
    found = report([turn("A:1", PDF, own=[b"a"], session="claude:A")], offers, Names("pdf"))
    weeks = {each["name"]: each["share"] for each in found["adoption"] if each["by"] == "week"}
    assert weeks == {"2027-W02": 1.0, "2027-W03": 0.0}


def test_what_stands_out_is_listed():
    offers = [offer(b"d", considered("pdf")), offer(b"e", considered("form"), session="")]
    turns = [turn("S:1", ("skill", "gone"), ("skill", "lint"))]
    found = report(turns, offers, Names("pdf", "form", "lint", "idle"))
    assert found["not_installed"] == [{"how": "skill", "name": "gone", "uses": 1}]
    assert found["never_offered"] == {"count": 1, "references": ["skills/idle"]}
    assert found["offered_never_used"]["references"] == ["skills/pdf", "skills/form"]
    assert found["states"] == {"not_installed": 1, "unjoined": 1}
    assert (found["answers"], found["abstained"], found["without_session"]) == (2, 0, 1)


def test_one_item_can_be_asked_for():
    offers = [offer(b"d", considered("pdf"), considered("form"))]
    found = report([], offers, Names("pdf", "form"), "skills/form")
    assert [row["reference"] for row in found["items"]] == ["skills/form"]
