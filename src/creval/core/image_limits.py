"""Limits of images that others made: bytes of a file, steps of its header, pixels of all that are at work."""

from __future__ import annotations

import io
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

MAX_IMAGE_BYTES = 256 << 20
"""The bytes of an image file."""
MAX_PIXELS_AT_WORK = 128_000_000
"""The pixels of all images that are decoded and not yet done with; an image that has more waits to be alone."""
MAX_PARTS = 10_000
"""The steps in which a header is read; it takes tens."""
BYTES_PER_PART = 256
"""The bytes of a file's parts after its header, at least, on average."""
_MAX_EXIF_BYTES = 1 << 16  # of a JPEG's usual EXIF, which may refer to all of itself in each of its entries
_MAX_JPEG_EXIF_BYTES = 1 << 20  # of all parts of a JPEG's EXIF
_MAX_TAG_BYTES = 16 << 20  # of all that the entries of larger EXIF refer to
_TAG_BYTES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}  # of a value, by its type; else 1


class PixelBudget:
    """Pixels that may be decoded at a time, shared by all threads."""

    def __init__(self, pixels: int) -> None:
        self._pixels = self._free = pixels
        self._changed = threading.Condition()
        self._thread = threading.local()

    @contextmanager
    def reserve(self, pixels: int) -> Iterator[None]:
        """Wait until there is room for so many pixels. A thread that has reserved some reserves no more inside."""
        if getattr(self._thread, "inside", False):
            yield
            return
        pixels = min(pixels, self._pixels)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= pixels)
            self._free -= pixels
        self._thread.inside = True
        try:
            yield
        finally:
            self._thread.inside = False
            with self._changed:
                self._free += pixels
                self._changed.notify_all()


pixel_budget = PixelBudget(MAX_PIXELS_AT_WORK)
"""The budget of this process."""


class LimitedReader:
    """A file whose header is read in few steps, and its pixels in no more than they need.

    Decoders follow what a file says: a comment of 50 MB byte by byte, or thousands of entries that are each the whole
    file. `end_header` tells that what follows are pixels.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = file.seek(0, io.SEEK_END)
        file.seek(0)
        self._reads_left = MAX_PARTS
        self._bytes_left: float = self.size + (1 << 20)
        self._exif = b""
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, count: int = -1) -> bytes:
        self._reads_left -= 1
        data = self._file.read(count)
        self._bytes_left -= len(data)
        if self._reads_left < 0 or self._bytes_left < 0:
            raise OSError("it has too many parts")
        if data.startswith(b"Exif\0\0"):  # Pillow joins all parts of a JPEG's
            self._exif += data[6:]
            if len(self._exif) > _MAX_JPEG_EXIF_BYTES or not is_safe_exif(self._exif):
                raise OSError("its EXIF has too many parts")
        return data

    def end_header(self) -> None:
        self._reads_left = MAX_PARTS + self.size // BYTES_PER_PART
        self._bytes_left = float("inf")


def is_safe_exif(exif: bytes) -> bool:
    """Return whether EXIF takes little memory when it is read: each entry could refer to all of it."""
    exif = exif.removeprefix(b"Exif\0\0")
    if len(exif) <= _MAX_EXIF_BYTES:
        return True
    order = ">" if exif.startswith(b"MM") else "<"
    total = 0
    try:
        (start,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, start)
        for at in range(count):
            kind, values = struct.unpack_from(f"{order}HI", exif, start + 4 + 12 * at)
            total += min(values * _TAG_BYTES.get(kind, 1), len(exif))
    except struct.error:  # Pillow stops there, too
        pass
    return total <= _MAX_TAG_BYTES
