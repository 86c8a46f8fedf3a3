import pytest

from irdaemon.source.reports import Reports
from irdaemon.types import Root, Scan


@pytest.fixture
def projects(tmp_path):
    def write(*paths):
        for path in paths:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text("# Title\n")
        return Reports((Root(str(tmp_path)),), {})

    return write


def keys(scan):
    return [entry.key for entry in scan.entries]


def test_docs_of_projects_two_and_three_levels_down_are_found_at_any_depth(projects):
    paths = [
        "g/kind/p/docs/d.md",
        "g/kind/p/misc/docs/e.md",
        "g/p/docs/a.md",
        "g/p/docs/deep/er/b.md",
        "g/p/misc/docs/c.md",
    ]
    scan = projects(*paths).scan()
    assert keys(scan) == paths
    assert scan.covered == ("",)


def test_markdown_elsewhere_in_projects_is_left_out(projects):
    others = ("docs/a.md", "g/docs/a.md", "g/p/a.md", "g/p/misc/a.md", "g/p/src/x/docs/a.md")
    assert keys(projects(*others).scan()) == []


def test_names_in_capitals_and_other_types_are_left_out(projects):
    others = ("README.md", "CHANGE_LOG.md", "a.txt")
    source = projects(*(f"g/p/docs/{name}" for name in ("notes.md", "Readme.md", *others)))
    assert keys(source.scan()) == ["g/p/docs/Readme.md", "g/p/docs/notes.md"]


def test_what_docs_folders_hold_beside_reports_is_counted_by_reason(projects):
    names = ("notes.md", "README.md", "a.txt", "b.TXT", "vendor/v.md", ".x/h.md")
    scan = projects(*(f"g/p/docs/{name}" for name in names), "g/p/src/a.py").scan()
    assert scan.left_out == {
        "named in capitals": 1,
        "not Markdown: .txt": 2,
        "hidden or vendored directory": 2,
    }


def test_hidden_and_vendored_directories_are_left_out(projects):
    assert keys(projects(*(f"g/p/docs/{d}/a.md" for d in (".x", "vendor", ".venv"))).scan()) == []


def test_directories_left_out_by_name_are_not_looked_into(projects, tmp_path):
    nested = ("g/p/docs/deep/old/a.md", "g/p/docs/old/b.md", "g/p/docs/deep/c.md")
    projects("g/p/docs/a.md", "g/old/docs/a.md", *nested)
    source = Reports((Root(str(tmp_path)),), {"exclude": ["old"]})
    assert keys(source.scan()) == ["g/p/docs/a.md", "g/p/docs/deep/c.md"]


@pytest.mark.parametrize("path", ["g/p/docs/x/a.md", "g/p/misc/docs/a.md", "g/k/p/docs/a.md"])
def test_a_report_names_its_project_and_place(projects, path):
    source = projects(path)
    (artifact,) = source.read(source.scan().entries[0]).artifacts
    assert artifact.artifact_id == path
    assert artifact.name == "Title"
    assert artifact.metadata["project"] == "p"
    assert artifact.metadata["path"] == path
    assert artifact.metadata["filename"] == "a.md"


def test_a_changed_report_is_about_itself_alone(projects, tmp_path):
    source = projects("g/p/docs/a.md", "g/p/docs/b.md")
    changed = str(tmp_path / "g/p/docs/a.md")
    scan = source.scan(changed)
    assert (keys(scan), scan.covered) == (["g/p/docs/a.md"], (changed,))


def test_other_changed_files_are_no_concern(projects, tmp_path):
    source = projects("g/p/docs/a.md", "g/p/docs/README.md", "g/p/b.py")
    for path in ("g/p/docs/README.md", "g/p/b.py", "../elsewhere.md"):
        assert source.scan(str((tmp_path / path).resolve())) == Scan((), ())


def test_a_missing_root_is_a_problem(tmp_path):
    scan = Reports((Root(str(tmp_path / "gone")),), {}).scan()
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "gone")]
