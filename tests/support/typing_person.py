"""A person at a terminal: a command on a pseudo-terminal, with answers to what it asks."""

import os
import pty
import select
import subprocess
import sys
import time

PATIENCE_S = 120.0
INTERRUPT, END = "\x03", "\x04"
# Becomes a command whose terminal the pseudo-terminal is, so that Ctrl-C interrupts it.
ON_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def type_answers(command, env, answers=(), asks=": "):
    """Run a command on a terminal; return its exit code, and all that was on the screen.

    Each answer is typed when the screen ends with `asks`; what is left of them stays untyped. An
    interrupt that comes before the question is read is lost: a person types it again.
    """
    terminal, theirs = pty.openpty()
    launched = [sys.executable, "-I", "-S", "-c", ON_TERMINAL, *command]
    process = subprocess.Popen(launched, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        screen = type_into(terminal, list(answers), asks)
        return process.wait(PATIENCE_S), screen
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def type_into(terminal, answers, asks):
    """Type each answer when it is asked for, until the other end closes; return the screen."""
    screen, deadline, typed = b"", time.monotonic() + PATIENCE_S, ""
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1.0)[0]:
            os.write(terminal, typed.encode() if typed == INTERRUPT else b"")
            continue
        try:
            screen += os.read(terminal, 65536)
        except OSError:  # so Linux says that the other end is closed
            return screen.decode().replace("\r\n", "\n")
        if answers and screen.endswith(asks.encode()):
            typed = answers.pop(0)
            os.write(terminal, (typed if typed in (INTERRUPT, END) else f"{typed}\n").encode())
    raise AssertionError(screen.decode())
