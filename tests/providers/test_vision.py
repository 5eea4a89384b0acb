"""Tests of image sizes and tokens, with the examples on the providers' own pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.errors import CrevalError
from creval.judges.judge_spec import resize_rule
from creval.providers.vision import UNKNOWN_VISION, find_vision


@pytest.mark.parametrize(
    ("model", "size", "seen", "tokens"),
    [
        # OpenAI's guide: 1024 x 1024 costs 765, 2048 x 4096 costs 1105.
        ("gpt-4o", (1024, 1024), (768, 768), 765),
        ("gpt-4o-2024-08-06", (2048, 4096), (768, 1536), 1105),
        ("gpt-4o", (512, 512), (512, 512), 255),
        ("gpt-4o-mini", (512, 512), (512, 512), 8500),
        ("gpt-5", (1024, 1024), (768, 768), 630),
        # Its example of patches: 1800 x 2400 is scaled to 1056 x 1408, 33 x 44 patches.
        ("gpt-4.1-mini", (1800, 2400), (1056, 1408), 2353),
        ("o4-mini", (1024, 1024), (1024, 1024), 1762),
        # Anthropic's examples: 200 x 200 is 64, 1000 x 1000 is 1296, 1092 x 1092 is 1521.
        ("claude-sonnet-4-5", (200, 200), (200, 200), 64),
        ("claude-sonnet-4-5", (1000, 1000), (1000, 1000), 1296),
        ("claude-opus-4-1", (1092, 1092), (1092, 1092), 1521),
        ("anthropic/claude-opus-4-8", (1928, 1928), (1928, 1928), 4761),
        # Google's examples: up to 384 one tile, 960 x 540 six tiles.
        ("gemini-2.5-flash", (384, 384), (384, 384), 258),
        ("gemini-2.5-flash", (960, 540), (960, 540), 6 * 258),
        ("google/gemini-3-pro-preview", (4000, 2000), (3072, 1536), 1120),
        ("Qwen/Qwen2.5-VL-7B-Instruct", (1024, 1024), (1024, 1024), 37 * 37 + 2),
        ("Qwen3-VL-8B-Instruct", (1024, 1024), (1024, 1024), 32 * 32 + 2),
    ],
)
def test_published_examples(model: str, size: tuple[int, int], seen: tuple[int, int], tokens: int) -> None:
    vision = find_vision(model)
    assert vision.resize is not None
    assert vision.resize(*size) == seen
    assert vision.count_tokens(*seen) == tokens


def test_claude_and_dashscope_have_a_greatest_number_of_tokens() -> None:
    large = find_vision("claude-sonnet-4-5")
    assert large.resize is not None
    assert large.count_tokens(*large.resize(8000, 8000)) == 39 * 39
    served = find_vision("qwen-vl-max", "dashscope")
    assert served.resize is not None
    width, height = served.resize(4000, 3000)
    assert width * height <= 2560 * 32 * 32 * 1.01
    assert find_vision("my-own-model") is UNKNOWN_VISION
    assert UNKNOWN_VISION.resize is None


@given(
    st.sampled_from(["gpt-4o", "gpt-4.1-nano", "claude-3", "gemini-2.0-flash", "qwen2.5-vl-72b"]),
    st.integers(1, 20000),
    st.integers(1, 20000),
)
def test_fitting_never_enlarges_and_keeps_the_shape(model: str, width: int, height: int) -> None:
    vision = find_vision(model)
    assert vision.resize is not None
    w, h = vision.resize(width, height)
    assert 1 <= w <= width
    assert 1 <= h <= height
    assert vision.count_tokens(w, h) > 0
    if min(w, h) > 50:
        assert w / h == pytest.approx(width / height, rel=0.03)
    # A size that was fitted is not scaled again.
    assert vision.resize(w, h) == pytest.approx((w, h), rel=0.002, abs=1)


def test_how_images_are_fitted_can_be_chosen() -> None:
    seen = find_vision("gpt-4o")
    assert resize_rule(seen, "original") is None
    assert resize_rule(seen, "provider") is seen.resize
    chosen = resize_rule(seen, "512")
    assert chosen is not None
    assert chosen(2048, 1024) == (512, 256)
    for wrong in ("big", "0", "-5", "1e3", "99999"):
        with pytest.raises(CrevalError, match="`image_fit` takes"):
            resize_rule(seen, wrong)
