"""An edit as gauges look at it: with the pictures and texts of its sample, each decoded once."""

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

from creval.core.images import ImageError, digest, open_image, open_mask, size_of
from creval.core.sample import Sample

REGION = 128
"""A mask's pixels above this belong to the region that is to be edited."""
PIXELS = 32_000_000
"""Of the pictures that one thread has before it; one edit's may have more."""
NO_REGION = "the mask marks no region"
_FILES = 1024  # whose digests are remembered
Mask = NDArray[np.uint8]
"""255 where pixels count, 0 where they do not; as high and wide as the picture."""


class Unmeasured(Exception):  # noqa: N818
    """That there is nothing to measure in an edit, why, and what it is about; and the `values` of
    the same gauge that could be measured nevertheless."""

    def __init__(
        self, reason: str, about: str = "", values: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        super().__init__(reason)
        self.about, self.values = about, values


class NoNumber(Exception):  # noqa: N818
    """That a model, or a formula, gave no number for an edit."""

    def __init__(self, reason: str = "the model gave no number") -> None:
        super().__init__(reason)


class Picture:
    """A picture that can be looked at: a file's, or one made of others.

    `digest` names its content, `image` is what is to be seen, in RGB; `pixels` are as many as its
    file says, and none where that cannot be read.
    """

    def __init__(
        self,
        key: str,
        shelf: Shelf,
        of: Callable[[], str],
        make: Callable[[], Image.Image],
        count: Callable[[], int] = int,
    ) -> None:
        self._key, self._shelf = key, shelf
        self._of, self._make, self._count = of, make, count

    @cached_property
    def digest(self) -> str:
        return self._of()

    @cached_property
    def pixels(self) -> int:
        return self._count()

    @property
    def image(self) -> Image.Image:
        return self._shelf.take(self._key, self._make)


class Beside(Picture):
    """A picture that is looked at together with another, or with words."""

    def __init__(self, picture: Picture, other: Picture | str) -> None:
        self._picture, self.other = picture, other

    @cached_property
    def digest(self) -> str:
        other = self.other if isinstance(self.other, str) else self.other.digest
        return _joined(self._picture.digest, other)

    @property
    def image(self) -> Image.Image:
        return self._picture.image


class Shelf:
    """The pictures that were used last, decoded, up to so many pixels; for several threads."""

    def __init__(self, most: int = PIXELS) -> None:
        self._most, self._pixels = most, 0
        self._held: OrderedDict[str, Future[Image.Image]] = OrderedDict()
        self._files: OrderedDict[str, Picture] = OrderedDict()
        self._needed: Counter[str] = Counter()
        self._thread = local()
        self._lock = Lock()

    def file(self, path: Path, open_: Callable[[Path], Image.Image] = open_image) -> Picture:
        """The picture in a file, which is read and decoded once by all who ask for it."""
        key = f"{path}\x1f{open_.__name__}"
        with self._lock:
            if key not in self._files:
                self._files[key] = Picture(
                    key, self, lambda: digest(path), lambda: open_(path), lambda: _counted(path)
                )
                if len(self._files) > _FILES:
                    self._files.popitem(last=False)
            return self._files[key]

    def take(self, key: str, make: Callable[[], Image.Image]) -> Image.Image:
        """The picture under a key; where it is not there, it is made, by one thread only."""
        with self._lock:
            needed: set[str] | None = getattr(self._thread, "needed", None)
            if needed is not None and key not in needed:
                needed.add(key)
                self._needed[key] += 1
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
            self._clear(key)
        return image

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Until its end, what this thread takes stays, even where there is no room."""
        self._thread.needed = set[str]()
        try:
            yield
        finally:
            with self._lock:
                self._needed -= Counter(self._thread.needed)
                self._thread.needed = None
                self._clear()

    def _clear(self, new: str = "") -> None:
        """Let go of what was used longest ago, until all finds room."""
        for old, there in list(self._held.items()) if self._pixels > self._most else ():
            if old != new and old not in self._needed and there.done():
                del self._held[old]
                self._pixels -= _pixels(there.result())
                if self._pixels <= self._most:
                    break


class Exhibit:
    """An edit, and what its sample brings to measure it with.

    What a sample does not have raises `Unmeasured`. `parameters` are the measurement's own; `used`
    are the files that were looked at, by what they show; `path` is the edit's.
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
        self.path, self.shelf = edit, shelf or Shelf()

    @property
    def edit(self) -> Picture:
        return self._file("edit", self.path)

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
            f"{self.path}\x1f{size[0]}x{size[1]}",
            self.shelf,
            lambda: _joined(edit.digest, *map(str, size)),
            lambda: scaled(edit.image, size),
        )

    def region(self, size: tuple[int, int]) -> Mask | None:
        """255 where the mask lets edit, in a picture of this size; none without a mask."""
        mask = self.mask
        return None if mask is None else _region(mask.image, size)

    def edited_region(self) -> Picture:
        """The edit with white around the region that is to be edited; all of it without a mask.

        To look at it where the mask marks nothing raises `Unmeasured`.
        """
        edit, mask = self.edit, self.mask
        if mask is None:
            return edit

        def make() -> Image.Image:
            region = _region(mask.image, edit.image.size)
            if not region.any():
                raise Unmeasured(NO_REGION)
            white = Image.new("RGB", edit.image.size, (255, 255, 255))
            return Image.composite(edit.image, white, Image.fromarray(region))

        key = f"{self.path}\x1f{self.sample.mask}"
        return Picture(key, self.shelf, lambda: _joined("region", edit.digest, mask.digest), make)

    def pixels(self) -> dict[str, int]:
        """Of each picture that can be looked at here, by a name for it."""
        sample = self.sample
        paths = (self.path, sample.source, sample.mask, *sample.references[:1])
        found = {str(path): self.shelf.file(path).pixels for path in paths if path is not None}
        # What is made of them: the edit in its source's size, and its edited region.
        edit, source = found[str(self.path)], found.get(str(sample.source), 0)
        again = (source if source != edit else 0) + (edit if sample.mask is not None else 0)
        return found | {f"{self.path}\x1f": again}

    def _file(
        self, shows: str, path: Path, open_: Callable[[Path], Image.Image] = open_image
    ) -> Picture:
        picture = self.shelf.file(path, open_)
        self.used[shows] = path, picture
        return picture


def scaled(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """A picture in another size; bicubic, as the authors of the benchmarks do it."""
    return picture if picture.size == size else picture.resize(size, Image.Resampling.BICUBIC)


def _region(mask: Image.Image, size: tuple[int, int]) -> Mask:
    return np.where(np.asarray(scaled(mask, size)) > REGION, 255, 0).astype(np.uint8)


def _pixels(image: Image.Image) -> int:
    return image.size[0] * image.size[1]


def _counted(path: Path) -> int:
    try:
        width, height = size_of(path)
    except ImageError:
        return 0
    return width * height


def _joined(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
