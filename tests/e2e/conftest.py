import tempfile
from pathlib import Path

import pytest

from tests.support.running import Home, Running


@pytest.fixture
def home():
    # Not tmp_path: a socket's address holds 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        yield Home(Path(directory))


@pytest.fixture
def daemon(home):
    home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
    home.skill("changelog", "Write a changelog from commits")
    with Running(home) as running:
        running.wait_idle()
        yield running
