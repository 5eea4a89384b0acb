"""Cost estimates of a run, before the first call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from creval.calls.cost_estimate import CostEstimate
from creval.core.images import EncodedImage, ImageError, ResizeRule, encode_for_request, read_image_size
from creval.judges.base import Judge, estimate_tokens
from creval.judging.judge_run import JudgeRun
from creval.judging.plan import AnsweredProbes, EditWork
from creval.judging.requests import EncodedEdit, PendingCall, build_judge_request, find_image_paths

_MAX_ENCODED = 8  # images that are encoded to estimate the size of all


def estimate_judge_costs(
    judge_run: JudgeRun, answered: Mapping[str, AnsweredProbes], max_edits: int | None = None
) -> list[CostEstimate]:
    """Estimate the costs of each judge.

    With `max_edits`, extrapolate from about that many evenly spaced edits.
    """
    found = []
    for judge, fit in zip(judge_run.judges, judge_run.resize_rules, strict=True):
        items = list(judge_run.plan.work(answered.get(judge.name, {}), supports_n=judge.supports_n))
        cached = sum(item.cached_calls for item in items)
        made = CostEstimate(judge.name, cached=cached, pace=judge.seconds_per_call, thinking=judge.thinking_tokens)
        items = [item for item in items if item.batches]
        chosen = items[:: 1 if max_edits is None else max(1, len(items) // max_edits)]
        made.exact = len(chosen) == len(items)
        sizes = _ImageSizes(judge, fit, encode_some=max_edits is None)
        for item in chosen:
            _add_edit(made, judge_run, judge, item, sizes)
        scale = len(items) / len(chosen) if chosen else 1.0
        made.calls, made.images = round(made.calls * scale), round(made.images * scale)
        made.size *= scale
        made.tokens_in *= scale
        made.tokens_out *= scale
        if judge.price is not None:
            made.cost = judge.price.cost(made.tokens_in, made.tokens_out)
        made.seconds = max(
            made.calls * judge.seconds_per_call / judge_run.settings.concurrency,
            60 * made.calls / (judge_run.settings.requests_per_minute or math.inf),
            60 * (made.tokens_in + made.tokens_out) / (judge_run.settings.tokens_per_minute or math.inf),
        )
        found.append(made)
    return found


def _add_edit(total: CostEstimate, judge_run: JudgeRun, judge: Judge, work: EditWork, sizes: _ImageSizes) -> None:
    """Add the costs of judging one edit. An edit with an image that cannot be opened adds none."""
    names = {name for group in work.batches for q in group.questions for name in q.shows}
    try:
        images = {
            name: tuple(sizes.describe_image(path) for path in find_image_paths(work.sample, work.edit, name))
            for name in names
        }
    except (ImageError, OSError):
        total.unopened += 1
        return
    look = EncodedEdit(work, images)
    for batch in work.batches:
        for repeats in batch.repeats_by_call(supports_n=judge.supports_n):
            request = build_judge_request(PendingCall(look, batch.questions, repeats), judge_run.prompts)
            tokens_in, tokens_out = estimate_tokens(judge, request)
            total.calls += 1
            total.images += len(request.images)
            total.size += sum(sizes.bytes_by_image[image.digest] for image in request.images)
            total.size += len(request.text)
            total.tokens_in += tokens_in
            total.tokens_out += tokens_out


class _ImageSizes:
    """Sizes of images as they are sent, in pixels and in bytes.

    Sizes in bytes are extrapolated from a few images that are encoded.
    """

    def __init__(self, judge: Judge, resize_rule: ResizeRule | None, *, encode_some: bool) -> None:
        self._judge, self._resize_rule = judge, resize_rule
        self._images: dict[Path, EncodedImage] = {}
        self._encoded_totals = [0, 0]  # bytes, pixels
        self._encodings_left = _MAX_ENCODED if encode_some else 0
        self.bytes_by_image: dict[str, float] = {}

    def describe_image(self, path: Path) -> EncodedImage:
        """Return an image with its size in pixels, but without its content. Store its size in `bytes_by_image`."""
        if path not in self._images:
            size = read_image_size(path)
            width, height = self._resize_rule(*size) if self._resize_rule else size
            self._images[path] = EncodedImage(str(path), "", b"", width, height)
            self.bytes_by_image[str(path)] = self._estimate_bytes(path, width * height)
        return self._images[path]

    def _estimate_bytes(self, path: Path, pixels: int) -> float:
        if self._resize_rule is None:
            return path.stat().st_size * 4 / 3
        if self._encodings_left:
            self._encodings_left -= 1
            content = self._judge.prepare_image(encode_for_request(path, self._resize_rule)).content
            self._encoded_totals[0] += len(content)
            self._encoded_totals[1] += pixels
            return len(content)
        return pixels * self._encoded_totals[0] / max(1, self._encoded_totals[1])
