"""What `irc eval` and `irc explain` tell a person."""

import json


def cases(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_labelled_queries_are_evaluated_and_drift_is_named(home, daemon):
    file = cases(
        home.path / "cases.jsonl",
        {"query": "fill a pdf form", "gold": "pdf-forms"},
        {"query": "bake bread", "gold": []},
        {"query": "old", "gold": ["gone"]},
    )
    told = home.irc("eval", file)
    assert told.returncode == 0, told.stderr
    assert "3 cases, 2 of them with gold" in told.stdout
    assert "drift: gold of 1 cases is not in the corpus: gone" in told.stdout
    assert json.loads(home.irc("eval", file, "--json").stdout)["discovery"]["n"] == 3
    swept = home.irc("eval", "--sweep", file)
    assert swept.returncode == 0, swept.stderr
    assert "max_k" in swept.stdout
    assert "commit_rate" in swept.stdout


def test_a_broken_case_is_wrong_usage_and_names_its_line(home, daemon):
    (home.path / "cases.jsonl").write_text('{"query": "fine"}\n{"query": \n')
    told = home.irc("eval", str(home.path / "cases.jsonl"))
    assert told.returncode == 2
    assert "cases.jsonl:2: not JSON" in told.stderr


def test_an_explanation_says_where_an_item_dropped_out(home, daemon):
    told = home.irc("explain", "fill in some pdf form", "--item", "skills/changelog")
    assert told.returncode == 0, told.stderr
    assert "committed 1 of" in told.stdout
    assert "changelog: not_committed" in told.stdout or "changelog: not_retrieved" in told.stdout
