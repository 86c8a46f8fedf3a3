"""The operations of the protocol, a method each: its arguments, its result, how it may be sent.

The signature is the row: annotations give the types of the arguments and of the result. The
daemon's half, irdaemon.serve.operations, adds by name the function, the access rule and the cost;
`AsyncClient` has the same methods as coroutines.
"""

# The methods have no body: `operation` gives them one.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from irclient.ops.row import Op

if TYPE_CHECKING:
    from irclient import results
    from irclient.types import Disclosure, Query, Selection

Method = TypeVar("Method", bound=Callable[..., Any])


def operation(
    repeatable: bool = True, waiting: bool = False, addon: str = ""
) -> Callable[[Method], Method]:
    """Make an operation of a method that has a signature and a docstring only; see `Op`."""

    def make(method: Any) -> Any:
        op = Op(method.__name__, repeatable, waiting, method, addon)

        def ask(self: Operations, *given: Any, **named: Any) -> Any:
            method(self, *given, **named)  # which raises TypeError for wrong arguments
            return self._run(op, op.bind(given, named))

        ask.__name__, ask.__qualname__ = method.__name__, method.__qualname__
        ask.__doc__, ask.__wrapped__, ask.op = method.__doc__, method, op  # type: ignore[attr-defined]
        return ask

    return make


