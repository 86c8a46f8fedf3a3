"""Exported names of npm's packages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.dependencies.npm import list_declared
from tests.support.installed import write


def test_exported_paths_and_declared_names_are_found(tmp_path):
    write(
        tmp_path / "index.d.ts",
        "export declare function addDays(date: Date): Date;\n"
        "export default class Calendar {}\n"
        "export { parse as parseDate, type Options };\n"
        "export type Locale = string;\n"
        "declare const hidden: number;\n",
    )
    content = {
        "name": "dates",
        "types": "./index.d.ts",
        "exports": {".": "./index.js", "./fp": "./fp.js", "./package.json": "./package.json"},
    }

    found = list_declared(str(tmp_path), content)

    assert found == ["dates/fp", "addDays", "Calendar", "Locale", "parseDate", "Options"]


def test_modules_that_are_exported_whole_are_read_too(tmp_path):
    write(tmp_path / "dist/main.d.ts", 'export * from "./ast.js";\nexport * from "./gone";\n')
    write(tmp_path / "dist/ast.d.ts", "export interface Node {}\n")
    content = {"exports": {".": {"import": {"types": "./dist/main.d.ts"}}}}

    assert list_declared(str(tmp_path), content) == ["gone", "Node"]


def test_of_many_modules_their_names_are_enough(tmp_path):
    names = [f"part{number}" for number in range(50)]
    write(tmp_path / "index.d.ts", "".join(f"export * from './{name}';\n" for name in names))
    for name in names:
        write(tmp_path / f"{name}.d.ts", f"export const {name}Value: 1;\n")

    found = list_declared(str(tmp_path), {})

    assert {"part49", "part0Value"} <= set(found)
    assert "part49Value" not in found


def test_a_namespace_that_is_exported_as_a_whole_gives_its_names(tmp_path):
    write(
        tmp_path / "index.d.ts",
        "declare namespace axios {\n  function get(): void;\n}\nexport = axios;\n",
    )

    assert list_declared(str(tmp_path), {}) == ["axios", "get"]


@pytest.mark.parametrize("types", ["../secret.d.ts", "/etc/passwd", "linked.d.ts", ".env", "a\0b"])
def test_only_declarations_in_the_package_are_opened(tmp_path, types):
    write(tmp_path / "secret.d.ts", "export const secret: 1;\n")
    home = write(tmp_path / "package/.env", "export const secret: 1;\n").parent
    (home / "linked.d.ts").symlink_to(tmp_path / "secret.d.ts")

    assert list_declared(str(home), {"types": types}) == []


def test_no_more_is_read_than_a_part_of_large_declarations(tmp_path):
    lines = "".join(f"export const name{number}: number;\n" for number in range(50_000))
    write(tmp_path / "index.d.ts", lines)

    assert len(list_declared(str(tmp_path), {})) == 300


@given(
    st.dictionaries(
        st.sampled_from(["name", "types", "typings", "exports"]),
        st.recursive(
            st.text() | st.none() | st.integers(),
            lambda below: st.dictionaries(st.sampled_from([".", "./a", "types", "\ud800"]), below),
        ),
    )
)
def test_any_manifest_gives_names(content):
    assert all(isinstance(name, str) for name in list_declared("/nowhere", content))
