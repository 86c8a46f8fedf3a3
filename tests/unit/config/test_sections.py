"""The sections of the configuration: each is written once, as a field of Config."""

from dataclasses import fields

from irdaemon.config.config import parse_config
from irdaemon.config.sections import SECTIONS, Config


def test_a_section_is_a_field_of_the_configuration_that_a_file_can_set():
    assert list(SECTIONS) == [
        "index",
        "search",
        "projects",
        "prompts",
        "watch",
        "schedule",
        "serve",
        "health",
        "limits",
        "documents",
        "models",
        "usage",
        "recall",
        "web",
    ]
    for name, kind in SECTIONS.items():
        key = next(each for each in fields(kind) if isinstance(each.default, int | float))
        value = 1 if not isinstance(key.default, bool) else not key.default
        config = parse_config(f"[{name}]\n{key.name} = {str(value).lower()}\n", "/etc/f.toml")
        assert isinstance(getattr(config, name), kind)
        assert getattr(getattr(config, name), key.name) == value


def test_a_section_that_a_file_leaves_out_has_its_defaults():
    config, default = parse_config("", "/etc/f.toml"), Config("", "")
    for name, kind in SECTIONS.items():
        assert getattr(config, name) == getattr(default, name) == kind()
