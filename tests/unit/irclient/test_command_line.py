"""The client without a daemon: where it looks, how it reads conditions, what it shows."""

from dataclasses import replace
from pathlib import Path

import pytest

from irclient import places, quick
from irclient.cli.main import complete_words, main, make_program
from irclient.cli.query import make_query
from irclient.errors import QueryError, Unavailable
from irclient.invisible import replace_hidden
from irclient.quick import parse_discover
from irclient.terminal.conditions import parse_where
from irclient.terminal.hits import format_answer, format_hit
from irclient.terminal.width import Terminal
from irclient.types import Hit, Selection


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    for name in ("IRDAEMON_SOCKET", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("team=docs", {"team": {"$in": ["docs"]}}),
        ("size=3", {"size": {"$in": ["3", 3]}}),
        ("size>=3", {"size": {"$gte": 3}}),
        ("size<3.5", {"size": {"$lt": 3.5}}),
        ("when >= 2026-09-01", {"when": {"$gte": "2026-09-01"}}),
        ("hidden!=true", {"hidden": {"$nin": ["true", True]}}),
        ("note=a=b", {"note": {"$in": ["a=b"]}}),
        ('{"a": {"$gt": 1}}', {"a": {"$gt": 1}}),
    ],
)
def test_a_short_condition_becomes_a_filter(condition, expected):
    assert parse_where([condition]) == expected


def test_a_value_of_endless_brackets_is_a_text():
    assert parse_where(["a>" + "[" * 100_000]) == {"a": {"$gt": "[" * 100_000}}


def test_several_conditions_must_all_hold():
    assert parse_where(["a=x", "b>1"]) == {"$and": [{"a": {"$in": ["x"]}}, {"b": {"$gt": 1}}]}
    assert parse_where([]) == {}


@pytest.mark.parametrize(
    "condition", ["", "justaword", "=x", "{bad json", "[1]", '{"$not":' * 5_000]
)
def test_a_condition_that_is_none_is_an_error(condition):
    with pytest.raises(QueryError):
        parse_where([condition])


def test_the_socket_is_where_the_environment_says(nowhere, tmp_path):
    nowhere.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert places.socket_path() == f"{tmp_path}/irdaemon/irdaemon.sock"
    nowhere.setenv("IRDAEMON_SOCKET", "~/x.sock")
    assert places.socket_path() == f"{tmp_path}/x.sock"


def test_a_path_too_long_for_a_socket_falls_back_to_a_short_one(nowhere, tmp_path):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    nowhere.setenv("XDG_RUNTIME_DIR", str(deep))
    assert places.fits(places.socket_path())
    assert places.socket_path() == places.socket_path()


def test_a_chosen_path_too_long_for_a_socket_says_so(nowhere, tmp_path):
    nowhere.setenv("IRDAEMON_SOCKET", str(tmp_path / ("d" * 107)))
    with pytest.raises(Unavailable, match="an address holds"):
        places.socket_path()


def test_a_remote_daemon_is_for_clients_and_for_the_whole_command_line(nowhere):
    nowhere.setenv("IRDAEMON_SOCKET", "tcp://127.0.0.1:1")
    assert places.endpoint() == "tcp://127.0.0.1:1"
    with pytest.raises(Unavailable, match="is for clients"):
        places.socket_path()
    assert quick._answer({"text": "x", "corpora": [], "numbers": {}}) is None


def test_who_asks_with_a_token_takes_the_whole_command_line(nowhere, tmp_path):
    nowhere.setenv("IRDAEMON_TOKEN", str(tmp_path / "token"))
    nowhere.setattr(
        "irclient.fast.zmtp.exchange", lambda *_: pytest.fail("it asked without the token")
    )
    assert quick._answer({"text": "x", "corpora": [], "numbers": {}}) is None


