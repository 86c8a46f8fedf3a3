"""What program texts say in words: comments, messages of errors, names of tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.dependencies.words import Sentences, gather_sentences, gather_tests

SUFFIXES = (".d.ts", ".ts", ".js", ".py", ".rs", ".go")


def gather(text, suffix):
    found = Sentences()
    gather_sentences(found, text, "." + suffix.rsplit(".", 1)[1])
    return found


def docs(text, suffix):
    return list(gather(text, suffix).docs)


def errors(text, suffix=".js"):
    return list(gather(text, suffix).errors)


def find_tests(text):
    found = Sentences()
    gather_tests(found, text)
    return list(found.tests)


def test_of_a_comment_in_declarations_the_first_sentence_counts_and_no_tag():
    source = """
/**
 * Draws a barcode into a {@link Canvas canvas}. Slow for long texts.
 *
 * More about it.
 * @param text what to draw
 */
export declare function drawBarcode(text: string): void;
export interface Options {
  /** Width of a `bar`, in pixels */
  width?: number;
  /** @deprecated since 2 */
  bars?: number;
}
/** @internal Not for anybody */
"""
    assert docs(source, ".d.ts") == [
        "Draws a barcode into a Canvas canvas",
        "Width of a bar, in pixels",
    ]


def test_a_summary_in_a_tag_is_a_comment_too():
    source = "/**\n * @name addDays\n * @summary Add days to a date.\n * @param date the date\n */"
    assert docs(source, ".d.ts") == ["Add days to a date"]


def test_a_licence_says_nothing_of_a_package():
    assert not docs("/** Copyright 2020 Acme, all rights reserved */", ".js")
    assert not docs("/** Licensed under the MIT license by Acme */", ".js")


def test_docstrings_are_those_of_modules_classes_and_functions():
    source = '''# coding: utf-8
"""Measure geodesic distances.

Details.
"""
SQL = """Not a docstring at all."""


class Globe:
    r"""A :class:`Sphere` that is flat at its poles."""

    def find_nearest(
        self,
        point,
    ) -> float:
        \'\'\'Find the nearest city,
        e.g. for a tooltip. Then more.\'\'\'
        text = """
        Nothing of interest here.
        """
'''
    assert docs(source, ".py") == [
        "Measure geodesic distances",
        "A Sphere that is flat at its poles",
        "Find the nearest city, e.g. for a tooltip",
    ]


def test_comments_of_rust_are_those_with_three_slashes_and_of_the_crate():
    source = """//! Frames of bytes with their length ahead.
//!
//! # Examples

//// A line, and no comment.
/// A codec for frames that begin with their length.
///
/// More.
#[derive(Debug)]
pub struct LengthCodec {
    /// Most bytes of a frame
    most: usize,
}
"""
    assert docs(source, ".rs") == [
        "Frames of bytes with their length ahead",
        "A codec for frames that begin with their length",
        "Most bytes of a frame",
    ]


def test_comments_of_go_are_those_above_exported_names():
    source = """package router

// Vars returns the route variables of a request, if any.
// More about them.
func Vars(r *http.Request) map[string]string {
	// Nothing to see here.
	return nil
}

// quiet is not exported by anybody.
func quiet() {}

