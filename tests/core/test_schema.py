from __future__ import annotations

from dataclasses import replace

import pytest

from creval.benchmarks.creval.protocol import SCHEMA
from creval.core.errors import CrevalError
from creval.core.schema import OVERALL, Level, Metric, ScoreSchema


def test_columns_are_the_metrics_and_the_composite() -> None:
    assert SCHEMA.columns == ("IF", "VC", "VQ", "S")


def test_levels_are_found_in_singular_and_plural() -> None:
    assert SCHEMA.find_level("category") is SCHEMA.find_level("categories")
    with pytest.raises(CrevalError, match="did you mean 'dimension'"):
        SCHEMA.find_level("dimensoin")


def test_weights_are_scaled_to_one() -> None:
    weights = SCHEMA.with_weights({"IF": 4, "VC": 4, "VQ": 2}).component_weights("S")
    assert weights == pytest.approx({"IF": 0.4, "VC": 0.4, "VQ": 0.2})
    assert SCHEMA.with_weights({"VQ": 1}).component_weights("S") == {"VQ": 1}


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ({"FI": 1.0}, "did you mean 'IF'"),
        ({"IF": -1.0}, "zero or more"),
        ({"IF": float("nan")}, "zero or more"),
        ({"IF": 0.0}, "above zero"),
        ({"IF": 1e308, "VC": 1e308}, "above zero"),
    ],
)
def test_wrong_weights_are_refused(weights: dict[str, float], sentence: str) -> None:
    with pytest.raises(CrevalError, match=sentence):
        SCHEMA.with_weights(weights)


def test_a_composite_of_missing_metrics_is_removed() -> None:
    assert SCHEMA.with_probed_metrics({"IF", "VC", "VQ"}) is SCHEMA
    alone = SCHEMA.with_probed_metrics({"IF"})
    assert (alone.composite, alone.ranking_column, alone.columns) == (None, "IF", ("IF", "VC", "VQ"))
    assert alone.formula == "no S, because there are no questions for VC and VQ; ranked by IF"
    weighed = SCHEMA.with_weights({"IF": 1, "VC": 1})
    assert weighed.with_probed_metrics({"IF", "VC"}) is weighed, "a metric without weight is not needed"
    assert SCHEMA.with_probed_metrics(set()) is SCHEMA


def test_a_tag_called_as_a_level_of_steps_is_no_level() -> None:
    steps = Level("edit_type", "edit_types", ("add",), groups_sub_scores=True)
    tags = (OVERALL, Level("edit_type", "edit_type", ("x", "y")), Level("weather", "weather", ("rain",)))
    made = replace(SCHEMA, levels=(OVERALL, steps)).with_levels(tags)
    assert [level.plural for level in made.levels] == ["overall", "weather", "edit_types"]


def test_a_label_that_says_no_more_than_the_name_is_not_shown_twice() -> None:
    assert Metric("IF", "instruction following").title == "IF: instruction following"
    assert Metric("Kept", "Kept").title == "Kept"


def test_groups_carry_their_tag_only_where_the_name_is_not_enough() -> None:
    tags = (
        Level("weather", "weather", ("rain", "sun")),
        Level("indoor", "indoor", ("yes", "no")),
        Level("people", "people", ("yes", "many")),
        Level("hard_ness", "hard_ness", ("1", "2.5")),
    )
    schema = ScoreSchema((Metric("Kept", "Kept"),), None, (OVERALL, *tags))
    titles = [schema.group_title(level.name, group) for level in schema.levels for group in level.groups]
    assert titles[:5] == ["overall", "rain", "sun", "indoor: yes", "indoor: no"]
    assert titles[5:] == ["people: yes", "people: many", "hard ness: 1", "hard ness: 2.5"]
    nested = (Level("category", "categories", ("A",), mean_of="task"), Level("task", "tasks", ("A", "B")))
    assert ScoreSchema((Metric("Kept", "Kept"),), None, nested).group_title("task", "A") == "A"
