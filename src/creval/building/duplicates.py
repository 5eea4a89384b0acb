"""Exact and near duplicates among source images, found with a perceptual hash.

An image's hash has 64 bits: the signs, relative to their median, of the 64 lowest frequencies (without the mean) of the
discrete cosine transform of the image in grey, scaled to 32 x 32. Saving an image in another format, quality or size
changes few bits. Two images are near duplicates if

- their hashes differ in at most `MAX_BITS` bits, or the hash of one differs in at most as many from that of a part of
  the other (parts with 80 to 95 % of each side, in the middle and at the edges), so that most crops are found; and
- after alignment (of that part), the two images at 24 x 24 pixels differ by at most a fifth in every pixel. This
  excludes images that only have similar hashes, such as two objects in front of the same background.

Each hash is looked up in an index of four bands of 16 bits. Hashes that differ in at most eleven bits differ in at most
two bits of some band, so none is missed. The time is linear in the number of images: only the first image of a group of
duplicates is indexed, at most `_MAX_BUCKET` images of an index entry are looked at, and an image is compared with at
most `MAX_CANDIDATES` images, those with the closest hashes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.concurrency import usable_cpu_count
from creval.core.errors import CrevalError, require_known
from creval.core.files import read_json, replace_lone_surrogates, write_json
from creval.core.formatting import pluralise
from creval.core.images import ImageError, file_digest, open_thumbnail
from creval.core.progress_line import ProgressLine, count_progress

HASH_FILE, _VERSION = "hashes.json", 1
KEEP, SKIP = "keep", "skip"
MODES = (KEEP, SKIP)
MAX_BITS = 11
MAX_CANDIDATES = 16
_MAX_BUCKET = 256
_BANDS, _BAND_BITS = 4, 16
_SIDE, _HASHED_SIDE, _COMPARED_SIDE = 96, 32, 24  # pixels
_PART_SIZES = (0.95, 0.9, 0.85, 0.8)
_ALIGNMENT_STEPS = (0.02, 0.01, 0.005)  # of a side
_MAX_ROUNDS = 6  # of each step
_MAX_DIFFERENCE = 0.2  # of any pixel of the aligned versions, of 1
_MIN_CONTRAST = 0.01  # standard deviation of a small version, of 1; below, an image has nothing to compare
_MAX_SHOWN = 8

Part = tuple[float, float, float, float]
"""Left, top, right and bottom of a part of an image, as shares of its sides."""
WHOLE: Part = (0.0, 0.0, 1.0, 1.0)
_PARTS: tuple[Part, ...] = tuple(
    (left, top, left + size, top + size)
    for size in _PART_SIZES
    for left, top in product((0.0, (1 - size) / 2, 1 - size), repeat=2)
)
_FREQUENCIES = sorted(product(range(_HASHED_SIDE), repeat=2), key=lambda one: (sum(one), one))[1:65]
_COSINES = np.cos(np.pi / _HASHED_SIDE * np.outer(np.arange(16), np.arange(_HASHED_SIDE) + 0.5))
_FLIPS = sorted({1 << one | 1 << other for one in range(_BAND_BITS) for other in range(_BAND_BITS)} | {0})
_BIT_VALUES = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))


class Duplicate(NamedTuple):
    """An image that is a duplicate of another one. `exact` if the files are equal."""

    name: str
    original: str
    exact: bool


@dataclass(frozen=True)
class DuplicateReport:
    """Duplicates among images. `skipped`: names of the images that the build leaves out.

    `hashes` contains the hashes of all images.
    """

    found: tuple[Duplicate, ...] = ()
    skipped: frozenset[str] = frozenset()
    hashes: HashFile | None = None

    def describe(self) -> list[str]:
        """Return notes about the duplicates for the user."""
        notes = []
        for skipped in (True, False):
            some = [one for one in self.found if (one.name in self.skipped) == skipped]
            if not some:
                continue
            shown = [f"{one.name} ({'same as' if one.exact else 'like'} {one.original})" for one in some[:_MAX_SHOWN]]
            more = f" and {len(some) - _MAX_SHOWN:,} more" if len(some) > _MAX_SHOWN else ""
            verb = "duplicates another image" if len(some) == 1 else "duplicate other images"
            done = "left out" if skipped else "kept; `duplicates` skip leaves out new ones"
            notes.append(f"{pluralise(len(some), 'image')} {verb}, {done}: {', '.join(shown)}{more}")
        return notes

    def as_record(self) -> list[dict[str, Any]]:
        """Return the duplicates for `build.json`."""
        return [{**one._asdict(), "skipped": one.name in self.skipped} for one in self.found]


class ImageHash(NamedTuple):
    """Digest of an image file, and the hashes of the image and of its parts.

    `hashes` is None for an almost plain image.
    """

    digest: str
    hashes: tuple[int, ...] | None


class HashFile:
    """Hashes of a build's images, in its folder's file `hashes.json`.

    A resumed build need not open the images again.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / HASH_FILE
        self._entries: dict[str, Any] = {}
        self._changed = False
        with suppress(CrevalError):  # without the file, images are opened again
            content = read_json(self.path) if self.path.is_file() else {}
            if isinstance(content, dict) and content.get("version") == _VERSION:
                self._entries = dict(content.get("images") or {})

    def get(self, name: str, path: Path) -> ImageHash | None:
        """Return the stored hash of an image. None if there is none, or if the file has changed since."""
        try:
            state, digest, text = self._entries[replace_lone_surrogates(name)]
            if state != _file_state(path):
                return None
            return ImageHash(str(digest), None if text is None else _parse_hashes(text))
        except (KeyError, TypeError, ValueError, OSError):
            return None

    def put(self, name: str, path: Path, found: ImageHash) -> None:
        with suppress(OSError):
            text = None if found.hashes is None else "".join(f"{value:016x}" for value in found.hashes)
            self._entries[replace_lone_surrogates(name)] = [_file_state(path), found.digest, text]
            self._changed = True

    def save(self) -> None:
        """Write `hashes.json` if a hash was added."""
        if self._changed:
            write_json(self.path, {"version": _VERSION, "images": self._entries})
            self._changed = False


