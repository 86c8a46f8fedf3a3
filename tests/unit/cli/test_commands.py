"""The two command lines: every command has a page that is true, and loads what it needs."""

import re
import shlex
from pathlib import Path

import pytest

import irclient.cli.main
import irdaemon.cli.main
from irclient.terminal.help import load_command, parse_options

PROGRAMS = {"irc": irclient.cli.main, "irdaemon": irdaemon.cli.main}
COMMANDS = [(name, command) for name in PROGRAMS for command in PROGRAMS[name].COMMANDS]


def refused(program, words, capsys):
    """Return what a program says of a wrong command line."""
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[program].main(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(("program", "command"), COMMANDS)
def test_every_command_has_a_page_of_its_own_with_examples(program, command, capsys):
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[program].main([command, "--help"])
    assert ended.value.code == 0
    page = capsys.readouterr().out
    assert f"usage: {program} {command}" in page
    assert "examples:" in page
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_first_page_explains_the_words_of_its_commands(program, capsys):
    with pytest.raises(SystemExit):
        PROGRAMS[program].main(["--help"])
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 80
    phrases, explained = page.split("words:")
    for word in ("corpus", "artifact", "record", "generation", "ledger"):
        assert not re.search(rf"\b{word}s?\b", phrases) or f"\n  {word} " in explained


def examples(program, command):
    """Return the examples of a command, and of others on the way to it, as lists of words."""
    text = load_command(PROGRAMS[program].COMMANDS[command]).examples
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    asked = (part for line in lines for part in line.split(" | ") if part.startswith(program))
    return [shlex.split(re.split(" [<>] ", each)[0]) for each in asked]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_name_of_a_program_alone_shows_its_commands_in_groups(program, capsys):
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[program].main([])
    page = capsys.readouterr().out
    assert not ended.value.code
    assert set(PROGRAMS[program].HEADINGS) <= set(PROGRAMS[program].COMMANDS)
    for first, heading in PROGRAMS[program].HEADINGS.items():
        assert re.search(rf"\n\n  {heading}\n    {first}\b", page)


@pytest.mark.parametrize(("program", "command"), COMMANDS)
def test_every_example_is_a_command_line_that_is_understood(program, command):
    shown = examples(program, command)
    assert any(words[:2] == [program, command] for words in shown)
    for words in shown:
        parse_options(PROGRAMS[program].make_program(), words[1:])


@pytest.mark.parametrize(("program", "command"), COMMANDS)
def test_every_option_says_what_it_does(program, command):
    words = next(words for words in examples(program, command) if words[1] == command)
    page = parse_options(PROGRAMS[program].make_program(), words[1:]).page
    assert all(action.help for action in page._actions)


def test_every_command_of_irc_that_prints_data_takes_json_and_the_page_on_asking_names_the_others():
    page = " ".join((Path(__file__).parents[3] / "docs/queries.md").read_text("utf-8").split())
    *first, last = (f"`{name}`" for name in PROGRAMS["irc"].NO_DATA)
    sentence = f"Every command of `irc` takes `--json` but {', '.join(first)} and {last},"
    assert sentence in page
    for command in PROGRAMS["irc"].COMMANDS:
        words = next(words for words in examples("irc", command) if words[1] == command)
        page = parse_options(PROGRAMS["irc"].make_program(), words[1:]).page
        takes = any("--json" in action.option_strings for action in page._actions)
        assert takes == (command not in PROGRAMS["irc"].NO_DATA), command


def test_a_command_of_the_other_program_is_named_with_it(capsys):
    others = set(PROGRAMS["irdaemon"].COMMANDS) - set(PROGRAMS["irc"].COMMANDS)
    assert others <= PROGRAMS["irc"].ELSEWHERE.keys()
    assert not PROGRAMS["irc"].ELSEWHERE.keys() & set(PROGRAMS["irc"].COMMANDS)
    own = set(PROGRAMS["irc"].COMMANDS) - set(PROGRAMS["irdaemon"].COMMANDS)
    assert own == set(PROGRAMS["irdaemon"].OF_IRC)
    assert "write: irdaemon doctor\n" in refused("irc", ["doctor"], capsys)
    assert "write: irc eval select CASES" in refused("irc", ["eval-select", "x"], capsys)
    assert "write: irc discover\n" in refused("irdaemon", ["discover", "x"], capsys)


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_unknown_command_is_wrong_usage_and_names_the_known_ones(program, capsys):
    said = refused(program, ["statsu"], capsys)
    assert "unknown command 'statsu'" in said
    assert "status, " in said
    assert "; did you mean 'status'?" in said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["events", "jobs"], "irc: unknown topic 'jobs'; did you mean 'job'?\n"),
        (["here", "/nowhere"], "irc: /nowhere does not exist\n"),
        (["eval", "run", "/nowhere"], "irc: /nowhere: No such file or directory\n"),
    ],
)
def test_a_wrong_value_is_told_once_before_the_daemon_is_asked(words, expected, capsys):
    assert PROGRAMS["irc"].main(words) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["discover", "x", "--jsno"], "unknown option '--jsno'; did you mean '--json'?"),
        (
            ["discover", "x", "--mode", "hybird"],
            "'hybird' (hybrid, dense, lexical); did you mean 'hybrid'?",
        ),
        (["discover", "x", "--qqq"], "unknown option '--qqq'\n"),
        (["discover", "x", "--every"], "unknown option '--every'; did you mean '--everywhere'?"),
        (["prompts", "list", "--corp", "x"], "unknown option '--corp'; did you mean '--corpus'?"),
        (["discover", "x", "--weight", "x"], "'x' is not KIND=W"),
        (["discover", "x", "--min-score", "x"], "is not a number from 0 to 1"),
        (["discover", "x", "--min-score", "7"], "'7' is not a number from 0 to 1"),
        (["ping", "--timeout=-1"], "'-1' is not a number of seconds above 0"),
        (["ping", "--timeout", "nan"], "'nan' is not a number of seconds above 0"),
        (["--json", "ping"], "'--json' comes before the command; write it after: irc ping --json"),
        (
            ["--timeout", "2", "discover", "x"],
            "'--timeout' comes before the command; write it after: irc discover --timeout 2 ...",
        ),
        (["top", "--every", "0"], "not a number of seconds above 0"),
        (["ping", "pong"], "'pong' is one argument too many; irc ping takes none"),
        (["info", "x", "y"], "'y' is one argument too many; quote words that belong together"),
        (["discover"], "required: QUERY"),
        (["discover", "x", "-k", "many"], "argument -k: 'many' is not a whole number"),
        (["discover", "x", "--rel", "much"], "argument --rel: 'much' is not a number"),
        (["web", "--port", "99999"], "'99999' is not a port from 0 to 65535"),
        (["add"], "required: NAME\n"),
        (["impressions"], "required: SESSION\n"),
        (["star"], "did you mean 'irdaemon start'?"),
        (["--nonsense"], "required: COMMAND"),
    ],
)
def test_a_wrong_word_is_named_in_two_lines_with_the_nearest_right_one(words, expected, capsys):
    said = refused("irc", words, capsys)
    assert expected in said
    assert "--help" in said.splitlines()[-1]
    assert len(said.splitlines()) == 2
