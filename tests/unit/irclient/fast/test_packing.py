"""The small msgpack of the short way, against msgpack itself."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.fast.packing import pack, unpack

integers = st.integers(-(2**63), 2**63 - 1)
plain = st.recursive(
    st.none() | st.booleans() | integers | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=30,
)


@given(plain)
def test_what_it_packs_msgpack_reads(value):
    assert msgpack.unpackb(pack(value)) == value


@given(plain)
def test_what_msgpack_packs_it_reads(value):
    assert unpack(msgpack.packb(value)) == value


@pytest.mark.parametrize("size", [15, 16, 31, 32, 255, 256, 65_535, 65_536])
@pytest.mark.parametrize("kind", [str, bytes, list, dict])
def test_every_length_is_read(kind, size):
    made = {"str": "x" * size, "bytes": b"x" * size, "list": [1] * size}
    value = made.get(kind.__name__, {str(i): i for i in range(size)})
    packed_value = msgpack.packb(value)
    read = unpack(packed_value)
    assert (read.encode() if kind is bytes and isinstance(read, str) else read) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_value_error(data):
    try:
        unpack(data)
    except ValueError:
        return
    msgpack.unpackb(data, strict_map_key=False, unicode_errors="replace")


def test_deep_nesting_is_a_value_error():
    with pytest.raises(ValueError, match="not msgpack"):
        unpack(b"\x91" * 100_000)
