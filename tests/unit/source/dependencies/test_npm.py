"""Dependencies of npm: package.json, node_modules and the lock."""

import os

import pytest

from irdaemon.source.dependencies import Dependencies, Options, find_dependencies
from irdaemon.source.dependencies.npm import is_npm_name, read_npm
from irdaemon.types import Root
from tests.support.installed import install, write


def find(root):
    return {each.name: each for each in find_dependencies(str(root), "npm", Options()).dependencies}


def test_a_direct_dependency_has_its_installed_version_and_what_the_manifest_asks_for(tmp_path):
    write(tmp_path / "package.json", {"dependencies": {"react": "^19"}})
    home = install(tmp_path, "react", "19.3.1")

    (found,) = find_dependencies(str(tmp_path), "npm", Options()).dependencies

    assert (found.name, found.version, found.wanted) == ("react", "19.3.1", "^19")
    assert (found.origin, found.manifest) == ("installed", "package.json")
    assert found.directory == str(home)
    assert not found.dev


def test_what_a_dependency_depends_on_is_no_dependency_of_the_project(tmp_path):
    write(tmp_path / "package.json", {"dependencies": {"a": "1"}, "devDependencies": {"b": "1"}})
    for name in ("a", "b", "c"):
        install(tmp_path, name)

    found = find(tmp_path)

    assert set(found) == {"a", "b"}
    assert found["b"].dev


def test_a_peer_counts_where_it_is_installed(tmp_path):
    write(tmp_path / "package.json", {"peerDependencies": {"react": "*", "vue": "*"}})
    install(tmp_path, "react")

    assert set(find(tmp_path)) == {"react"}


def test_what_is_not_installed_has_the_range_of_the_manifest(tmp_path):
    write(tmp_path / "package.json", {"name": "shop", "dependencies": {"zod": "^4"}})

    found = find(tmp_path)

    assert (found["zod"].origin, found["zod"].version, found["zod"].directory) == ("range", "", "")
    assert found["shop"].own


def test_an_entry_is_read_with_its_words_and_where_it_is_from(tmp_path):
    write(tmp_path / "package.json", {"dependencies": {"@acme/pdf": "^2"}})
    home = install(
        tmp_path, "@acme/pdf", "2.1.0", description="Fill PDF forms", keywords=["pdf", "forms"]
    )
    write(home / "README.md", "# PDF\n\nIt fills them.\n")
    source = Dependencies((Root(str(tmp_path), "project", "none"),), {})

    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts

    assert entry.key == f"{tmp_path}#npm/@acme/pdf"
    assert entry.path == str(tmp_path / "package.json")
    assert artifact.name == artifact.raw["name"] == "@acme/pdf"
    assert artifact.raw["description"] == "Fill PDF forms"
    assert artifact.raw["keywords"] == ["pdf", "forms"]
    assert artifact.raw["readme"] == "# PDF\n\nIt fills them."
    assert artifact.pointer == str(home)
    told = {name: artifact.metadata[name] for name in ("version", "wanted", "origin", "installed")}
    assert told == {"version": "2.1.0", "wanted": "^2", "origin": "installed", "installed": True}


def test_an_entry_of_nothing_installed_says_so_itself(tmp_path):
    write(tmp_path / "package.json", {"dependencies": {"zod": "^4"}})
    source = Dependencies((Root(str(tmp_path)),), {})

    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts

    assert artifact.pointer == ""
    assert "package.json asks for ^4" in artifact.body


