"""Tests of `Lazy`, which loads a value at first use."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from creval.core.errors import CrevalError
from creval.metrics.model_loading import Lazy
from creval.providers.huggingface import DependencyMissing


def test_a_lazy_value_is_computed_once_for_all_threads() -> None:
    made: list[int] = []

    def load() -> list[int]:
        time.sleep(0.01)
        made.append(1)
        return made

    late = Lazy(load)
    assert not made
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: late.get(), range(8))) == [[1]] * 8


def test_a_failed_default_model_is_missing_and_not_tried_again() -> None:
    tries: list[int] = []

    def load() -> None:
        tries.append(1)
        raise CrevalError("it is damaged")

    late = Lazy(load)
    for _ in range(2):
        with pytest.raises(DependencyMissing, match="it is damaged"):
            late.get()
    assert len(tries) == 1


def test_a_failed_chosen_model_is_an_error_unless_a_library_is_missing() -> None:
    for error in (CrevalError("it is damaged"), DependencyMissing("pip install it")):

        def load(error: CrevalError = error) -> None:
            raise error

        with pytest.raises(CrevalError) as caught:
            Lazy(load, explicit=True).get()
        assert type(caught.value) is type(error)
