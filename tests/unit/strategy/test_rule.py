"""A rule is found by what it says of itself, by the files it holds for, and by its text."""

from irdaemon.strategy.kinds import Rule

RULE = {"name": "api", "description": "REST conventions", "globs": ["*.ts"], "text": "Use zod."}


def test_a_rule_is_its_description_and_its_text_in_chunks():
    plan = Rule().decompose("id", RULE, {"scope": "project"})
    description, text = plan.surfaces
    assert (description.kind, description.text) == ("description", "api: REST conventions")
    assert (text.kind, text.text) == ("chunk", "Use zod.")
    assert plan.filter_fields == {"name": "api", "scope": "project"}


def test_the_files_it_holds_for_are_words_and_not_embedded():
    description = Rule().decompose("id", {**RULE, "globs": ["*.ts", "src/**"]}).surfaces[0]
    assert description.lexical == "*.ts src/**"
    assert "src" not in description.text


def test_a_rule_that_does_not_describe_itself_is_its_text_alone():
    plan = Rule().decompose("id", {"text": "# Tests\n\nRun them.\n\n# Style\n\nBe brief.\n"})
    assert [surface.metadata["heading"] for surface in plan.surfaces] == ["Tests", "Style"]
    assert plan.filter_fields["name"] == "id"
    assert [surface.text for surface in Rule().decompose("id", "Be brief.").surfaces] == [
        "Be brief."
    ]
