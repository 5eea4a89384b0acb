"""Malicious image files, which would take too much time or memory, block, or be sent without pixels."""

from __future__ import annotations

import io
import os
import socket
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PIL import Image, PngImagePlugin

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes, colour: int = 0) -> bytes:
    """Return a PNG with 8 bits per channel, grey by default, made of these chunks."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
    return PNG_SIGNATURE + header + b"".join(chunks) + chunk(b"IEND")


def plain_png(width: int, height: int) -> bytes:
    """Return a black PNG that has a thousandth of the size of its pixels."""
    return png(width, height, chunk(b"IDAT", deflated_zeros(height * (width + 1))))


def deflated_zeros(count: int) -> bytes:
    packer = zlib.compressobj(1)
    parts = [packer.compress(bytes(min(1 << 20, count - at))) for at in range(0, count, 1 << 20)]
    return b"".join([*parts, packer.flush()])


PIXELS = chunk(b"IDAT", zlib.compress(bytes(4 * 5)))  # of 4 x 4 in grey


def write(content: Callable[[], bytes], path: Path) -> None:
    path.write_bytes(content())


def write_sparse(start: bytes, size: int, path: Path) -> None:
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)


def write_socket(path: Path) -> None:
    # A socket's path is limited to 108 bytes.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def saved(kind: str, size: tuple[int, int] = (8, 8), **options: object) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, "red").save(content, kind, **options)
    return content.getvalue()


def tags(count: int, size: int) -> bytes:
    """Return TIFF tags that all refer to the same `size` bytes."""
    entries = b"".join(struct.pack("<HHII", number, 1, size, 0) for number in range(1000, 1000 + count))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", count) + entries + bytes(4 + size)


def jpeg_with(segments: bytes) -> bytes:
    content = saved("JPEG")
    return content[:2] + segments + content[2:]


def exif_segments(exif: bytes) -> bytes:
    parts = [b"Exif\0\0" + exif[at : at + 60_000] for at in range(0, len(exif), 60_000)]
    return b"".join(b"\xff\xe1" + struct.pack(">H", len(part) + 2) + part for part in parts)


def ico() -> bytes:
    inner = plain_png(12_000, 12_000)
    return b"\0\0\1\0\1\0" + struct.pack("<BBBBHHII", 16, 16, 0, 0, 1, 32, len(inner), 22) + inner


def gif_with_comment() -> bytes:
    content = saved("GIF")
    head = 13 + (3 * (2 << (content[10] & 7)) if content[10] & 128 else 0)
    return content[:head] + b"!\xfe" + (b"\xff" + b"x" * 255) * 50_000 + b"\0" + content[head:]


REFUSED: dict[str, Callable[[Path], None]] = {
    # Special files and huge files.
    "pipe": os.mkfifo,
    "socket": write_socket,
    "loop": lambda path: path.symlink_to(path.name),
    "sparse": partial(write_sparse, png(4, 4)[:-12], 2 << 30),
    "empty": partial(write, bytes),
    # Too many pixels.
    "vast": partial(write, lambda: png(60_000, 60_000, PIXELS)),
    "large": partial(write, lambda: png(12_000, 12_000, PIXELS)),
    "screen": partial(write, lambda: b"GIF89a" + struct.pack("<HH", 65535, 65535) + saved("GIF")[10:]),
    "inner": partial(write, ico),
    # Missing pixels.
    "none": partial(write, lambda: png(4, 4)),
    "hollow": partial(write, lambda: png(4, 4, chunk(b"IDAT"))),
    "named": partial(write, lambda: png(400, 400, chunk(b"tEXt", b"IDAT\0IDAT"))),
    "few": partial(write, lambda: png(4000, 4000, PIXELS)),
    "cut": partial(write, lambda: saved("PNG", (64, 64))[:-40]),
    # Endless headers.
    "comment": partial(write_sparse, b"P6\n#", 50 << 20),
    "remark": partial(write, gif_with_comment),
    "profile": partial(write, lambda: png(4, 4, chunk(b"iCCP", b"x\0\0" + deflated_zeros(64 << 20)), PIXELS)),
    "text": partial(write, lambda: png(4, 4, chunk(b"iTXt", b"x\0\1\0\0\0" + deflated_zeros(64 << 20)), PIXELS)),
    "chunks": partial(write, lambda: png(4, 4, chunk(b"tEXt", b"a\0b") * 100_000, PIXELS)),
    "segments": partial(write, lambda: jpeg_with(b"\xff\xe2\0\2" * 500_000)),
    "exif": partial(write, lambda: jpeg_with(exif_segments(tags(40_000, 400_000)))),
    "exif parts": partial(write, lambda: jpeg_with(exif_segments(tags(60_000, 0) + bytes(20_000_000)))),
    "tags": partial(write, lambda: tags(40_000, 400_000)),
    "digits": partial(write_sparse, b"P3\n3000 3000\n255\n1 ", 100 << 20),
}
"""Functions that write a refused file, by a keyword for the problem."""


def write_animation(path: Path) -> None:
    """Write an animated PNG of 3,000 frames. Only the first one is used."""
    frames = []
    for number in range(3000):
        control = struct.pack(">IIIIIHHBB", 2 * number, 4, 4, 0, 0, 1, 10, 0, 0)
        body = struct.pack(">I", 2 * number + 1) + zlib.compress(bytes(20))
        frames.append(chunk(b"fcTL", control) + (chunk(b"fdAT", body) if number else PIXELS))
    path.write_bytes(png(4, 4, chunk(b"acTL", struct.pack(">II", 3000, 0)), *frames))


def write_trailing_chunks(path: Path) -> None:
    path.write_bytes(png(4, 4, PIXELS, *[chunk(b"tEXt", b"a\0b")] * 1000))


def write_oriented(kind: int, value: bytes, path: Path) -> None:
    """Write a JPEG with one EXIF entry of this TIFF type."""
    entry = struct.pack("<HHI", 0x0112, kind, 1) + value.ljust(4, b"\0")
    path.write_bytes(jpeg_with(exif_segments(b"II*\0\x08\0\0\0\1\0" + entry + bytes(4))))


def write_profile(path: Path) -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text("Raw profile type exif", "\nexif\n  10\nnot hex at all\n")
    Image.new("RGB", (8, 4)).save(path, "PNG", pnginfo=info)


TAKEN: dict[str, Callable[[Path], None]] = {
    "animation": write_animation,
    "trailing": write_trailing_chunks,
    "exif of a PNG": partial(write, lambda: png(4, 4, chunk(b"eXIf", tags(40_000, 400_000)), PIXELS)),
    "orientation 0": partial(write_oriented, 3, b"\0"),
    "orientation 77": partial(write_oriented, 3, b"M"),
    "orientation x": partial(write_oriented, 2, b"x"),
    "orientation infinite": partial(write_oriented, 11, b"\0\0\x80\x7f"),
    "profile": write_profile,
}
"""Functions that write an unusual but valid image file."""
