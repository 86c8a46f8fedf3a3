"""Where else a corpus lies: URLs without passwords, for all corpora or one, shared expressly."""

import os

import pytest

from irdaemon.config.backends import BackendAddress, hide_password
from irdaemon.config.checking import ConfigError
from irdaemon.config.config import parse_config
from irdaemon.config.corpus import make_corpora, make_corpus
from irdaemon.config.origin import list_settings

SERVER = "postgresql://search@db.example/ir"
NOTES = "\n[corpora.notes]\nkind = 'files'\nroots = ['/n']\n"


def backends(text):
    config = parse_config(text, "/etc/x/irdaemon.toml")
    return {each.name: make_corpus(each, config).backend for each in config.corpora}


def refusal(text):
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "/etc/x/irdaemon.toml")
    return caught.value


def test_without_a_backend_a_corpus_lies_here_alone():
    assert backends(NOTES) == {"notes": None}
    assert backends(f"[index]\nbackend = 'local'\n{NOTES}") == {"notes": None}


def test_a_backend_is_that_of_every_corpus_that_names_no_other():
    text = f"[index]\nbackend = '{SERVER}'\nbackend_password_env = 'PW'\n{NOTES}"
    assert backends(text) == {"notes": BackendAddress((SERVER,), "PW")}
    own = text + "backend = 'qdrant://q:6333'\n[corpora.here]\nkind = 'files'\nbackend = 'local'\n"
    assert backends(own) == {"notes": BackendAddress(("qdrant://q:6333",), "PW"), "here": None}


def test_several_servers_are_one_backend_in_whatever_order_they_are_named():
    one = backends(f"[index]\nbackend = ['postgresql://b/x', 'postgresql://a/x']\n{NOTES}")
    other = backends(f"[index]\nbackend = ['postgresql://a/x', 'postgresql://b/x']\n{NOTES}")
    assert one == other
    assert one["notes"].shown == "postgresql://a/x, postgresql://b/x"


def test_sessions_are_sent_only_where_their_corpus_says_so(tmp_path, monkeypatch):
    sessions = "\n[corpora.mine]\nkind = 'sessions'\nroots = ['/s']\n"
    text = f"[index]\nbackend = '{SERVER}'\n{sessions}"
    assert backends(text) == {"mine": None}
    assert backends(f"{text}share = true\n")["mine"].urls == (SERVER,)
    error = refusal(f"{sessions}backend = '{SERVER}'\n")
    assert "not shared" in error.message
    assert "share = true" in error.hint
    monkeypatch.setenv("HOME", str(tmp_path))
    os.makedirs(tmp_path / ".claude" / "projects" / "p")
    config = parse_config(f"[index]\nbackend = '{SERVER}'\n", "/etc/x/irdaemon.toml")
    found = {each.name: each.backend for each in make_corpora(config)}
    assert found["sessions"] is None


def test_what_is_copied_learns_from_use_only_where_its_corpus_says_that_it_is_shared():
    def learns(text):
        config = parse_config(text, "/etc/x/irdaemon.toml")
        return [make_corpus(each, config).learns for each in config.corpora]

    copied = f"[index]\nbackend = '{SERVER}'\n{NOTES}"
    assert learns(NOTES) == [True]
    assert learns(copied) == [False]
    assert learns(f"{copied}share = true\n") == [True]
    assert learns(f"{copied}share = false\n") == [True]