class Operations:
    """The operations of the daemon, as methods that `_run` them."""

    def _run(self, op: Op, args: Mapping[str, Any]) -> Any:
        """Ask the daemon, and return its reply."""
        raise NotImplementedError

    @operation()
    def ping(self) -> results.PingReply:
        """Return the daemon's version, protocol and pid."""

    @operation(waiting=True)
    def discover(
        self,
        query: Query | str | Mapping[str, Any],
        session: str = "",
        noted: bool = True,
        variant: str = "",
    ) -> Selection:
        """Return the few artifacts that answer a query or a text, or an abstention and its reason.

        Items already shown to a given session are left out; see `impressions`. The log of use
        records the answer and the `variant` of its wording only if `noted` is set and
        `may_be_noted` allows it.
        """

    @operation(waiting=True)
    def search(self, query: Query | str | Mapping[str, Any], noted: bool = True) -> Selection:
        """Return the ranked candidates of a query, without selection; `noted` as in discover."""

    @operation()
    def explain(
        self, query: Query | str | Mapping[str, Any], item: str = ""
    ) -> results.Explanation:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""

    @operation(addon="evaluate")
    def eval(
        self,
        cases: Sequence[Mapping[str, Any]],
        query: Query | str | Mapping[str, Any],
        baseline: bool = False,
        curve: bool = False,
        grid: Mapping[str, Sequence[Any]] | None = None,
    ) -> results.Evaluation:
        """Return how good the answers to cases {query, gold, ...} are, asked as `query` is.

        With `baseline`, also what plain BM25 would find; with `curve`, how often the gold is first
        in smaller catalogues. `grid` has lists of `max_k`, `rel` and `min_score` to try.
        """

    @operation(addon="evaluate")
    def evaluation(self, corpus: str) -> results.Evaluation:
        """Return the last evaluation of a corpus. Raises NotFound if there is none."""

    @operation(repeatable=False)
    def calibrate(self, corpus: str, cases: Sequence[Mapping[str, Any]]) -> list[int]:
        """Calibrate the floors of a corpus by labelled cases; return the number of the job.

        They apply until the corpus has changed enough to be calibrated again.
        """

    @operation()
    def disclose(
        self,
        references: Sequence[str],
        level: str = "body",
        expand: str = "none",
        place: str = "",
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, expanded as in a Query.

        A project's artifacts are found only from a `place` inside the project, as in a Query.
        """

    @operation()
    def records(self, reference: str, place: str = "") -> list[results.StoredRecord]:
        """Return the records of one artifact in plan order; `place` as in disclose."""

    @operation()
    def artifacts(
        self,
        corpus: str | None = None,
        under: str = "",
        after: str = "",
        limit: int = 100,
        place: str = "",
    ) -> list[results.IndexedArtifact]:
        """Return the indexed artifacts by reference (CORPUS/ID), beyond the one `after`.

        With `under`, only those at or below that path. At most `limit`, 1 to 1,000. `place` as in
        disclose.
        """

    @operation()
    def status(self, profile: bool = False) -> results.Status:
        """Return the state of the daemon and of every corpus.

        With `profile`, also how long each stage of queries and jobs takes.
        """

    @operation()
    def failures(self, corpus: str | None = None) -> list[results.EntryFailure]:
        """Return the entries that could not be read, why, and since when."""

    @operation()
    def secrets(self, corpus: str | None = None) -> list[results.SecretLocation]:
        """Return the places of secrets in indexed files."""

    @operation()
    def audit(self, corpus: str | None = None) -> list[results.ChangedArtifact]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""

    @operation()
    def coverage(self, corpus: str | None = None) -> list[results.CorpusCoverage]:
        """Return how much of the files below the roots of a corpus, or of all, is indexed.

        The daemon walks their directories, which may take longer than the usual timeout.
        """

    @operation()
    def info(self, corpus: str) -> results.CorpusInfo:
        """Return the facts about one corpus."""

    @operation(repeatable=False)
    def build(
        self, corpus: str | None = None, full: bool = False, prune: bool = False
    ) -> list[int]:
        """Request a whole scan of a corpus, or of all; return the numbers of the jobs."""

    @operation(repeatable=False)
    def maintain(
        self, corpus: str | None = None, dry_run: bool = False
    ) -> list[results.MaintenanceTask]:
        """Request the due upkeep of a corpus, or of all; return every task considered.

        With `dry_run` nothing is requested.
        """

    @operation(repeatable=False)
    def hint(self, path: str) -> list[int]:
        """Request a scan of one path below a corpus' root; return the numbers of the jobs."""

    @operation()
    def here(self, place: str) -> results.Here:
        """Return the project of a directory, and what is indexed of it."""

    @operation()
    def projects(self, listed: bool = True) -> list[results.ProjectRow]:
        """Return the known projects, the most recently active first.

        With `listed`, also projects that only sessions name, which takes up to two seconds.
        """

    @operation(repeatable=False)
    def add_project(self, path: str) -> results.ProjectRow:
        """Read the project of a directory now instead of at the first query from it.

        Raises QueryError, with the reason, if there is none.
        """

    @operation(repeatable=False)
    def forget_project(self, path: str) -> results.ProjectRow:
        """Forget everything stored about a project; return what it was.

        `path` is a directory in it, or its deleted root. Raises NotFound.
        """

    @operation()
    def reads(self) -> list[results.ReadDirectory]:
        """Return every directory that is read, why, since when, and the command that ends it."""

    @operation()
    def impressions(self, session: str, references: Sequence[str] = ()) -> list[results.ShownItem]:
        """Record items (CORPUS/ID) as shown to a session; return all shown to it, and when."""

    @operation(addon="recall")
    def sessions(self, file: str, limit: int = 20) -> list[results.SessionTouch]:
        """Return the turns of sessions that touched a file, newest first.

        `file` is an absolute path or the end of one, in whole components; `limit` is 1 to 200.
        """

    @operation(repeatable=False, addon="recall")
    def find_cure(
        self,
        command: str,
        output: str,
        session: str = "",
        sure: bool = True,
        noted: bool = True,
    ) -> list[results.KnownCure]:
        """Return how the error of a failed command went away in an earlier session, or nothing.

        `output` is its output; `sure` is whether it certainly failed. A session (AGENT:ID) is told
        each cure once. `noted` is as in discover.
        """

    @operation(addon="usage")
    def usage(self, item: str = "") -> results.UsageReport:
        """Return the offers and uses of the last 90 days, of one item (CORPUS/ID) or all."""

    @operation(addon="usage")
    def uses(self, corpus: str) -> list[results.KnownUse]:
        """Return the known uses of a corpus' items, with the prompts that led to them."""

    @operation(repeatable=False, addon="usage")
    def usage_forget(self, item: str = "", session: str = "", everything: bool = False) -> int:
        """Delete an item, a session (AGENT:ID) or everything from the log of use; return how much.

        Raises QueryError unless just one is given.
        """

    @operation(repeatable=False, addon="usage")
    def usage_import(
        self, uses: Sequence[Mapping[str, Any]], corpus: str | None = None
    ) -> list[int]:
        """Learn from imported uses; return the numbers of the jobs, one a corpus.

        A use is {"prompt", "gold": [ids], "session", "at", "corpus"}; `corpus` is the default.
        """

    @operation(repeatable=False, addon="usage")
    def usage_rollback(self, corpus: str | None = None) -> list[int]:
        """Serve the state before the last learning; return the numbers of the jobs."""

    @operation(addon="usage")
    def gaps(self, least: int = 2) -> results.GapReport:
        """Return what at least `least` prompts needed and did not find, why, and a cure for it."""

    @operation(addon="usage")
    def listing(self, context_tokens: int = 0, agent: str = "claude") -> results.ListingReport:
        """Return the skills that do not fit into the listing that `claude` or `codex` makes.

        0 tokens are the agent's usual context.
        """

    @operation(addon="prompts")
    def prompts(
        self, corpus: str | None = None, item: str = "", place: str = ""
    ) -> list[results.ExpectedPrompts]:
        """Return the number of expected prompts in a corpus, or in all, by provenance.

        For one item (CORPUS/ID), the prompts themselves. `place` as in disclose.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_import(
        self,
        lines: Sequence[Mapping[str, Any]],
        corpus: str | None = None,
        place: str = "",
        upload: str = "",
        more: bool = False,
    ) -> results.ImportedPrompts:
        """Import a person's prompts, each line as `irclient.prompts` reads it; return their counts.

        With `more`, nothing is imported until lines come without it, under the `upload` of the
        reply. `corpus` is the default for lines without one.
        """

    @operation(addon="prompts")
    def prompts_export(
        self,
        corpus: str | None = None,
        provenance: str = "person",
        place: str = "",
        after: str = "",
        limit: int = 1000,
    ) -> list[results.ExportedPrompts]:
        """Return prompts by item, in the order of references, beyond the one `after`.

        At most `limit` items, 1 to 10,000, and fewer where their prompts are long.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_forget(
        self,
        item: str = "",
        corpus: str | None = None,
        provenance: str = "",
        place: str = "",
    ) -> list[int]:
        """Forget the prompts of an item or a corpus; return the numbers of the jobs.

        Without a provenance, those by a person or an agent. With a `place`, those of its project's
        part of the corpus.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_rollback(
        self, corpus: str, provenance: str = "person", place: str = ""
    ) -> list[int]:
        """Serve the prompts from before the last import; return the numbers of the jobs.

        `place` as in prompts_forget.
        """

    @operation(addon="prompts")
    def prompts_plan(
        self, corpora: Sequence[str] = (), writer: str = "claude"
    ) -> results.PromptPlan:
        """Return how many items of corpora need prompts from a writer, and about how many tokens.

        Without corpora, those that `all` means: no sessions, no notes.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_write(
        self, corpora: Sequence[str] = (), writer: str = "claude", budget: int = 0
    ) -> results.PromptWriting:
        """Have a writer write the missing prompts of items, for about `budget` tokens at most.

        0 tokens: the number from `prompts_plan`. The text of those items is sent to the writer.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_writing(self, change: str = "") -> results.PromptWriting:
        """Pause, resume or stop writing (`change`); return its progress."""

    @operation(addon="prompts")
    def prompts_wanting(self, corpus: str | None = None, limit: int = 10) -> results.PromptBatch:
        """Return a request for the missing prompts of a few items, for any agent."""

    @operation(repeatable=False, addon="prompts")
    def prompts_hand_in(self, batch: str, answer: str) -> results.TakenPrompts:
        """Hand in the answer to a request of `prompts_wanting`, lines of JSON; return the accepted.

        Missing answers can be handed in later, under the same batch.
        """

    @operation(addon="moments")
    def preferences(self) -> list[results.OfferPreference]:
        """Return the muted and pinned items, the newest first, and the faded ones."""

    @operation(addon="moments")
    def clashes(self, corpus: str | None = None, place: str = "") -> list[results.Clash]:
        """Return items that can be mistaken for one another, of a corpus or of all.

        Those of one name with different texts come first, then pairs whose descriptions share most
        words. `place` as in disclose.
        """

    @operation(repeatable=False, addon="moments")
    def prefer(
        self, reference: str, verdict: str, place: str = "", here: bool = False
    ) -> results.OfferPreference:
        """Offer an item never (`mute`), first (`pin`), or as any other (`unmute`, `unpin`).

        With `here` it applies in the project of the `place`, or else at the place and below it.
        """

    @operation(repeatable=False, addon="moments")
    def resume_session(
        self, session: str, transcript: str = "", place: str = ""
    ) -> list[results.UsedArtifact]:
        """Return what a session (AGENT:ID) used in its last ten turns, the likeliest needed first.

        For a session that was compacted or resumed: items it was shown may be shown again. A
        session with an unknown id is found by its transcript's file.
        """

    @operation(repeatable=False, addon="moments")
    def expect_subagent(self, session: str, agent_type: str, task: str) -> int:
        """Keep the task of a sub-agent that is about to start; return how many wait."""

    @operation(repeatable=False, addon="moments")
    def discover_task(
        self,
        session: str,
        agent_type: str = "",
        place: str = "",
        budget_ms: float = 100.0,
        noted: bool = True,
    ) -> Selection:
        """Return what applies to the task of a starting sub-agent; see `expect_subagent`.

        If it may be one of several, what applies to all of them. `noted` as in discover.
        """

    @operation(repeatable=False, addon="moments")
    def note_moment(self, agent: str, moment: str, outcome: str) -> int:
        """Count the outcome of a hook event (`told`, `silent`, `bad`); return how many are waiting.

        They are stored within seconds.
        """

    # Job numbers are valid in one daemon only.

    @operation(repeatable=False)
    def progress(self, job: int) -> results.JobProgress:
        """Return the progress of a job."""

    @operation(repeatable=False)
    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration and start indexing it; return the jobs."""

    @operation()
    def preview(self, name: str, kind: str, roots: Sequence[str]) -> results.CorpusPreview:
        """Return what a corpus would contain if it were added; nothing is changed."""

    @operation(repeatable=False)
    def rm(self, name: str) -> list[int]:
        """Take a corpus out of the configuration and forget it; return the jobs."""

    @operation(repeatable=False)
    def reload(self) -> list[int]:
        """Make the daemon read its configuration again; return the jobs."""

    @operation(waiting=True)
    def wait(self, generation: int, wait_ms: float = 1000.0) -> results.WaitResult:
        """Wait until a generation is served; return the current one, and whether it was reached."""

    @operation(addon="documents")
    def discover_in(
        self,
        docs: Sequence[str | Mapping[str, Any]] | str,
        query: str,
        top_k: int = 4,
        contract: str = "bm25",
    ) -> list[results.FoundDocument]:
        """Return the best of some documents: texts, {text, meta} maps, or a handle of them.

        `contract` is `bm25` (exact, by words only) or `full` (like a search in corpora).
        """

    # Registered documents are gone when their connection is lost.

    @operation(addon="documents")
    def register_docs(self, docs: Sequence[str | Mapping[str, Any]]) -> str:
        """Register documents for as long as this connection lives; return their handle."""

    @operation(repeatable=False, addon="documents")
    def drop_docs(self, handle: str) -> int:
        """Forget registered documents; return how many there were."""

    @operation(repeatable=False, waiting=True, addon="documents")
    def doc_add(
        self,
        title: str,
        content: str,
        directory: str = "",
        source: str = "",
        tags: Sequence[str] = (),
        wait_ms: float = 5000.0,
    ) -> results.WrittenDocument:
        """Write a document into the managed directory, or into a `directory` below it.

        `source` is the origin of the content. Waits until the document can be found.
        """

    @operation(repeatable=False, waiting=True, addon="documents")
    def doc_update(
        self, path: str, content: str, if_digest: str = "", wait_ms: float = 5000.0
    ) -> results.WrittenDocument:
        """Replace a managed document as a whole, and wait until it can be found.

        With `if_digest`, the SHA-256 of the expected old content, raises Conflict if the content
        differs.
        """

    @operation(repeatable=False, waiting=True, addon="documents")
    def doc_remove(
        self, path: str, delete_file: bool = False, wait_ms: float = 5000.0
    ) -> results.WrittenDocument:
        """Remove a managed document from the index; `delete_file` moves it to the trash too."""

    @operation(repeatable=False, addon="documents")
    def doc_index(
        self, directory: str, recursive: bool = True, pattern: str = "", dry_run: bool = False
    ) -> results.IndexedDirectory:
        """Index the documents of a new directory; with `dry_run` only return what that would be.

        `recursive`: also those in subdirectories; `pattern`: a glob. Only below the roots that the
        configuration lists under [documents].
        """


OPS: Mapping[str, Op] = {
    name: method.op for name, method in vars(Operations).items() if hasattr(method, "op")
}
