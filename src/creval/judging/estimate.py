"""What a run will take, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from creval.calls.estimate import Estimate
from creval.core.images import Encoded, Fit, ImageError, encode, size_of
from creval.judges.base import Judge, guess_tokens
from creval.judging.plan import Answered, Item
from creval.judging.requests import Call, Look, make_request, paths_of
from creval.judging.run import Judging

_MEASURED = 8  # pictures that are encoded to see how large they get


def estimate(
    judging: Judging, answered: Mapping[str, Answered], most: int | None = None
) -> list[Estimate]:
    """What each judge will take; from `most` edits, evenly chosen, where that is given."""
    found = []
    for judge, fit in zip(judging.judges, judging.fits, strict=True):
        items = list(judging.plan.items(answered.get(judge.name, {}), several=judge.several))
        cached = sum(item.cached for item in items)
        made = Estimate(judge.name, cached=cached, pace=judge.pace)
        items = [item for item in items if item.groups]
        chosen = items[:: 1 if most is None else max(1, len(items) // most)]
        made.exact = len(chosen) == len(items)
        sizes = _Sizes(judge, fit, measured=most is None)
        for item in chosen:
            _add(made, judging, judge, item, sizes)
        scale = len(items) / len(chosen) if chosen else 1.0
        made.calls, made.pictures = round(made.calls * scale), round(made.pictures * scale)
        made.size *= scale
        made.tokens_in *= scale
        made.tokens_out *= scale
        if judge.price is not None:
            made.cost = judge.price.cost(made.tokens_in, made.tokens_out)
        made.seconds = max(
            made.calls * judge.pace / judging.settings.concurrency,
            60 * made.calls / (judging.settings.requests_a_minute or math.inf),
            60
            * (made.tokens_in + made.tokens_out)
            / (judging.settings.tokens_a_minute or math.inf),
        )
        found.append(made)
    return found


def _add(made: Estimate, judging: Judging, judge: Judge, item: Item, sizes: _Sizes) -> None:
    """Add what one edit takes. A picture that cannot be opened takes nothing."""
    names = {name for group in item.groups for q in group.questions for name in q.shows}
    try:
        pictures = {
            name: tuple(sizes.of(path) for path in paths_of(item.sample, item.edit, name))
            for name in names
        }
    except (ImageError, OSError):
        made.unopened += 1
        return
    look = Look(item, pictures)
    for questions, repeats in item.groups:
        for part in [repeats] if judge.several else [(repeat,) for repeat in repeats]:
            request = make_request(Call(look, questions, part), judging.prompts)
            tokens_in, tokens_out = guess_tokens(judge, request)
            made.calls += 1
            made.pictures += len(request.pictures)
            made.size += sum(sizes.sent[picture.digest] for picture in request.pictures)
            made.size += len(request.text)
            made.tokens_in += tokens_in
            made.tokens_out += tokens_out


class _Sizes:
    """The size of pictures as they are sent, in pixels and, by a few that are encoded, in bytes."""

    def __init__(self, judge: Judge, fit: Fit | None, *, measured: bool) -> None:
        self._judge, self._fit = judge, fit
        self._known: dict[Path, Encoded] = {}
        self._measured = [0, 0]  # bytes, pixels
        self._left = _MEASURED if measured else 0
        self.sent: dict[str, float] = {}

    def of(self, path: Path) -> Encoded:
        """A picture without its content; its bytes are in `sent`, by its name."""
        if path not in self._known:
            size = size_of(path)
            width, height = self._fit(*size) if self._fit else size
            self._known[path] = Encoded(str(path), "", b"", width, height)
            self.sent[str(path)] = self._bytes(path, width * height)
        return self._known[path]

    def _bytes(self, path: Path, pixels: int) -> float:
        if self._fit is None:
            return path.stat().st_size * 4 / 3
        if self._left:
            self._left -= 1
            content = self._judge.prepare(encode(path, self._fit)).content
            self._measured[0] += len(content)
            self._measured[1] += pixels
            return len(content)
        return pixels * self._measured[0] / max(1, self._measured[1])
