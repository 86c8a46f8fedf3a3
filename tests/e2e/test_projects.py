"""Projects: what is seen from where, by the real daemon and the real clients."""

import json
import shutil
from dataclasses import replace

import pytest

from irclient import Query
from irclient.errors import NotFound, QueryError
from tests.support.checkouts import Package, add_packages, add_skill, make_project
from tests.support.installed import write
from tests.support.projects import EVERYWHERE, Seen, names_from, read_all, see, settle
from tests.support.prompt_hook import asks
from tests.support.running import Running, until

OWN = {
    Seen("skills", "deploy", ""),
    Seen("skills", "changelog", ""),
}


def text(said):
    return f"{said}, {EVERYWHERE}"


def package(version, description):
    return Package(version, text(description), f"# {description}\n")


def make_two(home):
    """Write two projects that have much in common, one with a nested package of its own."""
    home.skill("deploy", text("Deploy whatever it is"))
    home.skill("changelog", text("Write a changelog from commits"))
    code = home.path / "code"
    shop = make_project(
        code,
        "shop",
        skills={
            "deploy": text("Deploy the shop by its own script"),
            "stripe-payments": text("Take payments of customers with Stripe"),
        },
        packages={
            "zod": package("3.22.4", "Validate schemas of the shop"),
            "stripe": package("14.1.0", "Call the interface of Stripe"),
        },
        docs={"docs/deploy.md": text("# How the shop is deployed")},
        sessions={text("why did the payment of an order fail"): text("The key was old")},
    )
    add_skill(shop / "apps" / "checkout", "checkout-tests", text("Test the checkout in a browser"))
    nested = {"zod": package("3.20.0", "Validate schemas of the checkout")}
    add_packages(shop / "apps" / "checkout", nested, home=home.path)
    blog = make_project(
        code,
        "blog",
        skills={
            "deploy": text("Deploy the blog to pages"),
            "stripe-donations": text("Take donations of readers with Stripe"),
        },
        packages={
            "zod": package("3.19.1", "Validate front matter of the blog"),
            "@stripe/stripe-js": package("2.2.0", "Load Stripe in the reader's browser"),
        },
        docs={"docs/deploy.md": text("# How the blog is deployed")},
        sessions={text("why did the payment of a donor fail"): text("The key was old")},
    )
    return shop, blog


@pytest.fixture(scope="module")
def two(module_home):
    """Give two projects that are read, and a daemon for all tests that leave them as they are."""
    shop, blog = make_two(module_home)
    with Running(module_home) as running:
        read_all(module_home, running, (shop, blog, shop / "apps" / "checkout"))
        module_home.shop, module_home.blog = shop, blog
        yield module_home


@pytest.fixture
def client(two):
    with two.client() as client:
        yield client


SHOP = {
    Seen("skills", "deploy", "shop"),
    Seen("skills", "stripe-payments", "shop"),
    Seen("skills", "checkout-tests", "shop"),
    Seen("packages", "zod", "shop"),
    Seen("packages", "stripe", "shop"),
    Seen("docs", text("How the shop is deployed"), "shop"),
}
BLOG = {
    Seen("skills", "deploy", "blog"),
    Seen("skills", "stripe-donations", "blog"),
    Seen("packages", "zod", "blog"),
    Seen("packages", "@stripe/stripe-js", "blog"),
    Seen("docs", text("How the blog is deployed"), "blog"),
}


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ("code/shop", SHOP),
        ("code/shop/docs", SHOP),
        ("code/shop/apps/checkout", SHOP),
        ("code/blog", BLOG),
        ("code/blog/.claude/skills", BLOG),
        ("code", set()),
        ("", set()),
        (".claude", set()),
        ("/", set()),
        ("/tmp", set()),
        (None, set()),
    ],
)
def test_who_sees_what(two, client, place, seen):
    asked = "" if place is None else two.path / place
    found = {each for each in see(client, asked) if each.corpus != "sessions"}
    # Of items that have one name, the nearest stands for the others.
    hidden = {Seen("skills", "deploy", "")} if seen else set()
    assert found == seen | OWN - hidden


def test_each_project_has_its_own_version_of_a_dependency(two, client):
    def find(place):
        asked = Query("zod", corpora=("packages",), place=str(place))
        return client.search(asked).results[0].fields

    assert find(two.shop)["version"] == "3.22.4"
    assert find(two.blog)["version"] == "3.19.1"


def test_of_items_with_one_name_the_nearest_wins_and_names_the_others(two, client):
    for place, said in ((two.shop, "the shop"), (two.blog, "the blog"), ("", "whatever")):
        hit = client.discover(Query("deploy", ("skills",), place=str(place))).results[0]
        assert said in hit.summary
        others = [each for each in hit.duplicates if str(two.path) in each or "~" in each]
        assert bool(others) == bool(place), hit.duplicates
        assert not any("blog" in each for each in hit.duplicates if place == two.shop)


def test_look_alikes_of_another_project_are_not_offered(two, client):
    asked = Query("take payments and donations with Stripe", ("skills",))
    for place, wanted in ((two.shop, "stripe-payments"), (two.blog, "stripe-donations")):
        answer = client.discover(replace(asked, place=str(place)))
        assert [hit.name for hit in answer.results] == [wanted]
        assert answer.project == place.name
    assert not client.discover(asked).results


