"""The run's own pictures, as a browser may have them.

A picture is looked up in the run by what it shows; no path comes from outside. What is sent was
opened as a picture first: the file's own bytes where it is an upright JPEG, PNG or WebP, and a PNG
made of it otherwise. Thumbnails are made when they are first wanted and kept in memory for a while.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from creval.core.edit import EditKey
from creval.core.formatting import visible
from creval.core.images import ImageError, encode, open_image
from creval.core.sample import Sample
from creval.store.lookup import CloseUp

SIDES = {"small": 160, "medium": 640}
"""The longest side of a thumbnail of each size, in pixels."""
SOURCE, MASK, REFERENCE, BEFORE = "source", "mask", "reference", "before"
_MOST = 64 << 20  # bytes of thumbnails


class Served(NamedTuple):
    """A picture's type and bytes, and a name for the file's state that it was made from."""

    media: str
    content: bytes
    tag: str


def edit_name(edit: EditKey) -> str:
    """How an address names an edit of a sample: `DRAW:SYSTEM`."""
    return f"{edit.draw}:{edit.system}"


def before_name(edit: EditKey, place: int) -> str:
    """How an address names a picture on the way to an edit: `before:PLACE:DRAW:SYSTEM`."""
    return f"{BEFORE}:{place}:{edit_name(edit)}"


def path_of(run: CloseUp, sample: Sample, name: str) -> Path | None:
    """Where a picture of a sample lies, as the run says, or none where it has no such picture."""
    if name == SOURCE:
        return sample.source
    if name == MASK:
        return sample.mask
    kind, _, rest = name.partition(":")
    if kind == REFERENCE:
        number = _number(rest)
        there = number is not None and number < len(sample.references)
        return sample.references[number or 0] if there else None
    place = None
    if kind == BEFORE:
        first, _, rest = rest.partition(":")
        place = _number(first)
        if place is None:
            return None
        kind, _, rest = rest.partition(":")
    draw = _number(kind)
    if draw is None:
        return None
    key = EditKey(rest, sample.id, draw)
    return run.picture(key) if place is None else run.picture_before(key, place)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def state_of_file(path: Path) -> str:
    """A name for a file's state; empty where there is no file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ""
    return f'"{found.st_mtime_ns:x}-{found.st_size:x}"'


class Pictures:
    """Pictures for browsers. Few are opened at a time, so that pages stay quick meanwhile."""

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._held = most, 0
        self._kept: OrderedDict[tuple[Path, str, str], Served] = OrderedDict()
        self._lock, self._turns = threading.Lock(), threading.Semaphore(2)

    def get(self, path: Path, size: str = "") -> Served:
        """The picture in a file, whole or as a thumbnail. What is no picture raises ImageError."""
        tag = state_of_file(path)
        if not size:
            with self._turns:
                sent = encode(path)
            return Served(sent.media, sent.content, tag)
        key = path, tag, size
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        with self._turns:
            made = Served("image/jpeg", _thumbnail(path, SIDES[size]), tag)
        self._keep(key, made)
        return made

    def answer(self, request: Request, path: Path, size: str) -> Response:
        """What a browser that asks for this picture gets."""
        tag = state_of_file(path)
        if tag and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        try:
            served = self.get(path, size)
        except (ImageError, OSError) as error:
            return PlainTextResponse(f"{visible(str(error))}\n", 404)
        return Response(served.content, media_type=served.media, headers={"ETag": served.tag})

    def _keep(self, key: tuple[Path, str, str], made: Served) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._held += len(made.content)
            while self._held > self._most:
                _, dropped = self._kept.popitem(last=False)
                self._held -= len(dropped.content)


def _thumbnail(path: Path, side: int) -> bytes:
    image = open_image(path)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    sent = io.BytesIO()
    image.save(sent, "JPEG", quality=85)
    return sent.getvalue()
