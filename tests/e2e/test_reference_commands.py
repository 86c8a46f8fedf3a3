"""The commands that the README of `ir` shows, by the names and options they have here."""

import json

import pytest

from tests.support.running import Running


@pytest.fixture
def served(home):
    home.skill("deploy-app", "Deploy the app to the server", "Run the release script.")
    home.skill("fill-forms", "Fill in pdf forms and flatten them")
    with Running(home) as running:
        running.wait_idle()
        yield home


def test_skills_are_built_discovered_disclosed_evaluated_swept_and_listed(served, tmp_path):
    assert served.irc("build", "skills").returncode == 0
    asked = ("discover", "deploy the app", "-c", "skills")
    assert [hit["name"] for hit in served.answer(*asked)["results"]] == ["deploy-app"]
    first = served.irc("discover", "skills", "deploy the app", "--disclose")
    assert "searching only skills" in first.stderr
    assert "release script" in first.stdout
    assert "asked of" not in served.irc("discover", "deploy", "the app").stderr
    for more in (["--asset_type=text"], ["--mode", "keyword"], ["--mode", "semantic"]):
        assert served.answer("search", "deploy the app", *more)["results"], more
    (hit,) = served.answer(*asked, "--disclose", "body")["results"]
    assert "release script" in hit["disclosure"]["body"]
    file = tmp_path / "skills_eval.jsonl"
    case = {"query": "deploy the app", "gold": ["deploy-app"]}
    file.write_text(json.dumps(case) + "\n")
    told = served.irc("eval", str(file), "-c", "skills", "--sweep")
    assert told.returncode == 0, told.stderr
    measured = json.loads(served.irc("eval", str(file), "-c", "skills", "--json").stdout)
    assert measured["discovery"]["measures"]["recall@1"] == 1.0
    assert measured["drift"]["cases"] == 0
    assert "max_k" in told.stdout
    assert "skills" in served.irc("ls").stdout
