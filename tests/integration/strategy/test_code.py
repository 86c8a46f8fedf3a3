"""Program texts in a corpus of their own, from their files to hits, read by a child process."""

from contextlib import closing

import pytest

import irdaemon as ir
from irdaemon.runtime.memory import MB
from irdaemon.runtime.pool import ProcessLimits, end_all
from irdaemon.strategy import Code, build_recipe, code, strategy_from_spec

SHOP = '''"""A shop."""

import os

RATE = 19

def with_tax(price):
    """Add the tax to a price."""
    return price * (1 + RATE / 100)


class Basket:
    """What a customer has chosen."""

    def add_item(self, item):
        """Put something in."""
        self.items.append(item)
'''


@pytest.fixture(autouse=True)
def _children():
    yield
    end_all()


@pytest.fixture
def plan():
    def plan(text, suffix=".py", **params):
        return Code(**params).decompose(f"a{suffix}", {"text": text}, {"suffix": suffix})

    return plan


def told(plan):
    return [
        (s.kind, s.metadata.get("qualified_name"), s.metadata["start_line"]) for s in plan.surfaces
    ]


def test_a_text_has_a_surface_for_each_symbol_and_for_what_lies_between(plan):
    made = plan(SHOP)
    assert told(made) == [
        ("chunk", None, 1),
        ("symbol", "with_tax", 7),
        ("symbol", "Basket", 12),
        ("symbol", "Basket.add_item", 15),
    ]
    assert made.filter_fields["language"] == "python"
    assert made.surfaces[3].metadata == {
        "chunk_index": 3, "n_chunks": 4, "symbol": "add_item", "symbol_kind": "method",
        "qualified_name": "Basket.add_item", "start_line": 15, "end_line": 17,
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_of_other_systems_and_a_mark_of_byte_order_change_nothing(plan, ending):
    assert told(plan(SHOP.replace("\n", ending))) == told(plan(SHOP))


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("def broken(:\n  pass\n", ".py"),
        ("function broken( {", ".js"),
        ("a = 1\0b", ".py"),
        ("-module(a).\nstart() -> ok.\n", ".erl"),
        ("proc a {} {}", ".tcl"),
        ("a" + "(" * 100_000, ".py"),
        ("f'" + "{a!r}" * 100_000 + "'", ".py"),
    ],
    ids=["syntax", "script", "nul", "no grammar", "unknown", "nested", "slow"],
)
def test_a_text_whose_symbols_cannot_be_told_is_plain_chunks_and_says_so(
    plan, text, suffix, monkeypatch
):
    monkeypatch.setattr("irdaemon.strategy.code._LIMITS", ProcessLimits(2.0, 512 * MB))
    made = plan(text, suffix)
    assert {surface.kind for surface in made.surfaces} == {"chunk"}
    assert made.filter_fields["flags"] == ["no_symbols"]
    assert "".join(surface.text for surface in made.surfaces).replace("\n", "") == text.replace(
        "\n", ""
    ).rstrip("\n")


def test_lines_that_are_indented_by_tabs_are_told_like_others(plan):
    assert told(plan(SHOP.replace("    ", "\t"))) == told(plan(SHOP))


def test_a_text_of_five_megabytes_on_one_line_is_cut(plan):
    made = plan("x = '" + "y" * 5_000_000 + "'")
    assert max(len(surface.text) for surface in made.surfaces) <= 2_000
    assert sum(len(surface.text) for surface in made.surfaces) == 5_000_006


def test_an_empty_text_has_no_surface_and_no_flag(plan):
    made = plan(" \n")
    assert (made.surfaces, "flags" in made.filter_fields) == ((), False)


def test_without_the_extra_python_has_its_symbols_and_other_languages_say_that_they_have_none(
    plan, monkeypatch
):
    script = "function total(cart) { return cart.sum; }\n"
    assert told(plan(script, ".js")) == [("symbol", "total", 1)]
    before = build_recipe(Code())
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    assert told(plan(script, ".js")) == [("chunk", None, 1)]
    assert plan(script, ".js").filter_fields["flags"] == ["no_symbols"]
    assert len(told(plan(SHOP))) == 4
    assert build_recipe(Code()) != before


