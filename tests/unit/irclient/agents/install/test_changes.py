"""Settings files of every agent: exactly ours goes in, and out again; the rest is not touched."""

import copy
import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from irclient.agents.hook.options import AGENTS
from irclient.agents.install.changes import BACKUP, plan_install, plan_uninstall
from irclient.agents.install.json_file import JsonText
from irclient.agents.install.targets import SETTINGS_FILES, Machine
from irclient.cli.main import main
from irclient.errors import SettingsError

START = "irclient/agents/hook/start.py"
CLAUDE = """\
{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": { "allow": ["Bash(git status:*)", "Read(~/notes/**)"], "deny": [] },
  "env": {"EDITOR": "vim"},
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [{ "type": "command", "command": "ruff format \\"$F\\"", "timeout": 10 }]
      }
    ],
    "UserPromptSubmit": [ { "hooks": [ { "type": "command", "command": "date" } ] } ],
    "Stop": []
  },
  "model": "opus"
}
"""
CLAUDE_JSON = """\
{
  "numStartups": 41,
  "mcpServers": {},
  "oauthAccount": {"emailAddress": "ann@example.org"},
  "projects": {
    "/w": {"allowedTools": [], "history": [{"display": "caf\u00e9 \\u2028"}]}
  }
}"""
CODEX_TOML = """\
# ~/.codex/config.toml
model = "gpt-5"            # the default
notify = ["python3", "/home/ann/notify.py"]

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"]

# a profile
[profiles.careful]
approval_policy = "untrusted"
"""
GEMINI = """\
{
\t// mine
\t"theme": "GitHub",
\t"hooks": {
\t\t"BeforeTool": [
\t\t\t{"matcher": "write_file", "hooks": [{"type": "command", "command": "./check.sh"}]}, // keep
\t\t],
\t},
\t"mcpServers": {
\t\t"github": {"httpUrl": "https://example.org/mcp"} /* work */
\t}, // the last
}
"""
CURSOR_HOOKS = '{"version":1,"hooks":{"beforeSubmitPrompt":[{"command":"./audit.sh"}]}}'
CURSOR_MCP = '{\r\n    "mcpServers": {\r\n        "a": { "command": "a" }\r\n    }\r\n}\r\n'
OPENCODE = """\
{
  "$schema": "https://opencode.ai/config.json",
  // models
  "model": "anthropic/claude",
  "mcp": {
    "other": { "type": "remote", "url": "https://example.org" } // theirs
  }
}"""
VSCODE = """\
{
\t"inputs": [],
\t"servers": {
\t\t"x": {
\t\t\t"type": "stdio",
\t\t\t"command": "x"
\t\t},
\t}
}
"""

FILES = {
    "claude": {".claude/settings.json": CLAUDE, ".claude.json": CLAUDE_JSON},
    "codex": {".codex/hooks.json": '{"hooks": {}}\n', ".codex/config.toml": CODEX_TOML},
    "gemini": {".gemini/settings.json": GEMINI},
    "cursor": {".cursor/hooks.json": CURSOR_HOOKS, ".cursor/mcp.json": CURSOR_MCP},
    "copilot": {
        ".copilot/hooks/irdaemon.json": '\ufeff{"version": 1}',
        ".copilot/mcp-config.json": "{}",
    },
    "opencode": {".config/opencode/opencode.jsonc": OPENCODE},
    "vscode": {".config/Code/User/mcp.json": VSCODE},
}


