"""How many connections fit: an open file more than there may be would end the process."""

import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.serve.endpoints import fit_descriptors

UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("wanted", "soft", "hard", "expected"),
    [
        (1_000, 1_024, 524_288, (4_512, 1_000)),
        (1_000, 1_024, 4_096, (4_096, 896)),
        (1_000, 1_024, 1_024, (1_024, 128)),
        (1_000, 20_000, 20_000, (20_000, 1_000)),
        (1_000, 512, 512, (512, 64)),
        (1_000, 256, 256, (256, 32)),
        (1_000, 64, 64, (64, 4)),
        (1_000, 1_024, UNLIMITED, (4_512, 1_000)),
        (0, 1_024, 4_096, (4_096, 896)),
    ],
)
def test_two_doors_get_as_many_connections_as_there_are_descriptors_for(
    wanted, soft, hard, expected
):
    assert fit_descriptors(wanted, 2, soft, hard) == expected


@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.integers(1_024, 10**6),
    st.integers(0, 10**6) | st.just(None),
)
def test_full_doors_leave_half_of_the_descriptors(wanted, doors, soft, more):
    hard = UNLIMITED if more is None else soft + more
    limit, fit = fit_descriptors(wanted, doors, soft, hard)
    assert limit >= soft
    assert hard in (UNLIMITED, max(hard, limit))
    assert 1 <= fit <= (wanted or fit)
    assert 2 * doors * fit + 512 <= max(limit, 1_024)
