import shutil
import subprocess

import pytest

from irdaemon.daemon import service


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_finds_nothing_wrong_with_the_unit(home):
    unit = home.path / service.UNIT
    unit.write_text(service.make_unit())
    command = ["systemd-analyze", "--user", "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, env=home.env, timeout=60)
    mine = [line for line in done.stderr.splitlines() if service.UNIT in line]
    assert (done.returncode, mine) == (0, []), done.stderr
