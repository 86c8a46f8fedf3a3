"""A skill is one surface of its name and description."""

from irdaemon.strategy.kinds import BODY_CHARS, Skill


def test_a_skill_is_always_one_surface_of_name_and_description():
    raw = {"name": "pdf", "description": "Fill forms", "text": "Use qpdf.", "parent": "docs"}
    plan = Skill().decompose("id", raw, {"scope": "user"})
    (surface,) = plan.surfaces
    assert (surface.kind, surface.granularity) == ("capability", "field")
    assert surface.text == "pdf\n\nFill forms"
    assert surface.lexical == "Use qpdf."
    assert plan.filter_fields == {"name": "pdf", "parent": "docs", "scope": "user"}
    assert len(Skill().decompose("bare", {}).surfaces) == 1
    assert Skill(read_body=False).decompose("id", raw).surfaces[0].lexical == ""


def test_a_skill_without_a_name_is_called_by_its_id():
    plan = Skill().decompose("docs/fill", {"description": "Fill forms"})
    assert plan.surfaces[0].text == "docs/fill\n\nFill forms"
    assert plan.filter_fields["name"] == "docs/fill"


def test_only_the_beginning_of_a_body_is_read_and_further_words_stand_behind_it():
    raw = {"name": "x", "text": "body", "lexical": "page_count"}
    assert Skill().decompose("x", raw).surfaces[0].lexical == "body\npage_count"
    long = Skill().decompose("x", {"name": "x", "text": "y" * (BODY_CHARS + 5)})
    assert len(long.surfaces[0].lexical) == BODY_CHARS


def test_what_the_source_says_goes_before_what_the_text_says():
    plan = Skill().decompose("id", {"name": "own"}, {"name": "given"})
    assert plan.filter_fields["name"] == "given"
