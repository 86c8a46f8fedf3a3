"""JSON is edited as text: what is put in can be taken out, and nothing else ever moves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.agents.install.json_file import JsonText, append, put, remove

SETTINGS = """\
// mine
{
    "model": "opus", // the large one
    "hooks": {
        /* formatting */
        "PostToolUse": [
            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "fmt"}]} // keep
        ]
    },
    "env": { "A": "/* no comment */", "B": "x,]" }
    // the end
}
"""


def read(text):
    return JsonText(text).root.value


def test_comments_and_last_commas_are_understood():
    text = '// a\n{"a": [1, 2, /* x */ 3,], /* "b": 2 */ "c": "// }",}\n'
    assert read(text) == {"a": [1, 2, 3], "c": "// }"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1"),
        ("{", "line 1"),
        ('{"a": 1\n "b": 2}', "line 2"),
        ('{"a": 1} x', "something follows"),
        ("{'a': 1}", "line 1"),
        ('{"a": 1 /* open }', "line 1"),
        ('{"a"\n: \n}', "line 3"),
        ("[" * 100_000, "line 1|too deeply"),
        ("{,}", "line 1"),
        ('{"a": "\t"}', "line 1"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text, said):
    with pytest.raises(ValueError, match=said):
        read(text)


def test_a_key_that_is_there_twice_is_refused_where_it_matters():
    with pytest.raises(ValueError, match="'hooks' is there twice"):
        put('{"hooks": {}, "hooks": {}}', ["hooks", "a"], 1)


def test_a_new_member_takes_the_layout_of_its_neighbours():
    assert put(SETTINGS, ["env", "C"], [1]) == SETTINGS.replace('"x,]" }', '"x,]", "C": [1] }')
    assert append(SETTINGS, ["hooks", "PostToolUse"], {"hooks": []}) == SETTINGS.replace(
        "]} // keep\n", ']}, // keep\n            {\n                "hooks": []\n            }\n'
    )
    assert put(SETTINGS, ["mcp", "x"], {}) == SETTINGS.replace(
        '"x,]" }\n    // the end',
        '"x,]" },\n    // the end\n    "mcp": {\n        "x": {}\n    }',
    )


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("{}", '{\n  "a": 1\n}'),
        ("{}\n", '{\n  "a": 1\n}\n'),
        ("{ // none\n}", '{ // none\n  "a": 1\n}'),
        ('{\r\n\t"b": 2\r\n}', '{\r\n\t"b": 2,\r\n\t"a": 1\r\n}'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ('{\n  "b": 2,\n}', '{\n  "b": 2,\n  "a": 1,\n}'),
        ('{\n"b": 2}', '{\n"b": 2,\n"a": 1}'),
    ],
)
def test_a_first_and_a_further_member_are_laid_out_as_the_file_is(text, after):
    assert put(text, ["a"], 1) == after


def test_what_is_in_the_way_is_an_error_and_not_overwritten():
    with pytest.raises(ValueError, match="hooks is not an object"):
        put('{"hooks": []}', ["hooks", "a"], 1)
    with pytest.raises(ValueError, match="the whole is not an object"):
        put("[]", ["hooks"], 1)
    with pytest.raises(ValueError, match=r"a\.b is not a list"):
        append('{"a": {"b": {}}}', ["a", "b"], 1)


def test_a_value_that_is_there_is_replaced_in_its_place():
    assert put('{"a": {"b": 1}, "c": 2}', ["a", "b"], "x") == '{"a": {"b": "x"}, "c": 2}'


def test_what_is_taken_out_takes_what_it_leaves_empty_with_it_and_no_more():
    assert remove('{"a": {"b": {"c": 1}}, "d": {}}', ["a", "b", "c"]) == '{ "d": {}}'
    assert remove('{"a": {"b": 1, "c": 2}}', ["a", "b"]) == '{"a": { "c": 2}}'
    assert remove('{"a": 1}', ["b", "c"]) == '{"a": 1}'


def test_a_comment_beside_what_is_taken_out_stays_and_swallows_nothing():
    assert remove('{"a": 1, // one\n"b": 2}', ["b"]) == '{"a": 1 // one\n}'
    assert remove('{ // one\n"b": 2}', ["b"]) == "{ // one\n}"
    assert remove('{"a": 1, // one\n"b": 2, "c": 3}', ["b"]) == '{"a": 1, // one\n "c": 3}'
    assert remove('{\n  "b": 2 // two\n}', ["b"]) == "{ // two\n}"
    assert put('{"a": 1 // one\n}', ["b"], 2) == '{"a": 1, "b": 2 // one\n}'


spaces = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", " /* c */ ", " // c\n"])
scalars = (st.none() | st.integers() | st.text(max_size=5)).map(json.dumps)


@st.composite
def documents(draw, depth=2):
    """Draw a JSON object with any layout, comments and last commas."""
    inner = scalars if depth == 0 else scalars | documents(depth - 1) | lists(depth - 1)
    keys = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=4))
    parts = [
        f"{draw(spaces)}{json.dumps(k)}{draw(spaces)}:{draw(spaces)}{draw(inner)}" for k in keys
    ]
    return _closed("{", [part + draw(spaces) for part in parts], "}", draw)


@st.composite
def lists(draw, depth=1):
    inner = scalars if depth == 0 else scalars | documents(depth - 1)
    parts = draw(st.lists(inner, max_size=3))
    return _closed("[", [draw(spaces) + part + draw(spaces) for part in parts], "]", draw)


def _closed(opening, parts, closing, draw):
    last = ("," if draw(st.booleans()) else "") + draw(spaces) if parts else draw(spaces)
    return opening + ",".join(parts) + last + closing


paths = st.lists(st.sampled_from("abcxyz"), min_size=1, max_size=3)


@given(documents(), paths)
def test_whatever_is_put_in_is_read_there_and_everything_else_as_before(text, path):
    before = read(text)
    try:
        after = put(text, path, ["ours"])
    except ValueError:
        return  # something else than an object is in the way
    assert JsonText(after).find(path).value == ["ours"]
    expected = before
    for key in path[:-1]:
        expected = expected.setdefault(key, {})
    expected[path[-1]] = ["ours"]
    assert read(after) == before


@given(documents(), st.sampled_from("abcdef"))
def test_what_was_put_beside_others_is_taken_out_to_the_byte(text, key):
    node = JsonText(text).find([key])
    if node is None or not node.value or not isinstance(node.value, (dict, list)):
        return
    if isinstance(node.value, dict):
        assert remove(put(text, [key, "ours"], 1), [key, "ours"]) == text
    else:
        assert remove(append(text, [key], {"a": 1}), [key, len(node.value)]) == text


@given(documents(), st.lists(st.sampled_from("abcdef"), min_size=1, max_size=2))
def test_whatever_is_taken_out_the_rest_is_still_there(text, path):
    before = read(text)
    expected, owner = before, before
    for key in path[:-1]:
        owner = owner.get(key) if isinstance(owner, dict) else None
    if not isinstance(owner, dict) or path[-1] not in owner:
        assert remove(text, path) == text
        return
    del owner[path[-1]]
    if len(path) == 2 and not owner:
        del expected[path[0]]
    assert read(remove(text, path)) == expected