def test_any_corpus_may_be_kept_here():
    assert backends(f"[index]\nbackend = '{SERVER}'\n{NOTES}share = false\n") == {"notes": None}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@db/ir",
        "postgresql://ann:hun@ter2@db/ir",
        "postgresql://db/ir?password=hunter2",
        "postgresql://db/ir?user=a&sslpassword=hunter2",
        "qdrant://q:6333?api_key=hunter2",
        "qdrant://:hunter2@q",
        "postgresql://ann:hun/ter2@db/ir",
        "postgresql://ann:hun@ter2/x@db/ir",
        "postgresql://db/ir?oauth_client_secret=hunter2",
        "postgresql://db/ir?oauth%5Fclient%5FSECRET=hunter2",
        "postgresql://db/ir?scram_client_key=hunter2",
        "qdrant://q:6333?accessToken=hunter2",
        "qdrant://q:6333?x=1&key=hunter2",
    ],
)
def test_a_password_in_a_url_is_refused_and_not_repeated(url):
    error = refusal(f"[index]\nbackend = '{url}'\n")
    assert "x/irdaemon.toml:2: " in error.message
    assert "password" in error.message
    assert "hunter2" not in error.message + error.hint
    assert "ter2" not in error.message
    assert "PGPASSFILE" in error.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://postgres:@db/ir",
        "postgresql://db/ir?password=",
        "postgresql://db/ir?passfile=/home/ann/.pgpass&sslkey=/home/ann/k&sslkeylogfile=/tmp/l",
        "postgresql://db/ir?keepalives=1&oauth_client_id=x&target_session_attrs=any",
        "qdrant://q:6333?replication_factor=2&tls=1",
    ],
)
def test_an_empty_password_and_the_name_of_a_file_are_no_secret(url):
    assert backends(f"[index]\nbackend = '{url}'\n{NOTES}")["notes"].urls == (url,)


def test_a_key_in_the_url_of_a_model_is_refused_and_not_repeated():
    text = "[models]\nendpoint = 'https://m.example/v1?api_key=hunter2'\nmodel = 'x'\n"
    error = refusal(text)
    assert error.message.startswith("/etc/x/irdaemon.toml:2: endpoint has a key in it")
    assert "hunter2" not in error.message + error.hint


@pytest.mark.parametrize(
    "value",
    ["3", "''", "'mysql://x/y'", "[]", "['local']", "'Local'", "['postgresql://a/x', 3]",
     "['postgresql://a/x', 'postgresql://a/x']", "'postgresql://[/x'",
     "'postgresql://ann:hu?nter2@db/ir'", "'postgresql://ann:hu#nter2@db/ir'"],
)  # fmt: skip
def test_what_is_no_backend_is_refused_by_the_line(value):
    assert refusal(f"[index]\nbackend = {value}\n").message.startswith("/etc/x/irdaemon.toml:2: ")
    assert refusal(f"{NOTES}backend = {value}\n").message.startswith("/etc/x/irdaemon.toml:5: ")


def test_a_password_is_named_by_its_variable_and_not_written_down():
    assert "name of a variable" in refusal("[index]\nbackend_password_env = 's3cret!'\n").message


def test_the_settings_show_the_backend_without_a_secret(tmp_path):
    file = tmp_path / "irdaemon.toml"
    file.write_text(f"[index]\nbackend = '{SERVER}?sslmode=require'\n")
    assert list_settings(str(file), {})["index.backend"].value == f'"{SERVER}?sslmode=require"'
    file.write_text("[index]\nbackend = 'postgresql://ann:hunter2@db/ir'\n")
    with pytest.raises(ConfigError) as caught:
        list_settings(str(file), {})
    assert "hunter2" not in str(caught.value)
    assert list_settings(str(tmp_path / "none"), {})["index.backend"].value == '"local"'


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://ann:x@db:5432/ir?password=y#z", "postgresql://ann@db:5432/ir"),
        ("postgresql://ann@/ir?host=/run/pg&port=5433&sslmode=require",
         "postgresql://ann@/ir?host=/run/pg&port=5433"),
        ("postgresql://ann:a/b@c@db/ir", "postgresql://ann@db/ir"),
    ],
)  # fmt: skip
def test_what_is_shown_of_a_url_is_where_it_leads_and_no_secret(url, seen):
    assert hide_password(url) == seen


@pytest.mark.parametrize(
    "url", ["postgresql://db:5432,other:5433/ir", "postgresql://[::1]:5432/ir", "postgresql:///ir"]
)
def test_hosts_are_named_as_the_engine_reads_them(url):
    assert backends(f"[index]\nbackend = '{url}'\n{NOTES}")["notes"].urls == (url,)
