"""Range and direction of the values of every metric. A wrong one inverts a comparison or its scale."""

from __future__ import annotations

import pytest

from creval import registry
from creval.metrics.base import image_metric_class

BETTER, WORSE = True, False  # what a higher value means
UNIT, COSINE, TEN, HUNDRED = (0.0, 1.0), (-1.0, 1.0), (0.0, 10.0), (0.0, 100.0)
VALUES = {
    "aesthetic": {"aesthetic": (*TEN, BETTER)},
    "canny": {"canny": (*UNIT, WORSE)},
    "clip": {"CLIP_img": (*COSINE, BETTER), "CLIP_dir": (*COSINE, BETTER)},
    "clip_cap": {"clip_cap": (*COSINE, BETTER)},
    "clip_dir": {"clip_dir": (*COSINE, BETTER)},
    "clip_src": {"clip_src": (*COSINE, BETTER)},
    "colorfulness": {"colorfulness": (*UNIT, BETTER), "colorfulness_signed": (0.0, 297.652, BETTER)},
    "depth": {"depth": (*UNIT, WORSE)},
    "dreamsim": {"dreamsim": (*UNIT, WORSE)},
    "face": {"face": (*COSINE, BETTER)},
    "grey": {"grey": (*UNIT, WORSE)},
    "hps": {"hps": (*COSINE, BETTER)},
    "image_reward": {"image_reward": (-3.0, 3.0, BETTER)},
    "imaging": {"imaging": (*HUNDRED, BETTER)},
    "l1_src": {"l1_src": (*UNIT, WORSE)},
    "l2_src": {"l2_src": (*UNIT, WORSE)},
    "lpips": {"lpips": (*UNIT, WORSE)},
    "ms_ssim": {"ms_ssim": (*UNIT, BETTER)},
    "outside": {"L1": (*UNIT, WORSE), "L2": (*UNIT, WORSE)},
    "outside_all": {"L1_all": (*UNIT, WORSE), "L2_all": (*UNIT, WORSE)},
    "pose": {"pose": (*UNIT, WORSE)},
    "psnr": {"psnr": (*HUNDRED, BETTER)},
    "ssim": {"ssim": (*UNIT, BETTER)},
    "style": {"style": (*COSINE, BETTER)},
    "subject": {"subject": (*COSINE, BETTER)},
    "text": {"text_there": (*UNIT, BETTER), "text_error": (*UNIT, WORSE), "text_gone": (*UNIT, BETTER)},
}
_BUILT_IN = [name for name in registry.metrics.names() if not registry.metrics.origin(name)]


@pytest.mark.parametrize("name", _BUILT_IN)
def test_values_of_a_metric(name: str) -> None:
    found = {value.name: value for value in image_metric_class(name).info.values}
    assert found.keys() == VALUES[name].keys()
    for value, (low, high, better) in VALUES[name].items():
        assert (found[value].low, found[value].high) == pytest.approx((low, high), abs=1e-3)
        assert found[value].higher_is_better is better
