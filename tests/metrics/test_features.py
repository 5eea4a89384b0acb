"""Tests of features: they are computed in batches, once, and cached."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureCache, FeatureExtractor, FeatureRequest
from creval.metrics.metric_inputs import ImageCache, LazyImage, NonFiniteResult
from creval.providers.huggingface import DependencyMissing
from creval.store.feature_cache_file import FeatureCacheFile


class Counting(FeatureExtractor):
    """Extractor that returns the length of a text, and records its calls and their batch sizes."""

    batch_size = 4

    def __init__(self, name: str = "counting", fails: Exception | None = None) -> None:
        self.name, self.fails = name, fails
        self.calls: list[int] = []
        self.numbers: dict[str, float] = {}

    def _number(self, word: str) -> float:
        return self.numbers.get(word, len(word))

    def extract(self, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
        self.calls.append(len(things))
        made = []
        for thing in things:
            if self.fails is not None and thing == "bad":
                raise self.fails
            size = thing.image.size[0] if isinstance(thing, LazyImage) else self._number(thing)
            made.append(np.array([size], dtype=np.float32))
        return made


def values(found: dict[tuple[str, str], FeatureArray | Exception]) -> list[float]:
    return sorted(float(made[0]) for made in found.values() if not isinstance(made, Exception))


def test_equal_requests_are_computed_once_and_in_batches() -> None:
    counting, embeddings = Counting(), FeatureCache()
    words = ["a", "bb", "ccc", "dddd", "eeeee", "a"]
    found = embeddings.compute([FeatureRequest(counting, word) for word in words])
    assert counting.calls == [4, 1]
    assert values(found) == [1, 2, 3, 4, 5]
    embeddings.compute([FeatureRequest(counting, word) for word in [*words, "ffffff"]])
    assert counting.calls == [4, 1, 1]


def test_two_models_do_not_mix() -> None:
    one, other, embeddings = Counting("one"), Counting("other"), FeatureCache()
    embeddings.compute([FeatureRequest(one, "a"), FeatureRequest(other, "a")])
    assert (one.calls, other.calls) == ([1], [1])


def test_a_second_pass_takes_what_is_kept(tmp_path: Path) -> None:
    Image.new("RGB", (7, 3)).save(tmp_path / "a.png")
    Image.new("RGB", (7, 3)).save(tmp_path / "same.png")
    first, second = Counting(), Counting()
    for counting in (first, second):
        shelf, vectors = ImageCache(), FeatureCacheFile(tmp_path)
        wishes = [FeatureRequest(counting, shelf.get_image(tmp_path / n)) for n in ("a.png", "same.png")]
        assert values(FeatureCache(vectors).compute([*wishes, FeatureRequest(counting, "word")])) == [4, 7]
        vectors.close()
    assert (first.calls, second.calls) == ([2], [])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_non_finite_features_are_neither_used_nor_cached(tmp_path: Path, bad: float) -> None:
    counting, vectors = Counting(), FeatureCacheFile(tmp_path)
    key = FeatureRequest(counting, "old").key
    vectors.put(counting.name, {key: np.array([bad], dtype=np.float32)})  # from another version
    counting.numbers["new"] = bad
    for calls in ([2], [2, 1]):
        found = FeatureCache(vectors).compute([FeatureRequest(counting, word) for word in ("old", "new")])
        assert values(found) == [3]
        assert [type(made) for made in found.values()] == [np.ndarray, NonFiniteResult]
        assert counting.calls == calls
    vectors.close()


def test_memory_has_an_end() -> None:
    counting, embeddings = Counting(), FeatureCache(max_entries=2)
    for word in ("a", "bb", "ccc", "a"):
        embeddings.compute([FeatureRequest(counting, word)])
    assert len(counting.calls) == 4
    assert len(embeddings._memory) == 2


def test_threads_make_it_once() -> None:
    class Slow(Counting):
        def extract(self, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
            time.sleep(0.1)  # while all others see that it is not cached yet
            return super().extract(things)

    slow, embeddings, together = Slow(), FeatureCache(), Barrier(8)

    def wished(_: int) -> None:
        together.wait()
        embeddings.compute([FeatureRequest(slow, "a")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(wished, range(8)))
    assert slow.calls == [1]


def test_one_bad_image_costs_only_itself(tmp_path: Path) -> None:
    Image.new("RGB", (7, 3)).save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"nothing")
    counting, shelf = Counting(), ImageCache()
    wishes = [FeatureRequest(counting, shelf.get_image(tmp_path / n)) for n in ("good.png", "bad.png")]
    found = FeatureCache().compute(wishes)
    assert values(found) == [7]
    assert [type(made) for made in found.values() if isinstance(made, Exception)] == [ImageError]


def test_a_model_that_fails_at_one_is_asked_about_each() -> None:
    counting = Counting(fails=RuntimeError("out of memory"))
    found = FeatureCache().compute([FeatureRequest(counting, word) for word in ("a", "bad", "ccc")])
    assert values(found) == [1, 3]
    assert counting.calls == [3, 1, 1, 1]


def test_missing_dependencies_are_returned_and_other_errors_raised() -> None:
    missing = Counting(fails=DependencyMissing("pip install it"))
    found = FeatureCache().compute([FeatureRequest(missing, word) for word in ("a", "bad")])
    assert [str(made) for made in found.values()] == ["pip install it"] * 2
    with pytest.raises(CrevalError, match="no such model"):
        FeatureCache().compute([FeatureRequest(Counting(fails=CrevalError("no such model")), "bad")])


def test_after_the_stop_signal_only_the_current_batch_is_finished(tmp_path: Path) -> None:
    embeddings = FeatureCache(FeatureCacheFile(tmp_path))

    class Interrupted(Counting):
        def extract(self, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
            embeddings.stop()
            return super().extract(things)

    words = ["a" * length for length in range(1, 12)]
    model = Interrupted()
    with pytest.raises(CrevalError, match="stopped"):
        embeddings.compute([FeatureRequest(model, word) for word in words])
    assert model.calls == [4]
    again = Counting()
    found = FeatureCache(FeatureCacheFile(tmp_path)).compute([FeatureRequest(again, word) for word in words])
    assert again.calls == [4, 3]
    assert values(found) == list(range(1, 12))
