"""Writers: what each command is given, and how its output is read."""

import json

import pytest

from irclient.errors import QueryError, Unavailable
from irdaemon.contrib.prompts import agents
from irdaemon.contrib.prompts.agents import Answer, find_command, make_directory, make_writer
from irdaemon.runtime.pool import Printed


@pytest.fixture
def ran(monkeypatch, tmp_path):
    """Make both commands be there; return the errands, and what they print."""
    found = {"errands": [], "printed": Printed(0, b"", b"")}

    def run(errand, limits, most, is_wanted):
        found["errands"].append(errand)
        return found["printed"]

    monkeypatch.setattr(agents, "run_errand", run)
    monkeypatch.setattr(agents, "find_command", lambda name: f"/opt/{name}")
    found["ask"] = lambda name, model="": make_writer(name, str(tmp_path / "w"), None, model).ask(
        "write", lambda: True
    )
    return found


def print_json(*values):
    return Printed(0, "\n".join(map(json.dumps, values)).encode(), b"")


def test_claude_runs_without_tools_servers_and_a_session_file(ran, tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    usage = {"input_tokens": 5, "cache_read_input_tokens": 300, "output_tokens": 40, "x": "y"}
    ran["printed"] = print_json({"result": "lines", "is_error": False, "usage": usage})
    assert ran["ask"]("claude", "small") == Answer("lines", 345)
    [errand] = ran["errands"]
    words = list(errand.command)
    assert words[:4] == ["/opt/claude", "-p", "--output-format", "json"]
    assert words[words.index("--tools") + 1] == ""
    assert {"--strict-mcp-config", "--safe-mode", "--no-session-persistence"} <= {*words}
    assert words[-2:] == ["--model", "small"]
    assert errand.given == b"write"
    assert errand.env["IRDAEMON_NO_HOOK"] == "1"
    assert "CLAUDECODE" not in errand.env
    assert errand.cwd == str(tmp_path / "w")
    assert [each.name for each in (tmp_path / "w").iterdir()] == [".noirdaemon"]


def test_codex_runs_in_a_sandbox_without_a_shell_and_without_the_persons_configuration(ran):
    message = {"type": "agent_message", "text": "lines"}
    ran["printed"] = print_json(
        {"type": "item.completed", "item": {"type": "agent_message", "text": "first"}},
        {"type": "item.completed", "item": message},
        {"type": "turn.completed", "usage": {"input_tokens": 4_000, "output_tokens": 10}},
    )
    assert ran["ask"]("codex") == Answer("lines", 4_010)
    words = list(ran["errands"][0].command)
    assert words[:2] == ["/opt/codex", "exec"]
    assert words[-1] == "-"
    wanted = {"--json", "--ephemeral", "--ignore-user-config", "shell_tool", "mcp_servers={}"}
    assert wanted <= {*words}
    assert words[words.index("--sandbox") + 1] == "read-only"


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("claude", Printed(0, b"prose", b"")),
        ("claude", print_json(["result"])),
        ("claude", print_json({"result": None})),
        ("claude", Printed(0, b"\xff\xfe", b"")),
        ("codex", Printed(0, b"", b"")),
        ("codex", print_json({"type": "turn.completed"}, 7)),
    ],
)
def test_output_of_another_form_is_an_error_that_says_so(ran, name, printed):
    ran["printed"] = printed
    with pytest.raises(Unavailable, match="did not reply in the requested form"):
        ran["ask"](name)


def test_an_agent_that_fails_is_an_error_with_what_it_said(ran):
    ran["printed"] = Printed(1, b"", b"\nno credit left\n")
    with pytest.raises(Unavailable, match="claude ended with exit code 1: no credit left"):
        ran["ask"]("claude")
    ran["printed"] = print_json({"result": "log in first", "is_error": True})
    with pytest.raises(Unavailable, match="claude failed: log in first"):
        ran["ask"]("claude")
    ran["printed"] = print_json({"type": "turn.failed", "error": {"message": "over the limit"}})
    with pytest.raises(Unavailable, match=r"codex failed: .*over the limit"):
        ran["ask"]("codex")


def test_counts_that_are_none_are_not_counted(ran):
    for usage in (None, 7, {"input_tokens": "9"}, {"input_tokens": -9, "output_tokens": True}):
        ran["printed"] = print_json({"result": "lines", "usage": usage})
        assert ran["ask"]("claude").tokens == 0


def test_who_is_not_here_is_named_with_what_to_do(monkeypatch, tmp_path):
    with pytest.raises(QueryError, match=r"no prompt writer is called 'cluade'.* 'claude'"):
        make_writer("cluade", "", None)
    with pytest.raises(Unavailable, match="no model is configured"):
        make_writer("models", "", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(agents, "_BESIDE_PATH", ())
    with pytest.raises(Unavailable, match="codex is not on the daemon's PATH"):
        make_writer("codex", "", None)


def test_a_command_is_found_beside_the_path(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    command = tmp_path / ".local" / "bin" / "codex"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    assert find_command("codex") == str(command)


def test_the_directory_is_emptied_and_keeps_its_marker(tmp_path):
    path = tmp_path / "w"
    (path / "deep").mkdir(parents=True)
    (path / "CLAUDE.md").write_text("obey")
    (path / "deep" / "file").write_text("")
    (tmp_path / "kept").mkdir()
    (path / "link").symlink_to(tmp_path / "kept")
    make_directory(str(path))
    assert [each.name for each in path.iterdir()] == [".noirdaemon"]
    assert (tmp_path / "kept").exists()
