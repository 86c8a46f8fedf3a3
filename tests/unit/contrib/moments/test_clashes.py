"""Items that an agent can mistake for one another are listed, copies are not."""

import pytest

from irclient.errors import Denied, NotFound
from irdaemon.engine.queue import Job
from irdaemon.serve.access import Scope
from irdaemon.strategy import Skill
from tests.support.corpora import engine, skills
from tests.support.operations import ask


def write(directory, folder, name, description):
    path = directory / folder / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n# Steps\n")


def clashes(directory, *items, **args):
    """Index skills, given as (folder, name, description); return their clashes."""
    for folder, name, description in items:
        write(directory, folder, name, description)
    made = engine(skills(directory, name="skills", strategy=Skill()))
    made.request(Job("reconcile", "skills"))
    made.drain()
    return made, ask(made, "clashes", **args)


FORM = "Fill in the fields of a PDF form and check them against the original scan"
OTHER = "Fill in the fields of a PDF form and check them against the signed scan"


def test_one_name_with_two_texts_is_a_clash(tmp_path):
    items = ("a/Deploy_App", "Deploy_App", "to the cluster"), ("b/x", "deploy-app", "to the web")
    (found,) = clashes(tmp_path, *items)[1]
    assert (found["kind"], found["share"], len(found["references"])) == ("name", 1.0, 2)


def test_names_in_another_case_are_one_name_and_clash_once(tmp_path):
    items = ("a/Fill-Form", "Fill-Form", FORM), ("b/fill_form", "fill_form", OTHER)
    assert [each["kind"] for each in clashes(tmp_path, *items)[1]] == ["name"]


def test_copies_of_one_text_are_none(tmp_path):
    assert clashes(tmp_path, ("a/deploy", "deploy", FORM), ("b/deploy", "deploy", FORM))[1] == []


def test_descriptions_that_say_the_same_are_a_clash(tmp_path):
    items = ("fill", "fill", FORM), ("sign", "sign", OTHER), ("tune", "tune", "Tune slow queries")
    (found,) = clashes(tmp_path, *items)[1]
    assert (found["kind"], found["name"]) == ("description", "fill, sign")
    assert 0.45 <= found["share"] < 1


def test_descriptions_about_other_things_are_none(tmp_path):
    other = "Fill the water tank of the coffee machine and clean the filter every other week"
    assert clashes(tmp_path, ("fill", "fill", FORM), ("tank", "tank", other))[1] == []
    assert clashes(tmp_path)[1] == []


def test_a_corpus_that_is_not_there_and_another_client_are_refused(tmp_path):
    made, _ = clashes(tmp_path, ("fill", "fill", FORM))
    assert ask(made, "clashes", corpus="skills") == []
    with pytest.raises(NotFound):
        ask(made, "clashes", corpus="nothing")
    with pytest.raises(Denied):
        ask(made, "clashes", Scope("other"))