def test_parameters_are_checked():
    assert strategy_from_spec({"name": "Code", "params": {"context": 0}}).context == 0
    for params in ({"chunk_size": 0}, {"context": -1}):
        with pytest.raises(ValueError, match="at least"):
            strategy_from_spec({"name": "Code", "params": params})


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "basket.py").write_text(SHOP)
    (tmp_path / "shop" / "cart.go").write_text(
        "package shop\n\n// Total sums a cart.\nfunc (c *Cart) Total() int {\n\treturn 0\n}\n"
    )
    built = ir.build(
        ir.CorpusSource.from_code([tmp_path / "shop"]), embedder="hashing", store=":memory:"
    )
    yield built
    built.close()


def test_a_hit_has_the_symbol_that_matched_and_its_lines(shop):
    hit = ir.search(shop, "add item", k=1)[0]
    assert (hit.artifact_id, hit.kind, hit.name) == ("basket.py", "symbol", "basket.py")
    assert hit.fields["symbol"] == "add_item"
    assert (hit.fields["start_line"], hit.fields["end_line"]) == (15, 17)
    assert (hit.fields["language"], hit.fields["asset_type"]) == ("python", "code")
    assert hit.summary.startswith(
        "method Basket.add_item, lines 15 to 17: def add_item(self, item)"
    )


def test_the_words_of_a_symbols_name_count_as_those_of_a_name(shop):
    scores = ir.search(shop, "add an item", k=1)[0].scores
    assert scores["name"] > 0.3
    assert ir.search(shop, "customer", k=1)[0].scores["name"] == 0


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"language": "go"}, ["cart.go"]),
        ({"symbol": "with_tax"}, ["basket.py"]),
        ({"symbol_kind": "method", "language": "python"}, ["basket.py"]),
        ({"qualified_name": "Cart.Total"}, ["cart.go"]),
        ({"asset_type": "code"}, ["basket.py", "cart.go"]),
        ({"symbol_kind": "trait"}, []),
    ],
)
def test_symbols_and_languages_can_be_filtered_on(shop, where, found):
    hits = ir.search(shop, "total price of items add tax", k=5, filter=where)
    assert sorted(hit.artifact_id for hit in hits) == found


def test_with_a_hit_on_a_symbol_that_symbol_is_shown_with_a_few_lines_around_it(tmp_path):
    lines = [f"line_{n} = {n}" for n in range(1, 10)]
    text = [*lines, "def wanted():", "    return 'peas'", *lines]
    (tmp_path / "a.py").write_text("\n".join(text))

    def shown(context, **asked):
        source = ir.CorpusSource.from_code([tmp_path], strategy=Code(context=context))
        with closing(ir.build(source, embedder="hashing", store=":memory:")) as built:
            asked = {"disclose_level": "body", "min_score": None, **asked}
            (hit,) = ir.discover(built, "wanted peas", **asked).results
            return hit.disclosure, ir.disclose([hit], level="body")[0]

    for disclosed in shown(2):
        assert disclosed.passage.split("\n") == [*lines[-2:], *text[9:11], *lines[:2]]
        assert disclosed.body == "\n".join(text)
    assert [each.passage for each in shown(0)] == ["\n".join(text[9:11])] * 2
    assert shown(2, expand="artifact")[0].passage.count("line_1 ") == 2


def test_a_split_symbol_is_shown_whole_with_its_signature_once(tmp_path):
    body = "\n".join(f"    step_{n} = {n}" for n in range(60))
    (tmp_path / "a.py").write_text(f"def wanted(peas):\n{body}\n")
    source = ir.CorpusSource.from_code([tmp_path], strategy=Code(chunk_size=200))
    with closing(ir.build(source, embedder="hashing", store=":memory:")) as built:
        assert len(ir.records_for_artifact(built, "a.py")) > 5
        found = ir.discover(built, "wanted peas", disclose_level="body", min_score=None)
        assert found.results[0].disclosure.passage == f"def wanted(peas):\n{body}"
