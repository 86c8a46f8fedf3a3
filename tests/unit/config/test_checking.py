"""Checks of values: an error names the file, the line and what was expected."""

import pytest

from irdaemon.config.checking import ConfigError, ConfigText

TEXT = ConfigText(
    "/etc/f.toml",
    """\
known = true

[serve]
tcp = "x"

[corpora."a b"]
kind = "files"
"roots" = []
[[client]]
name = "c"
""",
)


@pytest.mark.parametrize(
    ("table", "key", "line"),
    [
        ("", "known", 1),
        ("serve", "tcp", 4),
        ("serve", "missing", 3),
        ("corpora.a b", "roots", 8),
        ("client", "name", 10),
        ("nowhere", "nothing", 0),
    ],
)
def test_the_line_of_a_key_is_its_own_or_its_tables_or_none(table, key, line):
    assert TEXT.find_line(table, key) == line


def test_a_whole_number_is_a_number_and_a_truth_value_is_neither():
    assert TEXT.read_typed("serve", "x", 3, float) == 3.0
    assert isinstance(TEXT.read_typed("serve", "x", 3, float), float)
    for kind in (int, float):
        with pytest.raises(ConfigError, match="number, not bool"):
            TEXT.read_typed("serve", "x", True, kind)


def test_a_key_that_is_not_valid_is_an_error_with_the_nearest_and_all_others():
    with pytest.raises(ConfigError) as caught:
        TEXT.check_key("serve", "tpc", ("tcp", "shared"))
    assert caught.value.message.startswith("/etc/f.toml:3: unknown key 'tpc' in [serve]")
    assert "'tcp'" in caught.value.message
    assert caught.value.hint == "valid keys: tcp, shared"


def test_a_path_is_relative_to_the_file():
    assert TEXT.resolve_path("notes/../x") == "/etc/x"
    assert TEXT.resolve_path("/x") == "/x"
