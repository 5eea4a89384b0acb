from __future__ import annotations

import pytest

from creval.benchmarks.creval.protocol import SCHEMA
from creval.core.errors import CrevalError


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
