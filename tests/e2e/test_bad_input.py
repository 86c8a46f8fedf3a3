"""Whatever comes in gets a row or a typed error, and the next request is answered."""

import json
import os
import shutil
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zmq

from irclient import Query, wire
from irclient.errors import IRError, LimitError, NotFound, ProtocolError, QueryError
from tests.support.running import Running, finds, knows, until
from tests.support.serving import unpack_reply


def test_broken_files_are_loaded_and_flagged_or_become_rows_and_the_rest_is_served(home, daemon):
    broken = home.skills / "broken" / "SKILL.md"
    broken.parent.mkdir()
    broken.write_bytes(b"\xef\xbb\xbf---\r\nname: [unclosed\r\ndescription: Use when: \xff\r\n")
    big = home.skills / "big" / "SKILL.md"
    (home.path / "big").mkdir()
    (home.path / "big" / "SKILL.md").write_text("x" * 5_000_000)
    (home.path / "big").rename(big.parent)
    (home.skills / "pipe").mkdir()
    os.mkfifo(home.skills / "pipe" / "SKILL.md")
    os.symlink(home.skills / "nowhere", home.skills / "dangling")
    home.skill("good", "Quolls and bandicoots")
    home.irc("build", "skills")
    failures = home.answer("status", "--failures")
    assert [failure["path"] for failure in failures] == [str(big.parent)]
    assert "5,000,000 bytes" in failures[0]["reason"]
    assert failures[0]["since"] > 1e9
    names = {hit["name"] for hit in home.answer("search", "quolls use when", "-k", "50")["results"]}
    assert "good" in names
    assert home.answer("ls")[0]["artifacts"] == 4
    big.write_text("---\nname: big\ndescription: Now it is fine\n---\n")
    until(lambda: home.answer("status", "--failures") == [])


@pytest.mark.parametrize(
    "text", ["? , ' ! ( / @ +", "a" * 100_000, "AND OR NOT", "\x00\x1b[2J", "ü" * 9]
)
@pytest.mark.shared_daemon
def test_any_text_is_a_valid_query(home, daemon, text):
    with home.client() as client:
        assert client.discover(Query(text)).query == text


BOMBS = {
    "headings.md": "# h\n" * 490_000,
    "titles.md": "a\n=\n" * 490_000,
    "lists.md": "- a\n" * 490_000,
    "quotes.md": "> " * 990_000,
    "brackets.md": "[" * 1_900_000,
    "links.md": "[a](" * 490_000,
    "tables.md": "|a|b|\n|-|-|\n" * 150_000,
    "marks.md": "e\u0301\u0316" * 300_000,
    "front.md": "---\n" + "a: &a [*a]\n" * 150_000 + "---\n",
    "depth.md": "---\na: " + "[" * 60_000 + "\n---\n",
    "nested.py": "x = " + "(" * 900_000,
    "string.py": "f'" + "{a}" * 300_000 + "'",
    "dotted.toml": "a." * 900_000 + "b = 1",
    "deep.json": "[" * 1_900_000,
    ".gitignore": "*a" * 40 + "b\n",
    "a" * 200 + ".md": "called almost as a pattern says",
}


# One for each way in which a file can be too much; make test-slow tries all.
FEW = ("headings.md", "front.md", "dotted.toml", "string.py", ".gitignore", "a" * 200 + ".md")


@pytest.mark.parametrize("names", [FEW, pytest.param(tuple(BOMBS), marks=pytest.mark.slow)])
def test_no_file_keeps_the_rest_from_being_served_or_takes_the_memory(home, names):
    notes = home.path / "notes"
    notes.mkdir()
    home.config.write_text(
        'embedder = "hashing"\n'
        f'[corpora.skills]\nkind = "skills"\nroots = ["{home.skills}"]\n'
        f'[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\npattern = ["*"]\n'
    )
    home.skill("first", "Quolls and bandicoots")
    with Running(home) as daemon:
        daemon.wait_idle()
        for name in names:
            (notes / name).write_text(BOMBS[name])
        for number in range(3):
            home.skill(f"late{number}", f"zebra{number} lately made")
            until(lambda number=number: finds(home, f"zebra{number}", f"late{number}"))
        home.irc("build", "notes")
        failures = home.answer("status", "--failures")
        status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak) < 500 * 1024
    reasons = {failure["path"].rsplit("/", 1)[-1]: failure["reason"] for failure in failures}
    for name in {"headings.md", "titles.md", "lists.md"}.intersection(names):
        # The one or the other comes first, by how busy the machine is.
        parts, time = "has more than 200,000 parts", "was killed after 10 s"
        assert parts in reasons[name] or time in reasons[name]
        assert "split the file, or exclude it" in reasons[name]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "a_" * 50_000,
        os.urandom(50_000).hex(),
        "\u6f22\u5b57" * 50_000,
        "e\u0301\u0316" * 60_000,
        ("." * 1_000 + "x") * 199,
    ],
    ids=["letters", "underscores", "hex", "unspaced", "marks", "points"],
)
@pytest.mark.shared_daemon
def test_no_query_keeps_others_from_being_answered(home, daemon, text):
    with home.client() as asking, home.client(timeout=20) as other:
        with ThreadPoolExecutor() as threads:
            asked = threads.submit(asking.discover, Query(text))
            while not asked.done():
                other.ping()
        assert asked.result().signals["cut"]["of"] == len(text)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (Query(" "), QueryError),
        (Query("x" * 300_000), LimitError),
        (Query("x", k=0), QueryError),
        (Query("x", mode="psychic"), QueryError),
        (Query("x", level="all"), QueryError),
        (Query("x", corpora=("nope",)), NotFound),
        (Query("x", where={"nmae": 1}), QueryError),
        (Query("x", where={"name": {"$regex": "x"}}), QueryError),
        (Query("x", where={"$and": 3}), QueryError),
    ],
)
@pytest.mark.shared_daemon
def test_a_query_that_cannot_be_run_is_a_typed_error(home, daemon, query, error):
    with home.client() as client:
        with pytest.raises(error):
            client.discover(query)
        assert client.ping().pid == daemon.process.pid


