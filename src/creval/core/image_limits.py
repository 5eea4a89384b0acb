"""Limits for untrusted images: file size, reads of the header, and pixels decoded at a time."""

from __future__ import annotations

import io
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

MAX_IMAGE_BYTES = 256 << 20
"""Size limit of an image file."""
MAX_PIXELS_AT_WORK = 128_000_000
"""Limit of decoded pixels in memory, over all threads. A larger image waits until no other one is in memory."""
MAX_PARTS = 10_000
"""Limit of reads for a header. An ordinary one takes tens."""
BYTES_PER_PART = 256
"""Minimum average size of the reads after the header."""
_MAX_EXIF_BYTES = 1 << 16  # smaller EXIF needs no check, even if each entry refers to all of it
_MAX_JPEG_EXIF_BYTES = 1 << 20  # all parts of a JPEG's EXIF
_MAX_TAG_BYTES = 16 << 20  # total that the entries of larger EXIF may refer to
_TAG_BYTES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}  # bytes per value by type; default 1


class PixelBudget:
    """Limit of the pixels that all threads together may have decoded at a time."""

    def __init__(self, pixels: int) -> None:
        self._pixels = self._free = pixels
        self._changed = threading.Condition()
        self._thread = threading.local()

    @contextmanager
    def reserve(self, pixels: int) -> Iterator[None]:
        """Wait until this many pixels are free, then reserve them. Nested reservations of a thread are ignored."""
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
"""Pixel budget of this process."""


class LimitedReader:
    """File wrapper that limits the number and size of a decoder's reads.

    Without limits, a malicious file could make a decoder read a comment of 50 MB byte by byte, or thousands of entries
    that each span the whole file. Call `end_header` before the pixels are read: their limit is higher.
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
        if data.startswith(b"Exif\0\0"):  # Pillow joins all EXIF parts of a JPEG
            self._exif += data[6:]
            if len(self._exif) > _MAX_JPEG_EXIF_BYTES or not is_safe_exif(self._exif):
                raise OSError("its EXIF has too many parts")
        return data

    def end_header(self) -> None:
        self._reads_left = MAX_PARTS + self.size // BYTES_PER_PART
        self._bytes_left = float("inf")


def is_safe_exif(exif: bytes) -> bool:
    """Return whether reading EXIF takes little memory. In malicious EXIF, each entry refers to all of the data."""
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
