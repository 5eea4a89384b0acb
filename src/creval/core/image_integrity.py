"""Whether an image file is whole, as far as that can be told without decoding it."""

from __future__ import annotations

import zlib

from PIL import ImageFile

from creval.core.image_limits import BYTES_PER_PART, MAX_PARTS

_MAX_DEFLATE_RATIO = 1040  # bytes that one byte of a PNG's compressed pixels can stand for: 1032, and a little
_PIXELS_PER_JPEG_BYTE = 1024  # at most: a block of 64 pixels takes a bit or more
_BITS_PER_PIXEL = {"1": 1, "P": 1}  # at least; of other modes 8


def find_damage(image: ImageFile.ImageFile, content: bytes) -> str:
    """Return that a file is cut off, has no pixels or, as far as it says itself, is broken; empty where it seems whole.

    `image` is the opened file, a JPEG, PNG or WebP.
    """
    if image.format == "JPEG":
        whole = b"\xff\xd9" in content[-1024:] and len(content) * _PIXELS_PER_JPEG_BYTE >= image.width * image.height
    elif image.format == "WEBP":
        whole = int.from_bytes(content[4:8], "little") + 8 <= len(content)
    else:
        bits = image.width * image.height * _BITS_PER_PIXEL.get(image.mode, 8)
        pixels = _png_pixel_bytes(content)
        if pixels is None:
            return "a part of it is cut off or broken"
        whole = pixels * _MAX_DEFLATE_RATIO >= max(1, bits // 8)
    return "" if whole else "its image data ends too early"


def _png_pixel_bytes(content: bytes) -> int | None:
    """Return how many bytes of compressed pixels a PNG file has, 0 if it has no end; None if a part is broken."""
    at, pixels, parts = 8, 0, 0
    while at + 12 <= len(content) and parts < MAX_PARTS + len(content) // BYTES_PER_PART:
        size = int.from_bytes(content[at : at + 4], "big")
        end = at + 12 + size
        body = memoryview(content)[at + 4 : end - 4]
        if end > len(content) or zlib.crc32(body) != int.from_bytes(content[end - 4 : end], "big"):
            return None
        kind, at = bytes(body[:4]), end
        if kind == b"IEND":
            return pixels
        parts += 1
        pixels += size if kind == b"IDAT" else 0
    return 0
