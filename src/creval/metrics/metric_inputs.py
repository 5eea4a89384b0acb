"""The inputs of a metric: an edit with the images and captions of its sample. Each image is decoded once."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock, local
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.images import MAX_PIXELS, ImageError, file_digest, open_image, open_mask, read_image_size
from creval.core.sample import Sample

MASK_THRESHOLD = 128
"""Mask pixels above this value belong to the region to edit."""
PIXELS_PER_BATCH = 32_000_000
"""Maximum number of pixels in a thread's batch of images. The images of a single edit may exceed it."""
HEIGHT = 1024
"""Height of images for metrics without a reference image, as in ICE-Bench."""
EMPTY_MASK = "the mask marks no region"
_MAX_FILES = 1024  # number of files whose digests are cached
Mask = NDArray[np.uint8]
"""An array of the image's size: 255 for pixels that count, 0 elsewhere."""


class NotMeasurable(Exception):  # noqa: N818
    """The metric does not apply to the edit.

    `about` is the object in the image that the reason refers to. `values` are those values of the metric that could be
    measured.
    """

    def __init__(self, reason: str, about: str = "", values: Mapping[str, float] = MappingProxyType({})) -> None:
        super().__init__(reason)
        self.about, self.values = about, values


class NonFiniteResult(Exception):  # noqa: N818
    """A model or formula returned NaN or infinity for an edit."""

    def __init__(self, reason: str = "the model returned no finite number") -> None:
        super().__init__(reason)


class LazyImage:
    """An RGB image from a file or derived from other images, decoded when it is first used.

    `digest` identifies the image's content. `pixel_count` is 0 for an unreadable file.
    """

    def __init__(
        self,
        key: str,
        cache: ImageCache,
        compute_digest: Callable[[], str],
        load: Callable[[], Image.Image],
        count_pixels: Callable[[], int] = int,
    ) -> None:
        self._key, self._cache = key, cache
        self._compute_digest, self._load, self._count_pixels = compute_digest, load, count_pixels

    @cached_property
    def digest(self) -> str:
        return self._compute_digest()

    @cached_property
    def pixel_count(self) -> int:
        return self._count_pixels()

    @property
    def image(self) -> Image.Image:
        return self._cache.get_or_load(self._key, self._load)


class ImageWithContext(LazyImage):
    """An image that is processed together with another image or a text."""

    def __init__(self, image: LazyImage, context: LazyImage | str) -> None:
        self._image, self.context = image, context

    @cached_property
    def digest(self) -> str:
        other = self.context if isinstance(self.context, str) else self.context.digest
        return _combine_digests(self._image.digest, other)

    @property
    def image(self) -> Image.Image:
        return self._image.image


class ImageCache:
    """Cache of the most recently used decoded images, up to `max_pixels`. Thread-safe."""

    def __init__(self, max_pixels: int = PIXELS_PER_BATCH) -> None:
        self._max_pixels, self._cached_pixels = max_pixels, 0
        self._images: OrderedDict[str, Future[Image.Image]] = OrderedDict()
        self._files: OrderedDict[str, LazyImage] = OrderedDict()
        self._pin_counts: Counter[str] = Counter()
        self._thread_local = local()
        self._lock = Lock()

    def get_image(self, path: Path, open_: Callable[[Path], Image.Image] = open_image) -> LazyImage:
        """Return the image in a file. All callers get the same object, so the file is read and decoded once."""
        key = f"{path}\x1f{open_.__name__}"
        with self._lock:
            if key not in self._files:
                self._files[key] = LazyImage(
                    key, self, lambda: file_digest(path), lambda: open_(path), lambda: _count_file_pixels(path)
                )
                if len(self._files) > _MAX_FILES:
                    self._files.popitem(last=False)
            return self._files[key]

    def get_or_load(self, key: str, load: Callable[[], Image.Image]) -> Image.Image:
        """Return the image with this key. If it is not cached, one thread loads it and other threads wait for it."""
        with self._lock:
            needed: set[str] | None = getattr(self._thread_local, "needed", None)
            if needed is not None and key not in needed:
                needed.add(key)
                self._pin_counts[key] += 1
            cached = self._images.get(key)
            if cached is not None:
                self._images.move_to_end(key)
            else:
                future = self._images[key] = Future[Image.Image]()
        if cached is not None:
            return cached.result()
        try:
            image = load()
        except BaseException as error:
            with self._lock:
                del self._images[key]
            future.set_exception(error)
            raise
        future.set_result(image)
        with self._lock:
            self._cached_pixels += _count_pixels(image)
            self._evict(key)
        return image

    @contextmanager
    def pin_images(self) -> Iterator[None]:
        """Keep all images cached that this thread uses inside the `with` block, even beyond `max_pixels`."""
        self._thread_local.needed = set[str]()
        try:
            yield
        finally:
            with self._lock:
                self._pin_counts -= Counter(self._thread_local.needed)
                self._thread_local.needed = None
                self._evict()

    def _evict(self, new: str = "") -> None:
        """Remove the least recently used images until the rest fit in the cache."""
        for old, future in list(self._images.items()) if self._cached_pixels > self._max_pixels else ():
            if old != new and old not in self._pin_counts and future.done():
                del self._images[old]
                self._cached_pixels -= _count_pixels(future.result())
                if self._cached_pixels <= self._max_pixels:
                    break


