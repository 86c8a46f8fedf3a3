"""Everything an agent could use is found in a home that holds some of every kind, and kept so."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from irclient import Query
from tests.support.running import Home, Running, finds, until

SHAPES = Path(__file__).parents[1] / "transcripts"
FILES = {
    ".claude/agents/heron.md": "---\nname: heron\ndescription: Reviews estuary diffs.\n---\nx\n",
    ".codex/agents/otter.toml": 'name = "otter"\ndescription = "Explores rivers."\n',
    ".copilot/agents/lagoon.agent.md": "---\ndescription: Plans lagoons.\n---\nx\n",
    ".claude/commands/badger.md": "---\ndescription: Counts burrows.\n---\nx\n",
    ".gemini/commands/git/marmot.toml": 'description = "Commits whistles."\nprompt = "x"\n',
    ".claude/CLAUDE.md": "Write about capybaras.\n",
    ".claude/rules/pelican.md": "---\npaths: ['*.ts']\n---\nPelicans need types.\n",
    ".gemini/extensions/wren/gemini-extension.json": '{"name": "wren", "description": "Nests."}',
    ".local/share/irdaemon/mcp_tools/pond.json": json.dumps(
        [
            {
                "name": "skim",
                "description": "Skims a pond.",
                "inputSchema": {"properties": {"newt": {}}},
            }
        ]
    ),
}
DATABASES = {
    "opencode-1.sql": ".local/share/opencode/opencode.db",
    "goose.sql": ".local/share/goose/sessions/sessions.db",
    "cursor.sql": ".config/Cursor/User/globalStorage/state.vscdb",
}
TRANSCRIPTS = {
    "gemini": ".gemini/tmp",
    "copilot": ".copilot/session-state",
    "pi": ".pi/agent/sessions/--w-app--",
    "cursor": ".cursor/projects",
}


@pytest.fixture
def furnished(home: Home) -> Home:
    for name, text in FILES.items():
        path = home.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for agent, place in TRANSCRIPTS.items():
        shutil.copytree(SHAPES / agent, home.path / place)
    shutil.copy(SHAPES / "aider/.aider.chat.history.md", home.path)
    for shape, place in DATABASES.items():
        path = home.path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript((SHAPES / shape).read_text())
            connection.execute("PRAGMA journal_mode = wal")
    return home


def has_turns_of(home: Home, agent: str) -> bool:
    with home.client() as client:
        query = Query("parser port", ("sessions",), mode="lexical", where={"agent": agent})
        return bool(client.search(query).results)


def test_every_kind_is_found_by_itself_and_again_when_it_changed(furnished):
    home = furnished
    with Running(home) as daemon:
        state = daemon.wait_idle()
        kinds = {"agents", "commands", "rules", "plugins", "mcp_tools", "sessions"}
        assert kinds <= {corpus["name"] for corpus in state["corpora"]}
        for word, name in {
            "estuary": "heron",
            "rivers": "otter",
            "lagoons": "lagoon",
            "burrows": "badger",
            "whistles": "git:marmot",
            "capybaras": ".claude/CLAUDE.md",
            "pelicans": "pelican",
            "nests": "wren",
            "newt": "skim",
        }.items():
            assert finds(home, word, name), word
        for agent in ("gemini", "copilot", "pi", "cursor", "opencode", "goose", "aider"):
            assert has_turns_of(home, agent), agent
        with home.client() as client:
            assert client.failures() == []

        for name in FILES:
            path = home.path / name
            path.write_text(path.read_text().replace("estuary", "delta").replace("newt", "toad"))
        until(lambda: finds(home, "delta", "heron") and finds(home, "toad", "skim"))
        (home.path / ".claude/CLAUDE.md").unlink()
        until(lambda: not finds(home, "capybaras", ".claude/CLAUDE.md"))


def test_a_turn_is_found_while_its_agent_has_the_database_open(furnished):
    home = furnished
    path = home.path / DATABASES["goose.sql"]
    with Running(home) as daemon, closing(sqlite3.connect(path)) as goose:
        daemon.wait_idle()
        for role, text in (("user", "count the puffins"), ("assistant", "Nine.")):
            said = json.dumps([{"type": "text", "text": text}])
            goose.execute(
                "INSERT INTO messages(session_id, role, content_json, created_timestamp)"
                " VALUES ('20260901_1', ?, ?, 1788256900)",
                (role, said),
            )
        goose.commit()
        until(lambda: finds(home, "puffins", "Parser repair"))
