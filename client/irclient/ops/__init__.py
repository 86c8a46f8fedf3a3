"""The operations of the protocol, a method each: its arguments, its result, how it may be sent.

The signature is the row: annotations say what the daemon takes and what the reply is read as. The
daemon's half, irdaemon.serve.operations, adds by name what runs it, who may ask for it and what it
costs; `AsyncClient` has the same methods as coroutines.
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
        """Ask the daemon, and return what it replies."""
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

        Given a session, what that was shown before is left out; see `impressions`. Unless `noted`,
        or where `may_be_noted` forbids it, the answer leaves no trace in the log of use, which else
        keeps in which `variant` of wording it is shown.
        """

    @operation(waiting=True)
    def search(self, query: Query | str | Mapping[str, Any], noted: bool = True) -> Selection:
        """Return the ranked candidates of a query, without selection; `noted` as of discover."""

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
        """Return the last evaluation that was made of a corpus; raise NotFound without one."""

    @operation(repeatable=False)
    def calibrate(self, corpus: str, cases: Sequence[Mapping[str, Any]]) -> list[int]:
        """Have the floors of a corpus found again by labelled cases; return the number of the job.

        They hold until the corpus has changed so much that it is calibrated again.
        """

    @operation()
    def disclose(
        self,
        references: Sequence[str],
        level: str = "body",
        expand: str = "none",
        place: str = "",
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, expanded as on a Query.

        What belongs to a project is there for a `place` in it alone, as of a Query.
        """

    @operation()
    def records(self, reference: str, place: str = "") -> list[results.StoredRecord]:
        """Return the records of one artifact in plan order; `place` as of disclose."""

    @operation()
    def artifacts(
        self,
        corpus: str | None = None,
        under: str = "",
        after: str = "",
        limit: int = 100,
        place: str = "",
    ) -> list[results.IndexedArtifact]:
        """Return what is held, in the order of references (CORPUS/ID), beyond the one `after`.

        With `under`, only what lies at that path or below it. At most `limit`, 1 to 1,000. `place`
        as of disclose.
        """

    @operation()
    def status(self, profile: bool = False) -> results.Status:
        """Return how the daemon and every corpus are.

        With `profile`, also how long each stage of queries and jobs takes.
        """

    @operation()
    def failures(self, corpus: str | None = None) -> list[results.EntryFailure]:
        """Return what could not be read, why, and since when."""

    @operation()
    def secrets(self, corpus: str | None = None) -> list[results.SecretLocation]:
        """Return where secrets lie in what was indexed."""

    @operation()
    def audit(self, corpus: str | None = None) -> list[results.ChangedArtifact]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""

    @operation()
    def coverage(self, corpus: str | None = None) -> list[results.CorpusCoverage]:
        """Return how much of what lies below the roots of a corpus, or of all, is indexed.

        The daemon walks their directories, which may take longer than the usual timeout.
        """

    @operation()
    def info(self, corpus: str) -> results.CorpusInfo:
        """Return what is known of one corpus."""

    @operation(repeatable=False)
    def build(
        self, corpus: str | None = None, full: bool = False, prune: bool = False
    ) -> list[int]:
        """Request a whole scan of a corpus, or of all; return the numbers of the jobs."""

    @operation(repeatable=False)
    def maintain(
        self, corpus: str | None = None, dry_run: bool = False
    ) -> list[results.MaintenanceTask]:
        """Request the upkeep of a corpus, or of all, that is due; return all that was considered.

        With `dry_run` nothing is requested.
        """

    @operation(repeatable=False)
    def hint(self, path: str) -> list[int]:
        """Request a scan of one path below a corpus' root; return the numbers of the jobs."""

    @operation()
    def here(self, place: str) -> results.Here:
        """Return the project that a directory lies in, and what of it is indexed."""

    @operation()
    def projects(self, listed: bool = True) -> list[results.ProjectRow]:
        """Return the projects that are known, the one that was last asked from first.

        With `listed` also those that only sessions name, which takes up to two seconds.
        """

    @operation(repeatable=False)
    def add_project(self, path: str) -> results.ProjectRow:
        """Have the project that a directory lies in read, which else its first question does.

        Raises QueryError where there is none, and says why.
        """

    @operation(repeatable=False)
    def forget_project(self, path: str) -> results.ProjectRow:
        """Have all that is held of a project forgotten; return what it was.

        `path` is a directory in it, or its root that is no more. Raises NotFound.
        """

    @operation()
    def reads(self) -> list[results.ReadDirectory]:
        """Return every directory that is read, why, since when, and what ends it."""

    @operation()
    def impressions(self, session: str, references: Sequence[str] = ()) -> list[results.ShownItem]:
        """Note items (CORPUS/ID) as shown to a session; return all that it was shown, and when."""

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

        `output` is what it said; `sure` is whether it is known to have failed. A session (AGENT:ID)
        is told of each once. `noted` is as of discover.
        """

    @operation(addon="usage")
    def usage(self, item: str = "") -> results.UsageReport:
        """Return what was offered and used in the last 90 days, of one item (CORPUS/ID) or all."""

    @operation(addon="usage")
    def uses(self, corpus: str) -> list[results.KnownUse]:
        """Return the uses that are known of a corpus' items, with the prompts that led to them."""

    @operation(repeatable=False, addon="usage")
    def usage_forget(self, item: str = "", session: str = "", everything: bool = False) -> int:
        """Have the log of use forget an item, a session (AGENT:ID) or everything; return how much.

        Raises QueryError unless just one is given.
        """

    @operation(repeatable=False, addon="usage")
    def usage_import(
        self, uses: Sequence[Mapping[str, Any]], corpus: str | None = None
    ) -> list[int]:
        """Have uses from elsewhere learned from; return the numbers of the jobs, one a corpus.

        A use is {"prompt", "gold": [ids], "session", "at", "corpus"}; `corpus` is that of those
        without one.
        """

    @operation(repeatable=False, addon="usage")
    def usage_rollback(self, corpus: str | None = None) -> list[int]:
        """Have served what was learned before the last time; return the numbers of the jobs."""

    @operation(addon="usage")
    def gaps(self, least: int = 2) -> results.GapReport:
        """Return what at least so many prompts needed and did not find, why, and a cure for it."""

    @operation(addon="usage")
    def listing(self, context_tokens: int = 0, agent: str = "claude") -> results.ListingReport:
        """Return which skills the own listing of `claude` or `codex` has no room for.

        0 tokens are the agent's usual context.
        """

    @operation(addon="prompts")
    def prompts(
        self, corpus: str | None = None, item: str = "", place: str = ""
    ) -> list[results.ExpectedPrompts]:
        """Return how many prompts are expected of a corpus' items, or of all, by provenance.

        Of one item (CORPUS/ID) the prompts themselves. `place` as of disclose.
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
        """Have a person's prompts taken in, each line as `irclient.prompts` reads it; say what of.

        With `more` nothing is taken in until lines come without it, under the `upload` of the
        reply. `corpus` is that of lines without one.
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
        """Have the prompts of an item or a corpus forgotten; return the numbers of the jobs.

        Without a provenance those that a person or an agent gave. With a `place`, those of the
        corpus that belong to its project.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_rollback(
        self, corpus: str, provenance: str = "person", place: str = ""
    ) -> list[int]:
        """Have those served that were before the last import; return the numbers of the jobs.

        `place` as of prompts_forget.
        """

    @operation(addon="prompts")
    def prompts_plan(
        self, corpora: Sequence[str] = (), writer: str = "claude"
    ) -> results.PromptPlan:
        """Return how many items of corpora want prompts of a writer, and about how many tokens.

        Without corpora those that `all` means: no sessions, no notes.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_write(
        self, corpora: Sequence[str] = (), writer: str = "claude", budget: int = 0
    ) -> results.PromptWriting:
        """Have a writer write the prompts that items want, for about `budget` tokens at most.

        0 tokens: what `prompts_plan` says. What those items hold is sent to the writer.
        """

    @operation(repeatable=False, addon="prompts")
    def prompts_writing(self, change: str = "") -> results.PromptWriting:
        """Pause, resume or stop writing (`change`), or leave it; return how it stands."""

    @operation(addon="prompts")
    def prompts_wanting(self, corpus: str | None = None, limit: int = 10) -> results.PromptBatch:
        """Return a request for the prompts of a few items that want some, for any agent."""

    @operation(repeatable=False, addon="prompts")
    def prompts_hand_in(self, batch: str, answer: str) -> results.TakenPrompts:
        """Hand in the answer to a request of `prompts_wanting`, lines of JSON; say what is taken.

        What is not answered for can be handed in later, under the same batch.
        """

    @operation(addon="moments")
    def preferences(self) -> list[results.OfferPreference]:
        """Return which items are muted and pinned, the newest first, and which faded."""

    @operation(addon="moments")
    def clashes(self, corpus: str | None = None, place: str = "") -> list[results.Clash]:
        """Return items that can be mistaken for one another, of a corpus or of all.

        Those of one name with different texts come first, then pairs whose descriptions share most
        words. `place` as of disclose.
        """

    @operation(repeatable=False, addon="moments")
    def prefer(
        self, reference: str, verdict: str, place: str = "", here: bool = False
    ) -> results.OfferPreference:
        """Have an item offered never (`mute`), first (`pin`), or as any other (`unmute`, `unpin`).

        With `here` it holds in the project of the `place`, without one at the place and below it.
        """

    @operation(repeatable=False, addon="moments")
    def resume_session(
        self, session: str, transcript: str = "", place: str = ""
    ) -> list[results.UsedArtifact]:
        """Return what a session (AGENT:ID) used in its last ten turns, the likeliest needed first.

        Its context was cut or comes back: what it was shown may be shown to it again. A session
        that its id does not find is found by its transcript's file.
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
        """Return what applies to the task of a sub-agent that starts, as `expect_subagent` has it.

        Where it may be one of several, what applies to all of them; `noted` as of discover.
        """

    @operation(repeatable=False, addon="moments")
    def note_moment(self, agent: str, moment: str, outcome: str) -> int:
        """Count what came of an event of the hook (`told`, `silent`, `bad`); return how many wait.

        They are written down within seconds.
        """

    # Another daemon's job of that number is another job.

    @operation(repeatable=False)
    def progress(self, job: int) -> results.JobProgress:
        """Return how far a job is."""

    @operation(repeatable=False)
    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration and begin to index it; return the jobs."""

    @operation()
    def preview(self, name: str, kind: str, roots: Sequence[str]) -> results.CorpusPreview:
        """Say what a corpus would hold if it were added; nothing is changed."""

    @operation(repeatable=False)
    def rm(self, name: str) -> list[int]:
        """Take a corpus out of the configuration and forget it; return the jobs."""

    @operation(repeatable=False)
    def reload(self) -> list[int]:
        """Make the daemon read its configuration again; return the jobs."""

    @operation(waiting=True)
    def wait(self, generation: int, wait_ms: float = 1000.0) -> results.WaitResult:
        """Wait until a generation is served; return the one that is, and whether it was reached."""

    @operation(addon="documents")
    def discover_in(
        self,
        docs: Sequence[str | Mapping[str, Any]] | str,
        query: str,
        top_k: int = 4,
        contract: str = "bm25",
    ) -> list[results.FoundDocument]:
        """Return the best of some documents: texts, {text, meta} maps, or a handle of such.

        `contract` is `bm25`, exact and by words only, or `full`, as corpora are searched.
        """

    # What a lost connection had registered is gone with it.

    @operation(addon="documents")
    def register_docs(self, docs: Sequence[str | Mapping[str, Any]]) -> str:
        """Have documents kept for as long as this connection lives; return their handle."""

    @operation(repeatable=False, addon="documents")
    def drop_docs(self, handle: str) -> int:
        """Have registered documents forgotten; return how many there were."""

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

        `source` says where the content comes from. Waits until the document can be found.
        """

    @operation(repeatable=False, waiting=True, addon="documents")
    def doc_update(
        self, path: str, content: str, if_digest: str = "", wait_ms: float = 5000.0
    ) -> results.WrittenDocument:
        """Replace a managed document as a whole, and wait until that can be found.

        With `if_digest`, the SHA-256 of what it is thought to hold, raises Conflict where it holds
        something else.
        """

    @operation(repeatable=False, waiting=True, addon="documents")
    def doc_remove(
        self, path: str, delete_file: bool = False, wait_ms: float = 5000.0
    ) -> results.WrittenDocument:
        """Take a managed document out of the index; with `delete_file` into the trash as well."""

    @operation(repeatable=False, addon="documents")
    def doc_index(
        self, directory: str, recursive: bool = True, pattern: str = "", dry_run: bool = False
    ) -> results.IndexedDirectory:
        """Have a new directory's documents indexed; with `dry_run` only say what that would be.

        `recursive`: those below its directories too; `pattern`: a glob of which. Only below what
        the configuration lists as roots under [documents].
        """


OPS: Mapping[str, Op] = {
    name: method.op for name, method in vars(Operations).items() if hasattr(method, "op")
}
