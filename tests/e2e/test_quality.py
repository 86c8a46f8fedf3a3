"""What `irc eval` and `irc explain` tell a person."""

import json

import pytest

from tests.support.chat import chatting
from tests.support.running import Running


def cases(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.shared_daemon
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
    assert "drift: gold of 1 case is not in the corpus: gone" in told.stdout
    assert json.loads(home.irc("eval", file, "--json").stdout)["discovery"]["n"] == 3
    swept = home.irc("eval", "--sweep", file)
    assert swept.returncode == 0, swept.stderr
    assert "max_k" in swept.stdout
    assert "commit_rate" in swept.stdout


@pytest.mark.shared_daemon
def test_a_broken_case_is_wrong_usage_and_names_its_line(home, daemon):
    (home.path / "cases.jsonl").write_text('{"query": "fine"}\n{"query": \n')
    told = home.irc("eval", str(home.path / "cases.jsonl"))
    assert told.returncode == 2
    assert "cases.jsonl:2: not JSON" in told.stderr


@pytest.mark.shared_daemon
def test_an_explanation_says_where_an_item_dropped_out(home, daemon):
    told = home.irc("explain", "fill in some pdf form", "--item", "skills/changelog")
    assert told.returncode == 0, told.stderr
    assert "1 of 2 candidates applies" in told.stdout
    assert "changelog: not_committed" in told.stdout or "changelog: not_retrieved" in told.stdout


LABELLED = (
    {"query": "fill a pdf form", "gold": {"pdf-forms": 2}},
    {"query": "write a changelog from commits", "gold": "changelog"},
    {"query": "bake bread", "gold": []},
)


@pytest.mark.shared_daemon
def test_every_part_of_an_evaluation_has_an_action_and_the_plain_form_is_run(home, daemon):
    file = cases(home.path / "cases.jsonl", *LABELLED)
    assert home.irc("eval", "run", file).stdout == home.irc("eval", file).stdout
    assert "selection over 2 cases" in home.irc("eval", "select", file).stdout
    narrow = home.answer("eval", "select", file, "--max-k", "1", "--rel", "0.9")
    assert narrow["mean_committed"] == 1.0
    swept = home.irc("eval", "sweep", file, "--max-k-grid", "1,2", "--rel-grid", "0.5")
    assert swept.stdout.startswith("best by f1: max_k 1, rel 0.5\n")
    assert len(swept.stdout.splitlines()) == 4
    floors = home.irc("eval", "sweep", file, "--min-score-grid", "none,0.99").stdout
    assert "min_score" in floors.splitlines()[1]
    assert "J 1.000" in home.irc("eval", "calibrate", file).stdout
    assert home.irc("eval", "curve", file).stdout.split()[-2:] == ["2", "1.000"]


@pytest.mark.shared_daemon
def test_a_measure_below_what_was_asked_for_ends_with_6_and_is_named(home, daemon):
    file = cases(home.path / "cases.jsonl", *LABELLED)
    assert home.irc("eval", "run", file, "--fail-under", "ndcg@10=0.9").returncode == 0
    told = home.irc("eval", "run", file, "--fail-under", "precision@5=0.9", "--json")
    assert told.returncode == 6
    assert "precision@5 is 0.2, below 0.9" in told.stderr
    assert json.loads(told.stdout)["discovery"]["n"] == 3
    assert home.irc("eval", "run", file, "--fail-under", "beauty=1").returncode == 2


@pytest.mark.shared_daemon
def test_trec_files_come_out_and_go_in_again(home, daemon):
    file = cases(home.path / "cases.jsonl", *LABELLED)
    run, qrels = home.path / "found.run", home.path / "found.qrels"
    out = home.irc("eval", "run", file, "--save-run", str(run), "--save-qrels", str(qrels))
    assert out.returncode == 0, out.stderr
    assert run.read_text().splitlines()[0].split()[0::5] == ["q00000", "irdaemon"]
    topics = home.path / "topics"
    topics.write_text("q00000 fill a pdf form\nq00001 write a changelog from commits\n")
    again = home.answer("eval", "run", "--qrels", str(qrels), "--topics", str(topics))
    first = home.answer("eval", "run", file)
    assert again["discovery"]["measures"] == first["discovery"]["measures"]
    page = home.path / "report.html"
    drawn = home.irc("eval", "report", file, "-o", str(page), "--against", str(run))
    assert drawn.returncode == 0, drawn.stderr
    assert "over 2 pairs: 0 better, 0 worse" in page.read_text("utf-8")


@pytest.mark.shared_daemon
def test_uses_become_cases_that_are_to_be_reviewed_and_are_answered_at_once(home, daemon):
    uses = cases(
        home.path / "uses.jsonl",
        *(
            {"prompt": f"{text}", "gold": ["pdf-forms"], "session": text, "at": at}
            for at, text in enumerate(["fill this form", "flatten a scan", "complete the sheet"])
        ),
    )
    older, newer = str(home.path / "older.jsonl"), str(home.path / "newer.jsonl")
    mined = home.irc("eval", "mine", uses, "-o", older, "--newer", newer, "--newest", "0.34")
    assert mined.returncode == 0, mined.stderr
    assert mined.stdout.startswith("2 cases in ")
    assert home.answer("eval", "run", newer)["discovery"]["n"] == 1
    assert home.irc("eval", "mine", uses, "-o", older, "--newer", newer).returncode == 2


def test_a_page_is_drawn_of_an_evaluation_and_again_of_the_one_that_is_kept(home, daemon):
    file, page = cases(home.path / "cases.jsonl", *LABELLED), home.path / "report.html"
    none = home.irc("eval", "report", "-c", "skills", "-o", str(page))
    assert none.returncode == 4
    made = home.irc("eval", "report", file, "-c", "skills", "-o", str(page))
    assert made.returncode == 0, made.stderr
    assert made.stdout == f"{page}\n"
    assert "<svg" in page.read_text("utf-8")
    page.unlink()
    assert home.irc("eval", "report", "-c", "skills", "-o", str(page)).returncode == 0
    assert "Evaluation of skills" in page.read_text("utf-8")
    with home.client() as client:
        assert client.evaluation("skills").curve[-1]["size"] == 2


@pytest.mark.shared_daemon
def test_floors_are_not_set_by_a_few_cases_nor_for_all_corpora_at_once(home, daemon):
    file = cases(home.path / "cases.jsonl", *LABELLED)
    few = home.irc("eval", "calibrate", file, "--persist", "-c", "skills")
    assert few.returncode == 2
    assert "2 answerable and 1 unanswerable queries are too few" in few.stderr
    assert "--corpus CORPUS" in home.irc("eval", "calibrate", file, "--persist").stderr


THINGS = "forms invoices camera lenses chains ledgers compilers kites boats clocks".split()
DOINGS = ("fill", "fold")
HOUSEWORK = """baking brewing painting dusting singing knitting whistling cooking sweeping mowing
raking planting watering pruning digging weeding sleeping reading talking laughing""".split()


def test_floors_are_set_by_labelled_cases_of_one_corpus(home):
    for thing in THINGS:
        home.skill(f"with-{thing}", f"Fill, fold and archive {thing} of any kind")
    file = cases(
        home.path / "cases.jsonl",
        *(
            {"query": f"{doing} {thing} of any kind", "gold": f"with-{thing}"}
            for thing in THINGS
            for doing in DOINGS
        ),
        *({"query": f"{each} in the garden on a sunny day", "gold": []} for each in HOUSEWORK),
    )
    with Running(home) as daemon:
        daemon.wait_idle()
        told = home.irc("eval", "calibrate", file, "--persist", "-c", "skills")
        assert told.returncode == 0, told.stderr
        assert told.stdout.startswith("best floor on the score by these labels: ")
        assert "skills: hybrid J " in told.stderr
        floors = home.answer("info", "skills")["floors"]
    assert {floor["labelled"] for floor in floors.values()} == {True}


@pytest.mark.shared_daemon
def test_no_case_at_all_is_wrong_usage(home, daemon):
    (home.path / "cases.jsonl").write_text('{"__meta__": {}}\n')
    told = home.irc("eval", "run", str(home.path / "cases.jsonl"))
    assert told.returncode == 2
    assert "it contains no cases" in told.stderr
    assert home.irc("eval", "run").returncode == 2


@pytest.mark.shared_daemon
def test_a_model_writes_cases_about_what_is_indexed(home, daemon):
    path = home.path / "made.jsonl"
    with chatting(lambda prompt: "do what is described") as (address, seen):
        told = home.irc(
            *("eval", "gen", "skills", "-o", str(path), "--model", address, "--each", "1"),
            *("--max-artifacts", "1"),
        )
    assert told.returncode == 0, told.stderr
    assert "sending the text of 1 artifact to 127.0.0.1" in told.stderr
    assert "from commits" in seen[0][1]["messages"][0]["content"]
    assert home.answer("eval", "run", str(path))["discovery"]["n"] == 2
