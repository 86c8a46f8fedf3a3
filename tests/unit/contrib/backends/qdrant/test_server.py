import inspect
import time

import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from irclient.errors import Unavailable
from irdaemon.config.checking import ConfigError
from irdaemon.contrib.backends.qdrant.server import Placing, QdrantServer, open_server
from irdaemon.index.backend import Wanted
from irdaemon.runtime.deadline import set_deadline
from tests.support.qdrant import delta, recorded

PLACED = Placing(True, replication_factor=3, write_consistency_factor=2, shards=4)


def wanted(**more):
    return Wanted(("word",), (), None, 100, 1.5, 0.75, **more)


@pytest.fixture
def searched():
    """Give what is asked of a server with several nodes to write a corpus and search it."""
    backend, client = recorded(PLACED)
    fence = backend.take_lease("notes", "me@here")
    backend.apply(delta(fence, 1, 0, [1, 2]))
    backend.find_candidates("notes", wanted(where={"number": 1}))
    return client


def test_collections_are_placed_as_configured(searched):
    for made in searched.of("create_collection"):
        assert made["replication_factor"] == 3
        assert made["write_consistency_factor"] == 2
    by_name = {made["collection_name"]: made for made in searched.of("create_collection")}
    custom = models.ShardingMethod.CUSTOM
    assert by_name["irdaemon_records_2"]["sharding_method"] == custom
    assert by_name["irdaemon_beside"]["sharding_method"] == custom
    assert by_name["irdaemon_states"]["sharding_method"] is None


def test_a_corpus_has_a_shard_key_of_its_own_in_both_collections(searched):
    made = searched.of("create_shard_key")
    assert {each["collection_name"] for each in made} == {"irdaemon_beside", "irdaemon_records_2"}
    assert {each["shard_key"] for each in made} == {"notes"}
    assert {each["shards_number"] for each in made} == {4}
    assert {each["replication_factor"] for each in made} == {3}


def test_what_is_filtered_by_is_indexed(searched):
    made = searched.of("create_payload_index")
    indexed = {each["field_name"] for each in made if "records" in each["collection_name"]}
    assert {"corpus", "attempt", "number", "codes", "fields", "kind", "called"} <= indexed


def test_every_request_for_what_is_of_a_corpus_names_its_shard_key(searched):
    named = ("upsert", "delete", "scroll", "retrieve", "count", "update_vectors")
    for name, arguments in searched.asked:
        if name in named and arguments["collection_name"] != "irdaemon_states":
            assert arguments["shard_key_selector"] == "notes", name
    (batch,) = searched.of("query_batch_points")
    assert {each.shard_key for each in batch["requests"]} == {"notes"}


def test_what_is_written_can_be_found_when_the_request_ends(searched):
    for name in ("upsert", "delete", "set_payload"):
        assert all(arguments["wait"] for arguments in searched.of(name))


def test_states_are_changed_in_order_and_read_from_a_majority(searched):
    of_states = [
        (name, each)
        for name, each in searched.asked
        if each.get("collection_name") == "irdaemon_states"
    ]
    changed = [each for name, each in of_states if name in ("set_payload", "upsert")]
    assert changed
    assert {each["ordering"] for each in changed} == {models.WriteOrdering.STRONG}
    read = [each for name, each in of_states if name in ("retrieve", "scroll")]
    assert {each["consistency"] for each in read} == {models.ReadConsistencyType.MAJORITY}


def test_records_are_read_from_a_majority_unless_every_copy_has_what_was_written():
    for enough, wished in ((2, models.ReadConsistencyType.MAJORITY), (3, 1)):
        server = QdrantServer(None, "s", Placing(True, 3, enough, 1))
        assert server.list_read_options("notes")["consistency"] == wished


def test_sparse_weights_are_an_inner_product_without_the_idf_of_the_server(searched):
    (made,) = [each for each in searched.of("create_collection") if "records" in str(each)]
    assert made["sparse_vectors_config"]["lexical"].modifier is None
    assert made["vectors_config"]["dense"].distance == models.Distance.DOT


def test_a_filter_is_part_of_the_search_and_not_of_what_follows(searched):
    (batch,) = searched.of("query_batch_points")
    assert all("codes" in each.filter.model_dump_json() for each in batch["requests"])


def test_a_request_says_how_long_it_may_take():
    server = QdrantServer(None, "s", Placing())
    with set_deadline(time.monotonic() + 3):
        assert server.list_read_options("notes")["timeout"] in (2, 3)
    assert "timeout" not in server.list_read_options("notes")


def test_a_server_that_does_not_answer_is_named_without_its_key():
    backend, client = recorded()
    client.failing = lambda name, arguments: True
    with pytest.raises(Unavailable, match="qdrant://there:6333 does not answer"):
        backend.read_totals()


def test_a_server_that_refuses_the_key_is_said_to():
    class Refusing:
        def info(self):
            raise UnexpectedResponse(403, "Forbidden", b"", None)

    server = QdrantServer(Refusing(), "qdrant://there:6333")
    with pytest.raises(Unavailable, match="does not accept the API key"):
        server.client.info()


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("qdrant://there:6333?replicas=2", "replicas is not a parameter"),
        ("qdrant://there:6333?shards=0", "shards is not a parameter with a number from 1"),
        ("qdrant://there:6333?write_consistency_factor=2", "above replication_factor"),
    ],
)
def test_a_parameter_that_is_wrong_is_named(url, wrong):
    with pytest.raises(ConfigError, match=wrong):
        open_server(url)


def test_a_url_says_how_the_servers_copies_are_placed():
    server = open_server("qdrant://there:6333?replication_factor=3&write_consistency_factor=2")
    assert server.placing == Placing(True, 3, 2, 1)
    assert server.name == "qdrant://there:6333"
    server.client.close()


def test_a_directory_or_memory_is_the_clients_local_mode(tmp_path):
    for url in ("qdrant://:memory:", f"qdrant://{tmp_path}/there"):
        server = open_server(url)
        assert not server.placing.sharded
        server.client.close()


def test_every_request_is_one_that_the_client_has_with_parameters_that_it_names(searched):
    for name, arguments in searched.asked:
        known = inspect.signature(getattr(QdrantClient, name)).parameters
        assert arguments.keys() <= known.keys() - {"kwargs"}, name
