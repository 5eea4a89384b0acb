from __future__ import annotations

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
