"""An offer that ten sessions were shown in vain fades by itself, and comes back for a reason."""

from dataclasses import replace

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.moments.observer import MomentsObserver
from irdaemon.contrib.usage.notes import UsageOptions
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.contrib.usage.operations import usage
from irdaemon.contrib.usage.reports import UseReports
from irdaemon.engine.queue import Job
from irdaemon.source.sessions import Sessions
from irdaemon.strategy import ClaudeTurn
from irdaemon.types import Query, Root
from tests.support.corpora import LATER, engine, skills, write_skill
from tests.support.operations import ask
from tests.support.usage import considered, offer, turn

ASKED = "please fill in a pdf form"
BEFORE = LATER - 1_000


@pytest.fixture
def made(tmp_path):
    write_skill(tmp_path / "skills" / "fill", "Fill a pdf form")
    write_skill(tmp_path / "skills" / "deploy", "Deploy to the cloud")
    source = Sessions((Root(str(tmp_path / "sessions")),), {})
    (tmp_path / "sessions").mkdir()
    options = UsageOptions(str(tmp_path / "usage.sqlite"), str(tmp_path / "usage.key"))
    made = engine(
        skills(tmp_path / "skills", name="skills"),
        Corpus("sessions", "sessions", source, ClaudeTurn(), "hashing"),
        path=str(tmp_path / "ledger.sqlite"),
        addons={"usage": options},
    )
    scan(made)
    yield made
    UsageObserver.find_in(made.state.addons).notes.close()
    made.ledger.close()


def scan(made):
    for name in made.corpora:
        made.request(Job("reconcile", name))
    made.drain()


def fill(made):
    return made.search(Query("fill a pdf form", corpora=("skills",))).results[0].artifact_id


def show(made, sessions, at=BEFORE, score=None, used_in=(), client=""):
    """Note that sessions were offered the item, and their turns, some of which used it."""
    item = fill(made)
    if score is None:
        score = made.discover(Query(ASKED, corpora=("skills",))).results[0].score
    shown = considered(item, score=score)
    store = UsageObserver.find_in(made.state.addons).notes.open_changing()
    store.put_offers(
        [offer(b"d", shown, session=f"claude:{n}", at=at, client=client) for n in sessions]
    )
    for n in sessions:
        uses = [("skill", "fill")] if n in used_in else []
        made_turn = turn(f"{n}:{at}", *uses, own=[b"d"], session=f"claude:{n}", at=at + 5)
        store.put_turns(("sessions", f"{n}.jsonl"), [made_turn], partial=True)
    store.close()


def fade(made):
    made.request(Job("fade"))
    made.drain()


def is_offered(made, text=ASKED, session="claude:new"):
    answer = made.discover(Query(text, corpora=("skills",)), session=session)
    return fill(made) in [hit.artifact_id for hit in answer.results]


def test_after_ten_sessions_in_vain_no_session_is_offered_it(made):
    show(made, range(9))
    fade(made)
    assert is_offered(made)
    show(made, range(9, 10))
    fade(made)
    assert not is_offered(made)
    assert is_offered(made, session="")  # who asks gets it


def test_one_session_shown_it_often_counts_once(made):
    for at in range(30):
        show(made, [1], at=BEFORE + at)
    fade(made)
    assert is_offered(made)


def test_what_any_session_used_does_not_fade(made):
    show(made, range(20), used_in=[3])
    fade(made)
    assert is_offered(made)


def test_used_later_it_is_offered_again_for_good(made):
    show(made, range(10))
    fade(made)
    assert not is_offered(made)
    show(made, [77], used_in=[77])
    fade(made)
    assert is_offered(made)
    assert MomentsObserver.find_in(made.state.addons).fading == ()


def test_sessions_whose_transcripts_are_not_read_tell_nothing(made):
    item = considered(fill(made), score=0.9)
    store = UsageObserver.find_in(made.state.addons).notes.open_changing()
    store.put_offers([offer(b"d", item, session=f"codex:{n}", at=BEFORE) for n in range(30)])
    store.close()
    fade(made)
    assert is_offered(made)


