"""Dependencies of Python: manifests of four tools, their locks, and the environment."""

import os

import pytest

from irdaemon.source.dependencies import Dependencies, Options, find_dependencies
from irdaemon.source.dependencies.workspace import ProjectFiles
from irdaemon.types import Root
from tests.support.checkouts import Package, make_project
from tests.support.environments import install, make_environment
from tests.support.installed import write


def look(root, **options):
    return find_dependencies(str(root), "pypi", Options(**options))


def find(root, **options):
    return {each.name: each for each in look(root, **options).dependencies}


UV = """
[project]
name = "shop"
version = "0.3"
dependencies = ["fastapi[standard]>=0.110", "shop-core", "tomli>=2 ; python_version < '3'"]
[project.optional-dependencies]
pdf = ["pypdf>=5", "shop[extra]"]
[dependency-groups]
dev = ["pytest>=8", {include-group = "lint"}]
lint = ["ruff"]
[tool.uv]
dev-dependencies = ["mypy>=1"]
[tool.uv.sources]
shop-core = {workspace = true}
[tool.uv.workspace]
members = ["packages/*"]
exclude = ["packages/old"]
"""
UV_LOCK = """
version = 1
[[package]]
name = "fastapi"
version = "0.115.2"
source = { registry = "https://pypi.org/simple" }
dependencies = [
    { name = "starlette" },
]
[[package]]
name = "starlette"
version = "0.40.0"
[[package]]
name = "numpy"
version = "1.26.4"
[[package]]
name = "numpy"
version = "2.1.0"
"""


def make_uv_checkout(root):
    write(root / "pyproject.toml", UV)
    write(root / "uv.lock", UV_LOCK)
    core = '[project]\nname = "shop-core"\nversion = "1"\ndependencies = ["numpy"]\n'
    write(root / "packages/core/pyproject.toml", core)
    write(root / "packages/old/pyproject.toml", '[project]\nname="old"\ndependencies=["django"]\n')


def test_a_checkout_of_uv_has_its_groups_its_members_and_the_versions_of_its_lock(tmp_path):
    make_uv_checkout(tmp_path)

    found = find(tmp_path)

    assert set(found) == {
        "shop", "shop-core", "fastapi", "pypdf", "pytest", "ruff", "mypy", "numpy",
    }  # fmt: skip
    fastapi = found["fastapi"]
    assert (fastapi.version, fastapi.wanted, fastapi.origin) == ("0.115.2", ">=0.110", "locked")
    assert found["numpy"].version == "2.1.0"
    assert found["numpy"].manifest == "packages/core/pyproject.toml"
    assert [name for name, each in found.items() if each.own] == ["shop", "shop-core"]
    assert {name for name, each in found.items() if each.dev} == {"pytest", "ruff", "mypy"}
    assert found["shop-core"].directory == str(tmp_path / "packages/core")


def test_what_is_installed_counts_before_the_lock_and_is_read(tmp_path):
    make_uv_checkout(tmp_path)
    site = make_environment(tmp_path)
    modules = {"fastapi/__init__.py": "from .applications import FastAPI\n\n\ndef _own(): ...\n"}
    folder = install(site, "FastAPI", "0.116.0", modules)

    found = find(tmp_path)["fastapi"]
    source = Dependencies((Root(str(tmp_path), "project", "none"),), {})
    (entry,) = (each for each in source.scan().entries if each.key.endswith("#pypi/fastapi"))
    (artifact,) = source.read(entry).artifacts

    assert (found.version, found.origin, found.directory) == ("0.116.0", "installed", str(folder))
    assert artifact.raw["description"] == "Does FastAPI"
    assert artifact.raw["readme"].startswith("# FastAPI")
    assert artifact.raw["keywords"] == ["one", "two"]
    assert artifact.raw["exports"] == "fastapi FastAPI"
    assert artifact.metadata["ecosystem"] == "pypi"


def test_a_requirement_for_another_system_counts_where_it_is_installed(tmp_path):
    write(
        tmp_path / "requirements.txt",
        "tomli ; python_version < '3'\ncolorama ; sys_platform == 'beos'\n",
    )
    install(make_environment(tmp_path, "venv"), "tomli", "2.0")

    assert set(find(tmp_path)) == {"tomli"}


