"""One number, one meaning: every error of either package has its exit code in one table."""

import pytest

from irclient.errors import IRError
from irclient.terminal.exits import ABSTAINED, INTERNAL, choose_error_exit, choose_exit

CODES = {
    "query": 2,
    "limit": 2,
    "denied": 2,
    "conflict": 2,
    "config": 2,
    "settings": 2,
    "backup": 2,
    "running": 2,
    "unreachable": 3,
    "timeout": 3,
    "lost": 3,
    "unavailable": 3,
    "protocol": 2,
    "not_found": 4,
    "ledger": 5,
    "source": 5,
    "internal": 70,
}


@pytest.mark.parametrize(("error", "code"), CODES.items())
def test_an_error_ends_both_programs_with_the_code_of_its_kind(error, code):
    assert choose_error_exit(error) == code


def kinds(of):
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_every_kind_of_error_has_an_exit_code_and_none_means_abstained():
    assert {kind.code for kind in kinds(IRError)} <= {*CODES, "refused"}
    assert ABSTAINED not in map(choose_error_exit, CODES)


def test_what_was_not_expected_is_a_fault_of_the_program():
    assert choose_error_exit("something new") == INTERNAL == 70


@pytest.mark.parametrize(
    ("results", "reason", "code"),
    [([{}], "", 0), ([], "below_floor", 1), ([], "nothing_indexed", 4)],
)
def test_an_answer_ends_with_committed_abstained_or_nothing_indexed(results, reason, code):
    assert choose_exit({"results": results, "reason": reason}) == code
