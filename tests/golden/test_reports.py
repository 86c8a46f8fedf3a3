"""The ranking of real skills by the default embedder stays as it was written down."""

import difflib

import pytest

from tests.golden import reports


@pytest.fixture(scope="module")
def built():
    with_default_embedder = reports.corpus()
    yield with_default_embedder
    with_default_embedder.close()


@pytest.mark.parametrize("section", reports.sections())
def test_what_is_answered_has_not_moved(built, section):
    file = reports.HERE / f"{section.replace(' ', '-')}.txt"
    written = file.read_text("utf-8")
    now = reports.report(built, reports.sections()[section])
    moved = "\n".join(
        difflib.unified_diff(written.splitlines(), now.splitlines(), file.name, "now", lineterm="")
    )
    assert not moved, f"python -m tests.golden.reports writes this down, if it is better:\n{moved}"
