import os
from dataclasses import replace
from pathlib import Path

import pytest

from irclient.types import plain_data
from irclient.wire import Request, read_reply
from irdaemon.config.sections import Config, ProjectsConfig, ServeConfig
from irdaemon.engine.changes import list_project_jobs
from irdaemon.engine.projects import name_part
from irdaemon.serve.access import WHOLE, Scope
from irdaemon.serve.ops import choose_cost, handle
from tests.support.corpora import LATER, engine, locate_by_git, skills, write_skill

AGENT = Scope("agent")
LIMITED = Scope("agent", frozenset(("skills",)))


@pytest.fixture(autouse=True)
def located(monkeypatch):
    for module in ("projects", "project_parts"):
        monkeypatch.setattr(f"irdaemon.engine.{module}.locate_project", locate_by_git)


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    write_skill(root / ".claude" / "skills" / "stripe", "take payments with stripe")
    return str(root)


@pytest.fixture
def made(tmp_path):
    write_skill(tmp_path / "home" / "pdf", "fill in pdf forms")
    config = Config("irdaemon.toml", str(tmp_path), embedder="hashing", projects=ProjectsConfig())
    own = skills(tmp_path / "home", name="skills")
    made = engine(own, path=str(tmp_path / "l.sqlite"), clock=lambda: LATER, projects=config)
    made.maintain()
    made.drain()
    yield made
    made.ledger.close()


def ask(made, op, scope=WHOLE, **args):
    reply = read_reply(handle(made, Request(1, op, args), scope, ServeConfig()))
    if reply.error is not None:
        raise reply.error
    return plain_data(reply.result)


def find(made, scope=WHOLE, **args):
    answer = ask(made, "search", scope, text="take payments with stripe", **args)
    return [hit["name"] for hit in answer["results"] if "stripe" in hit["artifact_id"]]


def test_a_query_from_an_unseen_place_is_a_workers_and_from_a_known_one_the_loops(made, shop):
    def place(path):
        request = Request(1, "discover", {"text": "pdf", "place": path})
        return choose_cost(request, knows=made.state.projects.is_known)

    assert place(shop) == "slow"
    assert place("") == "quick"
    ask(made, "search", text="pdf", place=shop)
    assert place(shop) == "quick"


def test_what_may_narrow_sessions_to_a_time_reads_them_all_and_is_no_loops():
    assert choose_cost(Request(1, "discover", {"text": "what did we do yesterday"})) == "heavy"
    assert choose_cost(Request(1, "discover", {"text": "what do we do"})) == "quick"
    assert choose_cost(Request(1, "discover", {"text": 7})) == "quick"


def test_what_a_project_has_is_found_from_it_once_it_was_read(made, shop):
    first = ask(made, "search", text="take payments", place=shop)
    assert first["freshness"]["reading"] == first["project"] == "shop"
    made.drain()
    assert find(made, place=shop)
    assert not find(made)
    assert not find(made, place=os.path.dirname(shop))


@pytest.mark.parametrize("scope", [AGENT, LIMITED, replace(LIMITED, read_only=True)])
def test_of_any_other_client_the_place_is_ignored(made, shop, scope):
    ask(made, "search", text="take payments", place=shop)
    made.drain()
    assert find(made, place=shop)
    assert not find(made, scope, place=shop)
    assert ask(made, "search", scope, text="pdf", place="/nowhere")["results"]


@pytest.mark.parametrize("scope", [AGENT, LIMITED])
def test_no_other_client_is_told_that_an_item_is_a_projects(made, shop, scope):
    ask(made, "search", text="take payments", place=shop)
    made.drain()
    reference = f"skills/{_find_id(made, shop)}"
    assert ask(made, "disclose", references=[reference], place=shop)
    with pytest.raises(Exception, match="belongs to shop"):
        ask(made, "disclose", references=[reference])
    told = ask(made, "explain", text="pdf", item=reference)["item"]
    assert told["why"] == "out of scope: belongs to shop"
    for op, args in (
        ("disclose", {"references": [reference]}),
        ("records", {"reference": reference}),
        ("explain", {"text": "pdf", "item": reference}),
    ):
        with pytest.raises(Exception, match="no artifact") as caught:
            ask(made, op, scope, **args, place=shop)
        assert "belongs" not in f"{caught.value} {caught.value.hint}"
    assert all(
        "shop" not in row["artifact_id"] for row in ask(made, "artifacts", scope, corpus="skills")
    )


