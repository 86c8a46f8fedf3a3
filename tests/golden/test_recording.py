"""docs/terminal.svg is a picture of the commands of today."""

from xml.etree import ElementTree

from tests.golden.recording import COMMANDS, PICTURE, draw


def texts(picture):
    """Return the lines of an SVG as plain text."""
    lines = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(line.itertext()).replace("\u00a0", " ") for line in lines]


def test_the_picture_shows_each_command_and_what_came_of_it():
    lines = texts(PICTURE.read_text("utf-8"))
    assert [line[2:] for line in lines if line.startswith("$ ")] == list(COMMANDS)
    assert any("fill-pdf-form" in line for line in lines)
    assert any("nothing applies" in line for line in lines)
    assert lines[-1] == "health: ok"


def test_a_drawing_keeps_every_column_and_what_looks_like_markup():
    drawn = draw([("irc x", "a    <b> & c\x1b[32m!\x1b[0m\n  d")])
    assert texts(drawn) == ["$ irc x", "a    <b> & c!", "d"]
    assert '<tspan class="green">!</tspan>' in drawn