//go:noinline
// ServeHTTP dispatches the handler of the matched route.
func (r *Router) ServeHTTP() {}
"""
    assert docs(source, ".go") == [
        "Vars returns the route variables of a request, if any",
        "ServeHTTP dispatches the handler of the matched route",
    ]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('throw new Error("Barcode is too long");', "Barcode is too long"),
        ("throw new CodecError('cannot \"decode\" a frame')", 'cannot "decode" a frame'),
        ("throw new RangeError(`width ${bar.width} is too small`)", "width is too small"),
        ("throw new NoSuchThing('there is none here')", "there is none here"),
        ("invariant(\n  ok,\n  'hooks must not move')", "hooks must not move"),
        ("console.warn('use two bars ' +\n   'or none at all')", "use two bars or none at all"),
        (
            "throw new Error('bar ' + bars[n] + ' of ' + name(code) + ' is white')",
            "bar of is white",
        ),
        ("const message = `unknown plugin '${name}' given`", "unknown plugin ' ' given"),
        ('raise ValueError("no such globe")', "no such globe"),
        ('raise Flat(\n    f"the {globe!r} is"\n    " flat", point)', "the is flat"),
        (
            "raise Flat(None, None,\n   'values are not allowed here')",
            "values are not allowed here",
        ),
        ('warnings.warn("%s is no point of %(globe)s")', "is no point of"),
        ('panic!("frame of {} bytes is too big", n)', "frame of bytes is too big"),
        ('#[error("the stream ended inside of a frame")]', "the stream ended inside of a frame"),
        ('anyhow!("no frame at all")', "no frame at all"),
        ('bail!("frame: {e:?} was lost")', "frame: was lost"),
        ('errors.New("mux: no matching route")', "mux: no matching route"),
        ('fmt.Errorf("mux: bad pattern %q: %w", p, err)', "mux: bad pattern"),
    ],
)
def test_the_message_of_an_error_is_found_without_what_is_put_in(source, message):
    assert errors(source) == [message]


@pytest.mark.parametrize(
    "source",
    [
        *("throw new Error(code)", "throw new Error('ENOENT')", "throw new Error(''); f('a b c')"),
        *("errors = []\nname = 'my name'", "raise", "error(", "panic!(", 'throw new Error("'),
    ],
)
def test_what_has_no_message_gives_none(source):
    assert errors(source) == []


def test_literals_that_read_like_messages_are_kept_apart():
    source = """
const Errors = { Missing: () => "Missing semicolon after a statement.",
  Html: "<div class='x'>No message at all</div>", Name: "Semicolon",
  Code: "A = function () { return 1 } or so" };
"""
    found = gather(source, ".js")
    assert (list(found.errors), list(found.loose)) == (
        [],
        ["Missing semicolon after a statement"],
    )


def test_names_of_tests_are_found_in_each_language():
    assert find_tests("def test_a_frame_is_cut(x):\n    def test_inner_too(): ...") == [
        "a frame is cut",
        "inner too",
    ]
    assert find_tests("""describe("codec", () => { it.only('can\\'t grow', f) })""") == [
        "codec",
        "can t grow",
    ]
    assert find_tests("func TestRoundTrip(t *testing.T) {\n\tt.Run(`empty frame`, f)") == [
        "RoundTrip",
        "empty frame",
    ]
    assert find_tests("#[tokio::test(flavor)]\n  async fn it_sends_frames() {}") == [
        "it sends frames"
    ]


def test_what_there_is_enough_of_is_looked_for_no_more():
    found = Sentences()
    many = "".join(f"/** Sentence number {n} of many */\n" for n in range(400))
    for source in (many, "/** One more sentence */ throw new Error('one more error')"):
        gather_sentences(found, source, ".js")
    assert len(found.docs) == 200
    assert list(found.errors) == ["one more error"]


PIECES = st.sampled_from(
    [
        *('"""', "'''", "/**", "*/", "///", "//!", "//", "\n", " ", ":", "(", ")", '"', "'", "`"),
        *("\\", "${", "{", "}", "%", "raise ", "throw new ", "error(", "msg=", "assert", "panic!("),
        *("@summary ", "{@link ", "def f():", "describe(", "func Test", "pub fn", "Word", "word "),
        *("#[test]", "é", "\0", "\ud800"),
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=120).map("".join))


@given(TEXTS, st.sampled_from(SUFFIXES))
def test_any_text_gives_short_lines_of_words_and_raises_nothing(text, suffix):
    found = gather(text, suffix)
    gather_tests(found, text)
    for sentence in (*found.docs, *found.errors, *found.loose, *found.tests):
        assert len(sentence) <= 300
        assert "\n" not in sentence
    for sentence in (*found.docs, *found.errors, *found.loose):
        assert len(sentence.split()) > 1


@pytest.mark.parametrize(
    "piece",
    [
        *("/**", '"""', "'''a", "error(", "error((\n", "throw new a.", "raise x(\n", "msg = \\"),
        *("'A word or two", "{@link ", "`", "${", "%(", "def test_a", ':\n"""a ', "// A\nfunc A"),
    ],
)
def test_a_text_that_repeats_a_beginning_is_read_to_its_end(piece):
    for suffix in SUFFIXES:
        found = gather(piece * 5_000, suffix)
        gather_tests(found, piece * 5_000)
        assert all(len(each) <= 300 for each in (*found.docs, *found.errors, *found.loose))