POETRY = """
[tool.poetry]
name = "blog"
version = "2"
[tool.poetry.dependencies]
python = "^3.11"
Django = "^5.0"
lib = {path = "./lib", develop = true}
evil = {path = "../elsewhere"}
[tool.poetry.group.test.dependencies]
pytest-django = "*"
"""


def test_a_checkout_of_poetry_has_its_groups_and_paths_inside_of_it_alone(tmp_path):
    root = tmp_path / "blog"
    write(root / "pyproject.toml", POETRY)
    write(root / "lib/pyproject.toml", '[project]\nname = "lib"\ndependencies = ["httpx"]\n')
    write(tmp_path / "elsewhere/pyproject.toml", '[project]\nname="evil"\ndependencies=["six"]\n')
    lock = '[[package]]\ncategory = "main"\nname = "django"\noptional = false\nversion = "5.0.7"\n'
    write(root / "poetry.lock", f"{lock}\n[metadata]\npython-versions = '*'\n")

    found = find(root)

    assert set(found) == {"blog", "Django", "lib", "evil", "pytest-django", "httpx"}
    assert (found["Django"].version, found["Django"].wanted) == ("5.0.7", "^5.0")
    assert found["lib"].own
    assert not found["evil"].own
    assert found["pytest-django"].dev


def test_a_checkout_of_pip_has_its_files_of_requirements_and_those_they_name(tmp_path):
    root = tmp_path / "shop"
    write(
        root / "requirements.txt", "-r requirements/base.txt\n-c pins.txt\nFlask==3.0.2\n-e ./lib\n"
    )
    write(root / "requirements/base.txt", "requests>=2\n-r ../../outside.txt\n")
    write(root / "requirements/dev.txt", "-r base.txt\nblack\n")
    write(root / "pins.txt", "requests==2.31.0\nurllib3==2.0\n")
    write(root / "lib/setup.py", "from setuptools import setup\nsetup(name='lib', version='1')\n")
    write(tmp_path / "outside.txt", "secret-package\n")

    found, told = find(root), look(root)

    assert set(found) == {"lib", "Flask", "requests", "black"}
    assert (found["Flask"].version, found["Flask"].origin) == ("3.0.2", "locked")
    assert found["requests"].version == "2.31.0"
    assert found["black"].dev
    assert not found["requests"].dev
    assert told.left_out == {"a path that leads out of the project": 1}
    assert str(root / "requirements/base.txt") in told.files


def test_a_file_that_a_program_wrote_says_versions_and_no_direct_dependencies(tmp_path):
    write(tmp_path / "requirements.in", "flask\n")
    compiled = "#\n# This file is autogenerated by pip-compile\n#\n"
    write(tmp_path / "requirements.txt", f"{compiled}flask==3.0.2\njinja2==3.1\n    # via flask\n")

    found = find(tmp_path)

    assert {name: each.version for name, each in found.items()} == {"flask": "3.0.2"}


SETUP_CFG = """
[metadata]
name = old-tool
version = 4
[options]
install_requires =
    click>=8
    attrs
[options.extras_require]
dev = tox
"""


def test_a_checkout_with_setup_cfg_and_setup_py_is_parsed_and_never_run(tmp_path):
    write(tmp_path / "setup.cfg", SETUP_CFG)
    write(
        tmp_path / "setup.py",
        "open('/tmp/ran', 'w')\nfrom setuptools import setup\nsetup(install_requires=['six'])\n",
    )

    found = find(tmp_path)

    assert set(found) == {"old-tool", "click", "attrs", "tox"}
    assert found["old-tool"].own
    assert found["click"].manifest == "setup.cfg"


def test_a_pipfile_and_its_lock_are_read(tmp_path):
    pipfile = (
        '[packages]\nflask = "*"\nlib = {path = "lib"}\n[dev-packages]\nnox = {version = ">1"}\n'
    )
    write(tmp_path / "Pipfile", pipfile)
    write(tmp_path / "Pipfile.lock", '{"default": {"flask": {"version": "==3.0.2"}}}')

    found = find(tmp_path)

    assert found["flask"].version == "3.0.2"
    assert (found["nox"].wanted, found["nox"].dev) == (">1", True)


