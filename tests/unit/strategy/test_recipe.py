"""The identity of a strategy, by which a changed one is indexed again and an equal one is not."""

import json
from functools import partial

import pytest

import irdaemon as ir
from irdaemon.strategy import (
    DECOMPOSITION,
    STRATEGY_REGISTRY,
    Chunked,
    ClaudeTurn,
    Package,
    WholeText,
    build_recipe,
    strategy_to_spec,
)
from irdaemon.strategy.code import list_outlined_languages
from irdaemon.text import ANALYZER


class Wrapping:
    """Decompose as another strategy does, and change the text before."""

    named = True

    def __init__(self, inner, change=None, options=()):
        self.inner = inner
        self.change = change
        self.options = options
        self._cache = {}

    def decompose(self, artifact_id, raw, metadata=None):
        return self.inner.decompose(artifact_id, raw, metadata)


class Slotted:
    __slots__ = ("inner", "size")
    named = True

    def __init__(self, size, inner=None):
        self.size = size
        self.inner = inner

    def decompose(self, artifact_id, raw, metadata=None):
        return WholeText().decompose(artifact_id, raw, metadata)


@pytest.mark.parametrize("name", STRATEGY_REGISTRY)
def test_the_recipe_of_a_usual_strategy_is_what_it_always_was(name):
    strategy = STRATEGY_REGISTRY[name]()
    spec = strategy_to_spec(strategy)
    others = {
        "Package": {"deps_template": "str"},
        "ClaudeTurn": {"fields": list(ClaudeTurn().fields)},
        "Code": {"languages": list(list_outlined_languages())},
    }
    functions = others.get(name, {})
    if name == "Package":
        strategy.deps_template = str
        del spec["params"]["deps_template"]
    parts = [spec, functions, ANALYZER, DECOMPOSITION]
    assert build_recipe(strategy) == json.dumps(parts, sort_keys=True)


def test_the_parameters_of_a_strategy_within_another_are_part_of_its_recipe():
    assert build_recipe(Wrapping(Chunked(100))) != build_recipe(Wrapping(Chunked(200)))
    assert build_recipe(Wrapping(Wrapping(Chunked(1)))) != build_recipe(
        Wrapping(Wrapping(Chunked(2)))
    )
    assert build_recipe(Wrapping(Chunked(100))) == build_recipe(Wrapping(Chunked(100)))
    assert build_recipe(Wrapping(None, options=["a"])) != build_recipe(
        Wrapping(None, options=["b"])
    )
    assert build_recipe(Slotted(1)) != build_recipe(Slotted(2))
    assert build_recipe(Slotted(1, Chunked(1))) != build_recipe(Slotted(1, Chunked(2)))


def closing_over(value):
    return lambda names: f"{value} {names}"


CHANGES = {
    "lambda": (lambda names: "a", lambda names: "b"),
    "name": (lambda names: names.upper(), lambda names: names.lower()),
    "closure": (closing_over(1), closing_over(2)),
    "default": (lambda names, end=1: end, lambda names, end=2: end),
    "partial": (partial(closing_over, 1), partial(closing_over, 2)),
    "method": (Wrapping(Chunked(1)).decompose, Wrapping(Chunked(2)).decompose),
    "set": (lambda names: names in {"a", "b"}, lambda names: names in {"a", "c"}),
}


@pytest.mark.parametrize(("one", "other"), CHANGES.values(), ids=CHANGES)
def test_two_functions_that_do_something_else_make_two_recipes(one, other):
    assert build_recipe(Package(deps_template=one)) != build_recipe(Package(deps_template=other))
    assert build_recipe(Package(deps_template=one)) == build_recipe(Package(deps_template=one))


def test_what_a_strategy_keeps_for_itself_and_a_circle_of_them_do_no_harm():
    wrapping = Wrapping(Chunked())
    before = build_recipe(wrapping)
    wrapping._cache["a"] = object()
    assert build_recipe(wrapping) == before
    wrapping.inner = wrapping
    assert build_recipe(wrapping) == build_recipe(wrapping) != before


def test_a_changed_inner_strategy_is_indexed_anew_and_an_equal_one_is_not(tmp_path):
    store = str(tmp_path / "l.sqlite")

    def build(strategy):
        source = ir.CorpusSource.from_mapping({"a": "red fish"}, name="in", strategy=strategy)
        return ir.build(source, store=store, embedder="hashing")

    build(Wrapping(Chunked(100)))
    assert build(Wrapping(Chunked(100))).report.startswith("0 written")
    assert "1 unchanged" not in build(Wrapping(Chunked(200, kind="part"))).report
    built = build(Wrapping(Chunked(200, kind="piece")))
    assert [each["kind"] for each in ir.records_for_artifact(built, "a")] == ["piece"]
    built.close()
