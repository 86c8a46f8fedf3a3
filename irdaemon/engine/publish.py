"""Publishing: from the ledger to the next snapshot, and large corpora into images."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
from irdaemon.embed.pool import Absent
from irdaemon.engine.projects import is_part_of
from irdaemon.engine.queue import Job, Progress
from irdaemon.engine.state import Served, State
from irdaemon.index import (
    CorpusIndex,
    Graph,
    Origin,
    Snapshot,
    Space,
    drop_graphs,
    graph_is_due,
    index_corpus,
)
from irdaemon.ledger.prompts import KEPT, USE
from irdaemon.types import Floor

_PUBLISHED_EVERY_S = 0.5
GONE = "the corpus is gone"


class Publisher:
    """Update indexes from the ledger and replace the snapshot. Only the writer may use it."""

    def __init__(self, state: State):
        self._state = state
        self._graph_above = state.options.hnsw_above
        self._images = state.options.images
        self._not_reread: set[str] = set()
        self._due_at = 0.0

    def set_corpora(self, corpora: Iterable[Corpus]) -> None:
        """Replace the corpora: new ones are served from the ledger, dropped ones forgotten.

        A corpus whose recipe or embedder changed becomes stale by itself at its next scan.
        """
        state, ledger = self._state, self._state.ledger
        state.embedders.retry_absent()
        chosen = {corpus.name: corpus for corpus in corpora}
        if any(corpus.backend for corpus in chosen.values()):
            ledger.read_identity()  # backends know the ledger by it
        parts = state.parts
        for corpus in (*chosen.values(), *parts.values()):
            self._declare(corpus)
        indexes = {name: self._index(corpus) for name, corpus in chosen.items()}
        of_parts = {name: self._index(corpus) for name, corpus in parts.items()}
        for name in ledger.corpora.list_names():
            if name not in chosen and not state.projects.has_part(name):
                self._forget(name)
        generation = ledger.read_generation()
        if state.snapshot.corpora and set(state.snapshot.corpora) != set(indexes):
            generation = ledger.advance_generation()
        snapshot = Snapshot(generation, indexes, ledger.terms.get_table(), of_parts)
        state.served = Served(chosen, snapshot, parts)

    def set_parts(self, root: str, corpora: Iterable[Corpus]) -> None:
        """Replace the parts of the project at a root; parts that it no longer has are forgotten."""
        state = self._state
        chosen = {corpus.name: corpus for corpus in corpora}
        for corpus in chosen.values():
            self._declare(corpus)
        for name in state.ledger.corpora.list_names():
            if name not in chosen and is_part_of(name, root):
                self._forget(name)
        self._serve_parts(root, chosen)

    def put_aside(self, root: str) -> None:
        """Unload the parts of the project at a root; the ledger keeps their rows."""
        for name in self._state.parts:
            if is_part_of(name, root):
                self._state.work.drop(name, GONE)
                self._state.retries.forget(name)
        self._serve_parts(root, {})
        self._state.projects.note_tended(root, None)

    def _serve_parts(self, root: str, chosen: Mapping[str, Corpus]) -> None:
        state, ledger, before = self._state, self._state.ledger, self._state.parts
        others = {name: part for name, part in before.items() if not is_part_of(name, root)}
        indexes = {name: state.snapshot.parts[name] for name in others}
        indexes |= {name: self._index(corpus) for name, corpus in chosen.items()}
        known = set(others) | set(chosen)
        changed = known != set(before)
        generation = ledger.advance_generation() if changed else state.snapshot.generation
        snapshot = replace(
            state.snapshot,
            generation=generation,
            vocabulary=ledger.terms.get_table(),
            parts=indexes,
        )
        state.served = Served(state.corpora, snapshot, {**others, **chosen})
        names = {corpus.part_of: name for name, corpus in chosen.items()}
        state.projects.set_parts(root, names)
        state.tiers.forget_answers()  # they may show the parts served until now
        state.scopes.forget(set(before) - known)
        state.work.wake_waiting()

    def show_corpora(self, corpora: Iterable[Corpus]) -> None:
        """Serve corpora from a read-only ledger, without recording anything in it."""
        state, ledger = self._state, self._state.ledger
        chosen = {corpus.name: corpus for corpus in corpora}
        with ledger.hold_snapshot():
            indexes = {name: self._read_index(corpus) for name, corpus in chosen.items()}
            snapshot = Snapshot(ledger.read_generation(), indexes, ledger.terms.get_table())
        state.served = Served(chosen, snapshot)

    def _read_index(self, corpus: Corpus) -> CorpusIndex:
        embedder, kept = self._state.choose_embedder(corpus), self._state.ledger.corpora
        space = Space(kept.read_recipe(corpus.name), embedder.id, embedder.dim)
        return _mark_by_hand(index_corpus(self._state.ledger, corpus.name, space), corpus)

    def _declare(self, corpus: Corpus) -> None:
        ledger, embedder = self._state.ledger, self._state.embedders.get_embedder(corpus.embedder)
        ledger.corpora.declare(corpus.name, corpus.kind, corpus.recipe, embedder.id)
        if ledger.corpora.find_served(corpus.name) is None and not isinstance(embedder, Absent):
            ledger.corpora.put_served(corpus.name, corpus.embedder, embedder.id)
        for provenance in () if corpus.learns else (USE,) if corpus.project else KEPT:
            if any(ledger.prompts.count(corpus.name, provenance)):
                ledger.prompts.forget(corpus.name, provenance=provenance)  # before a copy is sent

    def _forget(self, name: str) -> None:
        self._state.work.drop(name, GONE)
        self._state.retries.forget(name)
        for addon in self._state.addons.values():
            addon.forget_corpus(name)
        self._state.ledger.corpora.forget(name)
        if self._images:
            self._images.drop(name)

    def publish_if_due(self, corpus: Corpus) -> None:
        """Publish during a long job, but spend no more than a tenth of the time on it."""
        if time.monotonic() >= self._due_at:
            started = time.monotonic()
            self.publish(corpus)
            took = time.monotonic() - started
            self._due_at = started + max(_PUBLISHED_EVERY_S, 10 * took)

    def publish(self, corpus: Corpus, graph: Graph | None = None) -> None:
        """Replace the snapshot by one with the ledger's current state of this corpus.

        `graph` replaces that of the index. If a graph or an image is due, it is requested.
        """
        state = self._state
        if state.find_corpus(corpus.name) is None:
            return
        index = self._index(corpus, graph)
        self._request_due(index)
        generation = state.ledger.advance_generation()
        snapshot = replace(state.snapshot.replace_index(index), generation=generation)
        state.publish(replace(snapshot, vocabulary=state.ledger.terms.get_table()))
        state.work.wake_waiting()
        state.notify("generation", {"generation": generation, "corpus": corpus.name})

    def note_scan(self, corpus: Corpus) -> None:
        """Record a scan that found no change, without a new generation.

        If an earlier scan could not publish its rows because a write failed, they are published
        now.
        """
        state, index = self._state, self._index(corpus)
        if index.rows is not state.snapshot.get_index(corpus.name).rows:
            self.publish(corpus)
            return
        self._request_due(index)
        state.publish(state.snapshot.replace_index(index))
        state.work.wake_waiting()

    def _request_due(self, index: CorpusIndex) -> None:
        if graph_is_due(index.dense, self._graph_above):
            self._state.request(Job("graph", index.corpus))
        elif self._needs_image(index):
            self._state.request(Job("image", index.corpus))

    def _index(self, corpus: Corpus, graph: Graph | None = None) -> CorpusIndex:
        state = self._state
        previous = state.snapshot.find_index(corpus.name)
        if previous and corpus.name in self._not_reread:
            if state.ledger.corpora.read_state(corpus.name)[0] is None:
                return previous
            self._not_reread.discard(corpus.name)
            previous = None
        embedder = state.choose_embedder(corpus)
        spool = self._images.spool if self._images else None
        space = Space(corpus.recipe, embedder.id, embedder.dim, spool)
        known = previous or self._load_image(corpus.name, space)
        index = _mark_by_hand(index_corpus(state.ledger, corpus.name, space, known, graph), corpus)
        if corpus.project:
            index = replace(index, floors=self._read_floors(corpus, index))
        if known is None:
            self.drop_tombstones(index)
        return index

    def _read_floors(self, corpus: Corpus, index: CorpusIndex) -> dict[str, Floor]:
        """Return a part's floors, found with the person's corpus, if they fit its index."""
        kept = self._state.ledger.corpora.read_floors(corpus.name)
        fit = (index.embedder, corpus.recipe)
        return {mode: each for mode, each in kept.items() if (each.embedder, each.recipe) == fit}

    def keep_until_reread(self) -> None:
        """Keep serving each corpus from memory until a new, empty ledger contains all of it."""
        self._not_reread = {*self._state.corpora, *self._state.parts}

    def keeps_former(self, corpus: str) -> bool:
        """Return whether a corpus is served from memory until a new ledger contains all of it."""
        return corpus in self._not_reread

    # -- graphs ----------------------------------------------------------------------------------

    def needs_graph(self, index: CorpusIndex) -> bool:
        """Return whether a new graph would help."""
        return graph_is_due(index.dense, self._graph_above)

    def drop_graphs(self) -> None:
        """Search exactly everywhere; no graph is built again until the next start."""
        self._graph_above = 0
        self._state.publish(drop_graphs(self._state.snapshot))

    # -- images ----------------------------------------------------------------------------------

    def _load_image(self, corpus: str, space: Space) -> CorpusIndex | None:
        if self._images is None:
            return None
        origin = Origin(self._state.ledger.read_identity(), corpus, space.embedder, space.dim)
        image = self._images.load(origin, self._state.ledger.read_generation())
        return CorpusIndex.from_image(origin, image) if image else None

    def drop_tombstones(self, index: CorpusIndex) -> None:
        """Drop the ledger's tombstones of a corpus, unless an image has yet to apply them."""
        if not index.rows.laid_out:
            if self._images:
                self._images.drop(index.corpus)
            self._state.ledger.index_rows.drop_tombstones(index.corpus, index.rows.last_tombstone)

    def save_image(self, corpus: str) -> str:
        """Save a large corpus as an image and serve from it; return what was done."""
        state = self._state
        index = state.snapshot.find_index(corpus)
        if index is None or self._images is None or not self._needs_image(index):
            return "the image there is will do"
        origin, generation = self._make_origin(index), state.snapshot.generation
        try:
            self._images.save(origin, generation, index.image)
        except OSError as error:
            return f"no image: {error}"
        state.ledger.index_rows.drop_tombstones(corpus, index.rows.last_tombstone)
        if image := self._images.load(origin, generation):
            state.publish(state.snapshot.replace_index(index.on(image)))
        return f"an image of {format_count(index.rows.n_records, 'record')}"

    def _needs_image(self, index: CorpusIndex) -> bool:
        if index.corpus in self._not_reread:  # its rows are still those of the previous ledger
            return False
        whole = index.last_reconcile is not None and not index.unembedded
        return bool(self._images and whole and self._images.is_due(index.rows, index.dense.graph))

    def _make_origin(self, index: CorpusIndex) -> Origin:
        dim = index.rows.vectors.buffer.shape[1]
        return Origin(self._state.ledger.read_identity(), index.corpus, index.embedder, dim)


def _mark_by_hand(index: CorpusIndex, corpus: Corpus) -> CorpusIndex:
    """Return an index marked with whether its corpus is scanned by hand only."""
    return replace(index, by_hand=corpus.reindex.on == MANUAL)


@dataclass(frozen=True, slots=True)
class JobContext:
    """A running job. `pause()` lets a more urgent job go first; a long job calls it often.

    `pause` returns whether a scan of the job's corpus went first. It raises Unavailable if the
    engine stops or the ledger was replaced, NotFound if the job's corpus was removed.
    """

    state: State
    publisher: Publisher
    job: Job
    progress: Progress
    pause: Callable[[], bool]

    def publish_and_pause(self, corpus: Corpus) -> bool:
        """Publish the rows stored so far if that is due, and let others go first; see `pause`."""
        self.publisher.publish_if_due(corpus)
        return self.pause()
