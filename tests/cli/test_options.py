from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.cli import options
from creval.core.errors import CrevalError

OF_CREVAL = {"protocol": "creval"}
OF_ICE = {"protocol": "ice-bench"}


def test_weights() -> None:
    assert options.parse_weights(None, {}) is None
    assert options.parse_weights("IF=0.4, VC = 0.6", OF_CREVAL) == {"IF": 0.4, "VC": 0.6}


@pytest.mark.parametrize("given", ["", "IF", "=1", "IF=one", "IF=1,,VC=1", "IF=1,IF=1"])
def test_weights_that_are_none_are_refused(given: str) -> None:
    with pytest.raises(CrevalError, match="--weights"):
        options.parse_weights(given, OF_CREVAL)


def test_weights_that_are_none_are_told_by_the_protocols_own() -> None:
    for given, manifest, example in (
        ("nofile.json", OF_CREVAL, "Known: none. Or give METRIC=NUMBER, such as IF=0.4,VC=0.4,"),
        ("nofile.json", OF_ICE, "Known: released, raw. Or give METRIC=NUMBER, such as AES=1,IMG=1,"),
        ("AES=x", OF_ICE, "takes METRIC=NUMBER, such as AES=1,IMG=1,PF=1,SRC=1,REF=1,CTRL=1, not"),
    ):
        with pytest.raises(CrevalError, match=example) as refused:
            options.parse_weights(given, manifest)
        assert ("there is no file 'nofile.json'" in str(refused.value)) == ("=" not in given)


def test_weights_in_a_file_and_by_name(tmp_path: Path) -> None:
    file = tmp_path / "weights=1,2.json"
    for content in (
        {"IF": 1, "VC": 0.5},
        {"Face Swap": {"AES": 1}, "26": {"PF": 2.5}},
        {"AES": 1, "PF": 2, "26": {"PF": 2.5}},
    ):
        file.write_text(json.dumps(content))
        assert options.parse_weights(str(file), OF_ICE) == content
    assert options.parse_weights("released", OF_ICE) == "released"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "1",
        '{"IF": "1"}',
        '{"IF": true}',
        '{"IF": null}',
        '{"a": {"IF": 1}, "b": "2"}',
        '{"a": {"IF": {"b": 1}}}',
        '{"a": []}',
    ],
)
def test_files_that_hold_no_weights(tmp_path: Path, content: str) -> None:
    file = tmp_path / "weights.json"
    file.write_text(content)
    with pytest.raises(CrevalError, match=r"weights\.json"):
        options.parse_weights(str(file), OF_CREVAL)
    with pytest.raises(CrevalError, match="METRIC=NUMBER"):
        options.parse_weights("x" * 5000 + ".json", OF_CREVAL)


def test_groups() -> None:
    assert options.parse_groups(None) == {}
    assert options.parse_groups("open=A,B,closed=C") == {"open": ["A", "B"], "closed": ["C"]}


@pytest.mark.parametrize("given", ["A", "open=", "=A", "a=A,b=A", "a=A,A"])
def test_groups_that_are_none_are_refused(given: str) -> None:
    with pytest.raises(CrevalError, match="--groups"):
        options.parse_groups(given)


def test_names() -> None:
    assert options.parse_names(None, "--models") is None
    assert options.parse_names(" A, B,A,", "--models") == ("A", "B")
    with pytest.raises(CrevalError, match="--models names nothing"):
        options.parse_names(" ,", "--models")


def test_parameters_are_json_where_they_can_be() -> None:
    given = ["top_p=0.1", "stop=[1]", "effort = low", "note=a=b", "empty="]
    found = {"top_p": 0.1, "stop": [1], "effort": " low", "note": "a=b", "empty": ""}
    assert options.parse_parameters(given) == found
    for wrong in ("top_p", "=1", " =1"):
        with pytest.raises(CrevalError, match="--set takes KEY=VALUE"):
            options.parse_parameters([wrong])


def test_models_by_use() -> None:
    assert options.parse_metric_models(["clip = a/b", "boxes=c"]) == {"clip": "a/b", "boxes": "c"}
    for wrong in ("clip", "clip=", "clip= "):
        with pytest.raises(CrevalError, match="--metric-model takes USE=MODEL"):
            options.parse_metric_models([wrong])


def test_money() -> None:
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
