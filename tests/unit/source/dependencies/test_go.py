"""Dependencies of Go's modules: go.mod, go.work and the module cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.dependencies import Options, find_dependencies
from irdaemon.source.dependencies.go import read_go
from irdaemon.source.packages.gomod import list_directives
from tests.support.installed import write

GIN = "github.com/gin-gonic/gin"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def root(tmp_path):
    return tmp_path / "shop"


def download(cache, spelled, doc="// Package gin serves HTTP.\npackage gin\n"):
    """Put a module into the cache under its spelled name and version."""
    return write(cache / spelled / "doc.go", doc).parent


def find(root):
    return {each.name: each for each in find_dependencies(str(root), "go", Options()).dependencies}


def test_what_is_required_directly_has_its_version_and_the_text_of_the_cache(root, cache):
    write(
        root / "go.mod",
        f"module example.com/shop\n\ngo 1.22\n\nrequire {GIN} v1.9.1\nrequire (\n"
        "\tgolang.org/x/text v0.14.0\n\tgolang.org/x/net v0.20.0 // indirect\n)\n",
    )
    home = download(cache, f"{GIN}@v1.9.1")

    found = find(root)

    assert set(found) == {"example.com/shop", GIN, "golang.org/x/text"}
    assert found["example.com/shop"].own
    assert (found[GIN].version, found[GIN].origin) == ("v1.9.1", "installed")
    assert found[GIN].directory == str(home)
    assert found["golang.org/x/text"].origin == "locked"


def test_capitals_are_spelled_as_the_cache_has_them(root, cache):
    write(root / "go.mod", "module a.b/c\nrequire github.com/BurntSushi/toml v1.3.2\n")
    home = download(cache, "github.com/!burnt!sushi/toml@v1.3.2")

    assert find(root)["github.com/BurntSushi/toml"].directory == str(home)


def test_a_replacement_counts_where_it_leads_back_into_the_project(root, cache, tmp_path):
    write(tmp_path / "outside/go.mod", "module a.b/outside\n")
    write(root / "lib/go.mod", "module a.b/lib\n")
    write(
        root / "go.mod",
        "module a.b/c\nrequire (\n\ta.b/lib v1.0.0\n\ta.b/outside v1.0.0\n\ta.b/old v1.0.0\n)\n"
        f"replace a.b/lib => ./lib\nreplace (\n\ta.b/outside v1.0.0 => ../outside\n"
        f"\ta.b/old => {GIN} v1.9.1\n)\n",
    )
    home = download(cache, f"{GIN}@v1.9.1")

    found = find(root)

    assert (found["a.b/lib"].directory, found["a.b/lib"].own) == (str(root / "lib"), True)
    assert (found["a.b/outside"].directory, found["a.b/outside"].version) == ("", "")
    assert (found["a.b/old"].directory, found["a.b/old"].version) == (str(home), "v1.9.1")
    assert found["a.b/old"].note == f"replaced by {GIN}"


def test_modules_of_a_go_work_are_the_projects_own(root, cache, tmp_path):
    write(tmp_path / "outside/go.mod", "module a.b/outside\nrequire a.b/x v1.0.0\n")
    write(root / "go.work", "go 1.22\nuse (\n\t./api\n\t./lib\n\t../outside\n)\n")
    write(root / "api/go.mod", f"module a.b/api\nrequire (\n\ta.b/lib v0.0.0\n\t{GIN} v1.9.1\n)\n")
    write(root / "lib/go.mod", f"module a.b/lib\nrequire {GIN} v1.8.0\n")

    found = find(root)

    assert {name for name, each in found.items() if each.own} == {"a.b/api", "a.b/lib"}
    assert set(found) == {"a.b/api", "a.b/lib", GIN}
    assert (found[GIN].version, found[GIN].also) == ("v1.9.1", ("lib/go.mod",))


def test_what_is_vendored_is_read_there(root, cache):
    write(root / "go.mod", f"module a.b/c\nrequire {GIN} v1.9.1\n")
    write(root / f"vendor/{GIN}/gin.go", "package gin\n")

    assert find(root)[GIN].directory == str(root / "vendor" / GIN)


@pytest.mark.parametrize(
    ("name", "version"),
    [(GIN, "../../../outside"), (GIN, "v1/../../../../../outside"), (GIN, "v1\x1b[2J")],
)
def test_a_version_that_is_none_leads_nowhere(root, cache, tmp_path, name, version):
    write(tmp_path / "outside/go.mod", "module a.b/outside\n")
    write(root / "go.mod", f"module a.b/c\nrequire {name} {version}\n")

    assert (find(root)[name].version, find(root)[name].directory) == ("", "")


def test_names_that_no_module_can_have_are_left_out_and_counted(root, cache):
    write(root / "go.mod", "module a.b/c\nrequire (\n\t../up v1.0.0\n\ta.b/\x1b[2J v1.0.0\n)\n")

    found = find_dependencies(str(root), "go", Options())

    assert [each.name for each in found.dependencies] == ["a.b/c"]
    assert found.left_out == {"no name of a module of Go": 2}


def test_a_module_is_read_by_its_package_comment_readme_and_exported_names(root, cache):
    home = download(cache, "x@v1", "// Package x fills forms.\npackage x\n\nfunc Fill() {}\n")
    write(home / "go.mod", "module a.b/x\nrequire golang.org/x/text v0.14.0\n")
    write(home / "README.md", "# X\n")
    write(home / "form.go", "package x\n\ntype Form struct{}\n\nfunc hidden() {}\n")
    write(home / "form_test.go", "package x\n\nfunc TestFill() {}\n")

    text = read_go(str(home))

    assert text.manifest.description == "Package x fills forms."
    assert text.manifest.deps == ("golang.org/x/text v0.14.0",)
    assert text.readme.text == "# X"
    assert text.exports == ("Fill", "Form")


def test_of_the_time_before_modules_names_are_read_too(root, cache):
    home = write(cache / "x@v1/x.go", "package x\n\nfunc Fill() {}\n").parent

    assert read_go(str(home)).exports == ("Fill",)


LINES = [
    "module a.b/c",
    "require (",
    ")",
    "\tx v1 // indirect",
    "replace a => ./b",
    "=>",
    "require",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(LINES)).map("\n".join)))
def test_any_text_is_a_list_of_directives(source):
    assert all(isinstance(each.verb, str) for each in list_directives(source))


@given(st.lists(st.sampled_from(LINES)).map("\n".join))
def test_any_lines_of_a_go_mod_give_dependencies(tmp_path_factory, source):
    root = tmp_path_factory.mktemp("go")
    write(root / "go.mod", source)

    assert isinstance(find_dependencies(str(root), "go", Options()).dependencies, tuple)
