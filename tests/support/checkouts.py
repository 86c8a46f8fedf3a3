"""Checkouts of projects as their package managers leave them, written by hand: none is run.

`make_project(code, "shop", manager="pnpm", packages={"react": "18.3.1"})` writes `code/shop` with a
`.git`, the manifest, the lock file and the installation of each direct dependency. What the
ecosystem keeps for all projects (cargo's registry, Go's module cache) and sessions go below `home`,
which is the parent of `code` unless another is given.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from tests.support.installed import write

REGISTRY = ".cargo/registry/src/index.crates.io-6f17d22bba15001f"


@dataclass(frozen=True, slots=True)
class Package:
    """A direct dependency. `wanted` is what the manifest asks for; "" for the version itself."""

    version: str
    description: str = ""
    readme: str = ""
    keywords: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    wanted: str = ""
    dev: bool = False


# By name: a package, or its version alone.
Packages: TypeAlias = Mapping[str, Package | str]
# By name: the description of a skill, or that and its body.
Skills: TypeAlias = Mapping[str, str | tuple[str, str]]


def make_project(
    code: Path,
    name: str,
    *,
    skills: Skills | None = None,
    packages: Packages | None = None,
    manager: str = "npm",
    docs: Mapping[str, str] | None = None,
    sessions: Mapping[str, str] | None = None,
    installed: bool = True,
    locked: bool = True,
    git: bool = True,
    home: Path | None = None,
) -> Path:
    """Write a checkout below `code` and return its root.

    `docs` are texts by their path in the checkout, `sessions` answers by prompt. Without
    `packages` there is no manifest.
    """
    root, home = code / name, home or code.parent
    root.mkdir(parents=True, exist_ok=True)
    if git:
        add_git(root)
    if packages is not None:
        add_packages(root, packages, manager, home=home, installed=installed, locked=locked)
    for each, said in (skills or {}).items():
        add_skill(root, each, *([said] if isinstance(said, str) else said))
    for path, text in (docs or {}).items():
        write(root / path, text)
    for number, (prompt, answer) in enumerate((sessions or {}).items()):
        add_session(home, root, prompt, answer, f"{name}-{number}")
    return root


def add_git(root: Path) -> None:
    """Make a directory the root of a repository, as far as its files say so."""
    write(root / ".git" / "HEAD", "ref: refs/heads/main\n")
    write(root / ".git" / "config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    (root / ".git" / "objects").mkdir(exist_ok=True)
    (root / ".git" / "refs").mkdir(exist_ok=True)


def add_worktree(root: Path, path: Path) -> Path:
    """Write a linked worktree of a repository, whose `.git` is a file, and return its root."""
    admin = root / ".git" / "worktrees" / path.name
    write(admin / "HEAD", f"ref: refs/heads/{path.name}\n")
    write(admin / "gitdir", f"{path}/.git\n")
    write(path / ".git", f"gitdir: {admin}\n")
    return path


def add_skill(
    root: Path, name: str, description: str, body: str = "", agent: str = ".claude"
) -> Path:
    """Write a skill into a checkout's own directory of an agent, and return its SKILL.md."""
    text = f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"
    return write(root / agent / "skills" / name / "SKILL.md", text)


def add_session(home: Path, root: Path, prompt: str, answer: str, session: str) -> Path:
    """Write a session of Claude Code that took place in a checkout, and return its file."""
    common = {"sessionId": session, "cwd": str(root), "version": "2.1.263", "isSidechain": False}
    asked = {
        **{"type": "user", "uuid": f"{session}-u", "parentUuid": None, **common},
        **{"timestamp": "2026-05-01T10:00:00.000Z", "message": {"role": "user", "content": prompt}},
    }
    content = [{"type": "text", "text": answer}]
    said = {
        **{"type": "assistant", "uuid": f"{session}-a", "parentUuid": f"{session}-u", **common},
        "timestamp": "2026-05-01T10:00:05.000Z",
        "message": {
            **{"role": "assistant", "model": "claude-x", "content": content},
            "stop_reason": "end_turn",
        },
    }
    folder = str(root).replace("/", "-").replace(".", "-")
    path = home / ".claude" / "projects" / folder / f"{session}.jsonl"
    return write(path, "".join(f"{json.dumps(record)}\n" for record in (asked, said)))


