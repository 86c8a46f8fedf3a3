"""Uses of items, told by a command line."""

import pytest

from irdaemon.source.sessions.item_uses import read_shell_line


def uses(command):
    return [f"{use.how} {use.what}" for use in read_shell_line(command)]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("pip install -r reqs.txt 'httpx[http2]>=0.2' rich==1.0 -e .", ["pypi:httpx", "pypi:rich"]),
        ("python3 -m pip install foo", ["pypi:foo"]),
        ("FOO=1 sudo pip3 install foo 2>&1 | tail -3", ["pypi:foo"]),
        ("pip install foo > log.txt", ["pypi:foo"]),
        ("cd a && uv add pypdf; uv pip install lxml", ["pypi:pypdf", "pypi:lxml"]),
        ("pnpm --filter web add -D @tanstack/query@5 zod", ["npm:@tanstack/query", "npm:zod"]),
        ("cargo add serde --features derive", ["cargo:serde"]),
        ("go get github.com/x/y@v1.2", ["go:github.com/x/y"]),
        ("npm i zod # npm i left-pad", ["npm:zod"]),
    ],
)
def test_an_installation_names_its_packages(command, found):
    assert uses(command) == [f"package {each}" for each in found]


@pytest.mark.parametrize(
    "command",
    [
        "npm install && npm ci",
        "python script.py install foo",
        'git commit -m "then && pip install foo && more"',
        "cat > notes <<'EOF'\npip install foo\nEOF",
        "echo 'pip install foo",
        "pip install ./foo https://example.org/foo.whl $NAME",
        "brew install jq",
        "",
        "install add i get",
    ],
)
def test_what_installs_no_named_package_is_no_use(command):
    assert uses(command) == []


def test_a_skill_file_is_used_by_the_command_that_names_it():
    found = uses("sed -n 1,50p ~/.claude/skills/pdf/SKILL.md | head; ls skills/SKILL.md.bak")
    assert found == ["shell ~/.claude/skills/pdf/SKILL.md"]


def test_what_irc_is_asked_is_told():
    command = "irc discover 'fill a form' --json && irc disclose skills/pdf && irc status"
    assert uses(command) == ["asked fill a form", "disclosed skills/pdf"]


def test_a_word_longer_than_a_package_s_name_is_none():
    assert list(read_shell_line("go get " + "a." * 9_000)) == []
