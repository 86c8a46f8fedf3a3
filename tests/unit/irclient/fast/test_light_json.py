"""JSON without the `json` package is what that writes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.fast.light_json import dump_json

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
PLAIN = st.recursive(LEAVES, lambda each: st.lists(each) | st.dictionaries(st.text(), each))


@given(PLAIN, st.booleans())
def test_plain_data_is_written_as_the_json_package_writes_it(value, ascii_only):
    assert dump_json(value, ascii_only) == json.dumps(value, ensure_ascii=ascii_only)


def test_what_is_no_plain_data_is_refused():
    with pytest.raises(TypeError, match="no JSON for object"):
        dump_json({"x": object()})
