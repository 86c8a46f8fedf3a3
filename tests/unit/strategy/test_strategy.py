import pytest

from irdaemon.strategy import (
    STRATEGY_REGISTRY,
    Chunked,
    Package,
    is_named,
    recipe_of,
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
    assert recipe_of(strategy_from_spec(spec)) == recipe_of(strategy)


def test_an_unknown_strategy_or_parameter_is_a_value_error_that_names_the_known():
    assert strategy_from_spec(None) is None
    with pytest.raises(ValueError, match="did you mean 'Skill'"):
        strategy_from_spec({"name": "Skil"})
    with pytest.raises(ValueError, match="bogus"):
        strategy_from_spec({"name": "Skill", "params": {"bogus": 1}})


def test_a_parameter_or_a_swapped_callable_changes_the_recipe():
    assert recipe_of(Chunked(chunk_size=5)) != recipe_of(Chunked())
    assert recipe_of(Package(deps_template=str)) != recipe_of(Package())


def test_only_turns_have_no_names_and_a_strategy_of_ones_own_has_them():
    class Own:
        def decompose(self, artifact_id, raw, metadata=None):
            raise NotImplementedError

    unnamed = [name for name, kind in STRATEGY_REGISTRY.items() if not is_named(kind())]
    assert unnamed == ["ClaudeTurn"]
    assert is_named(Own())
