"""Each line of a text belongs to one span, or says nothing."""

from hypothesis import given
from hypothesis import strategies as st

from irdaemon.strategy.code import Symbol, divide_lines

TEXT = '''import os

# Opens it.
@cached
def open_it(path):
    return path

LIMIT = 3

class Store:
    """Keep things."""

    size = 1

    def path(self):
        return ""

    kept = ()

    def clear(self):
        return None
'''
SYMBOLS = (
    Symbol("open_it", "function", 4, 6, 5),
    Symbol("Store", "class", 10, 21, 10),
    Symbol("path", "method", 15, 16, 15, ("Store",)),
    Symbol("clear", "method", 20, 21, 20, ("Store",)),
)


def spans(text, symbols=(), size=2_000):
    lines = text.split("\n")
    found = divide_lines(lines, symbols, size, lambda line: line.lstrip().startswith("#"))
    return [(each, each.join_text(lines)) for each in found]


def told(text, symbols=(), size=2_000):
    found = spans(text, symbols, size)
    return [(s.symbol.qualified if s.symbol else "", s.start, s.end) for s, _ in found]


def test_functions_classes_and_methods_have_spans_and_so_has_what_lies_between():
    assert told(TEXT, SYMBOLS) == [
        ("", 1, 2),
        ("open_it", 3, 6),
        ("", 7, 9),
        ("Store", 10, 14),
        ("Store.path", 15, 16),
        ("Store", 17, 19),
        ("Store.clear", 20, 21),
    ]


def test_a_comment_directly_above_a_symbol_belongs_to_it():
    assert spans(TEXT, SYMBOLS)[1][1].startswith("# Opens it.\n@cached\ndef open_it")


def test_a_later_part_of_a_class_has_its_header_before_it():
    assert spans(TEXT, SYMBOLS)[5][1] == "class Store:\n\n    kept = ()\n"


def test_a_long_symbol_is_several_with_its_signature_before_each():
    body = "\n".join(f"    line_{n} = {n}" for n in range(40))
    found = spans(
        f"def long(a,\n         b):\n{body}\n", (Symbol("long", "function", 1, 42, 2),), 200
    )
    assert len(found) > 3
    assert all(text.startswith("def long(a,\n         b):\n    line_") for _, text in found)
    assert all(len(text) <= 200 for _, text in found)
    lines = [line for _, text in found for line in text.split("\n")[2:]]
    assert "\n".join(lines) == body


def test_a_signature_that_would_fill_the_chunk_is_not_repeated():
    head = "def long(" + "a, " * 50 + "b):"
    text = head + "\n" + "\n".join(f"    x{n} = 1" for n in range(40))
    parts = spans(text, (Symbol("long", "function", 1, 41, 1),), 200)
    assert sum("def long" in part for _, part in parts) == 1


def test_what_is_nested_in_a_function_is_its_own_where_the_function_is_long():
    text = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    symbols = (
        Symbol("outer", "function", 1, 4, 1),
        Symbol("inner", "function", 2, 3, 2, ("outer",)),
    )
    assert told(text, symbols) == [("outer", 1, 4)]
    assert told(text, symbols, 60) == [("outer", 1, 1), ("outer.inner", 2, 3), ("outer", 4, 4)]


def test_symbols_on_one_line_are_one_span():
    text = "function a() {} function b() {}\nfunction c() {}"
    symbols = tuple(
        Symbol(name, "function", line, line, line) for name, line in (("a", 1), ("b", 1), ("c", 2))
    )
    assert told(text, symbols) == [("a", 1, 1), ("c", 2, 2)]


def test_brackets_alone_are_no_span():
    text = "class A {\n  void m() {}\n}\n"
    symbols = (Symbol("A", "class", 1, 3, 1), Symbol("m", "method", 2, 2, 2, ("A",)))
    assert told(text, symbols) == [("A", 1, 1), ("A.m", 2, 2)]


def test_a_symbol_beyond_the_text_is_passed_over():
    assert told("a = 1", (Symbol("f", "function", 3, 9, 3),)) == [("", 1, 1)]


lines_of_text = st.lists(st.sampled_from(["", "word", "# note", "    x = 1", "}"]), max_size=30)
symbols_of_text = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 12), st.sampled_from(["class", "function"])),
    max_size=8,
)


@given(lines_of_text, symbols_of_text, st.integers(5, 60))
def test_every_line_that_says_something_is_in_one_span(lines, places, size):
    ordered = sorted(places, key=lambda place: (place[0], -place[1]))
    symbols = [Symbol("s", kind, start, start + more, start) for start, more, kind in ordered]
    found = [each for each, _ in spans("\n".join(lines), symbols, size)]
    covered = [number for each in found for number in range(each.start, each.end + 1)]
    assert len(covered) == len(set(covered))
    telling = {n for n, line in enumerate(lines, start=1) if any(map(str.isalnum, line))}
    assert telling <= set(covered)
