"""The table of jobs: each kind has a function that runs it."""

import inspect

import pytest

from irdaemon.engine.jobs import JOBS, find_runner


@pytest.mark.parametrize("kind", JOBS)
def test_every_kind_of_job_has_a_function_that_takes_what_it_is_given(kind):
    taken = list(inspect.signature(find_runner(kind)).parameters)
    assert taken == (["context", "corpus"] if JOBS[kind].of_corpus else ["context"])
