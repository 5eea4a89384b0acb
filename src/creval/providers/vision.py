"""Input resolution of vision models, and the number of tokens of an image, as published by providers.

Images are sent at the resolution of the model. Providers scale larger images down, so sending them only costs time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from creval.core.images import ResizeRule


class VisionSpec(NamedTuple):
    """How a family of vision models handles images.

    `resize` returns the size to which an image is scaled, and `count_tokens` the number of tokens of an image of a
    given size. If `resize` is None, images are sent unscaled.
    """

    name: str
    resize: ResizeRule | None
    count_tokens: Callable[[int, int], int]


def shrink_size(width: int, height: int, factor: float) -> tuple[int, int]:
    """Return a size scaled by `factor`, but never enlarged. Each side stays at least 1."""
    factor = min(1.0, factor)
    return max(1, round(width * factor)), max(1, round(height * factor))


def fit_within_square(side: int) -> ResizeRule:
    """Return a rule that scales an image down to fit into a square."""
    return lambda width, height: shrink_size(width, height, side / max(width, height))


def openai_tiles(name: str, base: int, tile: int) -> VisionSpec:
    """Return the rule for OpenAI's tiles: fit into 2048 x 2048, shortest side to 768, then count 512-pixel tiles.

    >>> openai_tiles("gpt-4o", 85, 170).count_tokens(768, 768)
    765
    """

    def fit(width: int, height: int) -> tuple[int, int]:
        width, height = fit_within_square(2048)(width, height)
        return shrink_size(width, height, 768 / min(width, height))

    def tokens(width: int, height: int) -> int:
        return base + tile * math.ceil(width / 512) * math.ceil(height / 512)

    return VisionSpec(name, fit, tokens)


def openai_patches(name: str, max_patches: int, side: int, factor: float) -> VisionSpec:
    """Return the rule for OpenAI's patches of 32 pixels.

    Images are scaled down to at most `max_patches` patches and to sides of at most `side` pixels.
    """

    def fit(width: int, height: int) -> tuple[int, int]:
        width, height = fit_within_square(side)(width, height)
        if math.ceil(width / 32) * math.ceil(height / 32) <= max_patches:
            return width, height
        by = math.sqrt(32 * 32 * max_patches / (width * height))
        columns, rows = width * by / 32, height * by / 32
        by *= min(math.floor(columns) / columns, math.floor(rows) / rows) or 1.0
        return max(1, int(width * by)), max(1, int(height * by))

    def tokens(width: int, height: int) -> int:
        return math.ceil(min(max_patches, math.ceil(width / 32) * math.ceil(height / 32)) * factor)

    return VisionSpec(name, fit, tokens)


def claude_patches(name: str, side: int, max_patches: int) -> VisionSpec:
    """Return the rule for Anthropic's patches of 28 pixels.

    Images are scaled down to at most `max_patches` patches and to sides of at most `side` pixels.
    """

    def tokens(width: int, height: int) -> int:
        return math.ceil(width / 28) * math.ceil(height / 28)

    def fit(width: int, height: int) -> tuple[int, int]:
        full = width, height
        width, height = fit_within_square(side)(*full)
        while tokens(width, height) > max_patches:
            longest = max(width, height) - 1
            width, height = shrink_size(*full, longest / max(full))
        return width, height

    return VisionSpec(name, fit, tokens)


def gemini_crops(name: str) -> VisionSpec:
    """Return the rule for Gemini's crops of an image, with 258 tokens each. A small image is one crop."""

    def tokens(width: int, height: int) -> int:
        if width <= 384 and height <= 384:
            return 258
        crop = min(768, max(256, math.floor(min(width, height) / 1.5)))
        return 258 * math.ceil(width / crop) * math.ceil(height / crop)

    return VisionSpec(name, fit_within_square(3072), tokens)


def fixed_tokens(name: str, count: int) -> VisionSpec:
    """Return a rule with the same number of tokens for every image."""
    return VisionSpec(name, fit_within_square(3072), lambda _width, _height: count)


def qwen_patches(name: str, side: int, max_patches: int) -> VisionSpec:
    """Return the rule for Qwen-VL: a token per square of `side` pixels, at most `max_patches`."""

    def fit(width: int, height: int) -> tuple[int, int]:
        return shrink_size(width, height, math.sqrt(max_patches * side * side / (width * height)))

    def tokens(width: int, height: int) -> int:
        columns, rows = max(1, round(width / side)), max(1, round(height / side))
        return 2 + min(max_patches, columns * rows)

    return VisionSpec(name, fit, tokens)


UNKNOWN_VISION = VisionSpec("unknown", None, lambda width, height: 2 + math.ceil(width / 28) * math.ceil(height / 28))

# The first pattern that matches a model's name applies.
_FAMILIES = tuple(
    (re.compile(pattern), vision)
    for pattern, vision in (
        (r"gpt-4o-mini", openai_tiles("gpt-4o-mini", 2833, 5667)),
        (r"gpt-4\.1-mini", openai_patches("gpt-4.1-mini", 1536, 2048, 1.62)),
        (r"gpt-4\.1-nano", openai_patches("gpt-4.1-nano", 1536, 2048, 2.46)),
        (r"gpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-turbo", openai_tiles("gpt-4o", 85, 170)),
        (r"o4-mini", openai_patches("o4-mini", 1536, 2048, 1.72)),
        (r"gpt-5[\d.]*-mini", openai_patches("gpt-5-mini", 1536, 2048, 1.62)),
        (r"gpt-5[\d.]*-nano", openai_patches("gpt-5-nano", 1536, 2048, 2.46)),
        (r"gpt-5\.[4-9]", openai_patches("gpt-5.4", 2500, 2048, 1.2)),
        (r"gpt-5\.[2-3]", openai_patches("gpt-5.2", 1536, 2048, 1.2)),
        (r"gpt-5", openai_tiles("gpt-5", 70, 140)),
        (r"\bo[13]\b", openai_tiles("o3", 75, 150)),
        (r"opus-4-[78]|sonnet-5|fable|mythos|opus-[5-9]", claude_patches("claude, large", 2576, 4784)),
        (r"claude", claude_patches("claude", 1568, 1568)),
        (r"gemini-(?:[12]\b|[12]\.)", gemini_crops("gemini 2")),
        (r"gemini", fixed_tokens("gemini 3", 1120)),
        (r"qwen-?2|qvq", qwen_patches("qwen2-vl", 28, 16384)),
        (r"qwen-?3", qwen_patches("qwen3-vl", 32, 16384)),
    )
)
# The default resolutions at DashScope.
_DASHSCOPE = (
    (re.compile(r"qwen-?3|qwen-vl"), qwen_patches("qwen3-vl at DashScope", 32, 2560)),
    (re.compile(r""), qwen_patches("qwen-vl at DashScope", 28, 1280)),
)


def find_vision(model: str, provider: str = "") -> VisionSpec:
    """Return the vision spec of a model, by its name and provider."""
    name = model.rpartition("/")[2].casefold()
    families = _DASHSCOPE if provider == "dashscope" else _FAMILIES
    return next((vision for pattern, vision in families if pattern.search(name)), UNKNOWN_VISION)