def test_without_a_runtime_directory_the_socket_is_in_a_private_one_of_ours(nowhere, tmp_path):
    nowhere.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    nowhere.setattr(places.os, "getuid", lambda: 4_000_000)
    nowhere.setenv("TMPDIR", str(tmp_path))
    path = Path(places.socket_path())
    assert path.parent.parent == tmp_path
    path.parent.mkdir(mode=0o777)
    with pytest.raises(Unavailable):
        places.socket_path()


def test_a_runtime_directory_that_is_not_ours_alone_is_refused(nowhere, tmp_path):
    base = tmp_path / "base"
    base.mkdir(mode=0o700)
    nowhere.setenv("XDG_RUNTIME_DIR", str(base))
    assert places.socket_path() == f"{base}/irdaemon/irdaemon.sock"
    base.chmod(0o777)
    with pytest.raises(Unavailable, match="not this user's alone"):
        places.socket_path()
    base.chmod(0o700)
    link = tmp_path / "link"
    link.symlink_to(base)
    nowhere.setenv("XDG_RUNTIME_DIR", str(link))
    with pytest.raises(Unavailable):
        places.socket_path()
    nowhere.setenv("XDG_RUNTIME_DIR", str(base))
    nowhere.setattr(places.os, "getuid", lambda: 4_000_000)
    with pytest.raises(Unavailable):
        places.socket_path()


def test_without_keys_nothing_is_asked_over_tcp(nowhere, tmp_path, capsys):
    nowhere.setenv("IRDAEMON_SOCKET", "tcp://127.0.0.1:1")
    assert main(["ping"]) == 3
    assert "IRDAEMON_KEYS" in capsys.readouterr().err
    nowhere.setenv("IRDAEMON_KEYS", str(tmp_path / "none"))
    assert main(["ping"]) == 3
    assert "cannot be read" in capsys.readouterr().err


def test_two_homes_have_two_sockets_without_a_runtime_directory(nowhere):
    nowhere.setattr(places.os.path, "lexists", lambda path: False)
    first = places.socket_path()
    nowhere.setenv("HOME", "/another/user")
    assert places.socket_path() != first


