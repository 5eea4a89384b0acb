"""An edit as gauges look at it: with the pictures and texts of its sample, each decoded once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.images import digest, open_image, open_mask
from creval.core.sample import Sample

REGION = 128
"""A mask's pixels above this belong to the region that is to be edited."""
_FILES = 1024  # whose digests are remembered
Mask = NDArray[np.uint8]
"""255 where pixels count, 0 where they do not; as high and wide as the picture."""


class Unmeasured(Exception):  # noqa: N818
    """That there is nothing to measure in an edit, why, and what it is about."""

    def __init__(self, reason: str, about: str = "") -> None:
        super().__init__(reason)
        self.about = about


class Picture:
    """A picture that can be looked at: a file's, or one made of others.

    `digest` names its content, `image` is what is to be seen, in RGB.
    """

    def __init__(
        self, key: str, shelf: Shelf, of: Callable[[], str], make: Callable[[], Image.Image]
    ) -> None:
        self._key, self._shelf = key, shelf
        self._of, self._make = of, make

    @cached_property
    def digest(self) -> str:
        return self._of()

    @property
    def image(self) -> Image.Image:
        return self._shelf.take(self._key, self._make)


class Shelf:
    """The pictures that were used last, decoded, up to so many pixels; for several threads."""

    def __init__(self, most: int = 32_000_000) -> None:
        self._most, self._pixels = most, 0
        self._held: OrderedDict[str, Future[Image.Image]] = OrderedDict()
        self._files: OrderedDict[str, Picture] = OrderedDict()
        self._lock = Lock()

    def file(self, path: Path, open_: Callable[[Path], Image.Image] = open_image) -> Picture:
        """The picture in a file, which is read and decoded once by all who ask for it."""
        key = f"{path}\x1f{open_.__name__}"
        with self._lock:
            if key not in self._files:
                made = Picture(key, self, lambda: digest(path), lambda: open_(path))
                self._files[key] = made
                if len(self._files) > _FILES:
                    self._files.popitem(last=False)
            return self._files[key]

    def take(self, key: str, make: Callable[[], Image.Image]) -> Image.Image:
        """The picture under a key; where it is not there, it is made, by one thread only."""
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
            else:
                mine = self._held[key] = Future[Image.Image]()
        if held is not None:
            return held.result()
        try:
            image = make()
        except BaseException as error:
            with self._lock:
                del self._held[key]
            mine.set_exception(error)
            raise
        mine.set_result(image)
        with self._lock:
            self._pixels += _pixels(image)
            for old, there in list(self._held.items()):
                if self._pixels <= self._most or old == key:
                    break
                if there.done():
                    del self._held[old]
                    self._pixels -= _pixels(there.result())
        return image


class Exhibit:
    """An edit, and what its sample brings to measure it with.

    What a sample does not have raises `Unmeasured`. `parameters` are the measurement's own; `used`
    are the files that were looked at, by what they show.
    """

    def __init__(
        self,
        sample: Sample,
        edit: Path,
        shelf: Shelf | None = None,
        parameters: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.sample, self.parameters = sample, parameters
        self.used: dict[str, tuple[Path, Picture]] = {}
        self._edit, self._shelf = edit, shelf or Shelf()

    @property
    def edit(self) -> Picture:
        return self._file("edit", self._edit)

    @property
    def source(self) -> Picture:
        if self.sample.source is None:
            raise Unmeasured("there is no source to compare with")
        return self._file("source", self.sample.source)

    @property
    def reference(self) -> Picture:
        """The first reference: others are not measured."""
        if not self.sample.references:
            raise Unmeasured("there is no reference to compare with")
        return self._file("references", self.sample.references[0])

    @property
    def mask(self) -> Picture | None:
        """The region that is to be edited, where the sample says so."""
        if self.sample.mask is None:
            return None
        return self._file("mask", self.sample.mask, open_mask)

    def caption(self, of: str) -> str:
        """What the source shows, or what the target is to show."""
        text = self.sample.captions.get(of, "").strip()
        if not text:
            raise Unmeasured(f"there is no caption of the {of}")
        return text

    def aligned(self) -> Picture:
        """The edit in its source's size."""
        edit, source = self.edit, self.source
        if edit.image.size == source.image.size:
            return edit
        size = source.image.size
        return Picture(
            f"{self._edit}\x1f{size[0]}x{size[1]}",
            self._shelf,
            lambda: _joined(edit.digest, *map(str, size)),
            lambda: scaled(edit.image, size),
        )

    def region(self, size: tuple[int, int]) -> Mask | None:
        """255 where the mask lets edit, in a picture of this size; none without a mask."""
        mask = self.mask
        return None if mask is None else _region(mask.image, size)

    def edited_region(self) -> Picture:
        """The edit with white around the region that is to be edited; all of it without a mask."""
        edit, mask = self.edit, self.mask
        if mask is None:
            return edit

        def make() -> Image.Image:
            region = Image.fromarray(_region(mask.image, edit.image.size))
            white = Image.new("RGB", edit.image.size, (255, 255, 255))
            return Image.composite(edit.image, white, region)

        key = f"{self._edit}\x1f{self.sample.mask}"
        return Picture(key, self._shelf, lambda: _joined(edit.digest, mask.digest), make)

    def _file(
        self, shows: str, path: Path, open_: Callable[[Path], Image.Image] = open_image
    ) -> Picture:
        picture = self._shelf.file(path, open_)
        self.used[shows] = path, picture
        return picture


def scaled(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """A picture in another size; bicubic, as the authors of the benchmarks do it."""
    return picture if picture.size == size else picture.resize(size, Image.Resampling.BICUBIC)


def _region(mask: Image.Image, size: tuple[int, int]) -> Mask:
    return np.where(np.asarray(scaled(mask, size)) > REGION, 255, 0).astype(np.uint8)


def _pixels(image: Image.Image) -> int:
    return image.size[0] * image.size[1]


def _joined(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
