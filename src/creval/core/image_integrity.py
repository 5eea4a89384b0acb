"""Detection of truncated and damaged image files without decoding them."""

from __future__ import annotations

import zlib

from PIL import ImageFile

from creval.core.image_limits import BYTES_PER_PART, MAX_PARTS

_MAX_DEFLATE_RATIO = 1040  # one compressed byte of a PNG expands to at most 1032 bytes; the rest is a margin
_PIXELS_PER_JPEG_BYTE = 1024  # a generous limit, since a block of 64 pixels takes at least one bit
_BITS_PER_PIXEL = {"1": 1, "P": 1}  # lower limit; 8 for other modes


def find_damage(image: ImageFile.ImageFile, content: bytes) -> str:
    """Return what is damaged if a file is truncated, has no pixels or has a wrong checksum; otherwise "".

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
            return "a chunk is truncated or corrupt"
        whole = pixels * _MAX_DEFLATE_RATIO >= max(1, bits // 8)
    return "" if whole else "its image data ends too early"


def _png_pixel_bytes(content: bytes) -> int | None:
    """Return the number of bytes of compressed pixels in a PNG; 0 if its end is missing, None if a chunk is corrupt."""
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
