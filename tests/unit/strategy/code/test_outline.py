"""What is told of each language: symbols with their kinds, lines and what they lie in."""

import sys

import pytest

from irdaemon.strategy.code.outline import outline

PYTHON = b'''
import os

@cached
async def fetch(url,
                retries=3):
    """Get it."""
    def inner(): return 1
    return lambda: inner()

class Store(Base):
    """Keep things."""

    size = 1

    @property
    def path(self): return ""

    class Row:
        def pack(self): pass

if os.name == "nt":
    def windows(): pass
else:
    try:
        def posix(): pass
    except OSError:
        class Fallback: pass
'''
JAVASCRIPT = b"""
export default class Cart extends Base {
  #items = [];
  onClick = (event) => { this.add(event); }
  async add(item) { return item; }
}
export const total = async (cart) => {
  return cart;
};
function* walk() { yield 1; }
module.exports.sum = function (a) { return a; };
Cart.prototype.clear = () => 0;
const rate = 3;
"""
TYPESCRIPT = b"""
export interface Shape<T> { area(): T }
export enum Colour { Red, Green }
type Id = string | number;
namespace Geometry {
  export function turn(): void {}
}
export abstract class Circle implements Shape<number> {
  constructor(readonly r: number) {}
  area(): number { return 1; }
}
"""
GO = b"""package shop

type Cart struct { items []Item }
type Adder interface { Add(Item) error }
type (
\tItem string
)

// Add adds.
func (c *Cart) Add(item Item) error {
\treturn nil
}
func (s Stack[T]) Push(v T) {}
func New() *Cart { return nil }
"""
RUST = b"""
#[derive(Debug)]
pub struct Point<T> { x: T }

impl<T> Point<T> {
    pub async fn length(&self) -> f64 { 0.0 }
}
impl Display for Point<u8> {}
trait Draw {
    fn draw(&self);
    fn twice(&self) { }
}
mod tests {
    fn check() {}
}
macro_rules! point { () => {} }
enum Side { Left }
"""
JAVA = b"""
public class Cart extends Base {
  public Cart() {}
  @Override
  public int total() { return 1; }
}
record Item(int price) {}
"""
C = b"""#include <stdio.h>
struct node { int value; };
typedef struct { int x; } point;
static int *first(struct node *n)
{
  return 0;
}
"""
RUBY = b"""
module Shop
  class Cart < Base
    def total
      1
    end
    def self.empty = new
  end
end
"""


def told(language, text):
    """Return "KIND NAME START-END" of each symbol, its name after what it lies in."""
    return [
        f"{each.kind} {'.'.join((*each.parents, each.name))} {each.start}-{each.end}"
        for each in outline(language, text)
    ]


@pytest.mark.parametrize(
    ("language", "text", "symbols"),
    [
        (
            "python",
            PYTHON,
            [
                "function fetch 4-9", "function fetch.inner 8-8", "class Store 11-20",
                "method Store.path 16-17", "class Store.Row 19-20", "method Store.Row.pack 20-20",
                "function windows 23-23", "function posix 26-26", "class Fallback 28-28",
            ],
        ),
        (
            "javascript",
            JAVASCRIPT,
            [
                "class Cart 2-6", "method Cart.onClick 4-4", "method Cart.add 5-5",
                "function total 7-9", "function walk 10-10", "function sum 11-11",
                "function clear 12-12",
            ],
        ),
        (
            "typescript",
            TYPESCRIPT,
            [
                "interface Shape 2-2", "enum Colour 3-3", "type Id 4-4", "module Geometry 5-7",
                "function Geometry.turn 6-6", "class Circle 8-11",
                "method Circle.constructor 9-9", "method Circle.area 10-10",
            ],
        ),
        ("tsx", b"const App = () => <b>{1}</b>;\n", ["function App 1-1"]),
        (
            "go",
            GO,
            [
                "struct Cart 3-3", "interface Adder 4-4", "type Item 5-7",
                "method Cart.Add 10-12", "method Stack.Push 13-13", "function New 14-14",
            ],
        ),
        (
            "rust",
            RUST,
            [
                "struct Point 3-3", "impl Point 5-7", "method Point.length 6-6", "impl Point 8-8",
                "trait Draw 9-12", "method Draw.twice 11-11", "module tests 13-15",
                "function tests.check 14-14", "macro point 16-16", "enum Side 17-17",
            ],
        ),
        (
            "java",
            JAVA,
            [
                "class Cart 2-6", "method Cart.Cart 3-3", "method Cart.total 4-5",
                "record Item 7-7",
            ],
        ),
        ("c", C, ["struct node 2-2", "type point 3-3", "function first 4-7"]),
        (
            "ruby",
            RUBY,
            [
                "module Shop 2-9", "class Shop.Cart 3-8", "method Shop.Cart.total 4-6",
                "method Shop.Cart.empty 7-7",
            ],
        ),
    ],
)  # fmt: skip
def test_the_symbols_of_a_language_are_told_with_their_kinds_and_lines(language, text, symbols):
    assert told(language, text) == symbols


def test_the_head_of_a_symbol_ends_where_its_body_begins():
    heads = {each.name: each.head for each in outline("python", PYTHON)}
    assert (heads["fetch"], heads["Store"], heads["inner"]) == (6, 11, 8)
    assert [each.head for each in outline("c", C)][-1] == 5
    assert outline("go", GO)[3].head == 10


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", b"def broken(:\n    pass\n"),
        ("python", b"a = 1\0b"),
        ("python", b"(" * 10_000),
        ("javascript", b"function broken( {\n"),
        ("go", b"func {{{"),
        ("erlang", b"start() -> ok."),
    ],
)
def test_nothing_is_told_of_a_text_with_errors_or_in_a_language_that_is_not_known(language, text):
    assert outline(language, text) is None


def test_of_a_language_with_a_preprocessor_what_is_whole_is_told():
    text = b"int whole(void) { return 1; }\n\nint half( {\n"
    assert told("c", text) == ["function whole 1-1"]


def test_python_that_the_interpreter_refuses_is_told_by_its_grammar():
    assert told("python", b"def old():\n    print 'text'\n") == ["function old 1-2"]


@pytest.mark.parametrize(
    ("language", "text", "deepest"),
    [
        ("javascript", b"function a() {" * 3_000 + b"}" * 3_000, 9),
        ("python", b"".join(b" " * n + b"def f():\n" for n in range(90)) + b" " * 90 + b"pass", 9),
    ],
)
def test_what_is_nested_deeply_belongs_to_what_is_around_it(language, text, deepest):
    assert max(len(each.parents) for each in outline(language, text)) < deepest
    assert len(outline(language, text)) <= deepest


def test_without_a_grammar_nothing_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    assert outline("go", GO) is None