def add_packages(
    root: Path,
    packages: Packages,
    manager: str = "npm",
    *,
    home: Path | None = None,
    installed: bool = True,
    locked: bool = True,
) -> None:
    """Write manifest, lock file and installation of direct dependencies into a directory.

    The name in the manifest is that of the directory.
    """
    every = {
        name: Package(each) if isinstance(each, str) else each for name, each in packages.items()
    }
    every = {
        name: each if each.wanted else replace(each, wanted=WANTED[manager](each.version))
        for name, each in every.items()
    }
    home = home or root.parent.parent
    MANIFESTS[manager](root, every)
    if locked:
        LOCKS[manager](root, every)
    if installed:
        INSTALLATIONS[manager](root, every, home)


# npm, pnpm, yarn


def _write_package_json(root: Path, packages: Mapping[str, Package]) -> None:
    manifest: dict[str, object] = {"name": root.name, "version": "0.1.0", "private": True}
    manifest["dependencies"] = {n: p.wanted for n, p in packages.items() if not p.dev}
    manifest["devDependencies"] = {n: p.wanted for n, p in packages.items() if p.dev}
    write(root / "package.json", json.dumps(manifest, indent=2) + "\n")


def _write_package_lock(root: Path, packages: Mapping[str, Package]) -> None:
    declared = {name: each.wanted for name, each in packages.items() if not each.dev}
    entries: dict[str, object] = {"": {"name": root.name, "dependencies": declared}}
    for name, each in packages.items():
        file = f"{name.rpartition('/')[2]}-{each.version}.tgz"
        entries[f"node_modules/{name}"] = {
            "version": each.version,
            "resolved": f"https://registry.npmjs.org/{name}/-/{file}",
            **({"dev": True} if each.dev else {}),
        }
    lock = {"name": root.name, "lockfileVersion": 3, "requires": True, "packages": entries}
    write(root / "package-lock.json", json.dumps(lock, indent=2) + "\n")


def _write_pnpm_lock(root: Path, packages: Mapping[str, Package]) -> None:
    lines = ["lockfileVersion: '9.0'", "", "importers:", "", "  .:"]
    for kind, dev in (("dependencies", False), ("devDependencies", True)):
        some = {name: each for name, each in packages.items() if each.dev == dev}
        lines += [f"    {kind}:"] if some else []
        for name, each in some.items():
            lines.append(f"      {_yaml_key(name)}:")
            lines.append(f"        specifier: {each.wanted}")
            lines.append(f"        version: {each.version}")
    lines += ["", "packages:"]
    for name, each in packages.items():
        lines += ["", f"  {_yaml_key(f'{name}@{each.version}')}:"]
        lines.append("    resolution: {integrity: sha512-AAAA}")
    write(root / "pnpm-lock.yaml", "\n".join(lines) + "\n")


def _yaml_key(name: str) -> str:
    return f"'{name}'" if name.startswith("@") else name


def _write_yarn_lock(root: Path, packages: Mapping[str, Package]) -> None:
    """Write a lock file of Yarn 1."""
    lines = [
        "# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.",
        "# yarn lockfile v1",
    ]
    for name, each in packages.items():
        key = f"{name}@{each.wanted}"
        lines += ["", f'"{key}":' if name.startswith("@") else f"{key}:"]
        lines.append(f'  version "{each.version}"')
        lines.append(f'  resolved "https://registry.yarnpkg.com/{name}/-/x.tgz#00"')
    write(root / "yarn.lock", "\n".join(lines) + "\n")


def _install_npm(root: Path, packages: Mapping[str, Package], home: Path) -> None:
    for name, each in packages.items():
        write_npm_package(root / "node_modules" / name, name, each)


def _install_pnpm(root: Path, packages: Mapping[str, Package], home: Path) -> None:
    for name, each in packages.items():
        store = f".pnpm/{name.replace('/', '+')}@{each.version}/node_modules/{name}"
        write_npm_package(root / "node_modules" / store, name, each)
        link = root / "node_modules" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(os.path.relpath(root / "node_modules" / store, link.parent))


def write_npm_package(folder: Path, name: str, package: Package) -> None:
    """Write an installed package of npm."""
    manifest = {
        **{"name": name, "version": package.version, "description": package.description},
        **{"keywords": list(package.keywords), "main": "index.js", "types": "index.d.ts"},
    }
    write(folder / "package.json", json.dumps(manifest) + "\n")
    if package.readme:
        write(folder / "README.md", package.readme)
    if package.exports:
        lines = (f"export declare function {each}(): void;\n" for each in package.exports)
        write(folder / "index.d.ts", "".join(lines))


