"""A corpus finds its own floor, from what it holds or from labelled queries, and keeps it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irdaemon.discovery.decision import FORMULA
from irdaemon.engine.queue import Job
from irdaemon.strategy import Skill
from irdaemon.types import Query
from tests.support.corpora import engine as built
from tests.support.corpora import mapped
from tests.support.searching import MANY_TOOLS as TOOLS
from tests.support.searching import engine_of, tool


def floor_shown(answer):
    return answer.signals["per_source"]["tools"]["floor"]


def test_floors_are_kept_with_the_ledger_and_not_found_anew(tmp_path):
    path = str(tmp_path / "l.sqlite")
    first = built(mapped(TOOLS, "tools"), path=path)
    first.request(Job("reconcile", "tools"))
    first.drain()
    kept = first.snapshot.corpora["tools"].floors
    first.ledger.close()
    second = built(mapped(TOOLS, "tools"), path=path)
    assert second.snapshot.corpora["tools"].floors == kept != {}


def test_a_floor_of_another_recipe_or_formula_is_not_applied(tmp_path, monkeypatch):
    path = str(tmp_path / "l.sqlite")
    first = built(mapped(TOOLS, "tools"), path=path)
    first.request(Job("reconcile", "tools"))
    first.drain()
    first.ledger.close()
    other = built(mapped(TOOLS, "tools", Skill()), path=path)
    assert other.snapshot.corpora["tools"].floors == {}
    other.ledger.close()
    for user in ("decision", "calibrate"):
        monkeypatch.setattr(f"irdaemon.discovery.{user}.FORMULA", FORMULA + 1)
    made = built(mapped(TOOLS, "tools"), path=path)
    assert floor_shown(made.discover(Query("fill a form")))["kind"] == "plain: not calibrated"
    made.request(Job("reconcile", "tools"))
    made.drain()
    assert {f.formula for f in made.snapshot.corpora["tools"].floors.values()} == {FORMULA + 1}


def test_a_floor_of_another_embedder_is_not_applied(tmp_path):
    path = str(tmp_path / "l.sqlite")
    first = built(mapped(TOOLS, "tools"), path=path)
    first.request(Job("reconcile", "tools"))
    first.drain()
    kept = first.ledger.corpora.read_floors("tools")
    former = {mode: replace(floor, embedder="former-3") for mode, floor in kept.items()}
    first.ledger.corpora.put_floors("tools", former)
    first.ledger.close()
    made = built(mapped(TOOLS, "tools"), path=path)
    assert made.snapshot.corpora["tools"].floors == {}
    assert floor_shown(made.discover(Query("fill a form")))["kind"] == "plain: not calibrated"
    assert kept


def test_a_floor_is_stale_once_the_corpus_has_drifted_and_is_found_anew():
    items = dict(TOOLS)
    engine = engine_of(items)
    before = engine.snapshot.corpora["tools"].floors["hybrid"]
    for number in range(len(TOOLS) // 3):
        items[f"new-{number}"] = tool(f"Brew number {number} of many kinds of tea")
    corpus = engine.corpora["tools"]
    corpus.source._items = items
    engine.request(Job("reconcile", "tools"))
    engine.step()  # the look alone
    assert engine.snapshot.corpora["tools"].floors == {}
    engine.drain()
    after = engine.snapshot.corpora["tools"].floors["hybrid"]
    assert after.artifacts == len(items) > before.artifacts


@settings(max_examples=5, deadline=None)
@given(st.permutations(list(TOOLS)))
def test_the_same_corpus_gives_the_same_floor_whatever_its_history(order):
    def figures(engine):
        floors = engine.snapshot.corpora["tools"].floors
        return {mode: (f.at_least, f.j, f.n_inside) for mode, f in floors.items()}

    assert figures(engine_of({name: TOOLS[name] for name in order})) == figures(engine_of(TOOLS))


def labelled(path, inside, outside):
    rows = [{"query": f"fill in invoices {n}", "gold": "fill-invoices"} for n in range(inside)]
    rows += [{"query": f"how do i bake bread {n}"} for n in range(outside)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize(("inside", "outside", "used"), [(20, 20, True), (20, 19, False)])
def test_labelled_queries_set_the_floor_where_there_are_enough(tmp_path, inside, outside, used):
    cases = labelled(tmp_path / "cases.jsonl", inside, outside)
    made = built(replace(mapped(TOOLS, "tools", Skill()), cases=cases))
    made.request(Job("reconcile", "tools"))
    made.drain()
    floor = made.snapshot.corpora["tools"].floors["hybrid"]
    assert floor.labelled == used
    assert (floor.n_inside == inside) == used
    assert floor_shown(made.discover(Query("fill in invoices")))["labelled"] == used


def test_changed_labels_set_the_floor_anew_and_the_same_ones_do_not(tmp_path):
    path = tmp_path / "cases.jsonl"
    made = built(replace(mapped(TOOLS, "tools", Skill()), cases=labelled(path, 20, 20)))
    jobs = []
    made.state.notify = lambda topic, data: jobs.append(data.get("kind"))
    for size, calibrated in ((20, 1), (20, 1), (25, 2)):
        labelled(path, size, size)
        made.request(Job("reconcile", "tools"))
        made.drain()
        assert jobs.count("calibrate") == calibrated
    assert made.snapshot.corpora["tools"].floors["hybrid"].n_inside == 25


def test_a_file_of_labels_that_cannot_be_read_is_reported_and_leaves_the_made_up_floor(tmp_path):
    reported = []
    cases = tmp_path / "cases.jsonl"
    cases.write_text("{")
    made = built(
        replace(mapped(TOOLS, "tools", Skill()), cases=str(cases)),
        notify=lambda topic, data: reported.append((topic, data)),
    )
    made.request(Job("reconcile", "tools"))
    made.drain()
    made.request(Job("reconcile", "tools"))
    made.drain()
    assert not made.snapshot.corpora["tools"].floors["hybrid"].labelled
    assert [data["kind"] for topic, data in reported if topic == "job"].count("calibrate") == 1
    assert any(topic == "failure" and "cases.jsonl:1" in data["reason"] for topic, data in reported)
