"""Coverage: what lies below the roots against what is indexed, by a walk of its own."""

import json
import os

import pytest

from irclient.errors import NotFound, Unavailable
from irdaemon.config.config import parse_config
from irdaemon.config.corpus import make_corpora
from irdaemon.engine.queue import Job
from irdaemon.runtime.deadline import set_deadline
from irdaemon.source.tree import Walk
from tests.support.claude_session import Session
from tests.support.corpora import engine, mapped, write_skill


def corpus(kind, *roots, **options):
    table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    text = (
        'known = false\nembedder = "hashing"\n[corpora.c]\n'
        f'kind = "{kind}"\nroots = {json.dumps([str(root) for root in roots])}\n{table}'
    )
    return make_corpora(parse_config(text, "/x/irdaemon.toml"))[0]


def indexed(made):
    """Return an engine that has scanned a corpus."""
    running = engine(made, calibrating=False)
    running.request(Job("reconcile", made.name))
    running.drain()
    return running


def covered(made):
    (found,) = indexed(made).coverage(made.name)
    return found


def write(top, *paths):
    for path in paths:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(f"what {path} is about")


def test_the_backup_that_an_editor_made_is_left_out_and_not_missing(tmp_path):
    write(tmp_path, "a.md", "a.md~")
    (tmp_path / ".#a.md").symlink_to("person@host.1234:1700000000")
    found = covered(corpus("files", tmp_path, pattern="**/*"))
    assert (found.indexed, found.missing, found.unchecked) == (1, 0, "")
    assert found.excluded == {"editors' locks, backups and drafts": 1}


def test_what_is_left_out_is_counted_by_its_reason_and_nothing_is_missing(tmp_path):
    write(tmp_path, "a.md", "deep/er/b.md", "c.bin", "drafts/d.md", "node_modules/e.md", "f.log.md")
    write(tmp_path, ".gitignore")
    (tmp_path / ".gitignore").write_text("*.log.md\n")
    found = covered(corpus("files", tmp_path, exclude=["drafts/"]))
    assert (found.indexed, found.missing, found.ratio) == (2, 0, 1.0)
    assert found.excluded == {
        "outside the pattern": 2,
        "ignored by git": 1,
        "directory: excluded": 1,
        "directory: version control, dependencies, caches": 1,
    }
    assert found.on_disk == 5
    assert found.unchecked == ""


def test_what_the_source_s_own_walk_overlooks_is_missing_by_its_path(tmp_path, monkeypatch):
    write(tmp_path, "a.md", "research/b.md", "research/deeper/c.md")
    shallow = Walk.walk_directories
    monkeypatch.setattr(
        Walk, "walk_directories", lambda *args: shallow(args[0], args[1], args[2], 0)
    )
    found = covered(corpus("files", tmp_path))
    assert found.missing_paths == [
        str(tmp_path / "research/b.md"),
        str(tmp_path / "research/deeper/c.md"),
    ]
    assert (found.indexed, found.missing, found.ratio) == (1, 2, pytest.approx(1 / 3))


def test_a_file_that_came_after_the_last_scan_is_missing_until_it_is_indexed(tmp_path):
    write(tmp_path, "a.md")
    running = indexed(corpus("files", tmp_path))
    write(tmp_path, "b.md")
    assert running.coverage("c")[0].missing_paths == [str(tmp_path / "b.md")]
    running.request(Job("reconcile", "c"))
    running.drain()
    assert running.coverage("c")[0].ratio == 1.0


def test_what_could_not_be_read_or_is_opted_out_has_that_for_a_reason(tmp_path):
    write(tmp_path, "a.md", "private/b.md", "private/.noirdaemon", "c.md")
    os.truncate(tmp_path / "c.md", 3_000_000)
    found = covered(corpus("files", tmp_path, pattern=["*.md"]))
    assert (found.indexed, found.missing) == (1, 0)
    assert found.excluded["could not be read: irc status --failures"] == 1
    assert found.excluded["opted out by .noirdaemon"] == 1


