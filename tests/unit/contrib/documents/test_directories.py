"""New directories: only where the configuration allows them, and told before it is done."""

import pytest

from irclient.errors import Denied, NotFound, QueryError, Unavailable
from irdaemon.config.config import parse_config
from irdaemon.config.corpus import make_corpora
from irdaemon.serve.access import Scope
from irdaemon.serve.ops import OPS, fill_args, narrow_args
from tests.support.corpora import engine, mapped
from tests.support.serving import run


class Configured:
    """A host that makes the corpus which a text of configuration names."""

    def preview(self, name, kind, roots):
        text = f"known = false\n[corpora.{name}]\nkind = '{kind}'\nroots = {list(roots)}\n"
        (corpus,) = make_corpora(parse_config(text, "/nowhere.toml"))
        return corpus


class Allowing:
    """A host with directories below which clients may add."""

    writes = False

    def __init__(self, *roots):
        self.document_roots = [str(root) for root in roots]
        self.added = []

    def add(self, *given):
        self.added.append(given)
        return [7]


@pytest.fixture
def projects(tmp_path):
    for name in ("tickets/one.md", "tickets/closed/two.txt", "tickets/photo.raw", ".secret/x.md"):
        path = tmp_path / "projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    return tmp_path / "projects"


@pytest.fixture
def made(projects):
    made = engine(mapped({"a": "x"}))
    made.state.host = Allowing(projects)
    return made


def indexed(made, directory, **more):
    return run("doc_index", made, {"directory": str(directory), **more})


def test_a_directory_below_an_allowed_one_becomes_a_corpus_called_after_it(made, projects):
    done = indexed(made, projects / "tickets")
    assert (done.corpus, done.files, list(done.jobs)) == ("tickets", 2, [7])
    assert sorted(done.first) == ["closed/two.txt", "one.md"]
    assert sum(done.left_out.values()) == 1
    assert made.host.added == [("tickets", "files", [str(projects / "tickets")], {})]


def test_a_dry_run_tells_the_same_and_changes_nothing(made, projects):
    done = indexed(made, projects / "tickets", dry_run=True)
    assert (done.files, list(done.jobs), made.host.added) == (2, [], [])


def test_a_pattern_and_what_is_not_recursive_narrow_it(made, projects):
    flat = indexed(made, projects / "tickets", recursive=False)
    texts = indexed(made, projects / "tickets", pattern="**/*.txt")
    assert (list(flat.first), list(texts.first)) == (["one.md"], ["closed/two.txt"])
    assert [given[3] for given in made.host.added] == [
        {"exclude": ["*/"]},
        {"pattern": ["**/*.txt"]},
    ]


def test_what_is_not_allowed_hidden_no_directory_or_a_link_away_is_refused(
    made, projects, tmp_path
):
    (projects / "away").symlink_to(tmp_path)
    for given, error in (
        (tmp_path, NotFound),
        (projects / "..", NotFound),
        (projects / "away", NotFound),
        (projects / "missing", NotFound),
        (projects / "tickets" / "one.md", NotFound),
        (projects / ".secret", QueryError),
        ("tickets", QueryError),
        ("/x\0", QueryError),
    ):
        with pytest.raises(error):
            indexed(made, given)
    with pytest.raises(QueryError):
        indexed(made, projects / "tickets", pattern="a\nb")
    assert made.host.added == []


def test_where_nothing_is_allowed_the_owner_is_named_who_can_add_it(made, projects):
    made.state.host = Allowing()
    with pytest.raises(NotFound) as caught:
        indexed(made, projects / "tickets")
    assert f"irc add NAME files {projects / 'tickets'}" in caught.value.hint


def test_a_limited_client_adds_no_directory(made, projects):
    args = fill_args("doc_index", {})
    with pytest.raises(Denied):
        narrow_args(Scope("agent", frozenset({"m"})), OPS["doc_index"], args, made.corpora)


def previewed(made, *roots, name="p", kind="files"):
    made.state.host = Configured()
    args = {"name": name, "kind": kind, "roots": [str(root) for root in roots]}
    return run("preview", made, args)


def test_a_preview_counts_what_would_be_indexed_and_what_not_and_names_some(made, projects):
    found = previewed(made, projects / "tickets")
    assert (found.corpus, found.kind, found.items) == ("p", "files", 2)
    assert list(found.roots) == [str(projects / "tickets")]
    assert sorted(found.first) == ["closed/two.txt", "one.md"]
    assert sum(found.left_out.values()) == 1
    assert set(made.corpora) == {"m"}
    assert not made.state.work.queued


def test_a_preview_names_the_first_twenty_and_counts_all(made, tmp_path):
    (tmp_path / "many").mkdir()
    for number in range(25):
        (tmp_path / "many" / f"{number}.md").write_text("text")
    found = previewed(made, tmp_path / "many")
    assert (found.items, len(found.first)) == (25, 20)


def test_a_preview_says_what_could_not_be_looked_at(made, tmp_path):
    found = previewed(made, tmp_path / "none")
    assert (found.items, len(found.problems)) == (0, 1)
    assert str(tmp_path / "none") in found.problems[0]


def test_a_preview_is_refused_without_a_configuration_and_to_a_limited_client(made):
    plain = engine(mapped({"a": "x"}))
    with pytest.raises(Unavailable, match="no configuration file"):
        run("preview", plain, {"name": "p", "kind": "files", "roots": []})
    args = fill_args("preview", {})
    with pytest.raises(Denied):
        narrow_args(Scope("agent", frozenset({"m"})), OPS["preview"], args, made.corpora)
