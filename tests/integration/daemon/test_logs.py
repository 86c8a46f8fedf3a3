"""Logs: one style, private, rotated, and without anybody's text."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from irclient.errors import Unavailable
from irdaemon.daemon import logs

ROOT = Path(__file__).parents[3]
SECRET = "correct horse battery staple"


def run(script, **environment):
    paths = os.pathsep.join([str(ROOT), str(ROOT / "client")])
    env = {**os.environ, "PYTHONPATH": paths, **environment}
    command = [sys.executable, "-c", f"from irdaemon.daemon import logs\nimport logging\n{script}"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)


def record(error, level=logging.ERROR):
    try:
        raise error
    except type(error) as raised:
        caught = raised
    info = (type(caught), caught, caught.__traceback__)
    return logging.LogRecord("irdaemon.x", level, "x.py", 1, "fault %s", ("ab12",), info)


def test_of_a_foreign_exception_the_type_and_the_place_are_told_and_never_its_words():
    told = logs._Textless("%(message)s").format(record(ValueError(f"bad: {SECRET}")))
    assert told.startswith("fault ab12\n")
    assert "test_logs.py" in told
    assert told.endswith("\nValueError")
    assert SECRET not in told


def test_neither_are_the_words_of_what_led_to_it():
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise Unavailable("the model is missing") from cause
    except Unavailable as error:
        told = "\n".join(logs._describe_error(error))
    assert SECRET not in told
    assert "KeyError\nwhich led to:" in told
    assert told.endswith("Unavailable: the model is missing")


def test_what_the_system_says_is_told():
    told = logs._Textless("%(message)s").format(record(OSError(28, "No space left on device")))
    assert told.endswith("OSError: [Errno 28] No space left on device")


@pytest.mark.parametrize(
    ("level", "mark"),
    [
        (logging.CRITICAL, "<3>CRITICAL"),
        (logging.ERROR, "<3>ERROR"),
        (logging.WARNING, "<4>WARNING"),
        (logging.INFO, "<6>INFO"),
        (logging.DEBUG, "<7>DEBUG"),
    ],
)
def test_for_the_journal_every_line_carries_its_priority(level, mark):
    lines = logs._ForJournal().format(record(ValueError("x"), level)).splitlines()
    assert lines[0] == f"{mark} irdaemon.x: fault ab12"
    assert len(lines) > 2
    assert all(line.startswith(mark[:3]) for line in lines)


def test_to_a_terminal_a_line_has_time_level_and_module():
    said = run("logs.set_up(); logging.getLogger('irdaemon.x').warning('a thing')").stderr
    assert said.endswith(" WARNING irdaemon.x: a thing\n")
    assert not said.startswith("<")


def test_a_file_is_its_owners_alone_and_is_rotated_so(tmp_path):
    file = tmp_path / "log"
    file.touch(0o644)
    done = run(
        f"import os\nos.umask(0)\nlogs._LOG_BYTES = 2000\nlogs.set_up({str(file)!r})\n"
        "for n in range(400): logging.info('line %d', n)"
    )
    assert done.stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1", "log.2", "log.3"]
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_size <= 2000
    assert file.read_text().endswith("line 399\n")


@pytest.mark.parametrize(
    "fault",
    [
        f"raise ValueError({SECRET!r})",
        f"import threading\ndef f(): raise ValueError({SECRET!r})\n"
        "t = threading.Thread(target=f, name='mine'); t.start(); t.join()",
    ],
)
def test_nothing_ends_without_a_line_in_the_log(tmp_path, fault):
    file = tmp_path / "log"
    run(f"logs.set_up({str(file)!r})\n{fault}")
    told = file.read_text()
    assert "ended by an exception" in told
    assert "ValueError" in told
    assert SECRET not in told


def test_a_crash_of_the_interpreter_leaves_its_stack_in_the_log(tmp_path):
    file = tmp_path / "log"
    run(f"import os, signal\nlogs.set_up({str(file)!r})\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert "Segmentation fault" in file.read_text()


def test_events_are_logged_by_what_they_are_and_not_by_what_they_quote(caplog):
    caplog.set_level(logging.INFO)
    job = {"kind": "embed", "corpus": "notes", "report": "9 records", "took_ms": 1500.0}
    logs.log_event("job", {**job, "state": "done"})
    logs.log_event("job", {**job, "state": "done", "took_ms": 3.0})
    logs.log_event("job", {**job, "state": "failed", "report": "no model"})
    logs.log_event("failure", {"corpus": "notes", "path": "/n/a", "reason": f"bad {SECRET}"})
    logs.log_event("generation", {"generation": 3, "corpus": "notes"})
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "embed notes (1.5 s): 9 records"),
        ("ERROR", "embed notes (1.5 s) failed: no model"),
        ("WARNING", "notes: cannot be read: /n/a"),
    ]