@pytest.mark.shared_daemon
def test_an_unknown_operation_names_the_nearest(home, daemon):
    with home.client() as client, pytest.raises(QueryError, match="did you mean 'discover'"):
        client.call("discovr", {})


@pytest.mark.parametrize(
    "frames",
    [
        [b""],
        [b"\xc1"],
        [b"\x93\x01\x02\x03"],
        [os.urandom(64)],
        [b"\x81" * 100_000],
        [wire.pack_request(wire.Request(1, "discover", {"text": 5}))],
        [wire.pack_request(wire.Request(1, "build", {"full": "yes"}))],
    ],
)
@pytest.mark.shared_daemon
def test_a_malformed_message_gets_an_error_reply(home, daemon, frames):
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        dealer.connect(f"ipc://{home.socket}")
        dealer.send_multipart(frames)
        assert dealer.poll(5000)
        with pytest.raises((ProtocolError, QueryError)):
            unpack_reply(dealer.recv())
    with home.client() as client:
        client.ping()


@pytest.mark.shared_daemon
def test_an_oversized_message_is_refused_by_name_and_a_huge_one_cuts_the_connection(home, daemon):
    with home.client(timeout=5) as client:
        with pytest.raises(LimitError):
            client.call("discover", {"text": "x" * 5_000_000})
        with pytest.raises(IRError):
            client.call("discover", {"text": "x" * 20_000_000})
    with home.client() as client:
        client.ping()


@pytest.mark.shared_daemon
def test_bytes_that_are_no_zmtp_harm_no_client(home, daemon):
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, os.urandom(4096), b""):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(home.socket))
            raw.sendall(junk)
    with home.client() as client:
        client.ping()


def test_a_corpus_of_nothing_says_that_nothing_is_indexed(home):
    from tests.support.running import Running

    (home.path / "empty").mkdir()
    home.config.write_text(
        f'embedder = "hashing"\n[corpora.empty]\nkind = "files"\nroots = ["{home.path}/empty"]\n'
    )
    with Running(home) as running:
        running.wait_idle()
        done = home.irc("discover", "anything", "--json")
    assert done.returncode == 4
    assert '"nothing_indexed"' in done.stdout


def test_a_file_name_that_is_no_text_costs_nothing_but_a_line_in_status(home, daemon):
    os.mkdir(os.fsencode(home.skills) + b"/caf\xe9")
    home.skill("good", "Quolls and bandicoots")
    until(lambda: finds(home, "quolls", "good"))
    home.irc("build", "skills")
    (skills,) = home.answer("ls")
    assert "not valid UTF-8" in skills["problems"][0]["reason"]
    assert skills["artifacts"] == 3


@pytest.mark.parametrize(
    "prompt",
    ["src/app/main.py tests/test_app.py", "/etc/hosts", "ጤና ይስጥልኝ እንዴት ነህ", "გამარჯობა მეგობარო"],
)
@pytest.mark.shared_daemon
def test_a_prompt_of_only_paths_or_in_an_unknown_language_abstains(home, daemon, prompt):
    for said in (home.irc("discover", prompt), home.irc("discover", prompt, "--json")):
        assert (said.returncode, said.stderr) == (1, "")
    assert json.loads(said.stdout)["reason"] in ("no_task", "no_candidates", "below_floor")


def test_a_home_without_any_place_is_served_says_so_and_takes_what_comes(home):
    with Running(home):
        status = home.irc("status")
        assert (status.returncode, "no corpora; irc add" in status.stdout) == (0, True)
        assert "waiting for " in status.stdout
        for command in ("discover", "search"):
            said = home.irc(command, "fill in a pdf form")
            assert (said.returncode, "nothing in the index yet" in said.stdout) == (4, True)
        for command in ("ls", "build", "artifacts"):
            assert home.irc(command).returncode == 0
        home.skill("pdf-forms", "Fill and flatten PDF forms")
        until(lambda: knows(home, "skills/pdf-forms"))


def test_a_place_that_comes_and_goes_within_a_second_costs_nothing(home):
    with Running(home) as running:
        for _ in range(4):
            home.skill("pdf-forms", "Fill and flatten PDF forms")
            time.sleep(0.3)
            shutil.rmtree(home.path / ".claude")
            time.sleep(0.3)
        home.skill("changelog", "Write a changelog from commits")
        until(lambda: knows(home, "skills/changelog"))
        until(lambda: home.irc("status").returncode == 0)
        assert not knows(home, "skills/pdf-forms")
        assert running.process.poll() is None


def test_settings_with_comments_are_read_edited_and_given_back_as_they_were(home, daemon):
    settings, servers = home.path / ".claude" / "settings.json", home.path / ".claude.json"
    before = '{\n  // mine\n  "model": "opus", /* for now */\n  "hooks": {"Stop": [],},\n}\n'
    settings.write_text(before)
    servers.write_text('{ // servers\n "mcpServers": {"one": {"command": "true",}},\n}\n')
    assert home.irc("install", "claude", "--hooks").returncode == 0
    edited = settings.read_text()
    assert "// mine" in edited
    assert edited.count("start.py --agent claude") == 3
    assert home.run("irdaemon", "tools").stdout.startswith("one  true")
    assert home.irc("uninstall", "claude", "--hooks").returncode == 0
    assert settings.read_text() == before
