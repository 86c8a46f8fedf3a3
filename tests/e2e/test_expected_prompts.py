"""Prompts that a person gives: found by, written out, taken back, and shown to nobody else."""

import json
import subprocess

import pytest

from irclient import Client, Query, SelectSpec
from irclient.errors import Denied, IRError
from tests.support.checkouts import make_project
from tests.support.projects import read_all
from tests.support.running import Home, Running

ASKED = "sign the lease of my landlord"
GIVEN = {
    "name": "pdf-forms",
    "prompts": ["sign the lease my landlord sent", "tick the boxes of a questionnaire"],
    "not": ["glue two scans together"],
}


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
    home.skill("changelog", "Write a changelog from commits")
    home.skill("sheets", "Clean up spreadsheets")
    return home


def write(home, *lines):
    """Write lines to a file, maps as JSON, and return its path."""
    path = home.path / "prompts.jsonl"
    texts = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return str(path)


def found(home, text=ASKED):
    """Return what the words of a text find."""
    with home.client() as client:
        return [hit.name for hit in client.search(Query(text, mode="lexical")).results]


def export(home):
    return [json.loads(line) for line in home.irc("prompts", "export").stdout.splitlines()]


def test_an_item_is_found_by_given_prompts_until_they_are_taken_back(home):
    with Running(home) as daemon:
        daemon.wait_idle()
        assert found(home) == []
        done = home.irc("prompts", "import", write(home, GIVEN), "-c", "skills")
        assert (done.returncode, done.stderr) == (0, "")
        assert found(home) == ["pdf-forms"]

        (line,) = export(home)
        assert (line["prompts"], line["not"]) == (GIVEN["prompts"], GIVEN["not"])
        generation = daemon.wait_idle()["generation"]
        assert home.irc("prompts", "import", write(home, line)).returncode == 0
        assert (export(home), daemon.wait_idle()["generation"]) == ([line], generation)

        told = home.answer("explain", ASKED, "--item", "skills/pdf-forms")["item"]["expected"]
        assert told["person"]["prompts"] == GIVEN["prompts"]
        assert "not: glue two scans" in home.irc("prompts", "list", "skills/pdf-forms").stdout

        assert home.irc("prompts", "rollback", "-c", "skills").returncode == 0
        assert (export(home), found(home)) == ([], [])
        home.irc("prompts", "import", write(home, line))
        assert found(home) == ["pdf-forms"]
        assert home.irc("prompts", "forget", "skills/pdf-forms").returncode == 0
        assert (export(home), found(home), home.answer("prompts")) == ([], [], [])


def test_bad_lines_are_told_and_the_good_ones_taken(home):
    with Running(home) as daemon:
        daemon.wait_idle()
        lines = (GIVEN, "{", {"id": "gone", "prompts": ["x"]}, {"name": "changelog"})
        path = write(home, *lines)
        done = home.irc("prompts", "import", path, "-c", "skills")
        assert done.returncode == 5
        said = done.stderr.splitlines()
        assert [line.partition(" ")[0] for line in said] == [f"{path}:{n}:" for n in (2, 3, 4)]
        assert [line["prompts"] for line in export(home)] == [GIVEN["prompts"]]
        done = home.irc("prompts", "import", write(home, *lines[1:]), "-c", "skills")
        assert done.returncode == 2
        assert len(export(home)) == 1


def test_lines_come_from_stdin_too(home):
    with Running(home) as daemon:
        daemon.wait_idle()
        done = home.run("irclient.quick", "prompts", "import", "-", given=json.dumps(GIVEN))
        assert (done.returncode, len(export(home))) == (0, 1)


def test_no_text_summary_or_passage_of_an_answer_holds_a_prompt(home):
    with Running(home) as daemon, home.client() as client:
        daemon.wait_idle()
        home.irc("prompts", "import", write(home, GIVEN))
        shown = [
            client.discover(
                Query(ASKED, level="bundled", expand="artifact", select=SelectSpec(min_score=None))
            ).to_dict(),
            client.search(Query(ASKED, passages=3, level="body", expand="window")).to_dict(),
            [each.to_dict() for each in client.records("skills/pdf-forms")],
            [each.to_dict() for each in client.disclose(["skills/pdf-forms"], "bundled")],
            [each.to_dict() for each in client.artifacts()],
        ]
        assert found(home) == ["pdf-forms"]
        for each in shown:
            text = json.dumps(each)
            assert "pdf-forms" in text
            assert not any(word in text for word in ("sent", "questionnaire", "scans"))