def test_answers_to_other_clients_do_not_count(made):
    show(made, range(20), client="someone")
    fade(made)
    assert is_offered(made)


def test_with_another_text_it_is_offered_and_counted_anew(made, tmp_path):
    show(made, range(10))
    fade(made)
    write_skill(tmp_path / "skills" / "fill", "Fill a pdf form, also a scanned one")
    scan(made)
    assert is_offered(made)
    fade(made)
    assert is_offered(made)
    show(made, range(20, 30), at=LATER + 5)
    fade(made)
    assert not is_offered(made)


def test_read_again_with_the_same_text_it_stays_faded(made):
    show(made, range(10))
    fade(made)
    made.request(Job("reconcile", "skills"))
    scan(made)
    fade(made)
    assert not is_offered(made)


def test_with_clearly_more_evidence_than_it_ever_had_it_is_offered(made):
    score = made.discover(Query(ASKED, corpora=("skills",))).results[0].score
    show(made, range(10), score=score / 1.2)
    fade(made)
    assert is_offered(made)


def test_what_was_all_but_certain_comes_back_when_the_odds_are_clearly_better(made):
    score = made.discover(Query(ASKED, corpora=("skills",))).results[0].score
    odds = score / (1 - score)
    show(made, range(10), score=odds / 2 / (1 + odds / 2))
    fade(made)
    assert is_offered(made)
    (needed,) = (
        MomentsObserver.find_in(made.state.addons)
        .find_preferences("", to_session=True)
        .faded.values()
    )
    assert needed < score


def test_no_evidence_is_so_high_that_no_better_is_possible(made):
    show(made, range(10), score=0.98)
    fade(made)
    (needed,) = (
        MomentsObserver.find_in(made.state.addons)
        .find_preferences("", to_session=True)
        .faded.values()
    )
    assert 0.98 < needed < 1.0


def test_only_another_text_of_what_faded_has_it_looked_at_again(made, tmp_path, monkeypatch):
    show(made, range(10))
    fade(made)
    requested = []
    request = made.state.request
    monkeypatch.setattr(
        type(made.state), "request", lambda state, job: requested.append(job.kind) or request(job)
    )
    write_skill(tmp_path / "skills" / "deploy", "Deploy to another cloud")
    scan(made)
    assert "fade" not in requested
    write_skill(tmp_path / "skills" / "fill", "Fill a pdf form, also a scanned one")
    scan(made)
    assert requested.count("fade") == 1


def test_a_pin_brings_it_back_and_after_the_pin_it_is_counted_anew(made):
    show(made, range(10))
    fade(made)
    reference = f"skills/{fill(made)}"
    ask(made, "prefer", reference=reference, verdict="pin")
    assert is_offered(made)
    fade(made)
    ask(made, "prefer", reference=reference, verdict="unpin")
    fade(made)
    assert is_offered(made)


def test_the_report_on_use_and_the_explanation_of_the_item_say_so(made):
    show(made, range(10))
    fade(made)
    reference = f"skills/{fill(made)}"
    assert usage(made, "")["faded"] == [{"reference": reference, "sessions": 10}]
    assert "faded" not in UseReports(made).report_usage()
    explained = ask(made, "explain", text=ASKED, item=reference)
    assert explained["item"]["offers"] == {"faded": 10}
    (row,) = ask(made, "preferences")
    assert (row["reference"], row["verdict"], row["sessions"]) == (reference, "faded", 10)


def test_it_stays_faded_across_a_restart(made):
    show(made, range(10))
    fade(made)
    again = MomentsObserver.find_in(made.state.addons)
    again.fading, again._by_root = (), {}
    assert is_offered(made)
    again.load()
    assert not is_offered(made)


def test_documents_do_not_fade(made):
    corpora = dict(made.corpora)
    made.state.served = made.state.served._replace(
        corpora={**corpora, "skills": replace(corpora["skills"], kind="files")}
    )
    show(made, range(20))
    fade(made)
    assert is_offered(made)


def test_where_use_is_not_noted_nothing_fades():
    made = engine()
    number = made.request(Job("fade"))
    made.drain()
    assert made.progress(number).report == "use is not recorded"