def test_a_manifest_below_the_root_counts_where_the_root_asks_for_nothing(tmp_path):
    write(tmp_path / "package.json", "{}")
    write(
        tmp_path / "backend/pyproject.toml", '[project]\nname = "api"\ndependencies = ["flask"]\n'
    )
    install(make_environment(tmp_path / "backend"), "flask", "3.0")

    found = find(tmp_path)

    assert set(found) == {"api", "flask"}
    assert found["flask"].origin == "installed"


# What may be hostile.


def test_an_environment_behind_a_link_or_without_its_configuration_is_none(tmp_path):
    root = tmp_path / "shop"
    write(root / "requirements.txt", "flask\n")
    install(make_environment(tmp_path), "flask", "3.0")
    os.symlink(tmp_path / ".venv", root / ".venv")
    (root / "venv/lib/python3.12/site-packages").mkdir(parents=True)
    install(root / "venv/lib/python3.12/site-packages", "flask", "9")

    assert find(root)["flask"].origin == "range"


def test_site_packages_and_metadata_behind_links_are_not_read(tmp_path):
    root = tmp_path / "shop"
    write(root / "requirements.txt", "flask\n")
    site = make_environment(tmp_path)
    folder = install(site, "flask", "3.0")
    write(root / ".venv/pyvenv.cfg")
    library = root / ".venv/lib/python3.12"
    library.mkdir(parents=True)
    os.symlink(site, library / "site-packages")
    assert find(root)["flask"].origin == "range"

    (library / "site-packages").unlink()
    (library / "site-packages").mkdir()
    os.symlink(folder, library / "site-packages" / folder.name)
    assert find(root)["flask"].origin == "range"


def test_manifests_that_are_links_out_of_the_project_are_problems(tmp_path):
    root = tmp_path / "shop"
    write(tmp_path / "requirements.txt", "flask\n")
    write(tmp_path / "other.toml", '[project]\nname = "x"\ndependencies = ["six"]\n')
    root.mkdir()
    os.symlink(tmp_path / "requirements.txt", root / "requirements.txt")
    os.symlink(tmp_path / "other.toml", root / "pyproject.toml")

    told = look(root)

    assert told.dependencies == ()
    assert len(told.problems) == 2


@pytest.mark.parametrize("given", ["{prefix}", "{home}/.local/share/uv/tools/ruff", "{home}/none"])
def test_the_environment_of_a_program_or_of_this_one_is_nobodys(tmp_path, monkeypatch, given):
    write(tmp_path / "shop/requirements.txt", "flask\n")
    prefix = tmp_path / "own"
    for place in (prefix, tmp_path / ".local/share/uv/tools"):
        install(make_environment(place, "ruff" if place != prefix else "."), "flask", "3.0")
    monkeypatch.setattr("sys.prefix", str(prefix))
    environment = given.format(prefix=prefix, home=tmp_path)

    told = look(tmp_path / "shop", environment=environment)

    assert told.dependencies[0].origin == "range"
    assert "[projects] environment is not used" in told.problems[0].reason


def test_the_environment_of_the_configuration_serves_projects_without_one(tmp_path):
    write(tmp_path / "shop/requirements.txt", "flask\n")
    install(make_environment(tmp_path), "flask", "3.0")

    assert find(tmp_path / "shop", environment=str(tmp_path / ".venv"))["flask"].version == "3.0"


def test_a_lock_that_is_cut_in_the_middle_still_has_names_and_is_a_problem(tmp_path):
    make_uv_checkout(tmp_path)
    whole = UV_LOCK.index('starlette"\nversion') + 15
    write(tmp_path / "uv.lock", UV_LOCK[:whole])

    told = look(tmp_path)

    assert find(tmp_path)["fastapi"].version == "0.115.2"
    assert [problem.path for problem in told.problems] == [str(tmp_path / "uv.lock")]


def test_a_manifest_of_many_megabytes_is_a_problem_and_the_others_count(tmp_path):
    write(tmp_path / "pyproject.toml", "#" * 5_000_000)
    write(tmp_path / "requirements.txt", "flask\n")

    told = look(tmp_path)

    assert [each.name for each in told.dependencies] == ["flask"]
    assert "bytes, more than the limit" in told.problems[0].reason


