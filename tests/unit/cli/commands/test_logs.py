"""The end of a log, and what comes into it."""

import os

import pytest

from irdaemon.cli.main import main
from irdaemon.cli.running import follow


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "my.log"
    path.write_text("".join(f"line {n}\n" for n in range(100)))
    return path


def test_the_last_lines_of_the_log_are_printed_and_no_control_character(log, capsys):
    with log.open("a") as file:
        file.write("a \x1b[31mred name\n")
    assert main(["logs", "-n", "2", "--log", str(log)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "line 99"
    assert len(out.splitlines()) == 2
    assert "\x1b" not in out


def test_without_a_log_the_journal_is_named_and_the_exit_code_is_unknown(tmp_path, capsys):
    assert main(["logs", "--log", str(tmp_path / "none")]) == 4
    assert "journalctl --user -u irdaemon" in capsys.readouterr().err


def test_a_number_of_lines_is_a_whole_number_from_0_up(capsys):
    for wrong in ("-1", "x", "1.5"):
        with pytest.raises(SystemExit) as ended:
            main(["logs", f"-n={wrong}"])
        assert ended.value.code == 2
    assert "is not a number of lines" in capsys.readouterr().err


def test_what_comes_is_followed_line_by_line_also_into_the_next_file(log):
    with log.open() as file:
        file.read()
        lines = follow(str(log), file)
        with log.open("a") as more:
            more.write("new\nbe")
            more.flush()
            assert next(lines) == "new"
            more.write("gun\nlast\n")
        assert next(lines) == "begun"
        os.rename(log, f"{log}.1")
        log.write_text("first of the next\n")
        assert [next(lines), next(lines)] == ["last", "first of the next"]
        lines.close()
