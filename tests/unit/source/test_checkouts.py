"""The checkouts that tests are made with: what their readers find in them."""

import json
import tomllib

import pytest

from tests.support.checkouts import MANAGERS, Package, add_worktree, make_project

LOCKS = {
    **{"npm": "package-lock.json", "pnpm": "pnpm-lock.yaml", "yarn": "yarn.lock"},
    **{"uv": "uv.lock", "poetry": "poetry.lock", "cargo": "Cargo.lock", "go": "go.sum"},
}
EACH = Package("1.2.3", "Draw charts", "# Charts\n\nDraw them.\n", ("chart",), ("drawChart",))


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_checkout_names_its_dependency_in_manifest_lock_and_installation(tmp_path, manager):
    root = make_project(tmp_path / "code", "shop", manager=manager, packages={"charts": EACH})
    if manager in LOCKS:
        assert "1.2.3" in (root / LOCKS[manager]).read_text()
    readmes = [
        path
        for path in tmp_path.rglob("*")
        if path.name in ("README.md", "METADATA") and "Draw them." in path.read_text()
    ]
    assert readmes
    assert (root / ".git" / "HEAD").is_file()


@pytest.mark.parametrize("manager", MANAGERS)
def test_what_is_not_installed_or_locked_is_not_there(tmp_path, manager):
    packages = {"charts": EACH}
    root = make_project(
        tmp_path / "code", "shop", manager=manager, packages=packages, installed=False, locked=False
    )
    assert not list(tmp_path.rglob("README.md"))
    assert not any((root / name).exists() for name in LOCKS.values())


def test_written_files_parse(tmp_path):
    for manager in ("uv", "poetry", "cargo", "npm"):
        packages = {"charts": EACH, "pytest": Package("8.0.0", dev=True)}
        root = make_project(tmp_path / "code", manager, manager=manager, packages=packages)
        for path in root.rglob("*"):
            if path.name.endswith((".toml", "uv.lock", "poetry.lock", "Cargo.lock")):
                tomllib.loads(path.read_text())
            if path.suffix == ".json":
                json.loads(path.read_text())


def test_pnpm_links_to_its_store(tmp_path):
    packages = {"@scope/charts": EACH}
    root = make_project(tmp_path / "code", "shop", manager="pnpm", packages=packages)
    installed = root / "node_modules" / "@scope" / "charts"
    assert installed.is_symlink()
    assert (installed / "package.json").is_file()


def test_skills_docs_and_sessions_lie_where_agents_keep_them(tmp_path):
    root = make_project(
        tmp_path / "code",
        "shop",
        skills={"deploy": "Deploy the shop", "test": ("Test it", "Run make.")},
        docs={"docs/adr/1.md": "# Use Postgres"},
        sessions={"why is it slow": "the index was missing"},
    )
    assert (root / ".claude" / "skills" / "test" / "SKILL.md").read_text().endswith("Run make.\n")
    assert (root / "docs" / "adr" / "1.md").is_file()
    [session] = (tmp_path / ".claude" / "projects").rglob("*.jsonl")
    assert json.loads(session.read_text().splitlines()[0])["cwd"] == str(root)


def test_a_linked_worktree_has_a_file_for_its_repository(tmp_path):
    root = make_project(tmp_path / "code", "shop")
    assert (add_worktree(root, tmp_path / "code" / "shop-fix") / ".git").is_file()
