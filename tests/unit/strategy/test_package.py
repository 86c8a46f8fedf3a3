"""A package is its description, chunks of its README, and what it depends on."""

from irdaemon.strategy.package import Package, bare_name, deps_text


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


def test_a_package_without_deps_has_no_deps_surface_and_empty_parts_are_dropped():
    assert kinds(Package(embed_deps=True).decompose("id", {"name": "x"})) == ["description"]
    assert Package().decompose("id", {"name": "x", "deps": ["a"]}).surfaces[0].text == "x"


def test_bare_names_lose_version_extras_and_marker_and_are_listed_once():
    assert bare_name("PyPDF[crypto]>=4; python_version>'3'") == "pypdf"
    assert bare_name("@babel/core ^7.0.0") == "@babel/core"
    assert deps_text(["a>1", "B", "a", "c @ git+x"]) == "Depends on: a, b, c"
    assert deps_text([]) == ""


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
