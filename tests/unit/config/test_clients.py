"""The [[client]] tables, the files of keys and tokens, and the commands that write them."""

import os
import stat

import pytest

from irclient.errors import Denied, NotFound, Unavailable
from irclient.keys import Keys, read_keys, read_private
from irclient.types import LEVELS
from irdaemon.cli.main import main
from irdaemon.config.checking import ConfigError
from irdaemon.config.clients import ClientConfig
from irdaemon.config.config import load_config, parse_config
from irdaemon.daemon.active_config import open_config_file
from irdaemon.serve.access import Peer
from irdaemon.serve.listen import load_server_keys, make_rules

PATH = "/etc/x/irdaemon.toml"
KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"


SKILLS = '[corpora.skills]\nkind = "skills"\n'


@pytest.fixture
def config(tmp_path, monkeypatch):
    path = tmp_path / "conf" / "irdaemon.toml"
    monkeypatch.setenv("IRDAEMON_CONFIG", str(path))
    path.parent.mkdir()
    path.write_text("# mine\nknown = false\n")
    return path


def test_a_key_for_a_corpus_that_is_not_there_is_refused_and_nothing_is_written(config, capsys):
    config.write_text(config.read_text() + SKILLS)
    before = config.read_text()
    assert main(["keys", "add", "agent", "--token", "--corpus", "skils"]) == 4
    said = capsys.readouterr().err
    assert "the configuration has no corpus 'skils'; did you mean 'skills'?" in said
    assert config.read_text() == before
    assert not list(config.parent.glob("*.token"))


def test_a_client_is_read_with_its_limits():
    text = (
        f'[[client]]\nname = "a"\nkey = "{KEY}"\ncorpora = ["s"]\nlevels = ["metadata"]\n'
        'read_only = true\n[[client]]\nname = "b"\nuid = 7\n[[client]]\nname = "c"\ntoken = "t"\n'
    )
    assert parse_config(text, PATH).clients == (
        ClientConfig("a", key=KEY, corpora=("s",), levels=("metadata",), read_only=True),
        ClientConfig("b", uid=7),
        ClientConfig("c", token="/etc/x/t"),
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("uid = 1", "is not a valid client name"),
        ('name = "a/b"\nuid = 1', "is not a valid client name"),
        ('name = "a"', "must have one of key, uid and token"),
        ('name = "a"\nuid = 1\ntoken = "t"', "must have one of"),
        ('name = "a"\nuid = -1', "negative"),
        ('name = "a"\nuid = true', "whole number"),
        ('name = "a"\nkey = "short"', "not a CURVE key"),
        ('name = "a"\nuid = 1\nlevels = ["text"]', "unknown level 'text'"),
        ('name = "a"\nuid = 1\ncorpora = [1]', "must be a text"),
        ('name = "a"\nuid = 1\ncorpus = ["s"]', "did you mean 'corpora'"),
        ('name = "a"\nuid = 1\n[[client]]\nname = "a"\nuid = 2', "the name 'a'"),
        ('name = "a"\nuid = 1\n[[client]]\nname = "b"\nuid = 1', "the uid 1"),
    ],
)
def test_a_client_that_cannot_be_meant_is_an_error_naming_the_file(table, said):
    with pytest.raises(ConfigError) as caught:
        parse_config(f"[[client]]\n{table}\n", PATH)
    assert caught.value.message.startswith(PATH)
    assert said in caught.value.message


def test_a_token_counts_by_its_content_and_a_shared_file_is_refused(config):
    token = config.parent / "agent.token"
    token.write_text("correct horse battery staple\n")
    config.write_text('[[client]]\nname = "agent"\ntoken = "agent.token"\nread_only = true\n')
    token.chmod(0o644)
    with pytest.raises(ConfigError, match="can be read by others"):
        make_rules(load_config())
    token.chmod(0o600)
    scopes = make_rules(load_config()).scopes
    assert scopes.find(Peer(uid=os.getuid()), "correct horse battery staple").read_only
    token.write_text("short")
    with pytest.raises(ConfigError, match="can be guessed"):
        make_rules(load_config())
    token.unlink()
    token.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        make_rules(load_config())


