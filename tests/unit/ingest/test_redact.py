"""What is read is cleaned before anything of it is stored, and stays out where it was opted out."""

import json
import os
import stat

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.read import redact_reading
from irdaemon.ingest.scan import MARKER, OptOuts
from irdaemon.ledger import Ledger, Secret
from irdaemon.source.files import Files
from irdaemon.source.sessions import Sessions
from irdaemon.strategy import ClaudeTurn, WholeText
from irdaemon.types import FIRST_LINE, Artifact, Entry, Reading, Root
from tests.support.claude_session import write_line as line
from tests.support.corpora import mapped, skills, write_skill
from tests.support.planted import AWS, GITHUB, KEY_LINES, PASSWORD, PRIVATE_KEY
from tests.support.watched import Watched


def sessions(root, **more):
    source = Sessions((Root(str(root)),), {})
    return Corpus("s", "sessions", source, ClaudeTurn(), "hashing", **more)


def files(root, **more):
    source = Files((Root(str(root)),), {"pattern": ["**/*.md"]})
    return Corpus("f", "files", source, WholeText(), "hashing", **more)


def session(root, cwd, *prompts, title=""):
    """Write a session of these prompts, each answered by itself."""
    lines, last = [], None
    for number, prompt in enumerate(prompts):
        asked, answered = f"q{number}", f"a{number}"
        said = {"model": "m", "stop_reason": "end_turn", "content": [{"type": "text"}]}
        said["content"][0]["text"] = f"you said: {prompt}"
        lines.append(line("user", asked, last, cwd, {"role": "user", "content": prompt}))
        lines.append(line("assistant", answered, asked, cwd, said))
        last = answered
    if title:
        lines.append(json.dumps({"type": "custom-title", "customTitle": title}) + "\n")
    path = root / "S.jsonl"
    path.write_text("".join(lines))
    return path


def stored_text(path):
    return b"".join(p.read_bytes() for p in path.parent.glob(path.name + "*"))


def secrets(corpus):
    return [(os.path.basename(s.path), s.line, s.kind) for s in corpus.ledger.secrets.list_all()]


def test_no_secret_of_a_session_reaches_the_ledger_s_files(tmp_path):
    root, ledger = tmp_path / "sessions", tmp_path / "ledger.sqlite"
    root.mkdir()
    prompt = f"take {AWS},\n{PRIVATE_KEY}\nand password = '{PASSWORD}'"
    session(root, "/w/app", prompt, "<private>my diary</private> next", title=f"with {GITHUB}")
    corpus = Watched(sessions(root), str(ledger))
    assert corpus.look().written == 3
    stored = stored_text(ledger).lower()
    for value in (AWS, GITHUB, PASSWORD, KEY_LINES[0], "diary"):
        assert value.lower().encode() not in stored
    assert b"[secret: private key]" in stored


def test_where_secrets_lie_is_told_by_line_of_the_file_and_kind(tmp_path):
    session(tmp_path, "/w/app", "hello", f"take {AWS}", f"and '{GITHUB}' or\n{PRIVATE_KEY}")
    corpus = Watched(sessions(tmp_path))
    corpus.look()
    assert secrets(corpus) == [
        ("S.jsonl", 3, "AWS Access Key"),
        ("S.jsonl", 4, "AWS Access Key"),
        ("S.jsonl", 5, "GitHub Token"),
        ("S.jsonl", 5, "Private Key"),
        ("S.jsonl", 6, "GitHub Token"),
        ("S.jsonl", 6, "Private Key"),
    ]


def test_a_short_secret_is_told_where_it_is_assigned_and_not_wherever_its_letters_stand(tmp_path):
    path = tmp_path / "a.md"
    path.write_text('Be root.\nRoots are root.\npassword = "root"\nThe root again.\n')
    corpus = Watched(files(tmp_path))
    corpus.look()
    assert secrets(corpus) == [("a.md", 3, "Secret Keyword")]


def test_secrets_that_were_mended_are_told_no_longer(tmp_path):
    session(tmp_path, "/w/app", f"take {AWS}")
    corpus = Watched(sessions(tmp_path))
    corpus.look()
    session(tmp_path, "/w/app", "take nothing")
    corpus.look()
    assert secrets(corpus) == []


def test_a_session_that_grows_keeps_the_places_already_known(tmp_path):
    path = session(tmp_path, "/w/app", f"take {AWS}", "go on")
    corpus = Watched(sessions(tmp_path))
    corpus.look()
    with path.open("a") as file:
        said = {"model": "m", "stop_reason": "end_turn", "content": [{"type": "text", "text": "k"}]}
        file.write(line("user", "q9", "a1", "/w/app", {"role": "user", "content": GITHUB}))
        file.write(line("assistant", "a9", "q9", "/w/app", said))
    corpus.look()
    assert {place[1:] for place in secrets(corpus)} == {
        (1, "AWS Access Key"),
        (2, "AWS Access Key"),
        (5, "GitHub Token"),
    }