class MetricInputs:
    """An edit with the inputs of its sample: source, references, mask and captions.

    Access to an input that the sample lacks raises `NotMeasurable`; a missing mask is None. `parameters` are the
    parameters of the `Measurement`. `used_files` are the files that were accessed so far, by role.
    """

    def __init__(
        self,
        sample: Sample,
        edit: Path,
        image_cache: ImageCache | None = None,
        parameters: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.sample, self.parameters = sample, parameters
        self.used_files: dict[str, tuple[Path, LazyImage]] = {}
        self.edit_path, self.image_cache = edit, image_cache or ImageCache()

    @property
    def edit(self) -> LazyImage:
        return self._open_input("edit", self.edit_path)

    @property
    def source(self) -> LazyImage:
        if self.sample.source is None:
            raise NotMeasurable("the sample has no source to compare with")
        return self._open_input("source", self.sample.source)

    @property
    def reference(self) -> LazyImage:
        """The first reference. Further references are not used."""
        if not self.sample.references:
            raise NotMeasurable("the sample has no reference to compare with")
        return self._open_input("references", self.sample.references[0])

    @property
    def mask(self) -> LazyImage | None:
        """The mask of the region to edit, or None."""
        if self.sample.mask is None:
            return None
        return self._open_input("mask", self.sample.mask, open_mask)

    def caption(self, which: str) -> str:
        """Return the caption of the `source` or the `target`."""
        text = self.sample.captions.get(which, "").strip()
        if not text:
            raise NotMeasurable(f"the sample has no caption of the {which}")
        return text

    def edit_at_source_size(self) -> LazyImage:
        """Return the edit scaled to the size of its source."""
        edit, source = self.edit, self.source
        if edit.image.size == source.image.size:
            return edit
        size = source.image.size
        return LazyImage(
            f"{self.edit_path}\x1f{size[0]}x{size[1]}",
            self.image_cache,
            lambda: _combine_digests(edit.digest, *map(str, size)),
            lambda: resize_bicubic(edit.image, size),
        )

    def editable_region(self, size: tuple[int, int]) -> Mask | None:
        """Return the region to edit, scaled to an image size. Returns None if there is no mask."""
        mask = self.mask
        return None if mask is None else _threshold_mask(mask.image, size)

    def masked_edit(self) -> LazyImage:
        """Return the edit with white outside the mask's region.

        Returns the edit itself if there is no mask. Decoding raises `NotMeasurable` if the mask is empty.
        """
        edit, mask = self.edit, self.mask
        if mask is None:
            return edit

        def make() -> Image.Image:
            region = _threshold_mask(mask.image, edit.image.size)
            if not region.any():
                raise NotMeasurable(EMPTY_MASK)
            white = Image.new("RGB", edit.image.size, (255, 255, 255))
            return Image.composite(edit.image, white, Image.fromarray(region))

        key = f"{self.edit_path}\x1f{self.sample.mask}"
        return LazyImage(key, self.image_cache, lambda: _combine_digests("region", edit.digest, mask.digest), make)

    def pixel_counts(self) -> dict[str, int]:
        """Return the number of pixels of each image that metrics may decode for this edit, by the image's cache key."""
        sample = self.sample
        paths = (self.edit_path, sample.source, sample.mask, *sample.references[:1])
        found = {str(path): self.image_cache.get_image(path).pixel_count for path in paths if path is not None}
        # Derived images: the edit in its source's size, and its masked region.
        edit, source = found[str(self.edit_path)], found.get(str(sample.source), 0)
        derived = (source if source != edit else 0) + (edit if sample.mask is not None else 0)
        return found | {f"{self.edit_path}\x1f": derived}

    def _open_input(self, role: str, path: Path, open_: Callable[[Path], Image.Image] = open_image) -> LazyImage:
        image = self.image_cache.get_image(path, open_)
        self.used_files[role] = path, image
        return image


def resize_bicubic(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Return an image scaled to a size, bicubic as in the benchmarks' own code."""
    return image if image.size == size else image.resize(size, Image.Resampling.BICUBIC)


def resize_to_height(image: Image.Image) -> Image.Image:
    """Return an image scaled to a height of 1024 pixels, as in ICE-Bench."""
    width, height = image.size
    wide = max(1, width * HEIGHT // height)
    if wide * HEIGHT > MAX_PIXELS:
        raise NotMeasurable(f"the edit is too wide: scaled to a height of {HEIGHT}, it exceeds the pixel limit")
    return resize_bicubic(image, (wide, HEIGHT))


def _threshold_mask(mask: Image.Image, size: tuple[int, int]) -> Mask:
    return np.where(np.asarray(resize_bicubic(mask, size)) > MASK_THRESHOLD, 255, 0).astype(np.uint8)


def _count_pixels(image: Image.Image) -> int:
    return image.size[0] * image.size[1]


def _count_file_pixels(path: Path) -> int:
    try:
        width, height = read_image_size(path)
    except ImageError:
        return 0
    return width * height


def _combine_digests(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