def is_of_project(hit, *corpora):
    return hit.corpus in corpora and bool(hit.fields.get("project"))


def test_dependencies_are_offered_and_docs_only_where_they_are_asked_for(two, client):
    answer = client.discover(Query("validate schemas of the shop", place=str(two.shop)))
    assert [hit.name for hit in answer.results if is_of_project(hit, "packages")] == ["zod"]
    assert "zod" in asks(two, "zod", session="S zod", cwd=str(two.shop))
    for said in ("validate schemas of the shop", "how the shop is deployed"):
        answer = client.discover(Query(said, place=str(two.shop)))
        assert not [hit for hit in answer.results if is_of_project(hit, "docs")]
    for corpus, said in (("packages", "validate schemas"), ("docs", "how the shop is deployed")):
        answer = client.discover(Query(said, (corpus,), place=str(two.shop)))
        assert [hit.corpus for hit in answer.results] == [corpus]


def test_sessions_of_every_project_are_found_and_its_own_come_first(two, client):
    asked = Query("the payment failed, the key was old", ("sessions",))
    for place in (two.shop, two.blog):
        found = client.search(replace(asked, place=str(place))).results
        assert found[0].fields["cwd"] == str(place)
        assert {hit.fields["cwd"] for hit in found} == {str(two.shop), str(two.blog)}


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_hook_answers_for_the_project_it_is_called_in(two, agent):
    said = "take payments and donations with Stripe"
    told = {
        place: asks(two, said, session=f"{agent} {place}", agent=agent, cwd=str(two.path / place))
        for place in ("code/shop", "code/shop/apps/checkout", "code/blog", "code", "")
    }
    assert '"stripe-payments"' in told["code/shop"]
    assert '"stripe-payments"' in told["code/shop/apps/checkout"]
    assert '"stripe-donations"' in told["code/blog"]
    assert "stripe-donations" not in told["code/shop"] + told["code/shop/apps/checkout"]
    assert "stripe-payments" not in told["code/blog"]
    assert "stripe-" not in told["code"] + told[""]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/not/there", "no such directory"),
        ("code/shop/package.json", "not a directory"),
        ("relative/path", "absolute"),
        ("/" + "x" * 5_000, "4,096"),
        ("/tmp\0/x", "NUL"),
    ],
)
def test_a_bad_place_is_an_error_that_says_so_and_the_hook_is_silent_about_it(
    two, client, place, said
):
    asked = str(two.path / place) if place.startswith("code") else place
    for ask in (client.discover, client.search):
        with pytest.raises(QueryError, match=said):
            ask(Query("take payments with Stripe", place=asked))
    with pytest.raises(QueryError, match=said):
        client.here(asked)
    assert "Error" not in asks(two, "take payments with Stripe", session=place[:90], cwd=asked)


def test_an_item_of_a_project_is_not_found_by_its_reference_from_elsewhere(two, client):
    [hit] = client.discover(Query("take payments", ("skills",), place=str(two.shop))).results
    reference = f"{hit.corpus}/{hit.artifact_id}"
    assert client.disclose([reference], place=str(two.shop))[0].name == "stripe-payments"
    assert client.records(reference, place=str(two.shop / "apps"))
    for place in ("", str(two.blog)):
        for ask in (client.records, lambda each, place: client.disclose([each], place=place)):
            with pytest.raises(NotFound, match="belongs to shop"):
                ask(reference, place=place)
        listed = client.artifacts("skills", limit=1_000, place=place)
        assert hit.artifact_id not in {each.artifact_id for each in listed}


def test_irc_asks_from_where_it_is_run(two):
    words = ("search", EVERYWHERE, "--mode", "lexical", "-k", "100", "--json")

    def names(*options, cwd=None):
        done = two.run("irclient.quick", *words, *options, cwd=cwd)
        return {hit["name"] for hit in json.loads(done.stdout)["results"]}

    assert "stripe-payments" in names(cwd=two.shop / "apps")
    assert "stripe-payments" not in names("--everywhere", cwd=two.shop)
    assert "stripe-donations" in names("--here", str(two.blog), cwd=two.shop)
    assert "stripe-payments" not in names("--here", str(two.blog), cwd=two.shop)


def test_here_says_what_is_indexed_and_projects_lists_what_is_known(two, client):
    here = client.here(str(two.shop / "apps" / "checkout"))
    assert (here.project, here.root, here.reading) == ("shop", str(two.shop), False)
    assert ".git" in here.marks
    assert here.ecosystems == ["npm"] or tuple(here.ecosystems) == ("npm",)
    items = {row["corpus"]: row["items"] for row in here.corpora}
    assert (items["skills"], items["packages"] >= 2, items["docs"]) == (3, True, 1)
    nowhere = client.here(str(two.path))
    assert (nowhere.project, bool(nowhere.reason)) == ("", True)
    assert {row.name: row.state for row in client.projects()} == {"shop": "read", "blog": "read"}


