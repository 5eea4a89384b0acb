from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.cli import options
from creval.core.errors import CrevalError


def test_weights() -> None:
    assert options.weights(None) is None
    assert options.weights("IF=0.4, VC = 0.6") == {"IF": 0.4, "VC": 0.6}


@pytest.mark.parametrize("given", ["", "IF", "=1", "IF=one", "IF=1,,VC=1", "IF=1,IF=1"])
def test_weights_that_are_none_are_refused(given: str) -> None:
    with pytest.raises(CrevalError, match="--weights"):
        options.weights(given)


def test_weights_in_a_file_and_by_name(tmp_path: Path) -> None:
    file = tmp_path / "weights=1,2.json"
    for content in ({"IF": 1, "VC": 0.5}, {"Face Swap": {"AES": 1}, "26": {"PF": 2.5}}):
        file.write_text(json.dumps(content))
        assert options.weights(str(file)) == content
    assert options.weights("released") == "released"


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "1", '{"IF": "1"}', '{"IF": true}', '{"IF": null}', '{"a": {"IF": 1}, "b": 2}',
     '{"a": {"IF": {"b": 1}}}', '{"a": []}'],
)  # fmt: skip
def test_files_that_hold_no_weights(tmp_path: Path, content: str) -> None:
    file = tmp_path / "weights.json"
    file.write_text(content)
    with pytest.raises(CrevalError, match=r"weights\.json"):
        options.weights(str(file))
    with pytest.raises(CrevalError, match="METRIC=NUMBER"):
        options.weights("x" * 5000 + ".json")


def test_groups() -> None:
    assert options.groups(None) == {}
    assert options.groups("open=A,B,closed=C") == {"open": ["A", "B"], "closed": ["C"]}


@pytest.mark.parametrize("given", ["A", "open=", "=A", "a=A,b=A", "a=A,A"])
def test_groups_that_are_none_are_refused(given: str) -> None:
    with pytest.raises(CrevalError, match="--groups"):
        options.groups(given)


def test_names() -> None:
    assert options.names(None, "--models") is None
    assert options.names(" A, B,A,", "--models") == ("A", "B")
    with pytest.raises(CrevalError, match="--models names nothing"):
        options.names(" ,", "--models")
