"""What the command line `irdaemon` loads before it does anything."""

import subprocess
import sys


def test_the_daemon_may_still_say_how_many_threads_numpy_starts():
    statement = "import sys, irdaemon.cli.main as c; c.program(); print('numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True)
    assert told.stdout.strip() == "False", told.stderr
