"""npm packages: package.json."""

import json

import pytest

from irdaemon.source.packages import Packages
from irdaemon.strategy.kinds import strip_requirement
from irdaemon.types import Root, SourceError
from tests.support.installed import read_only_artifact, write


def test_a_package_json_gives_every_part_the_strategy_and_the_filters_need(tmp_path):
    content = {
        "name": "@acme/pdf",
        "version": "2.0.0",
        "description": "Fill PDF forms",
        "author": "Ann Lee <ann@acme.io> (https://acme.io)",
        "license": "MIT",
        "keywords": ["pdf"],
        "repository": {"type": "git", "url": "git+ssh://git@github.com/acme/pdf.git"},
        "bin": {"pdf": "cli.js"},
        "dependencies": {"@babel/core": "^7.0.0"},
        "peerDependencies": {"react": ">=18", "@babel/core": "*"},
        "optionalDependencies": {"fsevents": "2"},
        "devDependencies": {"jest": "29"},
    }
    write(tmp_path / "package.json", json.dumps(content))

    artifact = read_only_artifact(tmp_path)

    assert artifact.artifact_id == f"{tmp_path}#npm"
    assert artifact.pointer == str(tmp_path)
    assert artifact.raw["name"] == "@acme/pdf"
    assert artifact.raw["owner"] == "Ann Lee"
    assert artifact.raw["deps"] == ["@babel/core ^7.0.0", "react >=18"]
    assert artifact.metadata["optional_deps"] == ["fsevents 2"]
    assert artifact.metadata["dev_deps"] == ["jest 29"]
    assert artifact.metadata["repository"] == "https://github.com/acme/pdf"
    assert artifact.metadata["commands"] == ["pdf"]


def test_the_strategy_finds_bare_names_scoped_or_not_in_the_dependencies(tmp_path):
    wanted = {"@babel/core": "^7.0.0", "react": ">=18", "local": "file:../local", "any": ""}
    write(tmp_path / "package.json", json.dumps({"name": "x", "dependencies": wanted}))

    assert [strip_requirement(d) for d in read_only_artifact(tmp_path).raw["deps"]] == list(wanted)


def test_older_spellings_of_author_licence_repository_and_program_are_understood(tmp_path):
    content = {
        "name": "@acme/tool",
        "author": {"name": "Ann"},
        "licenses": [{"type": "BSD"}],
        "repository": "acme/tool",
        "bin": "./tool.js",
        "keywords": "a, b",
        "private": True,
    }
    write(tmp_path / "package.json", json.dumps(content))

    artifact = read_only_artifact(tmp_path)

    assert artifact.raw["owner"] == "Ann"
    assert artifact.metadata["license"] == "BSD"
    assert artifact.metadata["repository"] == "https://github.com/acme/tool"
    assert artifact.metadata["commands"] == ["tool"]
    assert artifact.metadata["keywords"] == ["a", "b"]
    assert artifact.metadata["private"] is True


@pytest.mark.parametrize(
    "content", [{"type": "module"}, {"private": True, "workspaces": ["packages/*"]}, {}]
)
def test_a_package_json_that_names_and_describes_nothing_defines_no_package(tmp_path, content):
    write(tmp_path / "package.json", json.dumps(content))
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries

    assert source.read(entry).skipped == {"no_package": 1}


def test_a_nameless_application_goes_by_its_directory_and_is_flagged(tmp_path):
    write(tmp_path / "site" / "package.json", '{"dependencies": {"vite": "5"}}')

    artifact = read_only_artifact(tmp_path)

    assert (artifact.name, artifact.flags) == ("site", ("unnamed",))


@pytest.mark.parametrize(
    ("content", "reason"),
    [('{\n "name": "x",\n}', "line 3"), ("[1]", "not a JSON object"), ("[" * 99999, "not valid")],
)
def test_a_broken_package_json_is_an_error_that_says_where(tmp_path, content, reason):
    write(tmp_path / "package.json", content)
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries

    with pytest.raises(SourceError, match=reason):
        source.read(entry)


def test_values_of_the_wrong_type_and_lone_surrogates_do_no_harm(tmp_path):
    content = '{"name": "x", "description": "\\ud800 ok", "version": 3, "keywords": {"a": 1}, '
    content += '"author": 7, "dependencies": ["react"], "bin": null, "repository": []}'
    write(tmp_path / "package.json", content)

    artifact = read_only_artifact(tmp_path)

    assert artifact.raw["description"].encode() == b"? ok"
    assert artifact.raw["deps"] == []
    assert artifact.metadata["version"] == "3"