def test_a_directory_that_cannot_be_listed_is_said_to_be_unchecked(tmp_path, monkeypatch):
    write(tmp_path, "a.md", "closed/b.md")
    made = indexed(corpus("files", tmp_path))
    scandir = os.scandir

    def refused(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    (found,) = made.coverage("c")
    assert found.unchecked == f"{tmp_path}/closed: Permission denied"


def test_a_root_that_is_gone_is_said_to_be_unchecked(tmp_path):
    write(tmp_path, "there/a.md")
    found = covered(corpus("files", tmp_path / "there", tmp_path / "gone"))
    assert found.unchecked == f"nothing is at {tmp_path}/gone"


def test_links_are_followed_as_the_corpus_has_it_and_each_directory_counts_once(tmp_path):
    write(tmp_path, "notes/a.md", "elsewhere/b.md")
    os.symlink(tmp_path / "elsewhere", tmp_path / "notes/out")
    os.symlink(tmp_path / "notes", tmp_path / "notes/again")
    found = covered(corpus("files", tmp_path / "notes"))
    assert (found.indexed, found.missing, found.on_disk) == (1, 0, 1)
    assert found.excluded == {"directory: a link that is not followed": 1}
    followed = covered(corpus("files", tmp_path / "notes", follow_links=True))
    assert (followed.indexed, followed.missing) == (2, 0)


def test_a_file_and_a_link_to_it_are_one_item(tmp_path):
    write(tmp_path, "a.md")
    os.symlink(tmp_path / "a.md", tmp_path / "b.md")
    found = covered(corpus("files", tmp_path))
    assert (found.on_disk, found.indexed, found.missing) == (1, 1, 0)


def test_a_skill_is_one_item_whatever_lies_beside_it(tmp_path):
    write_skill(tmp_path / "one", "fill a form")
    write(tmp_path, "one/scripts/run.py", "two/notes.md")
    running = indexed(corpus("skills", tmp_path))
    (found,) = running.coverage("c")
    assert (found.on_disk, found.indexed, found.missing) == (1, 1, 0)
    write_skill(tmp_path / "deep/er/three", "write a report")
    (found,) = running.coverage("c")
    assert found.missing_paths == [str(tmp_path / "deep/er/three")]


def test_a_skill_of_a_plugin_that_is_switched_off_is_left_out(tmp_path):
    store = tmp_path / "plugins"
    for name in ("on", "off"):
        write_skill(store / "cache" / name / "skills/one", f"the plugin that is {name}")
    records = {
        f"{name}@m": [{"scope": "user", "installPath": str(store / "cache" / name)}]
        for name in ("on", "off")
    }
    (store / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": records}))
    (tmp_path / "settings.json").write_text('{"enabledPlugins": {"on@m": true, "off@m": false}}')
    found = covered(corpus("skills", store))
    assert (found.indexed, found.missing) == (1, 0)
    assert found.excluded == {"in a plugin that is not in use": 1}


def test_a_report_is_told_from_what_else_docs_folders_hold(tmp_path):
    write(tmp_path, "g/p/docs/a.md", "g/p/misc/docs/deep/b.md", "g/p/docs/README.md")
    write(tmp_path, "g/p/docs/c.png", "g/p/docs/node_modules/d.md", "g/p/src/e.md", "f.md")
    running = indexed(corpus("reports", tmp_path))
    (found,) = running.coverage("c")
    assert (found.indexed, found.missing, found.on_disk, found.ratio) == (2, 0, 4, 1.0)
    assert found.excluded == {
        "named in capitals": 1,
        "not Markdown": 1,
        "directory: hidden or vendored directory": 1,
    }
    write(tmp_path, "g/p/docs/research/deep/h.md")
    (found,) = running.coverage("c")
    assert found.missing_paths == [str(tmp_path / "g/p/docs/research/deep/h.md")]


def test_reports_below_the_docs_folders_themselves_are_expected_where_they_are_looked_for(tmp_path):
    write(tmp_path, "g/p/docs/a.md", "g/p/docs/research/b.md")
    assert covered(corpus("reports", tmp_path)).indexed == 2
    found = covered(corpus("reports", tmp_path, recursive=False))
    assert (found.indexed, found.missing) == (1, 0)
    assert found.excluded == {"directory: below a docs folder": 1}


def test_a_directory_with_manifests_is_one_package(tmp_path):
    write(tmp_path, "one/go.mod", "one/README.md", "two/src/lib.rs", "one/.venv/x/go.mod")
    (tmp_path / "one/package.json").write_text('{"name": "one"}')
    running = indexed(corpus("packages", tmp_path))
    (found,) = running.coverage("c")
    assert (found.indexed, found.missing) == (1, 0)
    write(tmp_path, "two/Cargo.toml", "two/target/x/Cargo.toml", "two/src/deeper/Cargo.toml")
    (found,) = running.coverage("c")
    assert found.missing_paths == [str(tmp_path / "two"), str(tmp_path / "two/src/deeper")]


def test_what_is_installed_is_covered_by_its_metadata(tmp_path):
    site = tmp_path / "site-packages"
    write(site, "one/__init__.py", "one/package.json")
    for name in ("one-1.0.dist-info", "~wo-1.0.dist-info"):
        (site / name).mkdir()
        (site / name / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name[:3]}\n")
    found = covered(corpus("packages", site))
    assert (found.on_disk, found.indexed, found.missing) == (1, 1, 0)
    modules = tmp_path / "node_modules"
    write(modules, "a/x.js", "a/node_modules/b/package.json", "@s/c/x.js")
    for name in ("a", "@s/c"):
        (modules / name / "package.json").write_text(json.dumps({"name": name}))
    found = covered(corpus("packages", modules))
    assert (found.on_disk, found.indexed, found.missing) == (2, 2, 0)


def test_guidance_is_expected_where_its_products_keep_it(tmp_path):
    write(tmp_path, ".claude/agents/a.md", "docs/b.md")
    (tmp_path / ".claude/agents/a.md").write_text("---\nname: a\ndescription: b\n---\nc\n")
    running = indexed(corpus("agents", tmp_path))
    (found,) = running.coverage("c")
    assert (found.on_disk, found.indexed, found.missing) == (1, 1, 0)
    write(tmp_path, ".cursor/agents/team/d.md", ".claude/agents/e.md")
    (found,) = running.coverage("c")
    assert found.missing == 2


def test_a_session_is_expected_within_its_window_and_notes_beside_it_are_not(tmp_path):
    lines = Session().user("u1", "fill a form").says("a1", "it is filled", "end_turn").lines
    for name in ("p/one.jsonl", "p/old.jsonl", "p/memory/x.jsonl"):
        write(tmp_path, name)
        (tmp_path / name).write_text("\n".join([*lines, ""]).replace('"u1"', f'"{name}"'))
    os.utime(tmp_path / "p/old.jsonl", (0, 0))
    running = indexed(corpus("sessions", tmp_path, since_days=30))
    (found,) = running.coverage("c")
    assert (found.indexed, found.missing) == (1, 0)
    assert found.excluded == {
        "older than since_days": 1,
        "directory: outputs and notes of sessions": 1,
    }
    write(tmp_path, "q/two.jsonl")
    assert running.coverage("c")[0].missing_paths == [str(tmp_path / "q/two.jsonl")]


def test_an_entry_in_which_nothing_was_is_not_counted_as_indexed(tmp_path):
    write(tmp_path, "p/one.jsonl")
    found = covered(corpus("sessions", tmp_path))
    assert (found.indexed, found.missing) == (0, 0)
    assert sum(found.excluded.values()) == 1


def test_a_corpus_that_is_no_tree_of_files_says_so():
    (found,) = indexed(mapped({"a": "fill a form"})).coverage()
    assert found.ratio is None
    assert found.unchecked == "a corpus of mapping is not a tree of files"


def test_a_walk_ends_when_the_time_of_its_request_is_up(tmp_path):
    write(tmp_path, "a.md")
    made = indexed(corpus("files", tmp_path))
    with set_deadline(0.0), pytest.raises(Unavailable):
        made.coverage("c")


def test_an_unknown_corpus_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        engine().coverage("c")