def test_a_limited_client_is_refused(home, tmp_path):
    assert home.run("irdaemon", "keys", "add", "agent", "--token").returncode == 0
    with Running(home) as daemon:
        daemon.wait_idle()
        home.irc("prompts", "import", write(home, GIVEN))
        token = home.config.with_name("agent.token")
        with Client(str(home.socket), token=str(token)) as client:
            asked = (
                lambda: client.prompts(),
                lambda: client.prompts_import([GIVEN]),
                lambda: client.prompts_export(),
                lambda: client.prompts_forget(corpus="skills"),
                lambda: client.prompts_rollback("skills"),
            )
            for ask in asked:
                with pytest.raises(Denied):
                    ask()
        assert len(export(home)) == 1


def test_a_daemon_killed_while_it_takes_prompts_in_has_none_twice(home):
    for number in range(60):
        home.skill(f"s{number}", f"the service of number {number}")
    lines = [
        {"name": f"s{n}", "prompts": [f"thing {n} of kind {k}" for k in range(8)]}
        for n in range(60)
    ]
    path = write(home, *lines)
    for delay in (0.0, 0.05, 0.3):
        with Running(home) as daemon:
            daemon.wait_idle()
            with home.client() as client:
                client.prompts_import(lines, "skills")
            with pytest.raises(subprocess.TimeoutExpired):
                daemon.process.wait(delay + 0.001)
            daemon.kill()
    with Running(home) as daemon:
        daemon.wait_idle()
        assert len(export(home)) in (0, 60)
        assert home.irc("prompts", "import", path, "-c", "skills").returncode == 0
        (row,) = home.answer("prompts")
        assert (row["items"], row["prompts"]) == (60, 480)
        assert {len(line["prompts"]) for line in export(home)} == {8}


def test_an_import_that_a_new_daemon_knows_nothing_of_is_refused_as_a_whole(home):
    with Running(home) as daemon, home.client() as client:
        daemon.wait_idle()
        upload = client.prompts_import([GIVEN], more=True).upload
        assert export(home) == []
    with Running(home) as daemon, home.client() as client:
        daemon.wait_idle()
        with pytest.raises(IRError, match="first lines"):
            client.prompts_import([{"name": "changelog", "prompts": ["x"]}], upload=upload)
        assert export(home) == []


def test_prompts_of_a_project_are_given_and_seen_from_inside_it_alone(home):
    code = home.path / "code"
    shop = make_project(code, "shop", skills={"pay": "Take payments of customers"})
    blog = make_project(code, "blog", skills={"donate": "Take payments of readers"})
    path = write(home, {"name": "pay", "prompts": ["the till does not open"]}, GIVEN)

    def irc(place, *words):
        return home.run("irclient.quick", *words, cwd=place)

    with Running(home) as daemon:
        daemon.wait_idle()
        read_all(home, daemon, (shop, blog))
        done = irc(blog, "prompts", "import", path)
        assert done.returncode == 5
        assert "no item 'pay'" in done.stderr
        assert irc(shop, "prompts", "import", path).returncode == 0
        assert "pay" in irc(shop, "discover", "-l", "why does the till not open").stdout
        assert "the till does not open" in irc(shop, "prompts", "export").stdout
        lines = map(json.loads, irc(shop, "prompts", "export").stdout.splitlines())
        (item,) = [line["id"] for line in lines if "till" in line["prompts"][0]]
        assert "the till" in irc(shop, "prompts", "list", f"skills/{item}").stdout
        assert "the till" in irc(shop, "explain", "till", "--item", f"skills/{item}").stdout
        for words in (["prompts", "list", f"skills/{item}"], ["prompts", "export"], ["prompts"]):
            assert "till" not in irc(blog, *words).stdout
        assert irc(blog, "prompts", "list", f"skills/{item}").returncode == 4
        assert "till" not in irc(blog, "explain", "x", "--item", f"skills/{item}").stdout
        irc(shop, "prompts", "rollback", "-c", "skills", "--here", ".")
        assert "the till" not in irc(shop, "prompts", "export").stdout
        assert "landlord" in irc(shop, "prompts", "export").stdout
