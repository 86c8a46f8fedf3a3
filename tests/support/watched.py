"""A corpus beside its ledger, without an engine around them."""

from irdaemon.ingest.reconcile import reconcile
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from tests.support.corpora import LATER, contents


class Watched:
    """A corpus, its ledger, and `look` to bring one level with the other."""

    def __init__(self, corpus, path=":memory:"):
        self.ledger, self.corpus = Ledger(path), corpus

    def look(self, *under, now=LATER, **how):
        self.ledger.corpora.declare(self.corpus.name, "k", self.corpus.recipe, "hashing-512")
        look = ScanRequest(tuple(map(str, under)), **how)
        return reconcile(self.ledger, self.corpus, look, lambda: now)

    @property
    def held(self):
        return contents(self.ledger, self.corpus.name)

    @property
    def failures(self):
        return {f.key: f.reason for f in self.ledger.failures.list_all()}