def _file_state(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _parse_hashes(text: str) -> tuple[int, ...]:
    if len(text) != 16 * (1 + len(_PARTS)):
        raise ValueError("another number of hashes")
    return tuple(int(text[at : at + 16], 16) for at in range(0, len(text), 16))


def check_duplicates(
    images: Mapping[str, Path], mode: str = KEEP, existing: Collection[str] = (), folder: Path | None = None
) -> DuplicateReport:
    """Return the duplicates among images. `images` has the files by name.

    In each group of duplicates, one image counts as the original: an image that the benchmark already has (`existing`),
    otherwise the first by name. With `SKIP`, the other images of the group are left out unless they are `existing`.
    Stored hashes are read from the build's `folder`.
    """
    require_known("value of `duplicates`", mode, MODES)
    hashes = HashFile(folder) if folder else None
    found = find_duplicates(images, existing, hashes)
    skipped = {one.name for one in found if one.name not in existing} if mode == SKIP else set[str]()
    return DuplicateReport(tuple(found), frozenset(skipped), hashes)


def find_duplicates(
    images: Mapping[str, Path], first: Collection[str] = (), stored: HashFile | None = None
) -> list[Duplicate]:
    """Return the duplicates among images, sorted by name. Images that cannot be opened are ignored.

    The original of a group of duplicates is an image in `first`, otherwise the first by name.
    """
    hashes = _hash_images(images, stored)
    originals = dict[str, str]()  # by digest
    exact: list[Duplicate] = []
    distinct: dict[str, ImageHash] = {}
    for name in sorted(hashes, key=lambda name: (name not in first, name)):
        digest = hashes[name].digest
        if originals.setdefault(digest, name) == name:
            distinct[name] = hashes[name]
        else:
            exact.append(Duplicate(name, originals[digest], True))
    near = _find_near_duplicates(images, distinct)
    exact = [one._replace(original=near.get(one.original, one.original)) for one in exact]
    return sorted([*exact, *(Duplicate(name, original, False) for name, original in near.items())])


def _find_near_duplicates(images: Mapping[str, Path], hashes: Mapping[str, ImageHash]) -> dict[str, str]:
    """Return the original of each near duplicate, by the duplicate's name.

    The first image of a group is its original.
    """
    index = _HashIndex()
    indexed: dict[str, tuple[int, ...]] = {}
    groups: dict[str, str] = {}
    for name, found in hashes.items():
        if found.hashes is None:
            continue
        close = index.look_up(found.hashes[0])
        match = next((old for _, old in close if _is_same(images[name], WHOLE, images[old])), None)
        if match is None:
            indexed[name] = found.hashes
            index.add(name, found.hashes[0])
        else:
            groups[name] = match
    order = {name: at for at, name in enumerate(hashes)}
    for name, values in indexed.items():  # now all originals are indexed, so crops are found whichever comes first
        parts = zip(_PARTS, values[1:], strict=True)
        close_parts = [(*one, part) for part, value in parts for one in index.look_up(value) if one[1] != name]
        for _, other, part in sorted(close_parts)[:MAX_CANDIDATES]:
            one, two = (_root(groups, each) for each in (name, other))
            if one != two and _is_same(images[name], part, images[other]):
                early, late = sorted((one, two), key=lambda each: order[each])
                groups[late] = early
    return {name: _root(groups, name) for name in groups}


def _root(groups: Mapping[str, str], name: str) -> str:
    while name in groups:
        name = groups[name]
    return name


@dataclass
class _HashIndex:
    """Index of hashes by their bands of 16 bits."""

    _buckets: dict[tuple[int, int], list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, name: str, value: int) -> None:
        for key in _bands(value):
            self._buckets.setdefault(key, []).append((value, name))

    def look_up(self, value: int) -> list[tuple[int, str]]:
        """Return (bits, name) of the images whose hash differs in at most `MAX_BITS` bits, the closest first."""
        found: dict[str, int] = {}
        for band, bits in _bands(value):
            for flips in _FLIPS:
                for other, name in self._buckets.get((band, bits ^ flips), ())[:_MAX_BUCKET]:
                    distance = (other ^ value).bit_count()
                    if distance <= MAX_BITS:
                        found[name] = distance
        return sorted((distance, name) for name, distance in found.items())[:MAX_CANDIDATES]


def _bands(value: int) -> Iterator[tuple[int, int]]:
    for band in range(_BANDS):
        yield band, value >> band * _BAND_BITS & (1 << _BAND_BITS) - 1


def _hash_images(images: Mapping[str, Path], stored: HashFile | None) -> dict[str, ImageHash]:
    """Return the hashes of images, without those that cannot be read."""
    found = {name: old for name, path in images.items() if stored and (old := stored.get(name, path))}
    new = [name for name in images if name not in found]
    with ThreadPoolExecutor(usable_cpu_count()) as pool, ProgressLine() as line:
        watch = count_progress(line, "images compared")
        for done, (name, one) in enumerate(
            zip(new, pool.map(hash_image, (images[name] for name in new)), strict=True), 1
        ):
            watch(done, len(new))
            if one is not None:
                found[name] = one
                if stored:
                    stored.put(name, images[name], one)
    return found


def hash_image(path: Path) -> ImageHash | None:
    """Return the hashes of an image and of its parts. None if it cannot be read.

    An image with almost only one colour has no hashes, because there is nothing to compare.
    """
    try:
        digest = file_digest(path)
        grey = _small_version(path).convert("L")
    except ImageError:
        return None
    if np.asarray(grey).std() < 255 * _MIN_CONTRAST:
        return ImageHash(digest, None)
    pixels = [_scaled(grey, part, _HASHED_SIDE) for part in (WHOLE, *_PARTS)]
    return ImageHash(digest, tuple(map(int, _hash_pixels(pixels))))


def _hash_pixels(pixels: Sequence[NDArray[np.float64]]) -> NDArray[np.uint64]:
    size = 1 + max(max(one) for one in _FREQUENCIES)
    cosines = _COSINES[:size]
    transformed = cosines @ np.stack(pixels) @ cosines.T
    rows, columns = zip(*_FREQUENCIES, strict=True)
    low = transformed[:, rows, columns]
    bits = low > np.median(low, axis=1, keepdims=True)
    found: NDArray[np.uint64] = (bits * _BIT_VALUES).sum(axis=1, dtype=np.uint64)
    return found


def _small_version(path: Path) -> Image.Image:
    try:
        return _load_small_version(path, *_file_state(path))
    except OSError as error:
        raise ImageError(f"{path} cannot be read: {error.strerror or error}.") from error


@lru_cache(maxsize=2048)
def _load_small_version(path: Path, size: int, modified_ns: int) -> Image.Image:  # noqa: ARG001 (part of the key)
    return open_thumbnail(path, 2 * _SIDE, fast=True).resize((_SIDE, _SIDE), Image.Resampling.BOX)


def _scaled(image: Image.Image, part: Part, side: int) -> NDArray[np.float64]:
    left, top, right, bottom = part
    box = (left * image.width, top * image.height, right * image.width, bottom * image.height)
    return np.asarray(image.resize((side, side), Image.Resampling.BILINEAR, box), dtype=np.float64) / 255


def _is_same(path: Path, part: Part, other: Path) -> bool:
    """Return whether a part of an image, after alignment, looks like another image."""
    try:
        image, wanted = _small_version(path), _scaled(_small_version(other), WHOLE, _COMPARED_SIDE)
    except ImageError:
        return False
    if wanted.std() < _MIN_CONTRAST:
        return False
    found = _scaled(image, _align(image, part, wanted), _COMPARED_SIDE)
    return bool(np.abs(found - wanted).max() <= _MAX_DIFFERENCE)


def _align(image: Image.Image, part: Part, wanted: NDArray[np.float64]) -> Part:
    """Return the part of an image, near the given part, that is most similar to the `wanted` pixels."""

    def distance(one: Part) -> float:
        return float(np.abs(_scaled(image, one, _COMPARED_SIDE) - wanted).mean())

    best, least = part, distance(part)
    for step in _ALIGNMENT_STEPS:
        for _ in range(_MAX_ROUNDS):
            before = least
            for side, change in product(range(4), (-step, step)):
                moved = [*best]
                moved[side] = min(1.0, max(0.0, moved[side] + change))
                left, top, right, bottom = moved
                if (found := distance((left, top, right, bottom))) < least:
                    best, least = (left, top, right, bottom), found
            if least == before:
                break
    return best