def test_a_sample_password_stays_in_a_skill_and_a_token_does_not(tmp_path):
    write_skill(tmp_path / "a", f'set password = "{PASSWORD}" and {GITHUB}')
    corpus = Watched(skills(tmp_path))
    corpus.look()
    ((name, *_),) = corpus.held.values()
    (record,) = corpus.ledger.artifacts.list_records("s", next(iter(corpus.held)))
    assert (PASSWORD in record["text"], GITHUB in record["text"], name) == (True, False, "x")


def test_no_token_of_a_skill_s_eval_file_reaches_the_ledger_s_files(tmp_path):
    root, ledger = tmp_path / "skills", tmp_path / "ledger.sqlite"
    skill = write_skill(root / "a", "Deploys what was built.")
    hidden = ["deploy with this key:\n" + PRIVATE_KEY, "<private>diary</private>"]
    (skill / "triggers.json").write_text(json.dumps({"should_trigger": hidden}))
    told = {"should_trigger": [f"publish as {GITHUB}"]}
    told["should_not_trigger"] = [f"list buckets of {AWS}"]
    (skill / "evals.json").write_text(json.dumps(told))
    corpus = Watched(skills(root), str(ledger))
    corpus.look()
    stored = stored_text(ledger)
    for value in (AWS, GITHUB, KEY_LINES[0], "diary"):
        assert value.encode() not in stored
    (held,) = corpus.ledger.prompts.list_held("s")
    assert [(each.text, each.weight > 0) for each in held.expected.prompts] == [
        ("list buckets of [secret: AWS Access Key]", False),
        ("publish as [secret: GitHub Token]", True),
    ]
    assert {kind for _, _, kind in secrets(corpus)} == {"AWS Access Key", "GitHub Token"}


def test_no_password_of_a_note_reaches_the_ledger_s_files(tmp_path):
    root, ledger = tmp_path / "notes", tmp_path / "ledger.sqlite"
    root.mkdir()
    (root / "a.md").write_text(
        f"---\ntitle: a\ndb_password: {PASSWORD}-1\n---\n# a\n\n"
        f"DATABASE_URL=postgres://shop:{PASSWORD}-2@db.internal/shop\npassword: {PASSWORD}-3\n\n"
        f"Authorization: Bearer {PASSWORD[:7]}0123456789-4\n"
    )
    corpus = Watched(files(root), str(ledger))
    assert corpus.look().written == 1
    stored = stored_text(ledger)
    assert PASSWORD[:7].encode() not in stored
    assert {kind for _, _, kind in secrets(corpus)} == {
        "Authorization Header", "Basic Auth Credentials", "Secret Keyword"
    }  # fmt: skip


def test_another_level_of_redaction_reads_everything_again(tmp_path):
    (tmp_path / "a.md").write_text(f'password = "{PASSWORD}"')
    corpus = Watched(files(tmp_path, redact="tokens"))
    corpus.look()
    corpus.corpus = files(tmp_path)
    report = corpus.look()
    assert (report.written, report.outdated) == (1, True)


def test_a_secret_without_a_file_is_told_by_its_artifact():
    corpus = Watched(mapped({"a": f"x {AWS}"}))
    corpus.look()
    assert secrets(corpus) == [("a", 0, "AWS Access Key")]


def test_a_secret_in_a_file_without_lines_is_told_by_the_file_alone(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"\n\0 " + AWS.encode())
    reading = Reading((Artifact("a", AWS, "a", str(path)),))
    made = redact_reading(reading, Entry("a", str(path), "1"), "tokens", OptOuts())
    assert made.secrets == (Secret(str(path), 0, "AWS Access Key"),)


def test_a_reason_that_quotes_a_secret_is_cleaned_too():
    class Quoting:
        def decompose(self, artifact_id, raw, metadata=None):
            raise ValueError(f"cannot take {AWS}")

    corpus = Watched(mapped({"a": "x"}, strategy=Quoting()))
    corpus.look()
    assert "[secret: AWS Access Key]" in corpus.failures["a"]


# -- opting out ----------------------------------------------------------------------------------


def test_a_project_that_opts_out_is_forgotten_at_the_next_look_and_back_when_it_opts_in(tmp_path):
    root, project = tmp_path / "sessions", tmp_path / "shop"
    root.mkdir()
    (project / "sub").mkdir(parents=True)
    session(root, project / "sub", "hello", "and bye")
    corpus = Watched(sessions(root))
    assert corpus.look().written == 2
    (project / MARKER).touch()
    assert corpus.look().removed == 2
    assert corpus.ledger.entries.count_skipped("s") == {"opted_out": 2}
    (project / MARKER).unlink()
    assert corpus.look().written == 2


