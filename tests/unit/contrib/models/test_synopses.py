"""Synopses that a model writes while all is quiet, within a budget a day."""

from dataclasses import replace
from datetime import datetime

import pytest

from irclient.errors import Unavailable
from irdaemon.config.reindex import parse_quiet_hours
from irdaemon.contrib.models.observer import ModelObserver
from irdaemon.contrib.models.synopses import SynopsisBudget, SynopsisWriter, read_text
from irdaemon.contrib.prompts.observer import PromptsObserver
from irdaemon.engine.host import InProcess
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import AGENT
from irdaemon.runtime.model_endpoint import ModelEndpoint, RestingModel
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import Package, Skill
from tests.support.corpora import LATER, engine, mapped
from tests.support.model_server import StandIn

SKILLS = {
    "deploy": {"name": "deploy", "description": "Deploy it", "text": "Use the crane tool."},
    "review": {"name": "review", "description": "Review it", "text": "Read every line."},
}


class Asked(InProcess):
    """The host of an engine that was asked something so many seconds ago."""

    idle = float("inf")

    def measure_idle_s(self):
        return self.idle


class Setting:
    """An engine with a corpus that has synopses, its model, and what writes them."""

    def __init__(self, items=SKILLS, strategy=None, **budget):
        self.items = dict(items)
        corpus = mapped(self.items, strategy=strategy or Skill())
        self.corpus = replace(corpus, synopsis=True)
        self.now = LATER
        options = {"model": ModelEndpoint("http://127.0.0.1:9/v1", "tiny")}
        self.engine = engine(self.corpus, clock=lambda: self.now, **options)
        self.host = self.engine.state.host = Asked()
        self.model = StandIn("A synopsis.")
        ModelObserver.find_in(self.engine.state.addons).summarizer = RestingModel(
            self.model, lambda: self.now
        )
        self.writer = SynopsisWriter(self.engine.state, SynopsisBudget(**budget))
        self.build()
        self.now += 3_600

    def build(self, **request):
        self.engine.request(Job("reconcile", "m", ScanRequest(**request)))
        self.engine.drain()

    def write(self):
        written = self.writer.write_some()
        self.engine.drain()
        return written

    def records(self, artifact_id="deploy"):
        return self.engine.records(f"m/{artifact_id}")

    def synopsis(self, artifact_id="deploy"):
        first = self.records(artifact_id)[0]
        return first["text"] if first["kind"] == "synopsis" else None


def test_every_artifact_gets_one_ahead_of_its_surfaces_and_is_found_by_it():
    made = Setting()
    assert made.synopsis() is None
    assert made.write() == 2
    kinds = [record["kind"] for record in made.records()]
    assert kinds == ["synopsis", "capability"]
    made.model.reply = "About cranes and harbours."
    assert made.write() == 0
    assert len(made.model.prompts) == 2
    assert made.engine.search("synopsis").results


def test_a_synopsis_leaves_expected_prompts_written_for_the_text_that_an_artifact_has():
    made, given = Setting(), {"deploy": Expected.from_prompts(["lift the containers"])}
    PromptsObserver.find_in(made.engine.state.addons).hand_in("m", AGENT, given)
    made.engine.drain()
    assert made.write() == 2
    prompts, contents = made.engine.ledger.prompts, made.engine.ledger.artifacts.list_contents
    assert prompts.list_outdated("m", "deploy") == set()
    assert not any(each.is_outdated for each in prompts.list_held("m"))
    assert contents("m", given) == prompts.list_written_for("m", AGENT)
    made.items["deploy"] = {**SKILLS["deploy"], "description": "Deploy it elsewhere"}
    made.build()
    assert prompts.list_outdated("m", "deploy") == {AGENT}


def test_copies_of_one_text_are_joined_where_both_have_the_same_synopsis():
    made = Setting({"a": SKILLS["deploy"], "b": SKILLS["deploy"]})
    assert len(made.engine.search("crane").results) == 1
    made.write()
    assert len(made.engine.search("crane").results) == 1


def test_only_what_changed_is_asked_again_and_the_old_one_serves_meanwhile():
    made = Setting()
    made.write()
    made.items["deploy"] = {**SKILLS["deploy"], "description": "Deploy it elsewhere"}
    made.engine.writer.reconfigure([replace(made.corpus, source=InMemory(made.items))])
    made.engine.drain()
    assert made.records()[1]["text"].endswith("elsewhere")
    assert made.synopsis() == "A synopsis."
    made.now += 3_600
    made.model.reply = "Another one."
    assert made.write() == 1
    assert (made.synopsis(), made.synopsis("review")) == ("Another one.", "A synopsis.")