# uv, poetry, pip


def _write_pyproject(root: Path, packages: Mapping[str, Package]) -> None:
    needs = [f"{n}{p.wanted}" for n, p in packages.items() if not p.dev]
    dev = [f"{n}{p.wanted}" for n, p in packages.items() if p.dev]
    lines = ["[project]", f'name = "{root.name}"', 'version = "0.1.0"']
    lines += ['requires-python = ">=3.11"', f"dependencies = {json.dumps(needs)}"]
    lines += ["", "[dependency-groups]", f"dev = {json.dumps(dev)}"] if dev else []
    write(root / "pyproject.toml", "\n".join(lines) + "\n")


def _write_poetry_manifest(root: Path, packages: Mapping[str, Package]) -> None:
    lines = ["[tool.poetry]", f'name = "{root.name}"', 'version = "0.1.0"', 'description = ""']
    lines += ["", "[tool.poetry.dependencies]", 'python = "^3.11"']
    lines += [f'{_toml_key(n)} = "{p.wanted}"' for n, p in packages.items() if not p.dev]
    lines += ["", "[tool.poetry.group.dev.dependencies]"]
    lines += [f'{_toml_key(n)} = "{p.wanted}"' for n, p in packages.items() if p.dev]
    write(root / "pyproject.toml", "\n".join(lines) + "\n")


def _toml_key(name: str) -> str:
    return f'"{name}"' if "." in name else name


def _write_requirements(root: Path, packages: Mapping[str, Package]) -> None:
    some = {dev: [f"{n}{p.wanted}" for n, p in packages.items() if p.dev == dev] for dev in (0, 1)}
    write(root / "requirements.txt", "\n".join(["# made by hand", *some[0]]) + "\n")
    if some[1]:
        write(root / "requirements-dev.txt", "\n".join(["-r requirements.txt", *some[1]]) + "\n")


def _write_uv_lock(root: Path, packages: Mapping[str, Package]) -> None:
    needs = ", ".join(f'{{ name = "{name}" }}' for name in packages)
    lines = ["version = 1", 'requires-python = ">=3.11"']
    lines += ["", "[[package]]", f'name = "{root.name}"', 'version = "0.1.0"']
    lines += ['source = { virtual = "." }', f"dependencies = [{needs}]"]
    for name, each in packages.items():
        lines += ["", "[[package]]", f'name = "{name}"', f'version = "{each.version}"']
        lines.append('source = { registry = "https://pypi.org/simple" }')
    write(root / "uv.lock", "\n".join(lines) + "\n")


def _write_poetry_lock(root: Path, packages: Mapping[str, Package]) -> None:
    lines = ["# This file is automatically @generated by Poetry 1.8.3"]
    for name, each in packages.items():
        lines += ["", "[[package]]", f'name = "{name}"', f'version = "{each.version}"']
        lines += [f'description = "{each.description}"', "optional = false", "files = []"]
    lines += ["", "[metadata]", 'lock-version = "2.0"', 'python-versions = "^3.11"']
    write(root / "poetry.lock", "\n".join(lines) + "\n")


def _install_python(venv: str, root: Path, packages: Mapping[str, Package], home: Path) -> None:
    folder = root / venv
    write(folder / "pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\n")
    for name, each in packages.items():
        write_distribution(folder / "lib" / "python3.11" / "site-packages", name, each)


def write_distribution(site: Path, name: str, package: Package) -> None:
    """Write an installed distribution of Python, with one package that exports names."""
    module = name.replace("-", "_").replace(".", "_")
    info = site / f"{module}-{package.version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {package.version}"]
    lines += [f"Summary: {package.description}"] if package.description else []
    lines += [f"Keywords: {','.join(package.keywords)}"] if package.keywords else []
    lines += ["Description-Content-Type: text/markdown", "", package.readme]
    write(info / "METADATA", "\n".join(lines) + "\n")
    write(info / "top_level.txt", f"{module}\n")
    write(info / "INSTALLER", "pip\n")
    files = [f"{info.name}/METADATA", f"{info.name}/RECORD", f"{module}/__init__.py"]
    write(info / "RECORD", "".join(f"{each},,\n" for each in files))
    code = "".join(f"def {each}():\n    pass\n\n\n" for each in package.exports)
    write(
        site / module / "__init__.py", f"__all__ = {json.dumps(list(package.exports))}\n\n\n{code}"
    )


# cargo, go


