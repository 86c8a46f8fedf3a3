import pytest

from irdaemon.config.checking import ConfigError
from irdaemon.config.config import parse_config
from irdaemon.runtime import toml

KEY_OF_MANY_PARTS = ".".join("a" * 20_000) + " = 1\n"


def test_toml_is_read():
    assert toml.parse_toml('a.b = "x"') == {"a": {"b": "x"}}


def test_a_key_of_too_many_parts_is_refused_before_it_takes_the_memory():
    with pytest.raises(ValueError, match="too many parts"):
        toml.parse_toml(KEY_OF_MANY_PARTS)


def test_a_configuration_with_such_a_key_is_an_error_that_names_the_file():
    with pytest.raises(ConfigError, match=r"/x\.toml: keys of too many parts"):
        parse_config(KEY_OF_MANY_PARTS, "/x.toml")


def test_a_configuration_nested_too_deep_is_an_error():
    with pytest.raises(ConfigError, match=r"/x\.toml"):
        parse_config("a = " + "[" * 100_000, "/x.toml")
