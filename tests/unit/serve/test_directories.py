"""New directories: only where the configuration allows them, and told before it is done."""

import pytest

from irclient.errors import Denied, NotFound, QueryError
from irdaemon.serve.access import Scope
from irdaemon.serve.directories import doc_index
from irdaemon.serve.ops import OPS, narrowed
from tests.support.corpora import engine, mapped


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
    return doc_index(made, {"directory": str(directory), **more})


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
    with pytest.raises(Denied):
        narrowed(Scope("agent", frozenset({"m"})), OPS["doc_index"], {}, made.corpora)
