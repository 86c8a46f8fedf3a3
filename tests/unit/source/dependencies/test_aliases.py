"""What people type for what packages say."""

from importlib import resources

from irdaemon.source.dependencies import list_aliases, load_aliases


def test_what_a_package_says_gives_what_people_type_for_it():
    assert "yml" in list_aliases(["js-yaml", "A YAML parser for JavaScript"])
    assert {"tsx", "jsx"} <= set(list_aliases(["charts", "", "react"]))
    assert list_aliases(["left-pad", "Pads a thing on its left"]) == []


def test_what_a_package_says_itself_is_no_alias():
    assert "config" not in list_aliases(["config-yaml"])
    assert "parse" not in list_aliases(["parse and validate json"])


def test_a_name_of_several_words_counts_where_they_stand_together():
    assert "429" in list_aliases(["Simple rate limiting for servers"])
    assert "429" not in list_aliases(["limiting the rate"])


def test_the_table_is_short_plain_and_has_each_thing_once():
    table = resources.files("irdaemon.source.dependencies").joinpath("aliases.txt").read_text()
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    things = [line.partition(": ")[0] for line in lines]
    assert len(table.splitlines()) <= 300
    assert len(set(things)) == len(lines) == len(load_aliases())
    assert all(things)
    assert all(each.lower() == each and aliases for each, aliases in load_aliases().items())
    assert things == sorted(things)