def _write_cargo_manifest(root: Path, packages: Mapping[str, Package]) -> None:
    lines = ["[package]", f'name = "{root.name}"', 'version = "0.1.0"', 'edition = "2021"']
    lines += ["", "[dependencies]"]
    lines += [f'{n} = "{p.wanted}"' for n, p in packages.items() if not p.dev]
    lines += ["", "[dev-dependencies]"]
    lines += [f'{n} = "{p.wanted}"' for n, p in packages.items() if p.dev]
    write(root / "Cargo.toml", "\n".join(lines) + "\n")


def _write_cargo_lock(root: Path, packages: Mapping[str, Package]) -> None:
    lines = ["version = 3", "", "[[package]]", f'name = "{root.name}"', 'version = "0.1.0"']
    lines.append(f"dependencies = {json.dumps(list(packages))}")
    for name, each in packages.items():
        lines += ["", "[[package]]", f'name = "{name}"', f'version = "{each.version}"']
        lines.append('source = "registry+https://github.com/rust-lang/crates.io-index"')
    write(root / "Cargo.lock", "\n".join(lines) + "\n")


def _install_cargo(root: Path, packages: Mapping[str, Package], home: Path) -> None:
    for name, each in packages.items():
        folder = home / REGISTRY / f"{name}-{each.version}"
        lines = ["[package]", f'name = "{name}"', f'version = "{each.version}"']
        lines += [f"description = {json.dumps(each.description)}", 'readme = "README.md"']
        lines.append(f"keywords = {json.dumps(list(each.keywords))}")
        write(folder / "Cargo.toml", "\n".join(lines) + "\n")
        write(folder / "README.md", each.readme)
        code = "".join(f"pub fn {function}() {{}}\n" for function in each.exports)
        write(folder / "src" / "lib.rs", f"//! {each.description}\n{code}")


def _write_go_mod(root: Path, packages: Mapping[str, Package]) -> None:
    lines = [f"module example.com/{root.name}", "", "go 1.22", "", "require ("]
    lines += [f"\t{name} {each.wanted}" for name, each in packages.items()]
    write(root / "go.mod", "\n".join([*lines, ")"]) + "\n")


def _write_go_sum(root: Path, packages: Mapping[str, Package]) -> None:
    lines = (f"{n} {_go_version(p.version)} h1:AAAA=\n" for n, p in packages.items())
    write(root / "go.sum", "".join(lines))


def _install_go(root: Path, packages: Mapping[str, Package], home: Path) -> None:
    for name, each in packages.items():
        escaped = "".join(f"!{c.lower()}" if c.isupper() else c for c in name)
        folder = home / "go" / "pkg" / "mod" / f"{escaped}@{_go_version(each.version)}"
        package = name.rpartition("/")[2].replace("-", "")
        write(folder / "go.mod", f"module {name}\n\ngo 1.22\n")
        write(folder / "README.md", each.readme)
        code = "".join(f"func {function}() {{}}\n" for function in each.exports)
        write(folder / "doc.go", f"// {each.description}\npackage {package}\n\n{code}")


def _go_version(version: str) -> str:
    return version if version.startswith("v") else f"v{version}"


WANTED = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "poetry"), lambda version: f"^{version}"),
    **{"uv": lambda version: f">={version}", "pip": lambda version: f"=={version}"},
    **{"cargo": lambda version: version, "go": _go_version},
}
MANAGERS = tuple(WANTED)
MANIFESTS = {
    **{"npm": _write_package_json, "yarn": _write_package_json, "pnpm": _write_package_json},
    **{"uv": _write_pyproject, "poetry": _write_poetry_manifest, "pip": _write_requirements},
    **{"cargo": _write_cargo_manifest, "go": _write_go_mod},
}
LOCKS = {
    **{"npm": _write_package_lock, "pnpm": _write_pnpm_lock, "yarn": _write_yarn_lock},
    **{"uv": _write_uv_lock, "poetry": _write_poetry_lock, "pip": lambda root, packages: None},
    **{"cargo": _write_cargo_lock, "go": _write_go_sum},
}
INSTALLATIONS = {
    **{"npm": _install_npm, "yarn": _install_npm, "pnpm": _install_pnpm},
    **{
        "uv": lambda *given: _install_python(".venv", *given),
        "poetry": lambda *given: _install_python(".venv", *given),
        "pip": lambda *given: _install_python("venv", *given),
    },
    **{"cargo": _install_cargo, "go": _install_go},
}