def test_another_installed_version_is_another_stamp(tmp_path):
    write(tmp_path / "package.json", {"dependencies": {"zod": "^4"}})
    install(tmp_path, "zod", "4.1.0")
    source = Dependencies((Root(str(tmp_path)),), {})
    (before,) = source.scan().entries

    install(tmp_path, "zod", "4.2.0")

    (after,) = source.scan().entries
    assert (before.key, before.path) == (after.key, after.path)
    assert before.stamp != after.stamp


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../up",
        "a/b",
        "@a",
        "@a/",
        "@/a",
        "a b",
        "a\nb",
        "a\x1b[2J",
        "-\u202eb",
        "_a",
    ],
)
def test_a_name_that_npm_does_not_allow_is_left_out_and_counted(tmp_path, name):
    write(tmp_path / "package.json", {"dependencies": {name: "1", "zod": "4"}})

    found = find_dependencies(str(tmp_path), "npm", Options())

    assert not is_npm_name(name)
    assert [each.name for each in found.dependencies] == ["zod"]
    assert found.left_out == {"no name of a package of npm": 1}


def test_a_package_that_is_a_link_out_of_the_project_gives_no_text(tmp_path):
    elsewhere = install(tmp_path / "elsewhere", "secret")
    root = tmp_path / "shop"
    write(root / "package.json", {"dependencies": {"secret": "^1"}})
    (root / "node_modules").mkdir()
    (root / "node_modules/secret").symlink_to(elsewhere)

    found = find(root)["secret"]

    assert (found.directory, found.version, found.origin) == ("", "", "range")


def test_a_manifest_that_is_too_large_is_a_problem_that_says_so(tmp_path):
    with (tmp_path / "package.json").open("w") as file:
        file.truncate(50_000_000)

    found = find_dependencies(str(tmp_path), "npm", Options())

    (problem,) = found.problems
    assert found.dependencies == ()
    assert "50,000,000 bytes, more than the limit" in problem.reason


def test_no_more_than_the_most_are_found_and_a_problem_says_so(tmp_path):
    wanted = {f"p{number}": "1" for number in range(12)}
    write(tmp_path / "package.json", {"dependencies": wanted})

    found = find_dependencies(str(tmp_path), "npm", Options(max=10))

    assert len(found.dependencies) == 10
    assert "more than 10 direct dependencies" in found.problems[0].reason


def test_members_of_a_workspace_are_its_own_and_what_they_ask_for_is_one_entry(tmp_path):
    write(tmp_path / "package.json", {"workspaces": ["apps/*", "!apps/old"]})
    write(tmp_path / "apps/shop/package.json", {"name": "shop", "dependencies": {"zod": "^3"}})
    write(tmp_path / "apps/blog/package.json", {"name": "blog", "dependencies": {"zod": "^3"}})
    write(tmp_path / "apps/old/package.json", {"name": "old", "dependencies": {"left-pad": "1"}})
    install(tmp_path, "zod", "3.1.0")

    found = find(tmp_path)

    assert set(found) == {"shop", "blog", "zod"}
    assert found["shop"].own
    assert found["blog"].own
    assert found["zod"].manifest == "apps/blog/package.json"
    assert found["zod"].also == ("apps/shop/package.json",)


def test_a_package_is_found_in_the_nearest_node_modules_up_to_the_workspace(tmp_path):
    write(tmp_path / "package.json", {"workspaces": {"packages": ["apps/**"]}})
    member = {"name": "shop", "dependencies": {"zod": "^4", "vue": "^3"}}
    write(tmp_path / "apps/deep/shop/package.json", member)
    install(tmp_path, "zod", "3.1.0")
    install(tmp_path, "vue", "3.5.0")
    nearest = install(tmp_path / "apps/deep/shop", "zod", "4.1.0")

    found = find(tmp_path)

    assert (found["zod"].version, found["zod"].directory) == ("4.1.0", str(nearest))
    assert found["vue"].version == "3.5.0"


def test_what_lies_above_the_project_is_not_looked_at(tmp_path):
    install(tmp_path, "zod")
    write(tmp_path / "shop/package.json", {"dependencies": {"zod": "^4"}})

    assert find(tmp_path / "shop")["zod"].directory == ""