def test_a_client_whose_token_is_gone_is_turned_away_and_the_others_are_served(config, caplog):
    config.write_text(
        '[[client]]\nname = "agent"\ntoken = "gone.token"\n[[client]]\nname = "b"\nuid = 4711\n'
    )
    scopes = make_rules(load_config()).scopes
    assert scopes.find(Peer(uid=4711)).client == "b"
    with pytest.raises(Denied):
        scopes.find(Peer(uid=os.getuid()), "what the token was")
    assert f"'agent' is turned away: {config.parent / 'gone.token'} is gone" in caplog.text


def test_a_client_is_written_as_its_owner_would_and_can_be_taken_out(config):
    added = ClientConfig("a", key=KEY, corpora=("s",), levels=LEVELS[:1], read_only=True)
    open_config_file(None).add_client(added)
    open_config_file(None).add_client(ClientConfig("b", uid=7))
    assert config.read_text().startswith("# mine\nknown = false\n")
    assert load_config().clients == (added, ClientConfig("b", uid=7))
    open_config_file(None).remove_client("a")
    assert load_config().clients == (ClientConfig("b", uid=7),)
    with pytest.raises(NotFound):
        open_config_file(None).remove_client("a")


@pytest.mark.parametrize(
    "text", ["", "[", 'public = "x"', f'public = "{KEY}"', f'public = 3\nsecret = "{KEY}"']
)
def test_what_is_no_key_file_is_refused(tmp_path, text):
    path = tmp_path / "k"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(Unavailable):
        read_keys(str(path))


def test_keys_come_out_of_a_file_as_they_went_in_unless_others_can_read_it(tmp_path):
    path = tmp_path / "k"
    path.write_text(Keys(KEY, KEY, KEY).to_toml())
    path.chmod(0o640)
    with pytest.raises(Unavailable, match="read by others"):
        read_keys(str(path))
    path.chmod(0o600)
    assert read_keys(str(path)) == Keys(KEY, KEY, KEY)
    with pytest.raises(Unavailable):
        read_private(str(tmp_path))


def test_keys_are_made_added_shown_and_removed_by_command(config, capsys):
    config.write_text(config.read_text() + SKILLS)
    assert main(["keys", "add", "laptop"]) == 2
    said = capsys.readouterr().err
    assert (
        said == "irdaemon: the daemon has no keys yet\n          irdaemon keys make, or --token\n"
    )
    assert main(["keys", "make"]) == 0
    public = capsys.readouterr().out.strip()
    assert main(["keys", "make"]) == 2
    assert load_server_keys(load_config()).public == public
    assert main(["keys", "add", "laptop", "--corpus", "skills", "--read-only"]) == 0
    made = read_keys(str(config.parent / "laptop.client"))
    (client,) = load_config().clients
    assert (client.key, made.server) == (made.public, public)
    assert (client.corpora, client.read_only) == (("skills",), True)
    assert main(["keys", "add", "own", "--key", KEY]) == 0
    assert main(["keys", "add", "agent", "--token"]) == 0
    assert make_rules(load_config()).scopes.find(
        Peer(), read_private(str(config.parent / "agent.token"))
    )
    capsys.readouterr()
    assert main(["keys", "show"]) == 0
    shown = capsys.readouterr().out
    assert public in shown
    assert made.secret not in shown
    assert "laptop" in shown
    assert main(["keys", "rm", "laptop"]) == 0
    assert [client.name for client in load_config().clients] == ["own", "agent"]
    assert not (config.parent / "laptop.client").exists()
    assert main(["keys", "rm", "agent"]) == 0
    assert not (config.parent / "agent.token").exists()
    for file in config.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


@pytest.mark.parametrize("name", ["../x", "", "a/b"])
def test_a_client_of_an_impossible_name_is_written_nowhere(config, name, capsys):
    main(["keys", "make"])
    before = files_around(config)
    assert main(["keys", "add", name]) == 2
    assert files_around(config) == before


def test_after_the_last_client_is_removed_another_can_be_added(config):
    for _ in range(2):
        assert main(["keys", "add", "a", "--token"]) == 0
        assert main(["keys", "rm", "a"]) == 0
    assert config.read_text() == "# mine\nknown = false\n"


def files_around(config):
    return {
        path: path.read_bytes()
        for path in config.parent.parent.rglob("*.*")
        if "lock" not in path.name and path.is_file()
    }