@pytest.fixture
def here(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    return Machine(str(home), str(project), {}, f"/py -I -S /x/{START}", "/bin/irc")


@pytest.fixture(params=SETTINGS_FILES)
def written(here, request):
    """Write an agent's files as a user may have them; return the agent and the files."""
    files = {}
    for name, text in FILES[request.param].items():
        path = Path(here.home, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        files[path] = text.encode()
    assert {str(path) for path in files} == {
        p.path for p in SETTINGS_FILES[request.param](here, False)
    }
    return request.param, files


def install(here, agent, hooks=True, mcp=True, project=False):
    return _changed(here, agent, plan_install, hooks, mcp, project)


def uninstall(here, agent, hooks=True, mcp=True, project=False):
    return _changed(here, agent, plan_uninstall, hooks, mcp, project)


def _changed(here, agent, plan, hooks, mcp, project):
    changes = []
    for whole in SETTINGS_FILES[agent](here, project):
        part = whole.keep_only(hooks, mcp)
        if part.wanted and (change := plan(whole, part)):
            change.make()
            changes.append(change)
    return changes


def read(path):
    text = path.read_text("utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else JsonText(text).root.value


def held(path, data):
    text = data.decode("utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else JsonText(text).root.value


def with_ours(settings, place):
    """Return settings as data with our entries added."""
    made = copy.deepcopy(settings)
    for key, value in place.head.items():
        made.setdefault(key, value)
    for hook in place.hooks:
        made.setdefault("hooks", {}).setdefault(hook.event, []).append(hook.item)
    if place.server:
        made.setdefault(place.server.table, {})["irdaemon"] = place.server.entry
    return made


def goes_on(old, new):
    """Say whether everything in `old` is in `new`, in that order."""
    rest = iter(new)
    return all(each in rest for each in old)


def test_exactly_ours_comes_in_and_every_character_that_was_there_stays(here, written):
    agent, files = written
    changes = install(here, agent)
    places = {place.path: place for place in SETTINGS_FILES[agent](here, False)}
    assert {change.path for change in changes} == {str(path) for path in files}
    for path, before in files.items():
        assert read(path) == with_ours(held(path, before), places[str(path)])
        assert goes_on(before, path.read_bytes())


def without_ours(value):
    """Return settings without what mentions us, and without what is empty."""
    if isinstance(value, dict):
        if START in str(value.get("command")):
            return {}
        kept = {key: without_ours(each) for key, each in value.items() if key != "irdaemon"}
        return {key: each for key, each in kept.items() if each not in ({}, [])}
    if isinstance(value, list):
        return [each for each in map(without_ours, value) if each not in ({}, [])]
    return value


def test_uninstalled_everything_is_as_it_was_to_the_byte(here, written):
    agent, _ = written
    before = _tree(here)
    install(here, agent)
    uninstall(here, agent)
    assert _tree(here) == before


def test_in_parts_and_in_any_order_it_comes_to_the_same(here, written):
    agent, files = written
    before = {path: read(path) for path in files}
    install(here, agent, mcp=False)
    install(here, agent, hooks=False)
    assert install(here, agent) == []
    uninstall(here, agent, hooks=False)
    uninstall(here, agent, mcp=False)
    for path in files:
        assert without_ours(read(path)) == without_ours(before[path])
        assert "irdaemon" not in path.read_text()


def test_a_second_time_there_is_nothing_to_do(here, written):
    agent, _ = written
    install(here, agent)
    assert install(here, agent) == []
    uninstall(here, agent)
    assert uninstall(here, agent) == []


@pytest.mark.parametrize("agent", SETTINGS_FILES)
@pytest.mark.parametrize("project", [False, True])
def test_where_no_file_was_there_is_none_afterwards(here, agent, project):
    changes = install(here, agent, project=project)
    base = here.cwd if project else here.home
    assert changes
    assert all(change.path.startswith(base) and change.before is None for change in changes)
    uninstall(here, agent, project=project)
    assert _tree(here) == {}


def test_what_its_owner_changed_since_is_kept_and_only_ours_goes(here, written):
    agent, files = written
    install(here, agent)
    for path in files:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".toml":
            path.write_text('sandbox_mode = "read-only"\n' + text + "\n[tui]\nx = 1\n")
        else:
            path.write_text(text.replace("{", '{"mine": [1],', 1))
    uninstall(here, agent)
    for path, before in files.items():
        old, new = held(path, before), read(path)
        added = ("sandbox_mode", "tui") if path.suffix == ".toml" else ("mine",)
        assert all(new.pop(key) for key in added)
        assert without_ours(new) == without_ours(old)
        assert "irdaemon" not in path.read_text().replace("hooks/irdaemon.json", "")
        assert Path(f"{path}{BACKUP}").read_bytes() == before


def test_another_installations_entries_are_replaced_and_its_owners_additions_kept(here):
    old = Machine(here.home, here.cwd, {}, "/old/py -I -S /old/irclient/hook/start.py", "/old/irc")
    install(old, "claude")
    path = Path(here.home, ".claude/settings.json")
    servers = Path(here.home, ".claude.json")
    install(here, "claude")
    assert "/old" not in path.read_text() + servers.read_text()
    assert [len(groups) for groups in read(path)["hooks"].values()] == [1, 1, 1]
    tuned = read(servers)
    tuned["mcpServers"]["irdaemon"]["env"] = {"A": "b"}
    servers.write_text(json.dumps(tuned))
    assert install(here, "claude") == []
    assert read(servers) == tuned


def test_a_handler_of_ours_in_a_users_group_is_taken_out_of_it_alone(here):
    install(here, "claude")
    path = Path(here.home, ".claude/settings.json")
    settings = read(path)
    settings["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "say done"})
    path.write_text(json.dumps(settings, indent=2))
    uninstall(here, "claude")
    theirs = [{"hooks": [{"type": "command", "command": "say done"}]}]
    assert read(path) == {"hooks": {"Stop": theirs}}


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("settings.json", b'{"hooks": {', "line 1"),
        ("settings.json", b'{"a": 1}\n{"b": 2}', "line 1"),
        ("settings.json", b"\xff\xfe{", "not UTF-8"),
        ("settings.json", b"[]", "the whole is not an object"),
        ("settings.json", b'{"hooks": []}', "hooks is not an object"),
        ("settings.json", b'{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
        ("settings.json", b'{"hooks": {}, "hooks": {}}', "there twice"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused_by_name_and_not_touched(
    here, name, data, said
):
    path = Path(here.home, ".claude", name)
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=said) as refused:
        install(here, "claude")
    assert str(path) in refused.value.message
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ", "Invalid value"),
        ("mcp_servers = { a = { command = 'x' } }\n", "has a form"),
        ("mcp_servers = 3\n", "not a table"),
        ("[mcp_servers.irdaemon]\ncommand = 'other'\n", "starts something else"),
    ],
)
def test_toml_that_cannot_be_added_to_is_refused(here, text, said):
    path = Path(here.home, ".codex/config.toml")
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(SettingsError, match=said):
        install(here, "codex", hooks=False)
    assert path.read_text() == text


def test_another_programs_server_of_our_name_is_neither_replaced_nor_taken_out(here):
    path = Path(here.home, ".cursor/mcp.json")
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"irdaemon": {"command": "docker", "args": ["run"]}}}')
    with pytest.raises(SettingsError, match="starts something else"):
        install(here, "cursor", hooks=False)
    assert uninstall(here, "cursor") == []


def test_text_that_only_looks_like_our_table_is_left_alone(here):
    path = Path(here.home, ".codex/config.toml")
    path.parent.mkdir()
    text = 'notes = """\n[mcp_servers.irdaemon]\ncommand = "x"\n"""\n'
    path.write_text(text)
    install(here, "codex", hooks=False)
    assert tomllib.loads(path.read_text())["notes"] == tomllib.loads(text)["notes"]
    uninstall(here, "codex")
    assert path.read_text() == text


def test_tables_below_ours_go_with_it_and_comments_before_the_next_stay(here):
    path = Path(here.home, ".codex/config.toml")
    path.parent.mkdir()
    path.write_text(CODEX_TOML)
    install(here, "codex", hooks=False)
    with path.open("a") as file:
        file.write('\n[mcp_servers.irdaemon.env]\nA = "b"\n\n# mine\n[tui]\nx = 1\n')
    uninstall(here, "codex")
    assert path.read_text() == CODEX_TOML + "\n# mine\n[tui]\nx = 1\n"


def test_mode_and_links_stay_as_they_were(here):
    real = Path(here.home, "dotfiles/claude.json")
    real.parent.mkdir()
    real.write_text(CLAUDE)
    real.chmod(0o640)
    path = Path(here.home, ".claude/settings.json")
    path.parent.mkdir()
    path.symlink_to(real)
    install(here, "claude", mcp=False)
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert stat.S_IMODE(Path(f"{real}{BACKUP}").stat().st_mode) == 0o640
    uninstall(here, "claude")
    assert real.read_text() == CLAUDE
    assert sorted(real.parent.iterdir()) == [real]


def test_a_file_its_owner_made_unwritable_stays_as_it_is(here):
    path = Path(here.home, ".claude/settings.json")
    path.parent.mkdir()
    path.write_text(CLAUDE)
    path.chmod(0o444)
    with pytest.raises(SettingsError, match="not writable"):
        install(here, "claude", mcp=False)
    assert path.read_text() == CLAUDE


@pytest.mark.parametrize("meanwhile", [b"{}", None])
def test_a_file_that_changed_meanwhile_is_not_overwritten(here, meanwhile):
    path = Path(here.home, ".claude/settings.json")
    path.parent.mkdir()
    path.write_text(CLAUDE)
    (whole, _) = SETTINGS_FILES["claude"](here, False)
    change = plan_install(whole, whole)
    path.write_bytes(meanwhile) if meanwhile else path.unlink()
    with pytest.raises(SettingsError, match="changed in the meantime"):
        change.make()
    assert (path.read_bytes() if path.exists() else None) == meanwhile


def test_a_file_that_appeared_meanwhile_is_not_overwritten(here):
    (whole, _) = SETTINGS_FILES["claude"](here, False)
    change = plan_install(whole, whole)
    path = Path(whole.path)
    path.parent.mkdir()
    path.write_text("{}")
    with pytest.raises(SettingsError, match="changed in the meantime"):
        change.make()
    assert path.read_text() == "{}"


def test_what_is_no_file_is_refused(here):
    path = Path(here.home, ".claude/settings.json")
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="not a regular file"):
        install(here, "claude")


def test_places_follow_the_agents_own_variables(here):
    moved = Machine(
        here.home,
        here.cwd,
        {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/g"},
        "hook",
        "/irc",
    )
    paths = [place.path for name in SETTINGS_FILES for place in SETTINGS_FILES[name](moved, False)]
    assert {"/c/settings.json", "/c/.claude.json", "/x/hooks.json", "/x/config.toml"} <= set(paths)
    assert "/g/opencode/opencode.json" in paths


def test_every_agent_with_a_hook_can_be_set_up_and_no_hook_can_fail(here):
    for agent in AGENTS:
        hooks = [hook for place in SETTINGS_FILES[agent](here, False) for hook in place.hooks]
        commands = [c for hook in hooks for c in _commands(hook.item)]
        assert commands
        assert all(f"--agent {agent}" in each for each in commands)
        assert all(each.endswith("2>/dev/null || :") for each in commands)


def _commands(item):
    handlers = item.get("hooks", [item])
    return [handler["command"] for handler in handlers]


def _tree(here):
    """Return every file below home and project: its bytes and its mode."""
    found = [path for top in (here.home, here.cwd) for path in Path(top).rglob("*")]
    return {path: (path.read_bytes(), path.stat().st_mode) for path in found if path.is_file()}


# -- the commands --------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("irclient.agents.install.targets.shutil.which", lambda name: "/usr/bin/irc")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dry_run_shows_the_diff_and_writes_nothing(home, capsys):
    assert main(["install", "claude", "--dry-run"]) == 0
    told = capsys.readouterr()
    assert '+    "UserPromptSubmit": [' in told.out
    assert "+++ " + str(home / ".claude.json") in told.out
    assert "nothing was written" in told.err
    assert list(home.iterdir()) == []


TOKENS = "tok-env tok-arg tok-header tok-url tok-note 77001122 tok-key tok-own".split()
THEIRS = {
    "theirs": {
        "command": "npx",
        "args": ["--password", "tok-arg"],
        "env": {"GITHUB_TOKEN": "tok-env", "PIN": 77001122, "tok-key": 1},
        "headers": {"Authorization": "Bearer tok-header"},
        "url": "https://ann:tok-url@example.org/mcp",
    }
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("agent", SETTINGS_FILES)
def test_what_is_printed_of_a_change_holds_nothing_of_anybody_elses(home, capsys, agent, indent):
    here = Machine(str(home), str(home), {}, f"/py /x/{START}", "/bin/irc")
    for place in SETTINGS_FILES[agent](here, False):
        path = Path(place.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".toml":
            path.write_text('[mcp_servers.theirs]\nargs = ["tok-arg"]\n# tok-note\nurl = "tok-url"')
        else:
            table = place.server.table if place.server else "mcpServers"
            text = json.dumps({table: THEIRS, "last": "tok-env"}, indent=indent)
            path.write_text(text + " // tok-note")
    said = []
    for words in (["install", agent, "--dry-run"], ["install", agent], ["uninstall", agent]):
        for form in ([], ["--json"]) if "--dry-run" in words else ([],):
            assert main(words + form) == 0
            said.append("".join(capsys.readouterr()))
        if words == ["install", agent]:
            for path in home.rglob("*"):
                if path.is_file() and path.suffix == ".json":
                    own = '"irdaemon": {"env": {"TOKEN": "tok-own"},'
                    text = path.read_text().replace('"irdaemon": {', own, 1)
                    path.write_text(text.replace('"irdaemon": {\n', own, 1))
    for each in said:
        assert "/irc" in each or "hook" in each or "irdaemon" in each
        assert not [token for token in TOKENS if token in each], each


def test_a_change_of_an_entry_that_a_user_amended_tells_only_what_we_write(here):
    path = Path(here.home, ".codex", "config.toml")
    path.parent.mkdir()
    path.write_text(
        '[mcp_servers.irdaemon]\ncommand = "/old/irc"\nargs = ["mcp"]\n\n'
        '[mcp_servers.irdaemon.env]\nTOKEN = "tok-own"\n'
    )
    place = SETTINGS_FILES["codex"](here, False)[1]
    told = "\n".join(plan_uninstall(place, place).diff())
    assert '-args = ["mcp"]' in told
    assert "tok-own" not in told
    assert "/old" not in told


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (
            "settings.json",
            '{\n "a": 1,\n "b": "x\x1b[31my"\n}',
            "line 3, column 9: a control character, U+001B, within a text; write it as \\u001b",
        ),
        ("settings.json", '{"a": "x\ty"}', "U+0009, within a text; write it as \\u0009"),
        ("settings.json", '{"a": \x00}', "line 1, column 7: Expecting value"),
        ("settings.json", '{"a": "x', "line 1, column 7: Unterminated string"),
    ],
)
def test_a_settings_file_with_a_control_character_is_refused_in_a_whole_line(
    home, capsys, name, data, said
):
    path = home / ".claude" / name
    path.parent.mkdir()
    path.write_text(data)
    assert main(["install", "claude"]) == 2
    first, hint, end = capsys.readouterr().err.split("\n")
    assert first.startswith(f"irc: {path}: ")
    assert first.endswith(said)
    assert (hint.strip(), end) == ("nothing was changed in it; correct it, then try again", "")


def test_a_toml_file_with_a_control_character_is_refused_in_a_whole_line(home, capsys):
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('a = 1\nb = "x\x1by"\n')
    assert main(["install", "codex", "--mcp"]) == 2
    first, *_ = capsys.readouterr().err.split("\n")
    assert first.endswith("Illegal character '\\x1b' (at line 2, column 7)")


@pytest.mark.parametrize("words", [[], ["--mcp"], ["--hooks"], ["--hooks", "--mcp"]])
def test_a_server_that_cannot_start_is_said_with_the_command_that_helps(
    home, capsys, monkeypatch, words
):
    monkeypatch.setattr("irclient.cli.agents.find_spec", lambda name: None)
    assert main(["install", "claude", *words]) == 0
    said = capsys.readouterr().err
    concerns_server = words != ["--hooks"]
    assert ("the MCP server cannot start" in said) == concerns_server
    assert ("-m pip install 'mcp" in said) == concerns_server


def test_a_server_that_can_start_is_not_warned_of(home, capsys, monkeypatch):
    monkeypatch.setattr("irclient.cli.agents.find_spec", lambda name: object())
    assert main(["install", "claude"]) == 0
    assert "cannot start" not in capsys.readouterr().err


def test_installed_and_uninstalled_by_command(home, capsys):
    assert main(["install", "codex", "--mcp"]) == 0
    assert (
        "irc"
        in tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]["irdaemon"][
            "command"
        ]
    )
    assert not (home / ".codex/hooks.json").exists()
    assert main(["install", "codex", "--mcp"]) == 0
    assert "set up already" in capsys.readouterr().err
    assert main(["uninstall", "codex", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["path"] == str(home / ".codex/config.toml")
    assert not (home / ".codex/config.toml").exists()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("where", [[], ["--project"]])
def test_directories_that_were_made_for_settings_go_with_them(home, capsys, agent, where):
    before = sorted(home.rglob("*"))
    assert main(["install", agent, *where]) == 0
    if agent in ("claude", "codex"):
        assert main(["install", agent, *where, "--prompts-command"]) == 0
    assert main(["uninstall", agent, *where]) == 0
    assert sorted(home.rglob("*")) == before


def test_an_empty_directory_of_the_persons_own_and_one_in_use_are_left(home, capsys):
    (home / ".claude").mkdir()
    assert main(["install", "claude"]) == main(["uninstall", "claude"]) == 0
    assert list((home / ".claude").iterdir()) == []
    assert main(["install", "codex"]) == 0
    (home / ".codex/auth.json").write_text("{}")
    assert main(["uninstall", "codex"]) == 0
    assert [each.name for each in (home / ".codex").iterdir()] == ["auth.json"]
    assert main(["install", "gemini"]) == 0
    settings = home / ".gemini/settings.json"
    settings.write_text(settings.read_text().replace("{", '{"theme": "dark",', 1))
    assert main(["uninstall", "gemini"]) == 0
    assert [each.name for each in (home / ".gemini").iterdir()] == ["settings.json"]


def test_one_file_that_cannot_be_read_leaves_the_others_alone(home, capsys):
    (home / ".claude.json").write_text("{")
    assert main(["install", "claude"]) == 2
    assert "nothing was changed in it" in capsys.readouterr().err
    assert not (home / ".claude").exists()


@pytest.mark.parametrize("agent", ["opencode", "vscode"])
def test_hooks_for_an_agent_that_has_none_are_explained(home, capsys, agent):
    assert main(["install", agent, "--hooks"]) == 2
    assert "no hooks of this kind" in capsys.readouterr().err


def test_an_unknown_agent_names_the_known_ones(home, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["install", "emacs"])
    assert ended.value.code == 2
    assert "opencode" in capsys.readouterr().err
