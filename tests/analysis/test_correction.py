"""Intervals of corrected scores, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from creval.analysis.correction import _corrected_interval
from tests.stats.made import table


def test_draws_outside_the_scale_keep_half_of_their_interval() -> None:
    """The 95 % interval of uniform draws from 110 to 130 is 19 wide; half of it lies below 100, the end of the scale.

    The same holds above 0. Constant draws have no width; S is 0.4 IF + 0.4 VC + 0.2 VQ.
    """
    line = np.linspace(0, 20, 1001)
    draws = np.stack([110 + line, -30 + line, np.full(1001, 60.0)], axis=-1)[:, None, None]
    low, high = _corrected_interval(table(np.zeros((1, 1, 3)), [0]), draws)
    assert low[0, 0].tolist() == pytest.approx([90.5, 0, 60, 52 - 0.8 * 19 / 2])
    assert high[0, 0].tolist() == pytest.approx([100, 9.5, 60, 52])


def test_intervals_stay_on_the_scale() -> None:
    line = np.linspace(0, 400, 1001)
    draws = np.stack([110 + line, -500 + line, 20 + line / 10], axis=-1)[:, None, None]
    low, high = _corrected_interval(table(np.zeros((1, 1, 3)), [0]), draws)
    assert low[0, 0, :3].tolist() == pytest.approx([0, 0, 21])
    assert high[0, 0, :3].tolist() == pytest.approx([100, 100, 59]), "what lies on the scale is as it is"
