from __future__ import annotations

import pytest

from creval.stats.student import student

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize(("freedom", "near"), [(5, 1e-2), (10, 1e-3), (20, 2e-5), (60, 1e-7)])
def test_the_quantile_is_scipys(freedom: int, near: float) -> None:
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=near)