def test_a_directory_open_to_others_is_refused(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    with pytest.raises(Unavailable, match="open to other users"):
        places.check_private(str(shared))
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(Unavailable, match="not a directory of this user"):
        places.check_private(str(link))


def test_without_a_daemon_every_command_says_so_and_exits_3(nowhere, tmp_path, capsys):
    nowhere.setenv("IRDAEMON_SOCKET", str(tmp_path / "none"))
    for words in (["ping"], ["ls"], ["discover", "x"], ["disclose", "a/b"], ["build"]):
        assert main(words) == 3
    assert "irdaemon start" in capsys.readouterr().err


def test_text_from_files_cannot_drive_the_terminal():
    assert replace_hidden("a\x1b[31mb\u202ec\x07\n\td") == "a\ufffd[31mb\ufffdc\ufffd\n\td"


def test_an_abstention_is_said_in_words():
    empty = Selection("q", "hybrid", (), True, "below_floor", {}, 0, 0, 1, {}, 0.1)
    assert "nothing applies" in "".join(format_answer(empty.to_dict(), Terminal(80)))
    hit = Hit("c", "a", "name", "k", 0.5, {}, "sum", "/p", {}, ("c/b",))
    lines = list(format_hit(hit.to_dict(), Terminal(80)))
    assert "0.50" in lines[0]
    assert "also: c/b" in lines[-1]


def test_of_many_other_places_a_person_is_shown_the_first_and_their_number():
    places = tuple(f"c/{number}" for number in range(200))
    hit = Hit("c", "a", "name", "k", 0.5, {}, "sum", "/p", {}, places)
    *_, last = format_hit(hit.to_dict(), Terminal(80))
    assert last.strip() == "also: c/0, c/1, c/2, c/3, c/4, and 195 more"


def test_a_query_that_was_cut_is_told_before_what_it_found():
    cut = {"cut": {"characters": 8_000, "of": 20_000}}
    none = Selection("q", "hybrid", (), True, "below_floor", cut, 0, 0, 1, {}, 0.1)
    first, *_ = format_answer(none.to_dict(), Terminal(80))
    assert first == "of this long query the first 8,000 of 20,000 characters count"


def test_an_answer_of_a_corpus_that_is_building_is_not_shown_as_a_verdict():
    fresh = {"building": ["skills"]}
    none = Selection("q", "hybrid", (), True, "building", {}, 0, 0, 1, fresh, 0.1)
    assert list(format_answer(none.to_dict(), Terminal(80))) == [
        "nothing found yet: still building skills; ask again in a moment"
    ]
    hit = Hit("c", "a", "name", "k", 0.5, {}, "sum", "/p", {})
    some = Selection("q", "hybrid", (hit,), False, "single", {}, 1, 1, 1, fresh, 0.1)
    *_, last = format_answer(some.to_dict(), Terminal(80))
    assert last == "more may apply: still building skills; ask again in a moment"


def test_what_is_still_being_read_is_named_with_where_it_lies():
    fresh = {"building": ["a", "b"], "roots": {"a": ["/1", "/2", "/3", "/4", "/5"], "b": []}}
    none = Selection("q", "hybrid", (), True, "building", {}, 0, 0, 1, fresh, 0.1)
    assert list(format_answer(none.to_dict(), Terminal(90))) == [
        "nothing found yet: still building a (/1, /2, /3, 2 more), b; ask again in a moment"
    ]


def test_an_answer_by_name_and_description_so_far_says_so():
    fresh = {"building": ["notes", "skills"], "heads": ["skills"]}
    hit = Hit("c", "a", "name", "k", 0.5, {}, "sum", "/p", {})
    some = Selection("q", "hybrid", (hit,), False, "single", {}, 1, 1, 1, fresh, 0.1)
    *_, last = format_answer(some.to_dict(), Terminal(120))
    assert last == (
        "more may apply: still building notes, skills (by name and description so far);"
        " ask again in a moment"
    )


OF_SHOP = Hit("c", "a", "name", "k", 0.5, {}, "sum", "/p", {"project_root": "/shop"})


def answer_in_shop(*hits, reason="single", **fresh):
    """Return the lines of an answer that was asked for from the project shop."""
    abstained = not hits
    answer = Selection("q", "hybrid", hits, abstained, reason, {}, 1, 1, 1, fresh, 0.1)
    return list(format_answer(replace(answer, project="shop").to_dict(), Terminal(80)))


def test_an_answer_with_items_of_the_project_says_so_first():
    own = replace(OF_SHOP, fields={})
    assert answer_in_shop(OF_SHOP, own)[0] == "in shop: 1 of 2 hits is from this project"
    assert answer_in_shop(OF_SHOP)[0] == "in shop: 1 of 1 hit is from this project"
    assert "shop" not in answer_in_shop(own)[0]


def test_where_nothing_applies_in_a_project_it_says_so():
    (only,) = answer_in_shop(reason="below_floor")
    assert only == "in shop: nothing applies: the nearest match is too far from the question"


def test_while_a_project_is_read_the_answer_says_so():
    (only,) = answer_in_shop(reason="no_candidates", reading="shop")
    assert only == "nothing found yet: still reading shop; ask again in a moment"
    *_, last = answer_in_shop(OF_SHOP, reading="shop", building=["skills"])
    assert last == ("more may apply: still building skills and reading shop; ask again in a moment")


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["discover", "fill", "a", "pdf"], (["fill", "a", "pdf"], [], False)),
        (["discover", "-c", "s", "x", "--json"], (["x"], ["s"], True)),
        (["discover", "x", "--corpus", "s"], (["x"], ["s"], False)),
        (["discover", "x", "-k", "3", "-n", "1"], (["x"], [], False)),
        (["discover", "x", "-k", "three"], None),
        (["discover", "x", "-k"], None),
        (["discover", "x", "--rounds", "3"], None),
        (["discover", "x", "--related"], None),
        (["discover", "--", "x"], None),
        (["discover", "x", "-c"], None),
        (["discover", "skills", "a form"], None),
        (["discover", "skills", "a form", "-c", "s"], (["skills", "a form"], ["s"], False)),
        (["discover"], None),
        (["search", "x"], None),
        ([], None),
    ],
)
def test_only_a_plain_discover_takes_the_short_way(words, asked):
    found = parse_discover(words)
    assert (found and (found["words"], found["corpora"], found["json"])) == asked
    assert found is None or found["text"] == " ".join(found["words"])


