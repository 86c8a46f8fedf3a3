from types import SimpleNamespace

import pytest

from irdaemon.contrib.backends.qdrant import QdrantAdmin
from irdaemon.contrib.backends.qdrant.points import FORMAT
from tests.support.qdrant import delta, recorded


class Cluster:
    """Answer for a cluster in place of the local mode, which is none."""

    def __init__(self, version="1.17.0", status="enabled"):
        self.version, self.status = version, status

    def info(self, client):
        return SimpleNamespace(version=self.version)

    def cluster_status(self, client):
        return SimpleNamespace(status=self.status, peers={1: "", 2: "", 3: ""})


def looked_at(monkeypatch, cluster):
    backend, client = recorded()
    monkeypatch.setattr(type(client), "_info", cluster.info, raising=False)
    monkeypatch.setattr(type(client), "_cluster_status", cluster.cluster_status, raising=False)
    return QdrantAdmin(backend._server), backend


def test_a_cluster_that_answers_can_be_searched_and_written(monkeypatch):
    admin, _ = looked_at(monkeypatch, Cluster())
    found = admin.check()
    assert found.ok
    assert found.hosts[0].writable
    assert [line.text for line in found.hosts[0].lines] == ["Qdrant 1.17.0", "3 nodes", "0 corpora"]


@pytest.mark.parametrize(
    ("cluster", "wrong"),
    [
        (Cluster(version="1.16.3"), "Qdrant 1.16.3 is too old"),
        (Cluster(status="disabled"), "does not run as a cluster"),
    ],
)
def test_what_a_server_lacks_is_said(monkeypatch, cluster, wrong):
    admin, _ = looked_at(monkeypatch, cluster)
    found = admin.check()
    assert not found.ok
    assert any(wrong in line.text and line.hint for line in found.hosts[0].lines)


def test_it_may_be_migrated_again_and_tells_what_corpora_take(monkeypatch):
    admin, backend = looked_at(monkeypatch, Cluster())
    assert admin.migrate() == admin.migrate() == FORMAT
    backend.apply(delta(backend.take_lease("notes", "me@here"), 1, 0, [1, 2]))
    (size,) = admin.measure_corpora()
    assert (size.corpus, size.generation, size.artifacts, size.records) == ("notes", 1, 2, 2)
    assert size.changed > 0
