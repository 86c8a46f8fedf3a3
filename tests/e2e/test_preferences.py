"""`irc mute` and `irc pin`: no way in offers what is muted, and both are there after a restart."""

import pytest

from tests.support.prompt_hook import asks
from tests.support.running import Running

ASKED = "please fill in this PDF form"


@pytest.fixture
def skilled(home):
    home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
    home.skill("changelog", "Write a changelog from commits")
    return home


def offered(home):
    return [each["name"] for each in home.answer("discover", ASKED)["results"]]


def test_what_is_muted_is_offered_nowhere_and_is_found_and_given(skilled):
    with Running(skilled) as running:
        running.wait_idle()
        assert offered(skilled) == ["pdf-forms"]
        assert "pdf-forms" in asks(skilled, ASKED, session="before")
        done = skilled.irc("mute", "skills/pdf-forms")
        assert "muted everywhere" in done.stdout
        assert offered(skilled) == []
        assert asks(skilled, ASKED, session="after") == ""
        assert "muted: never offered" in skilled.irc("search", ASKED).stdout
        assert "qpdf" in skilled.irc("disclose", "skills/pdf-forms").stdout
        assert "muted, and left out of answers" in skilled.irc("explain", ASKED).stdout
        assert (
            "muted: never offered"
            in skilled.irc("explain", ASKED, "--item", "skills/pdf-forms").stdout
        )
        assert "pdf-forms" in skilled.irc("mute").stdout
        assert "muted: 1: skills/" in skilled.irc("usage").stdout
    with Running(skilled) as running:
        running.wait_idle()
        assert offered(skilled) == []
        skilled.irc("mute", "skills/pdf-forms", "--undo")
        assert offered(skilled) == ["pdf-forms"]
        assert skilled.irc("mute").stdout == "nothing is muted\n"


def test_a_wish_for_one_place_holds_there_alone(skilled):
    (skilled.path / "shop").mkdir()
    with Running(skilled) as running:
        running.wait_idle()
        done = skilled.run(
            "irclient.quick", "mute", "skills/pdf-forms", "--here", cwd=skilled.path / "shop"
        )
        assert "muted in ~/shop" in done.stdout
        assert "pdf-forms" in asks(skilled, ASKED, session="home", cwd=str(skilled.path))
        assert asks(skilled, ASKED, session="shop", cwd=str(skilled.path / "shop")) == ""


def test_a_wish_that_replaces_another_says_so(skilled):
    with Running(skilled) as running:
        running.wait_idle()
        item = "skills/~/.claude/skills/pdf-forms"
        assert skilled.irc("pin", item).stdout == f"{item}: pinned everywhere\n"
        muted = skilled.irc("mute", item).stdout
        assert muted == f"{item}: muted everywhere; no longer pinned\n"
        assert skilled.irc("mute", item).stdout == f"{item}: muted everywhere\n"
        pinned = skilled.irc("pin", item).stdout
        assert pinned == f"{item}: pinned everywhere; no longer muted\n"


def test_what_cannot_be_done_is_said(skilled):
    with Running(skilled) as running:
        running.wait_idle()
        for words, code, said in (
            (("mute", "skills/nothing"), 4, "nothing"),
            (("pin", "skills/pdf-forms", "--undo"), 4, "is not pinned"),
            (("pin", "--undo"), 2, "no item is named"),
        ):
            done = skilled.irc(*words)
            assert (done.returncode, said in done.stderr) == (code, True)


def test_clashes_and_the_listing_of_codex_are_reported(skilled):
    for name, of in (("changelog-one", "branch"), ("changelog-two", "release")):
        skilled.skill(name, f"Write a changelog for readers from the commits of a {of}")
    with Running(skilled) as running:
        running.wait_idle()
        done = skilled.irc("coverage", "--clashes")
        assert (done.returncode, "of words" in done.stdout) == (0, True)
        assert "changelog-two" in done.stdout
        assert "codex: 0 skills need" in skilled.irc("listing", "--agent", "codex").stdout
        assert skilled.irc("listing", "--agent", "vim").returncode == 2