def test_a_store_of_pnpm_below_the_workspace_is_followed(tmp_path):
    store = tmp_path / "node_modules/.pnpm/zod@4.1.0"
    home = install(store, "zod", "4.1.0")
    write(tmp_path / "package.json", {"dependencies": {"zod": "^4"}})
    (tmp_path / "node_modules/zod").symlink_to(home)

    assert find(tmp_path)["zod"].directory == str(home)


def test_members_of_pnpm_and_ranges_of_its_catalogs_count(tmp_path):
    write(
        tmp_path / "pnpm-workspace.yaml",
        "packages:\n  - 'libs/{a,b}'\ncatalog:\n  zod: ^4.0.0\ncatalogs:\n  old:\n    vue: ^2\n",
    )
    write(tmp_path / "package.json", {"name": "root"})
    wanted = {"zod": "catalog:", "vue": "catalog:old"}
    for name in ("a", "b", "c"):
        write(tmp_path / f"libs/{name}/package.json", {"name": name, "dependencies": wanted})

    found = find(tmp_path)

    assert {name for name, each in found.items() if each.own} == {"root", "a", "b"}
    assert (found["zod"].wanted, found["vue"].wanted) == ("^4.0.0", "^2")


@pytest.mark.parametrize("pattern", ["../*", "../outside", "/etc/*", "linked", "*/../../outside"])
def test_a_pattern_that_leads_out_of_the_project_names_no_member(tmp_path, pattern):
    write(tmp_path / "outside/package.json", {"name": "outside"})
    root = tmp_path / "shop"
    write(root / "package.json", {"name": "shop", "workspaces": [pattern]})
    (root / "linked").symlink_to(tmp_path / "outside")

    assert set(find(root)) == {"shop"}


@pytest.mark.parametrize("scheme", ["file:", "link:", "portal:", "workspace:"])
def test_a_path_in_a_manifest_counts_where_it_leads_back_into_the_project(tmp_path, scheme):
    write(tmp_path / "outside/package.json", {"name": "outside", "version": "9.9.9"})
    root = tmp_path / "shop"
    home = write(root / "libs/pdf/package.json", {"name": "pdf", "version": "2.0.0"}).parent
    wanted = {"pdf": f"{scheme}libs/pdf", "outside": f"{scheme}../outside"}
    write(root / "package.json", {"dependencies": wanted})

    found = find(root)

    assert (found["pdf"].directory, found["pdf"].version) == (str(home), "2.0.0")
    assert (found["outside"].directory, found["outside"].version) == ("", "")


def test_without_a_manifest_at_the_root_those_directly_below_it_count(tmp_path):
    write(tmp_path / "web/package.json", {"name": "web", "dependencies": {"zod": "^4"}})
    write(tmp_path / "node_modules/x/package.json", {"name": "x", "dependencies": {"y": "1"}})
    install(tmp_path / "web", "zod", "4.1.0")

    found = find(tmp_path)

    assert set(found) == {"web", "zod"}
    assert found["zod"].manifest == "web/package.json"


def test_a_workspace_of_too_many_members_is_a_problem_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("irdaemon.source.dependencies.workspace.MOST_MEMBERS", 3)
    write(tmp_path / "package.json", {"workspaces": ["libs/*"]})
    for number in range(5):
        write(tmp_path / f"libs/l{number}/package.json", {"name": f"l{number}"})

    found = find_dependencies(str(tmp_path), "npm", Options())

    assert len(found.dependencies) == 3
    assert "its workspace has more than 3 members" in found.problems[0].reason


def test_a_credential_in_an_address_is_not_kept(tmp_path):
    url = "git+https://ann:s3cr3t@git.acme.io/pdf.git#v2"
    write(tmp_path / "package.json", {"dependencies": {"pdf": url}})

    assert find(tmp_path)["pdf"].wanted == "git+https://git.acme.io/pdf.git#v2"


