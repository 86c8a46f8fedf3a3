"""Publishing: from the ledger to the next snapshot, and large corpora into images."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from irdaemon.config.corpus import Corpus
from irdaemon.embed.absent import Absent
from irdaemon.engine.queue import Job, Progress
from irdaemon.engine.state import State
from irdaemon.index import (
    CorpusIndex,
    Graph,
    Origin,
    Snapshot,
    Space,
    graph_is_due,
    index_corpus,
)

_PUBLISHED_EVERY_S = 0.5
GONE = "the corpus is gone"


class Publishing(State):
    """Bring indexes level with the ledger and swap the snapshot. It belongs to the writer."""

    def set_corpora(self, corpora: Iterable[Corpus]) -> None:
        """Make these the corpora: new ones are served from the ledger, dropped ones forgotten.

        A corpus whose recipe or embedder changed goes stale by itself at its next look. Only the
        writer may call this, or whoever opened the engine before the writer began.
        """
        self._embedders.try_absent_again()
        chosen = {corpus.name: corpus for corpus in corpora}
        indexes: dict[str, CorpusIndex] = {}
        for name, corpus in chosen.items():
            embedder = self._embedders.named(corpus.embedder)
            self.ledger.corpora.declare(name, corpus.kind, corpus.recipe, embedder.id)
            if self.ledger.corpora.served(name) is None and not isinstance(embedder, Absent):
                self.ledger.corpora.serve(name, corpus.embedder, embedder.id)
            indexes[name] = self._index(corpus, self.snapshot.corpora.get(name))
        for name in self.ledger.corpora.names():
            if name not in chosen:
                self._work.drop(name, GONE)
                self._retries.forget(name)
                self.ledger.corpora.forget(name)
                if self._images:
                    self._images.drop(name)
        self._corpora = chosen
        generation = self.ledger.generation()
        if self.snapshot.corpora and set(self.snapshot.corpora) != set(indexes):
            generation = self.ledger.next_generation()
        self.snapshot = Snapshot(generation, indexes, self.ledger.terms.table())

    def _publish_if_due(self, corpus: Corpus) -> None:
        """Publish during a long job, but spend no more than a fifth of the time on it."""
        if time.monotonic() >= self._published_at:
            started = time.monotonic()
            self._publish(corpus)
            took = time.monotonic() - started
            self._published_at = started + max(_PUBLISHED_EVERY_S, 5 * took)

    def _publish(self, corpus: Corpus, graph: Graph | None = None) -> None:
        if corpus.name not in self._corpora:
            return
        index = self._index(corpus, self.snapshot.corpora.get(corpus.name), graph)
        if graph_is_due(index.dense, self._hnsw_above):
            self.request(Job("graph", corpus.name))
        elif self._image_is_due(index):
            self.request(Job("image", corpus.name))
        indexes = {**self.snapshot.corpora, corpus.name: index}
        generation = self.ledger.next_generation()
        self.snapshot = Snapshot(generation, indexes, self.ledger.terms.table())
        self._work.tell()
        self.notify("generation", {"generation": generation, "corpus": corpus.name})

    def _index(
        self, corpus: Corpus, previous: CorpusIndex | None, graph: Graph | None = None
    ) -> CorpusIndex:
        if previous and corpus.name in self._rereading:
            if self.ledger.corpora.state_of(corpus.name)[0] is None:
                return previous
            self._rereading.discard(corpus.name)
            previous = None
        embedder = self._serving(corpus)
        space = Space(corpus.recipe, embedder.id, embedder.dim)
        known = previous or self._imaged(corpus.name, space)
        index = index_corpus(self.ledger, corpus.name, space, known, graph)
        if known is None:
            self._forget_gone(index)
        return index

    def _imaged(self, corpus: str, space: Space) -> CorpusIndex | None:
        if self._images is None:
            return None
        origin = Origin(self.ledger.identity(), corpus, space.embedder, space.dim)
        image = self._images.load(origin, self.ledger.generation())
        return CorpusIndex.imaged(origin, image) if image else None

    def _forget_gone(self, index: CorpusIndex) -> None:
        """Forget what is gone where there is no image that has still to hear of it."""
        if not index.rows.laid_out:
            if self._images:
                self._images.drop(index.corpus)
            self.ledger.index_rows.drop_tombstones(index.corpus, index.rows.buried)

    def _image(self, job: Job, progress: Progress) -> str:
        """Lay a large corpus out in files, and go on from those."""
        index = self.snapshot.corpora.get(job.corpus)
        if index is None or self._images is None or not self._image_is_due(index):
            return "the image there is will do"
        origin, generation = self._origin(index), self.snapshot.generation
        try:
            self._images.save(origin, generation, index.image)
        except OSError as error:
            return f"no image: {error}"
        self.ledger.index_rows.drop_tombstones(job.corpus, index.rows.buried)
        if image := self._images.load(origin, generation):
            indexes = {**self.snapshot.corpora, job.corpus: index.on(image)}
            self.snapshot = replace(self.snapshot, corpora=indexes)
        return f"an image of {index.rows.n_records} records"

    def _image_is_due(self, index: CorpusIndex) -> bool:
        if index.corpus in self._rereading:  # these are still the rows of the ledger before
            return False
        whole = index.last_reconcile is not None and not index.unembedded
        return bool(self._images and whole and self._images.due(index.rows, index.dense.graph))

    def _origin(self, index: CorpusIndex) -> Origin:
        dim = index.rows.vectors.buffer.shape[1]
        return Origin(self.ledger.identity(), index.corpus, index.embedder, dim)
