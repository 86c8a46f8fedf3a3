"""Limits that the system sets on a process."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("wanted", "soft"), [(0, 300), (350, 350), (10**9, 400), (10, 256)])
def test_as_many_files_may_be_opened_as_is_set_and_the_system_allows(wanted, soft):
    script = (
        "import resource\nfrom irdaemon.daemon.resources import set_open_files\n"
        "from irdaemon.config.sections import LimitsConfig\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (300, 400))\n"
        f"set_open_files(LimitsConfig(open_files={wanted}))\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == str(soft), done.stderr
