"""What authors say of their own items, from the files to the answers."""

import json

import pytest

from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger.prompts import AUTHOR
from irdaemon.strategy import Skill
from irdaemon.types import Query
from tests.support.corpora import engine, skills

# Neither description has a word of these.
RECEIPTS = "what did we spend in Lisbon in March"
PARCEL = "has the courier been here yet"
EVALS = {
    "expenses": [{"query": RECEIPTS, "should_trigger": True},
                 {"query": PARCEL, "should_trigger": False}],
    "shipping": {"skill_name": "shipping", "should_trigger_prompts": [{"prompt": PARCEL}],
                 "should_not_trigger_prompts": [{"prompt": RECEIPTS}]},
    "calendar": {"evals": [{"id": 1, "prompt": "am I free on Tuesday", "expected_output": "Yes"}]},
}  # fmt: skip
DESCRIBED = {
    "expenses": "Sums receipts up by project.",
    "shipping": "Follows packages to their door.",
    "calendar": "Plans meetings.",
}


@pytest.fixture
def made(tmp_path):
    for name, text in DESCRIBED.items():
        (tmp_path / name / "evals").mkdir(parents=True)
        front = f"---\nname: {name}\ndescription: {text}\n---\n"
        (tmp_path / name / "SKILL.md").write_text(f"{front}{text}\n")
    made = engine(skills(tmp_path, strategy=Skill()))
    look(made)
    yield made
    made.ledger.close()


def look(made, *under):
    made.request(Job("reconcile", "s", ScanRequest(tuple(map(str, under)))))
    made.drain()


def put(tmp_path, *names):
    """Write eval files; return their paths."""
    paths = [tmp_path / name / "evals" / "trigger-eval.json" for name in names]
    for name, path in zip(names, paths, strict=True):
        path.write_text(json.dumps(EVALS[name]))
    return paths


def ask(made, text, mode="hybrid"):
    hits = made.search(Query(text, mode=mode)).results
    return [hit.name for hit in hits]


def test_a_prompt_of_an_eval_file_finds_its_skill_and_a_near_miss_the_sibling(made, tmp_path):
    assert ask(made, RECEIPTS, "lexical") == ask(made, PARCEL, "lexical") == []
    look(made, *put(tmp_path, *EVALS))
    for mode in ("lexical", "dense", "hybrid"):
        assert ask(made, RECEIPTS, mode)[0] == "expenses"
        assert ask(made, PARCEL, mode)[0] == "shipping"
    (hit, *_) = made.search(Query(RECEIPTS)).results
    assert hit.summary == "Sums receipts up by project."


def test_a_file_that_changes_or_goes_is_read_again(made, tmp_path):
    (path,) = put(tmp_path, "expenses")
    look(made, path)
    assert ask(made, RECEIPTS, "lexical") == ["expenses"]
    path.write_text(json.dumps(["how much was the hotel"]))
    look(made, path)
    assert ask(made, RECEIPTS, "lexical") == []
    assert ask(made, "how much was the hotel", "lexical") == ["expenses"]
    path.unlink()
    look(made, path)
    assert ask(made, "how much was the hotel", "lexical") == []
    assert made.ledger.prompts.count("s", AUTHOR) == (0, 0)
