"""What the command line `irdaemon` loads before it does anything."""

import os
import subprocess
import sys


def test_the_daemon_may_still_say_how_many_threads_numpy_starts():
    statement = (
        "import sys, irdaemon.cli.main as c; c.make_program(); print('numpy' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True)
    assert told.stdout.strip() == "False", told.stderr


def test_a_start_loads_nothing_that_only_some_requests_need():
    heavy = (
        "tomlkit",
        "asyncio",
        "http.client",
        "pathspec",
        "irdaemon.contrib.evaluate.ranking",
        "watchdog",
    )
    statement = "import sys, irdaemon.cli.starting, irdaemon.daemon.daemon"
    statement += f"; print([name for name in {heavy!r} if name in sys.modules])"
    # Not the site's own imports: an editable install loads half the library at start.
    command = [sys.executable, "-S", "-c", statement]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(command, capture_output=True, text=True, env=env)
    assert told.stdout.strip() == "[]", told.stderr
