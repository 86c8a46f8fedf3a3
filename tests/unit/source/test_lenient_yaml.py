import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.lenient_yaml import BROKEN, LENIENT, MAX_CHARS, load_yaml


def test_valid_yaml_earns_no_flag():
    assert load_yaml("name: pdf\ntags: [a, b]\n") == ({"name": "pdf", "tags": ["a", "b"]}, "")


def test_scalars_stay_the_text_they_were():
    value, _ = load_yaml("version: 1.10\ndate: 2026-02-30\nenabled: no\ntime: 12:30\n")
    assert value == {"version": "1.10", "date": "2026-02-30", "enabled": "no", "time": "12:30"}


def test_an_unquoted_colon_is_read_as_text_and_the_other_keys_keep_their_types():
    text = "description: Use when: the user asks\nallowed-tools:\n  - Read\n  - Bash\n"
    value = {"description": "Use when: the user asks", "allowed-tools": ["Read", "Bash"]}
    assert load_yaml(text) == (value, LENIENT)


def test_a_continued_value_with_a_colon_is_joined():
    value, flag = load_yaml("description: Use when: the user\n  asks for: forms\nname: pdf\n")
    assert value == {"description": "Use when: the user asks for: forms", "name": "pdf"}
    assert flag == LENIENT


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("globs: *.ts,src/**", "*.ts,src/**"),
        ('description: "Say "hello" to all"', 'Say "hello" to all'),
        ("description: @mention people", "@mention people"),
        ("description: 'it's fine'", "it's fine"),
        ("description: [draft] write: it", "[draft] write: it"),
    ],
)
def test_values_that_only_look_like_yaml_syntax_are_read_as_text(line, value):
    found, flag = load_yaml(f"{line}\nname: pdf")
    assert found == {line.split(":")[0]: value, "name": "pdf"}
    assert flag == LENIENT


def test_tabs_are_taken_for_indentation():
    assert load_yaml("metadata:\n\tauthor: acme\n") == ({"metadata": {"author": "acme"}}, LENIENT)


def test_a_nested_mapping_is_repaired_too():
    value, _ = load_yaml("name: pdf\nmetadata:\n  note: see: there\n  author: acme\n")
    assert value == {"name": "pdf", "metadata": {"note": "see: there", "author": "acme"}}


def test_a_block_scalar_that_forgot_to_indent_is_rescued_and_called_broken():
    value, flag = load_yaml("description: |\nWhat it does.\nname: pdf\nx: a: b\n")
    assert value == {"description": "What it does.", "name": "pdf", "x": "a: b"}
    assert flag == BROKEN


def test_a_missing_space_after_the_colon_still_makes_a_key():
    value, flag = load_yaml("name:pdf\ndescription:Fill forms\n")
    assert value == {"name": "pdf", "description": "Fill forms"}
    assert flag == LENIENT


def test_a_control_character_costs_one_value_not_the_document():
    value, flag = load_yaml("name: pdf\ndescription: bell \x07 rings\n")
    assert value["name"] == "pdf"
    assert "rings" in value["description"]
    assert flag == LENIENT


@pytest.mark.parametrize("bomb", ["[" * 100_000, "{a: " * 50_000, "- " * 30_000])
def test_thousands_of_open_brackets_neither_crash_nor_raise(bomb):
    assert load_yaml(f"name: pdf\nx: {bomb}")[1] == BROKEN or load_yaml(bomb)[1] != ""


def test_a_document_beyond_the_limit_is_cut_and_called_broken():
    value, flag = load_yaml("name: pdf\ndescription: " + "x" * MAX_CHARS)
    assert value["name"] == "pdf"
    assert flag == BROKEN


def test_python_objects_are_never_made():
    value, _ = load_yaml("run: !!python/object/apply:os.getcwd []\nname: pdf\n")
    assert value["name"] == "pdf"
    assert value["run"] == []


@given(st.text(max_size=200))
def test_no_text_makes_it_raise(text):
    _, flag = load_yaml(text)
    assert flag in ("", LENIENT, BROKEN)


@given(st.text(alphabet="ab:-#|>'\"[]{}&*!\t \n", max_size=80))
def test_no_mixture_of_yaml_syntax_makes_it_raise(text):
    load_yaml(text)


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), words, min_size=1))
def test_what_yaml_writes_is_read_back(mapping):
    assert load_yaml(yaml.safe_dump(mapping, allow_unicode=True)) == (mapping, "")
