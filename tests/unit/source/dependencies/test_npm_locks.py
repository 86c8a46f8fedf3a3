"""Locks of npm, pnpm, Yarn and Bun."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.dependencies import Options, find_dependencies
from irdaemon.source.dependencies.npm import (
    Wanted,
    parse_bun_lock,
    parse_npm_lock,
    parse_pnpm_lock,
    parse_yarn_lock,
)
from tests.support.installed import write

NPM_1 = """{"lockfileVersion": 1, "dependencies": {
  "react": {"version": "18.2.0", "requires": {"loose-envify": "^1"}},
  "@acme/pdf": {"version": "2.1.0"}}}
"""
NPM_3 = """{"lockfileVersion": 3, "packages": {
  "": {"name": "shop"},
  "apps/web": {"version": "0.1.0"},
  "node_modules/react": {"version": "18.2.0"},
  "apps/web/node_modules/react": {"version": "17.0.2"},
  "node_modules/@acme/pdf": {"version": "2.1.0"},
  "node_modules/web": {"resolved": "apps/web", "link": true}}}
"""
PNPM_5 = """lockfileVersion: 5.4

specifiers:
  react: ^18
  '@acme/pdf': ^2

dependencies:
  react: 18.2.0
  '@acme/pdf': 2.1.0_react@18.2.0

packages:

  /react/18.2.0:
    resolution: {integrity: sha512-x}
"""
PNPM_9 = """lockfileVersion: '9.0'

settings:
  autoInstallPeers: true

importers:

  .:
    dependencies:
      react:
        specifier: ^18
        version: 18.2.0
    devDependencies:
      '@acme/pdf':
        specifier: ^2
        version: 2.1.0(react@18.2.0)

  apps/web:
    dependencies:
      react:
        specifier: ^17
        version: 17.0.2
      shop:
        specifier: workspace:*
        version: link:../..

packages:

  react@18.2.0:
    resolution: {integrity: sha512-x}
"""
YARN_1 = """# yarn lockfile v1


"@acme/pdf@^2", "@acme/pdf@^2.1":
  version "2.1.0"
  resolved "https://registry.yarnpkg.com/x#1"
  dependencies:
    version "9.9.9"

react@^17:
  version "17.0.2"

react@^18:
  version "18.2.0"
"""
YARN_4 = """__metadata:
  version: 8
  cacheKey: 10

"@acme/pdf@npm:^2, @acme/pdf@npm:^2.1":
  version: 2.1.0
  resolution: "@acme/pdf@npm:2.1.0"
  languageName: node

"react@npm:^17":
  version: 17.0.2

"react@npm:^18":
  version: 18.2.0

"web@workspace:apps/web":
  version: 0.0.0-use.local
"""
BUN = """{
  "lockfileVersion": 1,
  "workspaces": {
    "": {"name": "shop", "dependencies": {"react": "^18",},},
    "apps/web": {"name": "web",},
  },
  "packages": {
    "@acme/pdf": ["@acme/pdf@2.1.0", "", {}, "sha512-,}"],

    "react": ["react@18.2.0", "", {"dependencies": {"loose-envify": "^1.1.0",},}, "sha512-x"],

    "shop/react": ["react@16.0.0", "", {}, "sha512-x"],

    "web": ["web@workspace:apps/web"],

    "web/react": ["react@17.0.2", "", {}, "sha512-x"],
  }
}
"""
LOCKS = {
    "package-lock.json": (parse_npm_lock, NPM_3),
    "pnpm-lock.yaml": (parse_pnpm_lock, PNPM_9),
    "yarn.lock": (parse_yarn_lock, YARN_4),
    "bun.lock": (parse_bun_lock, BUN),
}
PARSERS = (parse_npm_lock, parse_pnpm_lock, parse_yarn_lock, parse_bun_lock)
ALL = [(parse_npm_lock, NPM_1), (parse_pnpm_lock, PNPM_5), (parse_yarn_lock, YARN_1)]
ALL += LOCKS.values()


@pytest.mark.parametrize(("parse", "source"), ALL)
def test_a_lock_has_the_version_of_what_is_asked_for(parse, source):
    lock = parse(source)

    assert lock.find_version(Wanted("", "react", "^18")) == "18.2.0"
    assert lock.find_version(Wanted("", "@acme/pdf", "^2")) == "2.1.0"
    assert lock.find_version(Wanted("", "vue", "^3")) == ""


@pytest.mark.parametrize(("parse", "source"), [*LOCKS.values(), (parse_yarn_lock, YARN_1)])
def test_a_member_has_its_own_version(parse, source):
    assert parse(source).find_version(Wanted("apps/web", "react", "^17")) == "17.0.2"


@pytest.mark.parametrize(("parse", "source"), LOCKS.values())
def test_what_is_no_version_is_none(parse, source):
    for name in ("web", "shop"):
        assert parse(source).find_version(Wanted("apps/web", name, "workspace:*")) in ("", "0.1.0")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_cut_in_the_middle_is_a_problem_and_the_ranges_are_still_there(tmp_path, name):
    _, source = LOCKS[name]
    write(tmp_path / name, source[: len(source) // 2].rstrip())
    write(tmp_path / "package.json", {"dependencies": {"react": "^18", "zod": "^4"}})

    found = find_dependencies(str(tmp_path), "npm", Options())

    assert [each.wanted for each in found.dependencies] == ["^18", "^4"]
    assert [problem.path for problem in found.problems] == [str(tmp_path / name)]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_is_too_large_is_a_problem_that_says_so(tmp_path, name):
    with (tmp_path / name).open("w") as file:
        file.truncate(50_000_000)
    write(tmp_path / "package.json", {"dependencies": {"react": "^18"}})

    found = find_dependencies(str(tmp_path), "npm", Options())

    assert [each.name for each in found.dependencies] == ["react"]
    assert "more than the limit" in found.problems[0].reason


def test_no_lock_is_read_where_all_is_installed(tmp_path):
    write(tmp_path / "package-lock.json", "{")
    write(tmp_path / "package.json", {"dependencies": {"react": "^18"}})
    write(tmp_path / "node_modules/react/package.json", {"version": "18.2.0"})

    found = find_dependencies(str(tmp_path), "npm", Options())

    assert found.problems == ()
    assert str(tmp_path / "package-lock.json") not in found.files


LINES = st.lists(st.sampled_from("\n".join(source for _, source in ALL).split("\n")))
TEXTS = st.one_of(st.text(), LINES.map("\n".join))


@given(TEXTS, st.text(), st.text())
def test_any_text_gives_a_lock_or_a_value_error(source, member, name):
    for parse in PARSERS:
        try:
            lock = parse(source)
        except (ValueError, RecursionError):
            continue
        assert isinstance(lock.find_version(Wanted(member, name, name)), str)


@given(st.sampled_from(ALL), st.integers(0, 2_000))
def test_what_is_left_of_a_lock_that_was_cut_is_true(whole, at):
    parse, source = whole
    try:
        lock = parse(source[:at])
    except ValueError:
        return
    assert "18.2.0".startswith(lock.find_version(Wanted("", "react", "^18")))


@pytest.mark.parametrize("source", ["[" * 100_000, '{"packages":' * 50_000, "{" * 100_000])
def test_a_lock_that_nests_without_end_is_a_problem(tmp_path, source):
    write(tmp_path / "bun.lock", source)
    write(tmp_path / "package.json", {"dependencies": {"react": "^18"}})

    found = find_dependencies(str(tmp_path), "npm", Options())

    assert len(found.problems) == 1
    assert [each.name for each in found.dependencies] == ["react"]
