"""A folder can only be continued with its stored settings."""

from __future__ import annotations

import pytest

from creval.core.errors import CrevalError
from creval.store.manifest import require_same


def test_the_first_field_that_differs_is_named() -> None:
    with pytest.raises(CrevalError, match=r"^seed was 1, not 2$"):
        require_same(
            {"editor": "a", "seed": 1, "strategy": "direct"},
            {"editor": "a", "seed": 2, "strategy": "sequential"},
            lambda name, before, now: f"{name} was {before}, not {now}",
        )


def test_unstored_values_are_not_compared() -> None:
    def unexpected(*_: object) -> str:
        raise AssertionError

    require_same({"editor": "a", "date": "Monday"}, {"editor": "a", "seed": 2}, unexpected)
    require_same({}, {"editor": "a"}, unexpected)
