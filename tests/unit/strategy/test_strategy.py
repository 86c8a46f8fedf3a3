import pytest

from irdaemon.strategy import (
    STRATEGY_REGISTRY,
    Chunked,
    ClaudeTurn,
    Package,
    WholeText,
    build_recipe,
    is_named,
    strategy_from_spec,
    strategy_to_spec,
)


def kinds(plan):
    return [surface.kind for surface in plan.surfaces]


@pytest.mark.parametrize("name", STRATEGY_REGISTRY)
def test_every_registered_strategy_can_be_written_down_and_rebuilt(name):
    strategy = STRATEGY_REGISTRY[name]()
    spec = strategy_to_spec(strategy)
    assert spec["name"] == name
    assert build_recipe(strategy_from_spec(spec)) == build_recipe(strategy)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("Chunked", {"chunk_size": 1200, "overlap": 200, "text_key": None, "kind": "chunk"}),
        ("ClaudeTurn", {"include_full": False}),
        ("Package", {"chunk_size": 1500, "overlap": 200, "embed_deps": False}),
        ("Skill", {}),
        ("WholeText", {"text_key": None, "kind": "document"}),
    ],
)
def test_strategies_are_known_by_their_names_and_their_usual_sizes(name, params):
    spec = strategy_to_spec(STRATEGY_REGISTRY[name]())
    assert params.items() <= spec["params"].items()


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (Chunked, {"chunk_size": 800, "overlap": 100, "text_key": "body", "kind": "part"}),
        (Chunked, {"max_tokens": 9, "token_model": "builtins:len", "headings": True}),
        (Package, {"embed_deps": True, "chunk_size": 900, "overlap": 50, "max_tokens": 9}),
        (ClaudeTurn, {"include_full": True}),
        (WholeText, {"text_key": "body", "kind": "page"}),
    ],
)
def test_parameters_that_are_set_survive_being_written_down(kind, params):
    spec = strategy_to_spec(kind(**params))
    assert params.items() <= spec["params"].items()
    again = strategy_from_spec(spec)
    assert type(again) is kind
    assert {name: getattr(again, name) for name in params} == params


def test_an_unknown_strategy_or_parameter_is_a_value_error_that_names_the_known():
    assert strategy_from_spec(None) is None
    with pytest.raises(ValueError, match="did you mean 'Skill'"):
        strategy_from_spec({"name": "Skil"})
    with pytest.raises(ValueError, match="bogus"):
        strategy_from_spec({"name": "Skill", "params": {"bogus": 1}})


def test_a_parameter_or_a_swapped_callable_changes_the_recipe():
    assert build_recipe(Chunked(chunk_size=5)) != build_recipe(Chunked())
    assert build_recipe(Package(deps_template=str)) != build_recipe(Package())


def test_only_turns_have_no_names_and_a_strategy_of_ones_own_has_them():
    class Own:
        def decompose(self, artifact_id, raw, metadata=None):
            raise NotImplementedError

    unnamed = [name for name, kind in STRATEGY_REGISTRY.items() if not is_named(kind())]
    assert unnamed == ["ClaudeTurn"]
    assert is_named(Own())
