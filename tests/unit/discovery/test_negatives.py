"""The requests that few corpora answer, alone and joined."""

from irdaemon.discovery.calibrate import REQUESTS, list_negatives


def test_every_request_is_asked_alone_and_once():
    assert len(set(REQUESTS)) == len(REQUESTS)
    assert tuple(list_negatives())[: len(REQUESTS)] == REQUESTS


def test_requests_are_joined_by_two_and_four_and_never_one_with_itself():
    joined = list(list_negatives())[len(REQUESTS) :]
    parts = [query.split(". ") for query in joined]
    assert {len(each) for each in parts} == {2, 4}
    assert all(len(set(each)) == len(each) for each in parts)
    assert {request for each in parts for request in each} <= set(REQUESTS)


def test_they_are_the_same_at_every_start():
    assert list(list_negatives()) == list(list_negatives())
