import os

import pytest

from irclient.errors import QueryError
from irdaemon.source.places import keep_existing
from irdaemon.source.skills import Skills, list_known_places
from irdaemon.types import Root, Scan

NOTHING = Scan((), ())


def make(directory, text="---\ndescription: x\n---\n"):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "SKILL.md").write_text(text)
    return directory


def skills(*roots, **options):
    given = tuple(r if isinstance(r, Root) else Root(str(r)) for r in roots)
    return Skills(given, options)


def keys(scan):
    return [entry.key for entry in scan.entries]


def test_every_directory_with_a_skill_file_is_a_skill_also_the_root_and_nested_ones(tmp_path):
    paths = [make(tmp_path), make(tmp_path / "a"), make(tmp_path / "a" / "b" / "c")]
    make(tmp_path / "node_modules" / "x")
    scan = skills(tmp_path).scan()
    assert keys(scan) == [str(path) for path in paths]
    assert scan.covered == ("",)
    assert scan.problems == ()


def test_hidden_directories_are_looked_into(tmp_path):
    path = make(tmp_path / ".claude" / "skills" / "a")
    assert keys(skills(tmp_path).scan()) == [str(path)]


def test_skills_below_the_depth_limit_are_left_out(tmp_path):
    near = make(tmp_path / "1" / "2")
    make(tmp_path / "1" / "2" / "3")
    assert keys(skills(tmp_path, max_depth=2).scan()) == [str(near)]


def test_a_skill_linked_into_several_agents_is_one_entry_in_its_best_scope(tmp_path):
    real = make(tmp_path / "shared" / "pdf")
    for agent in ("project", "user"):
        (tmp_path / agent).mkdir()
        (tmp_path / agent / "pdf").symlink_to(real)
    source = skills(
        Root(str(tmp_path / "shared"), "other"),
        Root(str(tmp_path / "user"), "user"),
        Root(str(tmp_path / "project"), "project"),
    )
    (entry,) = source.scan().entries
    assert (entry.path, entry.scope) == (str(real), "project")
    (narrow,) = source.scan(str(real / "SKILL.md")).entries
    assert narrow == entry


def test_a_missing_root_is_a_problem(tmp_path):
    make(tmp_path / "there" / "a")
    scan = skills(tmp_path / "there", tmp_path / "gone").scan()
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "gone")]
    assert len(scan.entries) == 1


def test_a_skill_file_that_leads_nowhere_is_a_problem(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").symlink_to(tmp_path / "nowhere")
    scan = skills(tmp_path).scan()
    assert scan.entries == ()
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "a")]


def test_the_stamp_changes_with_the_skill_and_with_its_codex_file(tmp_path):
    make(tmp_path / "a")
    source = skills(tmp_path)
    stamps = [source.scan().entries[0].stamp]
    (tmp_path / "a" / "SKILL.md").write_text("longer than before, surely longer")
    stamps.append(source.scan().entries[0].stamp)
    (tmp_path / "a" / "agents").mkdir()
    (tmp_path / "a" / "agents" / "openai.yaml").write_text("interface: {}")
    stamps.append(source.scan().entries[0].stamp)
    assert len(set(stamps)) == 3


def test_a_changed_skill_file_is_about_its_directory_alone(tmp_path):
    path = make(tmp_path / "a")
    make(tmp_path / "b")
    scan = skills(tmp_path).scan(str(path / "SKILL.md"))
    assert keys(scan) == [str(path)]
    assert scan.covered == (str(path),)


def test_a_removed_skill_file_leaves_its_directory_covered_and_empty(tmp_path):
    path = make(tmp_path / "a")
    (path / "SKILL.md").unlink()
    assert skills(tmp_path).scan(str(path / "SKILL.md")) == Scan((), (str(path),))


def test_a_changed_codex_file_is_about_its_skill(tmp_path):
    path = make(tmp_path / "a")
    scan = skills(tmp_path).scan(str(path / "agents" / "openai.yaml"))
    assert keys(scan) == [str(path)]


def test_other_files_in_a_skill_are_no_concern(tmp_path):
    path = make(tmp_path / "a")
    (path / "notes.md").write_text("x")
    assert skills(tmp_path).scan(str(path / "notes.md")) == NOTHING


def test_paths_elsewhere_are_no_concern(tmp_path):
    make(tmp_path / "in" / "a")
    (tmp_path / "out").mkdir()
    source = skills(tmp_path / "in")
    assert source.scan(str(tmp_path / "out")) == NOTHING
    assert source.scan(str(tmp_path / "out" / "session.jsonl")) == NOTHING