def test_every_directory_that_is_read_of_a_project_is_told_with_what_ends_it(two, client):
    told = [each for each in client.reads() if each.project]
    assert {each.project for each in told} == {"shop", "blog"}
    for each in told:
        assert each.why
        assert each.how_to_end
        assert str(two.shop) in each.path or str(two.blog) in each.path
    assert all("irc projects forget" in each.how_to_end for each in told)


def test_corpora_and_the_status_name_the_persons_own_alone(two, client):
    assert not any("@" in corpus.name for corpus in client.status().corpora)


# -- projects that change -----------------------------------------------------------------------


@pytest.fixture
def shop(home):
    return make_project(
        home.path / "code",
        "shop",
        skills={"stripe-payments": text("Take payments of customers with Stripe")},
        packages={"zod": package("3.22.4", "Validate schemas of the shop")},
    )


@pytest.fixture
def running(home, shop):
    home.skill("changelog", text("Write a changelog from commits"))
    with Running(home) as running:
        running.wait_idle()
        yield running


def test_the_first_answer_in_an_unseen_project_says_that_it_is_being_read(home, shop, running):
    with home.client() as client:
        first = client.discover(Query("take payments of customers", place=str(shop)))
        assert first.project == "shop"
        assert first.results or first.freshness["reading"]
        until(lambda: not client.here(str(shop)).reading)
        settle(home, shop)
        later = client.discover(Query("take payments of customers", place=str(shop)))
        assert [hit.name for hit in later.results] == ["stripe-payments"]
        assert not later.freshness.get("reading")


def test_a_fresh_answer_waits_until_the_project_is_read(home, shop, running):
    asked = Query("take payments", place=str(shop), fresh=True, wait_ms=30_000)
    with home.client() as client:
        assert [hit.name for hit in client.discover(asked).results] == ["stripe-payments"]


def test_what_changes_in_a_project_is_found(home, shop, running):
    settle(home, shop)
    add_skill(shop, "refunds", text("Refund a payment"))
    until(lambda: "refunds" in names_from(home, shop))
    shutil.rmtree(shop / ".claude" / "skills" / "refunds")
    until(lambda: "refunds" not in names_from(home, shop))
    more = {"zod": package("3.22.4", "Validate"), "dayjs": package("1.11.0", "Count days")}
    add_packages(shop, more, home=home.path)
    until(lambda: "dayjs" in names_from(home, shop))
    assert "dayjs" not in names_from(home, "")


def test_another_branch_has_other_items(home, shop, running):
    settle(home, shop)
    write(shop / ".git" / "HEAD", "ref: refs/heads/other\n")
    shutil.rmtree(shop / ".claude")
    shutil.rmtree(shop / "node_modules")
    add_skill(shop, "invoices", text("Write invoices"))
    add_packages(shop, {"dayjs": package("1.11.0", "Count days")}, home=home.path)
    wanted = {"invoices", "dayjs", "changelog"}
    until(lambda: names_from(home, shop) >= wanted)
    until(lambda: not names_from(home, shop) & {"stripe-payments", "zod"})


def test_a_project_that_is_moved_is_another_one(home, shop, running):
    settle(home, shop)
    moved = shop.rename(shop.parent / "store")
    with home.client() as client:
        answer = client.discover(Query("take payments", place=str(moved)))
        assert answer.project == "store"
    settle(home, moved)
    assert "stripe-payments" in names_from(home, moved)
    assert "stripe-payments" not in names_from(home, "")


def test_a_project_that_is_removed_while_it_is_asked_gives_an_answer_or_says_so(
    home, shop, running
):
    settle(home, shop)
    said = set()
    with home.client() as client:
        shutil.rmtree(shop)
        for _ in range(50):
            try:
                client.discover(Query("take payments", place=str(shop)))
            except QueryError as error:
                said.add(str(error))
        client.ping()
    assert all("no such directory" in each for each in said)
    assert "changelog" in names_from(home, "")


def test_a_project_that_is_forgotten_is_seen_no_more_until_it_is_asked_again(home, shop, running):
    settle(home, shop)
    with home.client() as client:
        assert client.forget_project(str(shop)).name == "shop"
        assert not client.projects()
        until(lambda: not client.status().queue)
    settle(home, shop)
    assert "stripe-payments" in names_from(home, shop)


def test_a_crash_during_the_first_reading_loses_nothing(home, shop, running):
    many = {f"package-{number}": package("1.0.0", f"About {number}") for number in range(300)}
    add_packages(shop, many, home=home.path)
    with home.client() as client:
        client.discover(Query("take payments", place=str(shop)))
    running.kill()
    with Running(home) as again:
        read_all(home, again, [shop])
        wanted = {*many, "stripe-payments", "changelog"}
        assert names_from(home, shop) >= wanted
        assert not names_from(home, "") & {*many, "stripe-payments"}


def test_what_is_known_of_a_project_survives_a_restart(home, shop, running):
    settle(home, shop)
    running.__exit__()
    with Running(home) as again:
        again.wait_idle()
        assert {"stripe-payments", "zod"} <= names_from(home, shop)
        assert not {"stripe-payments", "zod"} & names_from(home, "")
