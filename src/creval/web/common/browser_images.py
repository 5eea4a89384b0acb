"""Images of a run, encoded for browsers.

An image is found in the run by its role (source, mask, edit ...); a request never contains a path. The image is decoded
before it is sent. An upright JPEG, PNG or WebP is sent unchanged, other images as PNG. Thumbnails are cached in memory.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from creval.core.edit_record import EditKey
from creval.core.formatting import escape_control
from creval.core.images import ImageError, encode_image, open_thumbnail
from creval.core.sample import Sample
from creval.store.lookup import RunLookup

THUMBNAIL_SIDES = {"small": 160, "medium": 640}
"""The longest side of a thumbnail of each size, in pixels."""
SOURCE, MASK, REFERENCE, ANCESTOR = "source", "mask", "reference", "before"
_MAX_CACHE_BYTES = 64 << 20  # of thumbnails


class ServedImage(NamedTuple):
    """Media type and bytes of an image, and the ETag of its file."""

    media: str
    content: bytes
    etag: str


def edit_image_name(edit: EditKey) -> str:
    """Return the name of an edit of a sample in URLs: `DRAW:MODEL`."""
    return f"{edit.draw}:{edit.model}"


def ancestor_image_name(edit: EditKey, position: int) -> str:
    """Return the name of an intermediate image of an edit in URLs: `before:POSITION:DRAW:MODEL`."""
    return f"{ANCESTOR}:{position}:{edit_image_name(edit)}"


def find_image_path(run: RunLookup, sample: Sample, name: str) -> Path | None:
    """Return the path of an image of a sample. Returns None if the run has no such image."""
    if name == SOURCE:
        return sample.source
    if name == MASK:
        return sample.mask
    kind, _, rest = name.partition(":")
    if kind == REFERENCE:
        number = _parse_number(rest)
        exists = number is not None and number < len(sample.references)
        return sample.references[number or 0] if exists else None
    place = None
    if kind == ANCESTOR:
        first, _, rest = rest.partition(":")
        place = _parse_number(first)
        if place is None:
            return None
        kind, _, rest = rest.partition(":")
    draw = _parse_number(kind)
    if draw is None:
        return None
    key = EditKey(rest, sample.id, draw)
    return run.image_path(key) if place is None else run.ancestor_image_path(key, place)


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def file_etag(path: Path) -> str:
    """Return an ETag for the state of a file, or "" if the file does not exist."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ""
    return f'"{found.st_mtime_ns:x}-{found.st_size:x}-{found.st_ino:x}-{found.st_ctime_ns:x}"'


class BrowserImages:
    """Encoded images and a cache of thumbnails. At most two images are decoded at a time, so that pages stay fast."""

    def __init__(self, max_bytes: int = _MAX_CACHE_BYTES) -> None:
        self._max_bytes, self._cached_bytes = max_bytes, 0
        self._cache: OrderedDict[tuple[Path, str, str], ServedImage] = OrderedDict()
        self._lock, self._decode_slots = threading.Lock(), threading.Semaphore(2)

    def get(self, path: Path, size: str = "") -> ServedImage:
        """Return the image in a file, in full or as a thumbnail. Raises ImageError if the file is not an image."""
        tag = file_etag(path)
        if not size:
            with self._decode_slots:
                sent = encode_image(path)
            return ServedImage(sent.media_type, sent.content, tag)
        key = path, tag, size
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        with self._decode_slots:
            made = ServedImage("image/jpeg", _encode_thumbnail(path, THUMBNAIL_SIDES[size]), tag)
        self._add_to_cache(key, made)
        return made

    def respond(self, request: Request, path: Path, size: str) -> Response:
        """Return the response to a request for an image."""
        tag = file_etag(path)
        if tag and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        try:
            served = self.get(path, size)
        except (ImageError, OSError) as error:
            return PlainTextResponse(f"{escape_control(str(error))}\n", 404)
        return Response(served.content, media_type=served.media, headers={"ETag": served.etag})

    def _add_to_cache(self, key: tuple[Path, str, str], made: ServedImage) -> None:
        with self._lock:
            if key not in self._cache:
                self._cache[key] = made
                self._cached_bytes += len(made.content)
            while self._cached_bytes > self._max_bytes:
                _, dropped = self._cache.popitem(last=False)
                self._cached_bytes -= len(dropped.content)


def _encode_thumbnail(path: Path, side: int) -> bytes:
    image = open_thumbnail(path, side)
    sent = io.BytesIO()
    image.save(sent, "JPEG", quality=85)
    return sent.getvalue()
