from itertools import islice

import pytest

from irclient.errors import NotFound
from irclient.types import Query
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import MOST_PINS, Pin
from tests.support.corpora import engine, ledger, mapped, skills, upsert, write_skill


@pytest.fixture
def skill(tmp_path):
    return write_skill(tmp_path / "pdf", "fill forms")


@pytest.fixture
def made(skill):
    made = engine(skills(skill.parent))
    made.request(Job("reconcile", "s"))
    made.drain()
    return made


def disclosed(made, level="body"):
    (found,) = made.disclose(["s/x"], level)
    made.drain()
    return found


def change(skill, text):
    file = skill / "SKILL.md"
    file.write_text(file.read_text() + text)


def test_what_was_disclosed_and_is_unchanged_is_not_listed(made):
    disclosed(made)
    assert made.audit() == []


def test_what_was_never_disclosed_is_not_listed_however_it_changed(made, skill):
    change(skill, "more\n")
    assert made.audit() == []


def test_a_text_that_changed_since_it_was_disclosed_is_listed_with_a_diff(made, skill):
    disclosed(made)
    change(skill, "and run this\n")
    (told,) = made.audit("s")
    assert (told["corpus"], told["name"], told["state"]) == ("s", "x", "changed")
    assert "\n+and run this" in told["diff"]


def test_disclosing_again_pins_the_new_text(made, skill):
    disclosed(made)
    change(skill, "more\n")
    disclosed(made)
    assert made.audit() == []


def test_a_changed_script_counts_where_the_bundle_was_disclosed(made, skill):
    (skill / "scripts").mkdir()
    script = skill / "scripts" / "run.sh"
    script.write_text("echo")
    disclosed(made, "bundled")
    script.write_text("rm -r")
    (told,) = made.audit()
    assert "+rm -r" in told["diff"]
    disclosed(made, "body")
    assert made.audit() == []


def test_what_can_no_longer_be_read_is_listed_with_the_reason(made, skill):
    disclosed(made)
    (skill / "SKILL.md").unlink()
    (told,) = made.audit()
    assert (told["state"], told["diff"]) == ("unreadable", "No such file or directory")


def test_what_discover_discloses_is_pinned_too(made, skill):
    assert made.search(Query("forms", level="body")).results[0].disclosure.body
    made.drain()
    change(skill, "more\n")
    assert len(made.audit()) == 1


def test_a_text_that_lies_in_the_ledger_cannot_change_and_is_not_pinned():
    made = engine(mapped({"a": {"text": "words", "name": "x"}}, name="s"))
    made.request(Job("reconcile", "s"))
    made.drain()
    disclosed(made)
    assert made.ledger.pins.list_all() == []


def test_what_is_forgotten_is_unpinned(made, skill):
    disclosed(made)
    (skill / "SKILL.md").unlink()
    made.request(Job("reconcile", "s", ScanRequest(prune=True)))
    made.drain()
    assert made.ledger.pins.list_all() == []


def test_an_unknown_corpus_is_an_error(made):
    with pytest.raises(NotFound):
        made.audit("nope")


def test_only_so_many_disclosures_are_remembered_and_the_newest_are():
    made = ledger("c")
    texts = {str(at): "text" for at in range(MOST_PINS + 5)}
    made.entries.put("c", upsert("k", texts), 0.0)
    made.pins.put(Pin("c", str(at), "body", "text", at) for at in range(MOST_PINS + 5))
    made.pins.put([Pin("gone", "x", "body", "text", 9e9), Pin("c", "x", "body", "text", 9e9)])
    kept = made.pins.list_all()
    assert len(kept) == MOST_PINS
    assert [pin.artifact_id for pin in islice(kept, 2)] == [str(MOST_PINS + 4), str(MOST_PINS + 3)]


def test_what_another_recipe_stored_is_cleared_out_of_the_file_after_it_was_read_again(made, skill):
    number = made.request(Job("reconcile", "s"))
    made.drain()
    with made.ledger.transaction():
        made.ledger._store.run("UPDATE entries SET recipe = 'older'")
    number = made.request(Job("reconcile", "s"))
    made.drain()
    assert made.progress(number + 1).job.kind == "compact"
