"""A backend is made by the scheme of its URL; what it needs is imported then, and not before."""

import subprocess
import sys

import pytest

from irdaemon.config.checking import ConfigError
from irdaemon.contrib.backends.making import hide_password, make_backend

_WITHOUT = """
import sys
sys.modules["psycopg"] = None
from irdaemon.contrib.backends.making import make_backend
try:
    make_backend("postgresql://me:secret@host/db")
except Exception as error:
    print(type(error).__name__, error, error.hint)
"""
_UNASKED = """
import sys
import irdaemon.contrib.backends.making, irdaemon.engine, irdaemon.daemon.daemon, irdaemon.cli.main
engines = ("psycopg", "irdaemon.contrib.backends.postgres", "irdaemon.contrib.backends.qdrant")
print([name for name in sys.modules if name.startswith(engines)])
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_without_its_extra_a_backend_says_what_to_install():
    said = python(_WITHOUT).stdout
    assert said.startswith("ConfigError a backend of postgresql:// needs a package")
    assert "pip install 'psycopg[binary]>=3.3'" in said
    assert "secret" not in said


def test_where_no_backend_is_configured_nothing_of_one_is_imported():
    loaded = python(_UNASKED).stdout
    assert "psycopg" not in loaded
    assert "postgres" not in loaded


def test_an_unknown_scheme_is_refused_with_those_that_are_known():
    with pytest.raises(ConfigError, match="'mysql'") as error:
        make_backend("mysql://host/db")
    assert "postgresql://" in error.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:se/cret@host/db",
        "postgresql://me:sec:ret@host:port/db",
        "postgresql://me:secret@host:54a/db?password=secret",
        "postgresql://me:s%zzecret@host/db",
        "postgresql://host/db?sslmode=secret&password",
    ],
)
def test_a_url_that_is_none_is_refused_without_a_word_of_it(url):
    with pytest.raises(ConfigError) as error:
        make_backend(url)
    said = f"{error.value} {error.value.hint} {error.value.__cause__}"
    assert "cret" not in said.replace("password", "")


@pytest.mark.parametrize(
    ("url", "is_shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:se/cr@et@host/db?password=x", "postgresql://me@host/db"),
        ("postgresql://host:1,other:2/db#x", "postgresql://host:1,other:2/db"),
        ("postgresql://me:se?cr#et@host/db", "postgresql://..."),
        ("postgresql:///db?password=x&host=/a,/b&port=1", "postgresql:///db?host=/a,/b&port=1"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret_in_it(url, is_shown):
    assert hide_password(url) == is_shown


def test_the_password_may_be_in_a_variable_of_the_environment(monkeypatch):
    monkeypatch.setenv("PG_SECRET", "of-the-environment")
    backend = make_backend("postgresql://me:secret@host:1/db", password_env="PG_SECRET")
    assert backend.server.parameters["password"] == "of-the-environment"
    assert "secret" not in f"{backend} {backend!r} {backend.server!r} {backend.server}"
    assert "of-the-environment" not in f"{backend} {backend!r} {backend.server!r}"
    with pytest.raises(ConfigError, match="NO_SUCH"):
        make_backend("postgresql://me@host/db", password_env="NO_SUCH")
