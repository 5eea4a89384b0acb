from __future__ import annotations

import pytest

from creval.core.errors import CrevalError, require_known, unknown_name_error


def test_the_nearest_known_name_is_offered() -> None:
    sentence = str(unknown_name_error("model", "bagle", ["OmniGen2", "Bagel"]))
    assert sentence == "there is no model 'bagle'; did you mean 'Bagel'? Known: OmniGen2, Bagel"


def test_no_suggestion_without_a_similar_name() -> None:
    assert "did you mean" not in str(unknown_name_error("model", "xyzzy", ["Bagel"]))
    assert str(unknown_name_error("subset", "paper", [])).endswith("Known: none")


def test_long_lists_are_cut() -> None:
    assert str(unknown_name_error("sample", "?", map(str, range(100)))).endswith("and 80 more")


def test_a_known_name_passes() -> None:
    assert require_known("metric", "IF", ["IF", "VC"]) == "IF"
    with pytest.raises(CrevalError, match="did you mean 'IF'"):
        require_known("metric", "if", ["IF", "VC"])
