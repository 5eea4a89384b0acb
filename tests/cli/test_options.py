from __future__ import annotations

import pytest

from creval.cli import options
from creval.core.errors import CrevalError


def test_groups() -> None:
    assert options.parse_groups(None) == {}
    assert options.parse_groups("open=A,B,closed=C") == {"open": ["A", "B"], "closed": ["C"]}


@pytest.mark.parametrize("given", ["A", "open=", "=A", "a=A,b=A", "a=A,A"])
def test_invalid_groups_are_refused(given: str) -> None:
    with pytest.raises(CrevalError, match="--groups"):
        options.parse_groups(given)


def test_names() -> None:
    assert options.parse_names(None, "--models") is None
    assert options.parse_names(" A, B,A,", "--models") == ("A", "B")
    with pytest.raises(CrevalError, match="--models is empty"):
        options.parse_names(" ,", "--models")


def test_parameters_are_json_or_strings() -> None:
    given = ["top_p=0.1", "stop=[1]", "effort = low", "note=a=b", "empty="]
    found = {"top_p": 0.1, "stop": [1], "effort": " low", "note": "a=b", "empty": ""}
    assert options.parse_parameters(given) == found
    for wrong in ("top_p", "=1", " =1"):
        with pytest.raises(CrevalError, match="--set takes KEY=VALUE"):
            options.parse_parameters([wrong])


def test_metric_models() -> None:
    assert options.parse_metric_models(["clip = a/b", "boxes=c"]) == {"clip": "a/b", "boxes": "c"}
    for wrong in ("clip", "clip=", "clip= "):
        with pytest.raises(CrevalError, match="--metric-model takes USE=MODEL"):
            options.parse_metric_models([wrong])


def test_budgets_and_prices() -> None:
    assert options.parse_budget(None) is None
    assert options.parse_token_price(None) is None
    assert [options.parse_budget(given) for given in ("5USD", "$0.5", " .5 usd", "5$", "5.")] == [
        5.0,
        0.5,
        0.5,
        5.0,
        5.0,
    ]
    price = options.parse_token_price("2.5, 10")
    assert price is not None
    assert price.cost(1e6, 1e6) == 12.5
    for wrong in ("", "5EUR", "-1", "nan", "1e3", "5 5"):
        with pytest.raises(CrevalError, match="--budget takes US dollars"):
            options.parse_budget(wrong)
    for wrong in ("", "1", "1,2,3", "-1,2", "nan,1", "inf,1", "a,b"):
        with pytest.raises(CrevalError, match="--price takes two numbers"):
            options.parse_token_price(wrong)


def test_a_percentage_is_a_share() -> None:
    assert [options.parse_share(given) for given in ("0", "0.5", "100", " 2 %")] == [0, 0.005, 1, 0.02]
    for wrong in ("", "some", "-1", "101", "nan", "inf"):
        with pytest.raises(CrevalError, match="--max-unanswered takes a percentage"):
            options.parse_share(wrong)


def test_names_of_registries_are_completed() -> None:
    assert options.complete_names("metrics")("ssim,clip_") == ["ssim,clip_cap", "ssim,clip_dir", "ssim,clip_src"]
    assert options.complete_names("judges")("op") == ["openai", "openrouter"]
