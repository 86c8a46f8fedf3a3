"""What a package says in its own words: which files are read, how much, and what of it is kept."""

import os

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.engine.queue import Job
from irdaemon.source.dependencies import Dependencies
from irdaemon.source.dependencies.words import MOST_WORDS, read_words
from irdaemon.strategy import Dependency
from irdaemon.types import Query, Root
from tests.support.corpora import engine
from tests.support.environments import install as install_python
from tests.support.environments import make_environment
from tests.support.installed import install, write
from tests.support.talking import ASKED, PACKAGES, install_talking


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / ".cargo"))
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "go/pkg/mod"))
    return tmp_path / "shop"


def read(ecosystem, directory):
    return read_words(ecosystem, str(directory)).splitlines()


def test_each_ecosystem_gives_comments_errors_and_names_of_tests(root, tmp_path):
    places = install_talking(root, tmp_path)
    said = {name: read(ecosystem, places[name]) for ecosystem, name in PACKAGES}
    assert said == {
        "barline": [
            "Draws an EAN barcode onto a canvas element",
            "check digit of does not add up",
            "upside down label",
            "quiet zone",
            "keeps its margin",
        ],
        "@acme/muxer": ["Splits one socket into many channels", "Channel was closed by its peer"],
        "globular": [
            "Measure great-circle distances between places",
            "Return the kilometres from one city to another",
            "latitude lies beyond the pole",
            "the antimeridian is crossed",
        ],
        "framer": [
            "Cut a stream of bytes into frames",
            "A decoder for frames that begin with their length in big endian",
            "frame of bytes exceeds the maximum",
            "a partial header waits for more",
        ],
        "example.com/trellis": [
            "Climb walks the handlers of a route in the order of their priority",
            "trellis: rung has no handler",
            "BrokenLadder",
        ],
    }


def test_an_error_or_a_comment_leads_to_its_package_among_a_hundred_others(root, tmp_path):
    install_talking(root, tmp_path)
    others = {f"other-{number}": "1" for number in range(100)}
    for number, name in enumerate(others):
        told = f"Streams, frames, labels and handlers for the web, part {number}"
        install(root, name, description=told)
    manifest = {"dependencies": {"barline": "1", "@acme/muxer": "1", **others}}
    write(root / "package.json", manifest)
    ranks = {asked: find_ranks(root, asked) for asked in (True, False)}
    assert ranks[True] == dict.fromkeys(ASKED, 1)
    assert sum(rank == 1 for rank in ranks[False].values()) <= len(ASKED) / 2


def find_ranks(root, own_words):
    """Return the place of the right package among the answers to each query."""
    source = Dependencies((Root(str(root)),), {})
    corpus = Corpus("packages", "dependencies", source, Dependency(own_words), "hashing")
    made = engine(corpus)
    made.request(Job("reconcile", "packages"))
    made.drain()
    found = {}
    for asked, name in ASKED.items():
        names = [hit.name for hit in made.search(Query(asked, k=100, mode="lexical")).results]
        found[asked] = names.index(name) + 1 if name in names else 101
    made.ledger.close()
    return found


def test_no_link_is_followed_and_nothing_outside_is_read(tmp_path):
    home = install(tmp_path, "linked")
    secret = write(tmp_path / "secret.js", "throw new Error('never to be told')")
    write(tmp_path / "elsewhere/more.js", "throw new Error('from elsewhere as well')")
    os.symlink(secret, home / "index.js")
    os.symlink(tmp_path / "elsewhere", home / "lib")
    site = make_environment(tmp_path)
    folder = install_python(site, "escaping", "1", {})
    write(site / "../../../../secret.py", "raise ValueError('never to be told')")
    write(folder / "RECORD", "../../../../secret.py,,\n/etc/passwd.py,,\n")
    assert read("npm", home) == []
    assert read("pypi", folder) == []


def test_so_much_is_kept_and_no_more(tmp_path):
    home = install(tmp_path, "talkative")
    for number in range(120):
        lines = (f"/** Sentence {n} of file {number} {'word ' * 40} */" for n in range(20))
        write(home / f"file{number}.d.ts", "\n".join(lines))
    said = read("npm", home)
    assert len(said) <= 300
    assert MOST_WORDS - 100 < sum(len(each.split()) for each in said) <= MOST_WORDS


def test_much_of_one_kind_leaves_room_for_the_others(tmp_path):
    home = install(tmp_path, "documented")
    write(home / "a.d.ts", "\n".join(f"/** Returns thing number {n} */" for n in range(1_000)))
    write(home / "a.js", "\n".join(f"throw new Error('no thing of kind {n}')" for n in range(50)))
    said = read("npm", home)
    assert sum(each.startswith("no thing") for each in said) == 50


def test_of_a_large_file_the_beginning_is_read(tmp_path):
    home = install(tmp_path, "large")
    text = "throw new Error('at the beginning')\n" + " " * 500_000 + "throw new Error('at the end')"
    write(home / "index.js", text)
    assert read("npm", home) == ["at the beginning"]


def test_what_is_there_in_several_forms_is_read_once_the_entry_first(tmp_path):
    home = install(tmp_path, "built")
    for suffix in ("cjs", "mjs", "js"):
        write(home / f"lib/deep/{suffix}.{suffix}", f"throw new Error('in deep {suffix}')")
        write(home / f"index.{suffix}", f"throw new Error('in index {suffix}')")
    assert read("npm", home)[0].startswith("in index")
    assert sum(each.startswith("in index") for each in read("npm", home)) == 1


@pytest.mark.parametrize("ecosystem", ["npm", "pypi", "cargo", "go"])
def test_what_is_gone_says_nothing(tmp_path, ecosystem):
    assert read_words(ecosystem, str(tmp_path / "gone")) == ""


def test_a_brief_scan_is_read_without_own_words_and_the_next_one_reads_again(root, tmp_path):
    install_talking(root, tmp_path)
    whole = Dependencies((Root(str(root)),), {})
    brief = whole.brief()
    first, then = brief.scan().entries, whole.scan().entries
    assert [each.key for each in first] == [each.key for each in then]
    assert all(one.stamp != other.stamp for one, other in zip(first, then, strict=True))
    (one,) = (each for each in first if each.key.endswith("globular"))
    (other,) = (each for each in then if each.key.endswith("globular"))
    (early,), (late,) = whole.read(one).artifacts, whole.read(other).artifacts
    assert "haversine" in early.raw["exports"]
    assert early.raw["words"] == ""
    assert "beyond the pole" in late.raw["words"]
    assert {**early.raw, "words": ""} == {**late.raw, "words": ""}


def test_of_the_projects_own_packages_no_own_words_are_read(root):
    write(root / "package.json", {"name": "shop", "version": "1.0.0"})
    write(root / "index.js", "throw new Error('of the shop itself')")
    source = Dependencies((Root(str(root)),), {})
    (entry,) = source.scan().entries
    assert source.read(entry).artifacts[0].raw["words"] == ""