def test_names_that_are_none_are_counted_and_nothing_holds_a_control_character(tmp_path):
    lines = ["fl\x1bask", "../../etc", "--hash=x", "ok>=1\x1b[31m", "a" * 300, "@scope/x", "x y z"]
    write(tmp_path / "requirements.txt", "\n".join(lines))

    told = look(tmp_path)

    (found,) = told.dependencies
    assert found.name == "ok"
    assert found.wanted.isprintable()
    assert told.left_out["no name of a distribution of Python"] == 4


def test_an_address_of_a_requirement_loses_its_password(tmp_path):
    write(tmp_path / "requirements.txt", "shop @ git+https://me:hunter2@git.acme.io/shop.git\n")

    assert find(tmp_path)["shop"].wanted == "git+https://git.acme.io/shop.git"


def test_no_more_dependencies_than_allowed_are_found(tmp_path):
    write(tmp_path / "requirements.txt", "\n".join(f"p{n}" for n in range(50)))

    told = look(tmp_path, max=20)

    assert len(told.dependencies) == 20
    assert "more than 20" in told.problems[0].reason


def test_packages_that_name_each_other_are_each_read_once(tmp_path):
    for number in range(300):
        content = f'[project]\nname = "p{number}"\n[tool.uv.sources]\n'
        below = tmp_path / str(number) if number else tmp_path
        write(
            below / "pyproject.toml", f'{content}x = {{path = "{tmp_path}/{(number + 1) % 300}"}}\n'
        )

    assert len(find(tmp_path)) == 300


def test_a_project_without_python_has_nothing_to_say(tmp_path):
    assert look(tmp_path).dependencies == ()
    assert look(tmp_path).notes == ()


@pytest.mark.parametrize("manager", ["uv", "poetry", "pip"])
@pytest.mark.parametrize("installed", [True, False])
def test_a_checkout_as_its_tool_leaves_it_has_version_text_and_names(tmp_path, manager, installed):
    packages = {"charts": Package("1.2.3", "Draw charts", "# Charts\n\nDraw.", ("a",), ("draw",))}
    root = make_project(
        tmp_path / "code", "shop", manager=manager, packages=packages, installed=installed
    )
    source = Dependencies((Root(str(root), "project", "none"),), {})
    (entry,) = (each for each in source.scan().entries if each.key.endswith("#pypi/charts"))
    (artifact,) = source.read(entry).artifacts

    origin = "installed" if installed else "locked"
    assert (artifact.metadata["version"], artifact.metadata["origin"]) == ("1.2.3", origin)
    assert ("draw" in artifact.raw["exports"].split()) == installed
    assert ("# Charts" in artifact.raw["readme"]) == installed


def test_a_file_of_constraints_is_read_once_however_often_it_is_named(tmp_path, monkeypatch):
    write(tmp_path / "pins.txt", "flask==1.2\n")
    write(tmp_path / "requirements.txt", "-c pins.txt\n" * 2_000 + "flask\n")
    read, opened = ProjectFiles.read_text, list[str]()

    def noting(files, path, *limit):
        opened.append(os.path.basename(path))
        return read(files, path, *limit)

    monkeypatch.setattr(ProjectFiles, "read_text", noting)
    assert find(tmp_path)["flask"].version == "1.2"
    assert opened.count("pins.txt") == 1


def test_files_of_constraints_count_among_the_most_that_are_read(tmp_path, monkeypatch):
    names = [f"pins{n}.txt" for n in range(300)]
    for name in names:
        write(tmp_path / name, "flask==1.2\n")
    write(tmp_path / "requirements.txt", "".join(f"-c {name}\n" for name in names))
    files = look(tmp_path).files
    assert 190 < sum("pins" in path for path in files) <= 200


def test_so_many_paths_in_files_of_requirements_are_looked_for_and_no_more(tmp_path):
    write(tmp_path / "requirements.txt", "".join(f"-e ./a/../b{n}\n" for n in range(6_000)))
    assert look(tmp_path).left_out["a path beyond the first 5,000"] == 1_000