def test_numbers_on_the_short_way_ask_what_they_ask_on_the_long_one():
    words = ["discover", "x", "-k", "7", "--max-k", "2"]
    found, whole = parse_discover(words), make_query(make_program(words).parse_args(words))
    assert found["numbers"] == {"k": whole.k, "max_k": whole.select.max_k}


@pytest.mark.parametrize(("more", "asked"), [([], 1), (["--passages", "4"], 4)])
def test_a_search_asks_for_as_many_passages_of_a_document_as_the_option_says(more, asked):
    words = ["search", "x", *more]
    assert make_query(make_program(words).parse_args(words)).passages == asked


@pytest.mark.parametrize("command", ["search", "discover"])
def test_candidates_are_reranked_only_where_the_option_says_so(command):
    for words, asked in ([command, "x"], False), ([command, "x", "--rerank"], True):
        assert make_query(make_program(words).parse_args(words)).rerank is asked


@pytest.mark.parametrize(
    ("more", "field", "meant"),
    [
        (["--mode", "keyword"], "mode", "lexical"),
        (["--mode=semantic"], "mode", "dense"),
        (["--rerank-text"], "rerank", True),
        (["--asset_type=pdf"], "where", {"asset_type": {"$in": ["pdf"]}}),
        (
            ["--asset-type", "pdf", "--asset-type", "image", "--where", "a=b"],
            "where",
            {"$and": [{"a": {"$in": ["b"]}}, {"asset_type": {"$in": ["pdf", "image"]}}]},
        ),
        (["--disclose"], "level", "body"),
        (["--disclose", "--json"], "level", "body"),
        (["--disclose", "bundled"], "level", "bundled"),
    ],
)
def test_an_option_has_the_names_that_other_programs_give_it(more, field, meant):
    words = complete_words(["search", "x", *more])
    assert getattr(make_query(make_program(words).parse_args(words)), field) == meant


def test_a_bare_disclose_takes_no_query_for_a_level():
    words = complete_words(["search", "--disclose", "a form"])
    asked = make_query(make_program(words).parse_args(words))
    assert (asked.level, asked.text) == ("body", "a form")


def test_a_strategy_is_chosen_by_either_name():
    for option in ("--select", "--strategy"):
        words = ["discover", "x", option, "top_k"]
        assert make_query(make_program(words).parse_args(words)).select.strategy == "top_k"


def test_discover_has_no_option_for_passages(capsys):
    words = ["discover", "x", "--passages", "4"]
    with pytest.raises(SystemExit):
        make_program(words).parse_args(words)
    assert "--passages" in capsys.readouterr().err


def test_what_is_asked_below_a_marker_or_with_the_switch_off_may_not_be_noted(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("IRDAEMON_USAGE", raising=False)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert places.may_be_noted()
    assert places.may_be_noted(str(tmp_path))
    monkeypatch.setenv("IRDAEMON_USAGE", "0")
    assert not places.may_be_noted()
    monkeypatch.setenv("IRDAEMON_USAGE", "1")
    (tmp_path / "a" / ".noirdaemon").touch()
    assert not places.may_be_noted()
    assert places.may_be_noted(str(tmp_path))