def test_a_full_reading_keeps_them_and_a_corpus_without_them_loses_them():
    made = Setting()
    made.write()
    made.build(full=True)
    assert made.synopsis() == "A synopsis."
    made.engine.writer.reconfigure([replace(made.corpus, synopsis=False)])
    made.engine.drain()
    assert made.synopsis() is None


def test_another_model_writes_anew_what_the_one_before_wrote():
    made = Setting()
    made.write()
    state = made.engine.state
    state.options = replace(state.options, model=ModelEndpoint("http://127.0.0.1:9/v1", "large"))
    again = SynopsisWriter(state, SynopsisBudget())
    assert again.write_some() == 2


def test_synopses_wait_for_the_quiet_hours_and_maintenance_says_so():
    made = Setting()
    state = made.engine.state
    noon = datetime.fromtimestamp(made.now).replace(hour=12, minute=0).timestamp()
    made.now = noon + 24 * 3_600
    state.options = replace(state.options, quiet=parse_quiet_hours("02:00-06:00"))
    (task,) = (each for each in made.engine.maintain("m") if each.work == "synopsis")
    assert (task.due, task.job) == (False, 0)
    assert task.reason.endswith("put off until the quiet hours, 02:00 to 06:00")
    made.engine.drain()
    assert (made.write(), made.model.prompts, made.synopsis()) == (0, [], None)
    made.now += 15 * 3_600
    assert made.write() == 2
    (task,) = (each for each in made.engine.maintain("m", True) if each.work == "synopsis")
    assert task.reason == "asked for while nothing else is to be done"


@pytest.mark.parametrize("busy", ["request", "change", "job"])
def test_nothing_is_asked_unless_all_is_quiet(busy):
    made = Setting()
    if busy == "request":
        made.host.idle = 5.0
    elif busy == "change":
        made.engine.request(Job("reconcile", "m", ScanRequest(("/m",))))
        made.engine.drain()
    else:
        made.engine.request(Job("compact"))
    assert made.writer.write_some() == 0
    assert made.model.prompts == []


def test_no_more_are_asked_than_a_day_allows_and_the_next_day_goes_on():
    made = Setting(a_day=1)
    assert [made.write(), made.write()] == [1, 0]
    made.now += 86_400
    assert [made.write(), made.write()] == [1, 0]
    assert made.synopsis() == made.synopsis("review") == "A synopsis."
    assert Setting(a_day=0).write() == 0


def test_a_model_that_fails_leaves_everything_as_it_is_and_is_asked_later():
    made = Setting()
    made.model.reply = Unavailable("it is down", "")
    assert made.write() == 0
    assert (
        made.synopsis(),
        ModelObserver.find_in(made.engine.state.addons).summarizer.problem,
    ) == (
        None,
        "it is down",
    )
    made.model.reply = "A synopsis."
    made.now += 60
    assert made.write() == 2


def test_what_gives_no_synopsis_is_not_asked_again_and_counts():
    made = Setting(a_day=3)
    made.model.reply = " "
    assert [made.write(), made.write()] == [2, 0]
    assert made.synopsis() is None
    assert len(made.model.prompts) == 2
    assert made.engine.ledger.synopses.count_requests(int(made.now // 86_400)) == 2


def test_an_artifact_that_is_gone_takes_its_synopsis_with_it():
    made = Setting()
    made.write()
    left = {"review": SKILLS["review"]}
    made.engine.writer.reconfigure([replace(made.corpus, source=InMemory(left))])
    made.engine.drain()
    assert made.engine.ledger.synopses.find("m", "deploy", "synopsis") is None


def test_of_a_skill_the_body_is_shown_and_of_a_package_name_description_and_readme():
    made = Setting()
    assert read_text(made.engine.ledger, made.corpus, "deploy") == (
        "deploy\n\nDeploy it\n\nUse the crane tool."
    )
    packages = {"pkg": {"name": "pkg", "description": "Dates", "readme": "Long", "deps": ["numpy"]}}
    of_packages = Setting(packages, Package(embed_deps=True))
    text = read_text(of_packages.engine.ledger, of_packages.corpus, "pkg")
    assert text == "pkg: Dates\n\nLong"


def test_a_text_for_the_model_holds_no_secret():
    password = "password = hunter2-hunter2"
    made = Setting({"a": {"name": "a", "description": "A", "text": password}})
    made.write()
    (prompt,) = made.model.prompts
    assert "hunter2-hunter2" not in prompt
