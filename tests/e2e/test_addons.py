"""The core without an add-on: it answers, follows changes, and says what is missing."""

import subprocess
import sys

import pytest

from irclient import ops
from irclient.errors import Unavailable
from irdaemon.config.addons import ADDONS
from tests.support.running import ROOT, Running, until

LEFT_OUT = "IRDAEMON_ADDONS_LEFT_OUT"
# A value of each type that an operation may want.
VALUES = {"str": "x", "int": 1, "bool": True, "Sequence": [], "Mapping": {}}


def arguments(op):
    """Return arguments of the right types for what an operation does not leave open."""
    wanted = op.annotations.keys() - op.defaults.keys()
    kinds = {name: op.annotations[name].partition("[")[0].partition(" ")[0] for name in wanted}
    return {name: VALUES.get(kind, "x") for name, kind in kinds.items()}


@pytest.mark.parametrize("addon", ADDONS)
def test_without_an_addon_all_else_goes_on_and_its_operations_name_it(home, addon):
    home.forks = False  # it is read when the operations are imported
    home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
    with Running(home, **{LEFT_OUT: addon}) as daemon, home.client() as client:
        daemon.wait_idle()
        (hit,) = client.discover("fill a pdf form").results
        assert "qpdf" in client.disclose([f"skills/{hit.artifact_id}"])[0].body
        home.skill("changelog", "Write a changelog from commits")
        until(lambda: client.discover("write the changelog").results)
        assert client.explain("fill a pdf form", f"skills/{hit.artifact_id}").item
        assert {"state": client.status().corpora[0].state} == {"state": "ready"}
        for name in (name for name, op in ops.OPS.items() if op.addon == addon):
            with pytest.raises(Unavailable, match=f"{name} is of the add-on '{addon}'"):
                client.call(name, arguments(ops.OPS[name]))


@pytest.mark.slow
@pytest.mark.parametrize("addon", ADDONS)
def test_the_tests_of_the_core_pass_without_an_addon(addon, monkeypatch):
    monkeypatch.setenv(LEFT_OUT, addon)
    folders = [f"tests/unit/{room}" for room in CORE]
    assert pytest_passes(folders)


CORE = ("config", "discovery", "embed", "engine", "index", "ingest", "ledger", "source", "watch")


def pytest_passes(folders):
    """Return whether the tests in folders pass, in a process of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *folders]
    return subprocess.run(command, cwd=ROOT, timeout=600).returncode == 0
