from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.analysis.scoring_options import parse_weights
from creval.core.errors import CrevalError

OF_CREVAL = {"protocol": "creval"}
OF_ICE = {"protocol": "ice-bench"}


def test_weights() -> None:
    assert parse_weights(None, {}) is None
    assert parse_weights("IF=0.4, VC = 0.6", OF_CREVAL) == {"IF": 0.4, "VC": 0.6}


@pytest.mark.parametrize("given", ["", "IF", "=1", "IF=one", "IF=1,,VC=1", "IF=1,IF=1"])
def test_invalid_weights_are_refused(given: str) -> None:
    with pytest.raises(CrevalError, match="`weights`"):
        parse_weights(given, OF_CREVAL)


def test_the_error_shows_the_weights_of_the_protocol() -> None:
    for given, manifest, example in (
        ("nofile.json", OF_CREVAL, "Known: none. Or give METRIC=NUMBER, such as IF=0.4,VC=0.4,"),
        ("nofile.json", OF_ICE, "Known: released, raw. Or give METRIC=NUMBER, such as AES=1,IMG=1,"),
        ("AES=x", OF_ICE, "takes METRIC=NUMBER, such as AES=1,IMG=1,PF=1,SRC=1,REF=1,CTRL=1, not"),
    ):
        with pytest.raises(CrevalError, match=example) as refused:
            parse_weights(given, manifest)
        assert ("there is no file 'nofile.json'" in str(refused.value)) == ("=" not in given)


def test_weights_in_a_file_and_by_name(tmp_path: Path) -> None:
    file = tmp_path / "weights=1,2.json"
    for content in (
        {"IF": 1, "VC": 0.5},
        {"Face Swap": {"AES": 1}, "26": {"PF": 2.5}},
        {"AES": 1, "PF": 2, "26": {"PF": 2.5}},
    ):
        file.write_text(json.dumps(content))
        assert parse_weights(str(file), OF_ICE) == content
    assert parse_weights("released", OF_ICE) == "released"


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
def test_files_without_weights_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "weights.json"
    file.write_text(content)
    with pytest.raises(CrevalError, match=r"weights\.json"):
        parse_weights(str(file), OF_CREVAL)
    with pytest.raises(CrevalError, match="METRIC=NUMBER"):
        parse_weights("x" * 5000 + ".json", OF_CREVAL)
