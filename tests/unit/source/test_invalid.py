import pytest

from irdaemon.config.corpus import InvalidSource
from irdaemon.types import Entry, Problem


def test_an_invalid_source_has_its_problem_and_nothing_that_could_be_gone():
    problem = Problem("/etc/f.toml", "line 3")
    source = InvalidSource(problem)
    scan = source.scan()
    assert (source.roots(), scan.entries, scan.covered, scan.problems) == ((), (), (), (problem,))
    with pytest.raises(FileNotFoundError):
        source.read(Entry("k", "/k", "1"))
