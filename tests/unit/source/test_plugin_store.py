import json
import os

import pytest

from irdaemon.source.skills import Skills
from irdaemon.types import Root


@pytest.fixture
def store(tmp_path):
    path = tmp_path / ".claude" / "plugins"
    (path / "cache").mkdir(parents=True)
    return path


def add(store, plugin, version="1.0.0", marketplace="acme", skill="skills/a"):
    root = store / "cache" / marketplace / plugin / version
    (root / skill).mkdir(parents=True, exist_ok=True)
    (root / skill / "SKILL.md").write_text("---\ndescription: x\n---\n")
    return root


def install(store, **paths):
    plugins = {
        f"{name}@acme": [{"scope": "user", "installPath": str(p)}] for name, p in paths.items()
    }
    text = json.dumps({"version": 2, "plugins": plugins})
    (store / "installed_plugins.json").write_text(text)


def enable(store, **plugins):
    enabled = {f"{name}@acme": value for name, value in plugins.items()}
    (store.parent / "settings.json").write_text(json.dumps({"enabledPlugins": enabled}))


def source(store):
    return Skills((Root(str(store), "plugin"),), {})


def names(store):
    return [os.path.relpath(e.path, store / "cache/acme") for e in source(store).scan().entries]


def test_only_installed_and_enabled_plugins_count(store):
    install(store, fmt=add(store, "fmt"), off=add(store, "off"))
    add(store, "orphan")
    enable(store, fmt=True, off=False)
    assert names(store) == ["fmt/1.0.0/skills/a"]


def test_without_a_word_in_the_settings_installed_plugins_are_enabled(store):
    install(store, fmt=add(store, "fmt"))
    assert names(store) == ["fmt/1.0.0/skills/a"]


def test_of_several_cached_versions_the_installed_one_counts(store):
    install(store, fmt=add(store, "fmt", "1.0.0"))
    add(store, "fmt", "2.0.0")
    assert names(store) == ["fmt/1.0.0/skills/a"]


def test_without_the_list_of_installed_plugins_the_newest_version_counts(store):
    for version, when in (("1.0.0", 3), ("2.0.0", 1), ("3.0.0", 2)):
        os.utime(add(store, "fmt", version), (when, when))
    assert names(store) == ["fmt/1.0.0/skills/a"]


def test_clones_of_marketplaces_are_not_installed(store):
    install(store, fmt=add(store, "fmt"))
    clone = store / "marketplaces" / "acme" / "skills" / "b"
    clone.mkdir(parents=True)
    (clone / "SKILL.md").write_text("x")
    assert names(store) == ["fmt/1.0.0/skills/a"]


def test_a_skill_file_at_the_root_of_a_plugin_is_a_skill(store):
    install(store, fmt=add(store, "fmt", skill="."))
    assert names(store) == ["fmt/1.0.0"]


def test_the_manifest_adds_skill_directories_inside_the_plugin_only(store, tmp_path):
    root = add(store, "fmt")
    add(store, "fmt", skill="more/b")
    add(store, "fmt", skill="unnamed/c")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("x")
    (root / ".claude-plugin").mkdir()
    manifest = {"name": "fmt", "skills": ["./more", "../../../../../../outside", str(outside)]}
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest))
    install(store, fmt=root)
    assert names(store) == ["fmt/1.0.0/more/b", "fmt/1.0.0/skills/a"]


def test_a_plugins_skill_names_its_plugin(store):
    install(store, fmt=add(store, "fmt"))
    (entry,) = source(store).scan().entries
    (artifact,) = source(store).read(entry).artifacts
    assert artifact.metadata["plugin"] == "fmt@acme"
    assert artifact.metadata["scope"] == "plugin"


def test_a_broken_list_of_plugins_is_a_problem_that_keeps_what_was_known(store):
    add(store, "fmt")
    (store / "installed_plugins.json").write_text("{")
    scan = source(store).scan()
    assert scan.entries == ()
    assert [problem.path for problem in scan.problems] == [str(store)]


def test_a_broken_manifest_is_a_problem_of_its_plugin_alone(store):
    broken, fine = add(store, "broken"), add(store, "fine")
    (broken / ".claude-plugin").mkdir()
    (broken / ".claude-plugin" / "plugin.json").write_text("{")
    install(store, broken=broken, fine=fine)
    scan = source(store).scan()
    assert [entry.path for entry in scan.entries] == [str(fine / "skills" / "a")]
    assert [problem.path for problem in scan.problems] == [str(broken)]


def test_the_settings_are_watched_and_a_change_to_them_rescans(store):
    install(store, fmt=add(store, "fmt"))
    settings = str(store.parent / "settings.json")
    enable(store, fmt=False)
    assert settings in [root.path for root in source(store).roots()]
    scan = source(store).scan(settings)
    assert (scan.entries, scan.covered) == ((), ("",))


def test_a_change_to_the_list_of_installed_plugins_rescans(store):
    install(store, fmt=add(store, "fmt"))
    scan = source(store).scan(str(store / "installed_plugins.json"))
    assert len(scan.entries) == 1
    assert scan.covered == ("",)


def test_a_changed_skill_of_a_plugin_in_use_is_found_and_of_another_is_not(store):
    used, orphan = add(store, "fmt"), add(store, "orphan")
    install(store, fmt=used)
    assert len(source(store).scan(str(used / "skills/a/SKILL.md")).entries) == 1
    assert source(store).scan(str(orphan / "skills/a/SKILL.md")).entries == ()


def test_a_store_inside_an_ordinary_root_keeps_its_rules(store):
    install(store, fmt=add(store, "fmt"))
    add(store, "orphan")
    (entry,) = Skills((Root(str(store.parent)),), {}).scan().entries
    assert entry.scope == "plugin"
    assert "/fmt/" in entry.path


def test_a_plugin_enabled_by_its_project_counts(store, tmp_path):
    path = add(store, "fmt")
    record = {"scope": "project", "projectPath": str(tmp_path / "p"), "installPath": str(path)}
    text = json.dumps({"version": 2, "plugins": {"fmt@acme": [record]}})
    (store / "installed_plugins.json").write_text(text)
    enable(store, other=True)
    assert names(store) == []
    (tmp_path / "p" / ".claude").mkdir(parents=True)
    settings = tmp_path / "p" / ".claude" / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {"fmt@acme": True}}))
    assert names(store) == ["fmt/1.0.0/skills/a"]


@pytest.mark.parametrize("path", [3, "relative/path", "with\0nul", None])
def test_an_install_path_that_cannot_be_one_is_passed_over(store, path):
    add(store, "fmt")
    plugins = {"fmt@acme": [{"installPath": path}, "words"], "other@acme": {"installPath": path}}
    (store / "installed_plugins.json").write_text(json.dumps({"plugins": plugins}))
    scan = source(store).scan()
    assert (scan.entries, scan.problems) == ((), ())
