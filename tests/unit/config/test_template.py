"""The configuration file that `irdaemon init` writes says what there is, and changes nothing."""

import os
import re

import tomlkit

from irdaemon.config.config import parse_config
from irdaemon.config.template import make_config


def uncommented(text):
    """Return the settings of a file that are commented out, as if they were not."""
    lines = (line.removeprefix("# ") for line in text.splitlines())
    wanted = re.compile(r"(\[+[\w.]+\]+|\w+ = .*)$")
    return "\n".join(line for line in lines if wanted.match(line))


def test_as_it_is_written_it_changes_nothing():
    path, text = make_config("/tmp/irdaemon.toml")
    assert path == "/tmp/irdaemon.toml"
    assert parse_config(text, path) == parse_config("", path)


def test_what_is_commented_out_is_the_default():
    _, text = make_config("/c.toml")
    sections = tomlkit.parse(uncommented(text)).unwrap()
    for name in ("index", "watch", "schedule", "serve", "health", "limits", "documents"):
        written = f"[{name}]\n" + tomlkit.dumps(sections[name])
        assert parse_config(written, "/c.toml") == parse_config("", "/c.toml")


def test_it_names_the_directories_that_were_found(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "# skills: nothing found here" in make_config("/c.toml")[1]
    (tmp_path / ".claude" / "skills").mkdir(parents=True)
    text = make_config("/c.toml")[1]
    assert f"# skills: found here\n#   {tmp_path}/.claude/skills\n" in text


def test_without_a_path_it_is_for_the_usual_place(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("IRDAEMON_CONFIG", raising=False)
    assert make_config()[0] == os.path.join(tmp_path, ".config/irdaemon/irdaemon.toml")
