"""What is copied into a shell does what it says, whatever it names."""

import shlex

import pytest

from irclient.web.views import make_command

HOSTILE = ["$(touch x)", "`id`", "a; rm -rf ~", "a'b", '"', "a b", "|sh", "&& id", "*", "~", "\\"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_one_word_of_the_shell(name):
    line = make_command("irc", "hint", name, otherwise="irc build")
    assert shlex.split(line) == ["irc", "hint", name]


@pytest.mark.parametrize("name", ["a\nid", "a\rid", "a\x1b[31m", "a\u202eb", "a\u200bb", "\t"])
def test_a_name_that_does_not_show_as_it_is_stands_in_no_command(name):
    assert make_command("irc", "hint", name, otherwise="irc build") == "irc build"


def test_a_name_of_ten_thousand_characters_stands_in_no_command():
    assert make_command("irc", "hint", "x" * 10_000, otherwise="irc build") == "irc build"
