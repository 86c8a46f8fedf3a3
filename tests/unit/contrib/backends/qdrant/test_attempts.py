import numpy as np
import pytest

from irclient.errors import Unavailable
from irdaemon.index.backend import Wanted
from tests.support.qdrant import delta, recorded

WANTED = Wanted(("word",), (), None, 100, 1.5, 0.75)


@pytest.fixture
def written():
    """Give a backend with artifacts 1 and 2 at generation 1, its client, and the fence."""
    backend, client = recorded()
    fence = backend.take_lease("notes", "me@here")
    backend.apply(delta(fence, 1, 0, [1, 2]))
    return backend, client, fence


def ids(backend):
    found = backend.find_candidates("notes", WANTED)
    return [row[1] for row in found.artifacts], found.totals.generation


def fails(client, wished):
    """Have the client fail from the first request on that is as wished."""
    seen = []

    def failing(name, arguments):
        seen.extend([True] if wished(name, arguments) else [])
        return bool(seen)

    client.failing = failing


def commits(name, arguments):
    return name == "set_payload" and "committed" in arguments["payload"]


def deletes(name, arguments):
    return name == "delete"


def writes_counts(name, arguments):
    return name == "upsert" and arguments["points"][0].payload.get("what") == "df"


@pytest.mark.parametrize("wished", [writes_counts, commits])
def test_of_a_delta_that_was_cut_off_readers_see_nothing(written, wished):
    backend, client, fence = written
    fails(client, wished)
    with pytest.raises(Unavailable):
        backend.apply(delta(fence, 2, 1, [3], gone=(1,), count=2, df=9))
    client.failing = None
    assert ids(backend) == (["id-1", "id-2"], 1)
    assert backend.count_frequencies("notes", [0]) == {0: 2}
    assert list(backend.list_row_numbers("notes")) == [1, 2]


@pytest.mark.parametrize("wished", [writes_counts, commits, deletes])
def test_a_delta_that_was_cut_off_is_sent_again_and_then_there_once(written, wished):
    backend, client, fence = written
    again = delta(fence, 2, 1, [3], gone=(1,), count=2, df=2)
    fails(client, wished)
    with pytest.raises(Unavailable):
        backend.apply(again)
    client.failing = None
    assert backend.apply(again) == 2
    assert ids(backend) == (["id-2", "id-3"], 2)
    backend.apply(delta(fence, 3, 2, [4], count=3, df=3))
    assert ids(backend) == (["id-2", "id-3", "id-4"], 3)
    assert client.local.count("irdaemon_records_2").count == 3


def test_what_another_delta_says_is_not_mixed_with_one_that_was_cut_off(written):
    backend, client, fence = written
    fails(client, commits)
    with pytest.raises(Unavailable):
        backend.apply(delta(fence, 2, 1, [3], gone=(1,), count=2, df=9))
    client.failing = None
    backend.apply(delta(fence, 2, 1, [4], gone=(2,), count=2, df=5))
    assert ids(backend) == (["id-1", "id-4"], 2)
    assert backend.count_frequencies("notes", [0]) == {0: 5}


def test_what_arrives_late_of_a_writer_that_lost_its_lease_is_never_seen(written):
    backend, client, fence = written
    fails(client, commits)
    with pytest.raises(Unavailable):
        backend.apply(delta(fence, 2, 1, [3], count=3))
    late = [each for each in client.of("upsert") if "records" in each["collection_name"]][-1]
    client.failing = None
    backend.release("notes", "me@here")
    newer = backend.take_lease("notes", "other@there")
    backend.apply(delta(newer, 2, 1, [4], count=3))
    for _ in range(3):
        client.upsert(**late)
        generation = backend.read_totals()["notes"].generation
        backend.apply(delta(newer, generation + 1, generation, [], count=3, df=3))
        assert "id-3" not in ids(backend)[0]
    with pytest.raises(Unavailable, match="other@there"):
        backend.apply(delta(fence, 9, 5, [5]))


def test_a_corpus_sent_whole_takes_the_place_of_what_there_was(written):
    backend, client, fence = written
    backend.apply(delta(fence, 1, 0, [7]))
    assert ids(backend) == (["id-7"], 1)
    assert client.local.count("irdaemon_records_2").count == 1


def test_a_reader_whose_state_is_replaced_meanwhile_asks_again(written):
    backend, client, fence = written
    changed = []

    def change(name, arguments):
        if name == "query_batch_points" and not changed:
            changed.append(True)
            backend.apply(delta(fence, 2, 1, [3], gone=(1, 2), count=1, df=1))
        return False

    client.failing = change
    assert ids(backend) == (["id-3"], 2)


def test_records_get_vectors_that_they_lacked(written):
    backend, _, fence = written
    backend.apply(delta(fence, 2, 1, [3], count=3, with_={"vector": False}))
    (digest,) = backend.list_unembedded("notes")
    late = {digest: np.array([1, 0], np.float32).tobytes()}
    backend.apply(delta(fence, 3, 2, [], count=3, vectors=late))
    assert list(backend.list_unembedded("notes")) == []
    assert all(backend.find_candidates("notes", WANTED).vectors)