def test_of_packages_in_archives_names_and_versions_are_known_and_a_note_says_so(tmp_path):
    write(tmp_path / ".pnp.cjs", "")
    write(tmp_path / "package.json", {"dependencies": {"zod": "^4"}})
    write(tmp_path / "yarn.lock", '"zod@npm:^4":\n  version: 4.1.0\n')

    found = find_dependencies(str(tmp_path), "npm", Options())

    assert [(each.version, each.origin) for each in found.dependencies] == [("4.1.0", "locked")]
    assert found.notes == ("Yarn PnP: versions are from yarn.lock, archives are not opened",)


def test_a_manifest_is_a_link_only_within_the_project(tmp_path):
    outside = write(tmp_path / "outside.json", {"name": "outside"})
    root = tmp_path / "shop"
    root.mkdir()
    (root / "package.json").symlink_to(outside)

    found = find_dependencies(str(root), "npm", Options())

    assert found.dependencies == ()
    assert "a link leads out of the project" in found.problems[0].reason


def test_node_modules_is_not_listed(tmp_path, monkeypatch):
    write(tmp_path / "package.json", {"dependencies": {"zod": "^4"}})
    install(tmp_path, "zod")
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path=".": listed.append(path) or scandir(path))
    source = Dependencies((Root(str(tmp_path)),), {})

    for entry in source.scan().entries:
        source.read(entry)

    assert not [path for path in listed if str(path).endswith("node_modules")]


def test_a_change_of_a_manifest_or_an_installation_looks_again_and_one_of_code_does_not(tmp_path):
    write(tmp_path / "package.json", {"dependencies": {"zod": "^4"}})
    write(tmp_path / "src/main.ts", "")
    source = Dependencies((Root(str(tmp_path)),), {})

    def changed(path):
        return [entry.key for entry in source.scan(f"{tmp_path}/{path}").entries]

    key = f"{tmp_path}#npm/zod"
    assert changed("package.json") == changed("node_modules") == changed("node_modules/a") == [key]
    assert source.scan(str(tmp_path.parent)).covered == ("",)
    assert source.scan(f"{tmp_path}/src/main.ts").covered == ()
    assert source.scan(str(tmp_path.parent / "other/package.json")).covered == ()


def test_a_root_that_is_gone_is_a_problem(tmp_path):
    source = Dependencies((Root(str(tmp_path / "gone")),), {})

    assert [problem.path for problem in source.scan().problems] == [str(tmp_path / "gone")]


def test_a_source_says_what_it_found_without_reading_it(tmp_path):
    write(tmp_path / "package.json", {"dependencies": {"zod": "^4", "vue": "^3"}})

    notes = [
        note for found in Dependencies((Root(str(tmp_path)),), {}).find() for note in found.notes
    ]

    assert notes == [
        "2 packages of npm are not installed: name and version are from manifest and lock"
    ]


def test_a_manifest_that_git_ignores_is_not_read(tmp_path):
    write(tmp_path / ".gitignore", "dist/\nnode_modules\n")
    wanted = {"zod": "^4", "built": "file:libs/a/dist"}
    write(tmp_path / "package.json", {"workspaces": ["libs/**"], "dependencies": wanted})
    write(tmp_path / "libs/a/package.json", {"name": "a"})
    write(tmp_path / "libs/a/dist/package.json", {"name": "b", "dependencies": {"vue": "^3"}})
    install(tmp_path, "zod", "4.1.0")

    found = find(tmp_path)

    assert set(found) == {"a", "zod", "built"}
    assert found["built"].directory == ""
    assert found["zod"].version == "4.1.0"


def test_a_readme_that_is_a_link_to_another_file_is_not_read(tmp_path):
    write(tmp_path / "package.json", {"name": "shop"})
    write(tmp_path / ".env", "PASSWORD=hunter22")
    (tmp_path / "README.md").symlink_to(".env")

    text = read_npm(str(tmp_path))

    assert text.readme.text == ""
    assert text.pointer == str(tmp_path / "package.json")