def test_what_lies_under_a_marker_is_forgotten_as_soon_as_the_marker_is_seen(tmp_path):
    write_skill(tmp_path / "in", "stays")
    hidden = write_skill(tmp_path / "out", "goes")
    corpus = Watched(skills(tmp_path))
    corpus.look()
    (hidden / MARKER).touch()
    assert corpus.look(hidden / MARKER).removed == 1
    (hidden / "SKILL.md").write_text("changed")
    assert corpus.look(hidden / "SKILL.md").written == 0
    (hidden / MARKER).unlink()
    assert corpus.look(hidden / MARKER).written == 1


def test_a_marker_in_the_root_empties_the_corpus_without_being_taken_for_a_loss(tmp_path):
    write_skill(tmp_path / "a", "x")
    corpus = Watched(skills(tmp_path))
    corpus.look()
    (tmp_path / MARKER).touch()
    report = corpus.look()
    assert (report.removed, report.problems, corpus.held) == (1, (), {})


# -- links ---------------------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("elsewhere")
    root = tmp_path / "root"
    root.mkdir()
    (root / "own.md").write_text("here")
    (root / "docs").symlink_to(tmp_path / "outside")
    return root


def test_documents_that_a_link_leads_to_outside_the_roots_are_refused_with_a_reason(linked):
    corpus = Watched(files(linked))
    assert corpus.look().written == 1
    (reason,) = corpus.failures.values()
    assert "out of the corpus' roots" in reason
    assert "follow_links" in reason


def test_links_out_of_the_roots_are_followed_where_that_is_said(linked):
    assert Watched(files(linked, follow_links=True)).look().written == 2


def test_what_was_followed_is_forgotten_once_it_may_not_be(linked):
    corpus = Watched(files(linked, follow_links=True))
    corpus.look()
    corpus.corpus = files(linked)
    corpus.look()
    assert len(corpus.held) == len(corpus.failures) == 1


def test_a_skill_that_is_a_link_to_some_other_file_is_refused(tmp_path):
    (tmp_path / "id_rsa").write_text("mine")
    (tmp_path / "root" / "evil").mkdir(parents=True)
    (tmp_path / "root" / "evil" / "SKILL.md").symlink_to(tmp_path / "id_rsa")
    corpus = Watched(skills(tmp_path / "root"))
    assert corpus.look().written == 0
    assert "which is not a SKILL.md" in "".join(corpus.failures.values())


def test_a_skill_that_was_replaced_by_such_a_link_is_forgotten(tmp_path):
    (tmp_path / "id_rsa").write_text("mine")
    skill = write_skill(tmp_path / "root" / "a", "x") / "SKILL.md"
    corpus = Watched(skills(tmp_path / "root"))
    corpus.look()
    skill.unlink()
    skill.symlink_to(tmp_path / "id_rsa")
    report = corpus.look()
    assert (report.removed, report.failed, corpus.held) == (1, 1, {})
    assert corpus.look().failed == 0


def test_a_skill_directory_linked_by_an_installer_is_followed(tmp_path):
    write_skill(tmp_path / "store" / "pdf", "x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "pdf").symlink_to(tmp_path / "store" / "pdf")
    assert Watched(skills(tmp_path / "root")).look().written == 1


# -- what is forgotten ---------------------------------------------------------------------------


def test_words_of_what_was_forgotten_are_in_no_page_of_the_ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    items = {"a": "the orchidaceous plan", "b": "another plan"}
    corpus = Watched(mapped(items), str(path))
    corpus.look()
    del items["a"]
    corpus.look()
    corpus.ledger.forget_unused_terms()
    corpus.ledger.vacuum()
    assert b"orchid" not in stored_text(path)
    items["c"] = "orchidaceous again"
    corpus.look()
    words = {term for term in corpus.ledger.terms.get_table() if not term.startswith("\0")}
    assert len(corpus.held) == 2
    assert {"plan", "again"} <= words


def test_a_ledger_and_the_directories_made_for_it_are_their_owner_s_alone(tmp_path):
    path = tmp_path / "state" / "library" / "x.sqlite"
    old = os.umask(0o022)
    try:
        Watched(mapped({"a": "x"}), str(path)).look()
    finally:
        os.umask(old)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert [stat.S_IMODE(p.stat().st_mode) for p in list(path.parents)[:2]] == [0o700] * 2


def test_a_ledger_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.touch(0o644)
    Ledger(str(path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_text_that_loses_lines_to_redaction_has_no_line_of_its_file_any_more():
    for text, known in ((f"a\n{PRIVATE_KEY}\nb", False), (f"a\ntoken {GITHUB}\nb", True)):
        read = Reading((Artifact("a", {"text": text, FIRST_LINE: 1}, "a"),))
        kept = redact_reading(read, Entry("a", "", "1"), "all", OptOuts())
        assert (FIRST_LINE in kept.artifacts[0].raw) == known
