"""A package is its description, chunks of its README, and what it depends on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from irdaemon.strategy.kinds import Dependency, Package, describe_dependencies, strip_requirement


def kinds(plan):
    return [surface.kind for surface in plan.surfaces]


def test_a_package_has_its_description_first_and_counts_readme_chunks_apart():
    readme = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(12))
    raw = {"name": "acme", "description": "Does it", "readme": readme, "deps": ["numpy>=1"]}
    plan = Package(embed_deps=True).decompose("id", raw)
    assert plan.surfaces[0].text == "acme: Does it"
    chunks = plan.surfaces[1:-1]
    assert [chunk.metadata["chunk_index"] for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.metadata["n_chunks"] for chunk in chunks} == {len(chunks)}
    assert (plan.surfaces[-1].kind, plan.surfaces[-1].text) == ("deps", "Depends on: numpy")
    assert plan.filter_fields["deps"] == ["numpy>=1"]
    assert plan.filter_fields["has_readme"] is True


def test_keywords_of_the_manifest_are_words_of_the_description():
    plan = Package().decompose("p", {"name": "p"}, {"keywords": ["geodesic", "nearest"]})
    assert plan.surfaces[0].lexical == "geodesic nearest"
    assert plan.surfaces[0].text == "p"


def test_a_package_without_deps_has_no_deps_surface_and_empty_parts_are_dropped():
    assert kinds(Package(embed_deps=True).decompose("id", {"name": "x"})) == ["description"]
    assert Package().decompose("id", {"name": "x", "deps": ["a"]}).surfaces[0].text == "x"


def test_bare_names_lose_version_extras_and_marker_and_are_listed_once():
    assert strip_requirement("PyPDF[crypto]>=4; python_version>'3'") == "pypdf"
    assert strip_requirement("@babel/core ^7.0.0") == "@babel/core"
    assert describe_dependencies(["a>1", "B", "a", "c @ git+x"]) == "Depends on: a, b, c"
    assert describe_dependencies([]) == ""


def test_a_package_without_a_description_is_its_name_and_blank_readmes_are_none():
    plan = Package().decompose("id", {"name": "acme", "readme": " \n"})
    assert [surface.text for surface in plan.surfaces] == ["acme"]
    assert plan.filter_fields["has_readme"] is False


def test_the_words_of_what_it_depends_on_can_be_chosen():
    package = Package(embed_deps=True, deps_template=lambda deps: f"needs {len(deps)}")
    assert package.decompose("id", {"name": "x", "deps": ["a", "b"]}).surfaces[-1].text == "needs 2"


def test_chunks_of_a_readme_keep_to_a_number_of_tokens():
    plan = Package(max_tokens=5).decompose("id", {"name": "x", "readme": "one two three " * 20})
    assert all(len(surface.text.split()) <= 5 for surface in plan.surfaces[1:])


NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)
EXTRAS = st.sampled_from(["", "[socks]", " [a, b_c]", "[ ]"])
VERSIONS = st.sampled_from(
    [
        "",
        ">=1",
        " (>=1,<2)",
        "~= 1.4.2",
        " === local+1",
        "!=2.*,<3",
        "\t==1",
        " @ https://a.b/c.whl",
    ]
)
MARKERS = st.sampled_from(
    ["", " ; python_version<'3'", " ; extra == 'x'", " ; (os_name=='nt' and extra=='y')"]
)


@given(st.tuples(NAMES, EXTRAS, VERSIONS, MARKERS))
def test_the_bare_name_of_a_python_requirement_is_the_one_that_packaging_finds(parts):
    requirement = "".join(parts)
    assert strip_requirement(requirement) == Requirement(requirement).name.lower()


@pytest.mark.parametrize(
    ("requirement", "name"),
    [("@babel/core ^7.0.0", "@babel/core"), ("serde 1", "serde"), ("a.b/c v1.2.3", "a.b/c")],
)
def test_the_bare_name_of_what_is_no_python_requirement_ends_before_its_version(requirement, name):
    assert strip_requirement(requirement) == name


def test_a_dependency_is_what_describes_it_and_is_found_by_readme_and_exported_names():
    raw = {
        "name": "qrcode",
        "description": "Draws QR codes",
        "keywords": ["barcode", "svg"],
        "readme": "# QR\n\nLong text",
        "exports": "toDataURL toString",
        "deps": ["pngjs ^5"],
    }
    plan = Dependency().decompose("~/code/shop#npm/qrcode", raw, {"ecosystem": "npm"})
    (surface,) = plan.surfaces
    assert surface.kind == "description"
    assert surface.text == "qrcode: Draws QR codes (barcode, svg)"
    assert surface.lexical == "toDataURL toString\n# QR\n\nLong text"
    listed = Dependency().decompose("x", {**raw, "exports": ["toDataURL", "toString"]})
    assert listed.surfaces[0].lexical == surface.lexical
    assert plan.filter_fields == {
        "name": "qrcode",
        "has_readme": True,
        "deps": ["pngjs ^5"],
        "ecosystem": "npm",
    }


def test_a_dependency_of_which_the_name_alone_is_known_is_found_by_that():
    plan = Dependency().decompose("x", {"name": "left-pad"})
    assert [(surface.kind, surface.text) for surface in plan.surfaces] == [
        ("description", "left-pad")
    ]
    assert plan.filter_fields["has_readme"] is False


def test_what_describes_a_dependency_does_not_quote_its_readme_and_has_few_keywords():
    raw = {"name": "x", "readme": "SECRETWORD", "keywords": [f"k{n}" for n in range(500)]}
    described = Dependency().decompose("x", raw).surfaces[0]
    assert "SECRETWORD" not in described.text
    assert described.text.endswith("k19)")


def test_what_a_package_says_itself_stands_in_a_record_of_its_own_under_the_same_text():
    raw = {"name": "x", "description": "Does it", "aliases": "yml", "words": "no such rung\nClimbs"}
    described, own = Dependency().decompose("x", raw).surfaces
    assert (described.text, described.lexical) == ("x: Does it", "yml")
    assert (own.kind, own.text, own.lexical) == ("own_words", "x: Does it", "no such rung\nClimbs")
    assert kinds(Dependency(own_words=False).decompose("x", raw)) == ["description"]