def test_a_new_directory_is_looked_into_and_no_further(tmp_path):
    make(tmp_path / "a")
    path = make(tmp_path / "new" / "b")
    scan = skills(tmp_path).scan(str(tmp_path / "new"))
    assert keys(scan) == [str(path)]
    assert scan.covered == (str(tmp_path / "new"),)


def test_a_pruned_directory_is_no_concern(tmp_path):
    path = make(tmp_path / "node_modules" / "a")
    assert skills(tmp_path).scan(str(path / "SKILL.md")) == NOTHING


def test_the_depth_limit_holds_for_a_narrow_look_too(tmp_path):
    path = make(tmp_path / "1" / "2" / "3")
    assert skills(tmp_path, max_depth=2).scan(str(path / "SKILL.md")) == NOTHING


def test_a_link_that_vanished_is_missed_where_it_was_and_noticed_by_a_look_at_its_root(tmp_path):
    outside = make(tmp_path / "outside" / "a")
    make(tmp_path / "in" / "b")
    (tmp_path / "in" / "a").symlink_to(outside)
    source = skills(tmp_path / "in")
    assert len(source.scan().entries) == 2
    (tmp_path / "in" / "a").unlink()
    assert keys(source.scan(str(tmp_path / "in" / "a"))) == []
    scan = source.scan(str(tmp_path / "in"))
    assert keys(scan) == [str(tmp_path / "in" / "b")]
    assert scan.covered == ("",)


def test_a_link_that_was_turned_elsewhere_rescans_everything(tmp_path):
    old, new = make(tmp_path / "outside" / "old"), make(tmp_path / "outside" / "new")
    (tmp_path / "in").mkdir()
    link = tmp_path / "in" / "a"
    link.symlink_to(old)
    source = skills(tmp_path / "in")
    assert keys(source.scan()) == [str(old)]
    link.unlink()
    link.symlink_to(new)
    scan = source.scan(str(link))
    assert (keys(scan), scan.covered) == ([str(new)], ("",))


def test_a_changed_link_target_outside_the_roots_is_found(tmp_path):
    outside = make(tmp_path / "outside" / "a")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").symlink_to(outside)
    scan = skills(tmp_path / "in").scan(str(outside / "SKILL.md"))
    assert keys(scan) == [str(outside)]
    assert scan.covered == (str(outside),)


def test_a_rescan_of_a_root_covers_everything(tmp_path):
    make(tmp_path / "a")
    source = skills(tmp_path)
    assert source.scan(str(tmp_path)) == source.scan()
    assert source.scan(os.path.dirname(tmp_path)) == source.scan()


def test_a_vanished_root_keeps_what_was_known(tmp_path):
    root = tmp_path / "root"
    scan = skills(root).scan(str(root))
    assert [problem.path for problem in scan.problems] == [str(root)]


def test_an_unknown_option_is_refused(tmp_path):
    with pytest.raises(QueryError, match="depth"):
        skills(tmp_path, depth=3)


def test_known_roots_are_those_that_exist_for_every_agent(tmp_path):
    for path in (".claude/skills", ".agents/skills", ".gemini/extensions", "elsewhere/skills"):
        (tmp_path / path).mkdir(parents=True)
    home = str(tmp_path)
    found = {
        root.path: root.scope
        for root in keep_existing(list_known_places(home, {}))
        if home in root.path
    }
    assert found == {
        f"{home}/.claude/skills": "user",
        f"{home}/.agents/skills": "user",
        f"{home}/.gemini/extensions": "plugin",
    }


def test_known_roots_follow_the_variables_that_move_them(tmp_path):
    for path in (".claude/skills", "c/skills", "c/plugins", "x/skills", "p/skills"):
        (tmp_path / path).mkdir(parents=True)
    home = str(tmp_path)
    env = {"CLAUDE_CONFIG_DIR": "~/c", "CODEX_HOME": f"{home}/x", "COPILOT_HOME": f"{home}/p"}
    found = {root.path for root in keep_existing(list_known_places(home, env)) if home in root.path}
    assert found == {f"{home}/{p}" for p in ("c/skills", "c/plugins", "x/skills", "p/skills")}


def test_known_roots_that_are_one_directory_count_once(tmp_path):
    (tmp_path / ".agents" / "skills").mkdir(parents=True)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "skills").symlink_to(tmp_path / ".agents" / "skills")
    found = [
        root
        for root in keep_existing(list_known_places(str(tmp_path), {}))
        if str(tmp_path) in root.path
    ]
    assert len(found) == 1