def _find_id(made, root):
    rows = made.snapshot.parts[name_part("skills", root)].rows
    return rows.cards[next(iter(rows.list_owners()))].artifact_id


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("usage", {}),
        ("uses", {"corpus": "skills"}),
        ("usage_forget", {"everything": True}),
        ("gaps", {}),
        ("listing", {}),
    ],
)
@pytest.mark.parametrize("scope", [LIMITED, AGENT])
def test_no_client_but_the_daemons_own_user_asks_about_use(made, op, args, scope):
    with pytest.raises(Exception, match="not allowed"):
        ask(made, op, scope, **args)


@pytest.mark.parametrize("scope", [LIMITED, AGENT])
def test_the_status_for_any_other_client_counts_no_projects(made, shop, scope):
    made.state.projects.locate(shop)
    made.drain()
    whole = ask(made, "status")
    assert whole["projects"]["known"] == 1
    told = ask(made, "status", scope)
    assert "projects" not in told
    assert ("ledger" in told) == scope.whole


@pytest.mark.parametrize("op", ["here", "projects", "add_project", "forget_project", "reads"])
@pytest.mark.parametrize("scope", [LIMITED, replace(AGENT, read_only=True), AGENT])
def test_no_client_but_the_daemons_own_user_asks_about_projects(made, shop, op, scope):
    args = {
        "here": {"place": shop},
        "add_project": {"path": shop},
        "forget_project": {"path": shop},
    }
    with pytest.raises(Exception, match="not allowed"):
        ask(made, op, scope, **args.get(op, {}))


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/nowhere", "'/nowhere': it does not exist"),
        ("code/shop", "not an absolute path"),
        ("/a\0b", "NUL"),
        ("/" + "a" * 5_000, "5,001 bytes"),
    ],
)
def test_a_bad_place_is_an_error_that_says_what_is_wrong(made, place, why):
    with pytest.raises(Exception, match=why):
        ask(made, "discover", text="pdf", place=place)


def test_here_tells_the_project_and_what_of_it_is_indexed(made, shop):
    made.state.projects.locate(shop)
    made.drain()
    told = ask(made, "here", place=f"{shop}/.claude")
    assert (told["project"], told["root"], told["reading"]) == ("shop", shop, False)
    assert [(each["corpus"], each["items"]) for each in told["corpora"]] == [
        ("skills", 1),
        ("packages", 0),
    ]
    assert "nothing marks" in ask(made, "here", place=os.path.dirname(shop))["reason"]


def test_a_project_is_added_listed_and_forgotten(made, shop):
    assert ask(made, "add_project", path=shop)["state"] == "reading"
    made.drain()
    (row,) = ask(made, "projects")
    assert (row["root"], row["state"], row["items"]) == (shop, "read", 1)
    assert row["why"] == "irc projects add"
    assert row["size_bytes"] > 0
    assert ask(made, "forget_project", path=f"{shop}/.claude")["items"] == 1
    assert ask(made, "projects") == []
    assert made.ledger.corpora.list_names() == ["skills"]
    with pytest.raises(Exception, match="no project is known"):
        ask(made, "forget_project", path=shop)
    with pytest.raises(Exception, match="lies in no project: nothing marks"):
        ask(made, "add_project", path=os.path.dirname(shop))


def test_every_directory_that_is_read_is_told_with_what_ends_it(made, shop, tmp_path):
    made.state.projects.locate(shop)
    made.drain()
    told = {(each["path"], each["project"]): each for each in ask(made, "reads")}
    assert told[f"{tmp_path}/home", ""]["how_to_end"] == "irc rm skills"
    assert set(told) == {
        (f"{tmp_path}/home", ""),
        (f"{shop}/.claude/skills", "shop"),
        (shop, "shop"),
    }
    assert told[shop, "shop"]["how_to_end"] == f"irc projects forget {shop}"
    assert all(os.path.exists(path) for path, _ in told)


def test_what_a_project_has_is_listed_from_it_alone(made, shop):
    made.state.projects.locate(shop)
    made.drain()
    here = [row["corpus"] for row in ask(made, "artifacts", place=shop)]
    assert here == ["skills", "skills"]
    assert len(ask(made, "artifacts")) == 1
    (first, second) = ask(made, "artifacts", place=shop)
    after = f"{first['corpus']}/{first['artifact_id']}"
    assert ask(made, "artifacts", place=shop, after=after) == [second]
    assert ask(made, "artifacts", place=shop, corpus="skills", limit=1) == [first]


def test_a_marker_in_a_project_is_heard_of_where_the_marker_is_watched(made, shop):
    made.state.projects.locate(shop)
    made.drain()
    Path(shop, ".noirdaemon").touch()
    for job in list_project_jobs((f"{shop}/.noirdaemon",), made.state.projects, made.state.parts):
        made.request(job)
    made.drain()
    assert ask(made, "projects") == []
