"""The one way to open an image: upright, in RGB, on white, whatever the file is; and to encode it.

What cannot be opened raises `ImageError` with a sentence, and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from creval.core.concurrency import SharedContext
from creval.core.errors import CrevalError
from creval.core.files import read_bytes

MAX_PIXELS = 178_956_970
"""The largest image that is opened; in RGB it takes half a gigabyte."""

# What people have. Others are left out on purpose: EPS, for one, would start another program.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM", "ICO")
_PLUGINS = {"WEBP": "WebP", "JPEG2000": "Jpeg2K"}
_ROWS_PER_CHUNK = 256  # of an image converted at a time
_MASK_THRESHOLD = 128  # of what a mask's pixel can be
_MASK_TOLERANCE = 0.01  # of a mask's pixels, in which grey and alpha may differ along soft edges
_ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")


class ImageError(CrevalError):
    """An image that cannot be opened, and why."""


def open_image(path: str | Path) -> Image.Image:
    """Return the image in a file: turned as its EXIF says, first frame, 8 bit RGB, alpha on white."""
    with _open_checked(path) as image:
        return normalise_image(image)


def open_mask(path: str | Path) -> Image.Image:
    """Open an image in upright 8 bit grey; refuse a mask whose alpha marks something else than its grey."""
    with _open_checked(path) as image:
        image.load()
        mask = _to_8_bit(_apply_exif_orientation(image))
        grey = mask.convert("L")
        if mask.mode in _ALPHA_MODES or "transparency" in mask.info:
            light = np.asarray(grey) > _MASK_THRESHOLD
            solid = np.asarray(mask.convert("RGBA"))[..., 3] > _MASK_THRESHOLD
            same = float((light == solid).mean())
            if solid.any() and not solid.all() and _MASK_TOLERANCE < same < 1 - _MASK_TOLERANCE:
                raise ImageError(
                    f"{path} marks one region in grey and another by its transparency. Save it "
                    "without transparency, white where the picture is to be edited, else black."
                )
        return grey


ResizeRule = Callable[[int, int], tuple[int, int]]
"""The size at which a model sees an image of a given width and height."""


class EncodedImage(NamedTuple):
    """An image as it is sent: its file's digest, its type, its bytes and its size in pixels."""

    digest: str
    media_type: str
    content: bytes
    width: int
    height: int


def encode_image(path: str | Path, resize: ResizeRule | None = None) -> EncodedImage:
    """Encode an image for a model: resized, as JPEG.

    Without `resize`, upright JPEG, PNG and WebP files are taken byte for byte, and everything else becomes upright PNG.
    """
    path = Path(path)
    _check_file(path)
    content = path.read_bytes()
    name = hashlib.sha256(content).hexdigest()
    with _open_checked(path, content) as image:
        media = _PASS_THROUGH_FORMATS.get(image.format or "", "")
        turned = _read_orientation(image, content) in range(2, 9)
        if turned or getattr(image, "n_frames", 1) > 1 or image.mode not in _COMMON_MODES:
            media = ""
        fitted = resize is None or (media == _JPEG and resize(*image.size) == image.size)
        if media and fitted:
            _check_complete(path, image.format or "", content)
            return EncodedImage(name, media, content, *image.size)
        shown = normalise_image(image)
    if resize is None:
        return EncodedImage(name, "image/png", encode_png(shown), *shown.size)
    size = resize(*shown.size)
    if size != shown.size:
        shown = shown.resize(size, Image.Resampling.LANCZOS)
    sent = io.BytesIO()
    shown.save(sent, "JPEG", quality=90)
    return EncodedImage(name, _JPEG, sent.getvalue(), *size)


def encode_png(image: Image.Image) -> bytes:
    """Return a picture as the content of a PNG file."""
    content = io.BytesIO()
    image.save(content, "PNG", compress_level=1)
    return content.getvalue()


def decode_image(content: bytes) -> Image.Image:
    """Return the image in a file's content, as `open_image` gives it."""
    with _open_checked("the picture", content) as image:
        return normalise_image(image)


def detect_image_format(content: bytes) -> str:
    """Return what kind of file an image's content is: `PNG`, `JPEG` ..."""
    with _open_checked("the picture", content) as image:
        return image.format or ""


def has_transparency(content: bytes) -> bool:
    """Return whether the image in a file's content is transparent anywhere."""
    with _open_checked("the picture", content) as image:
        if image.mode not in _ALPHA_MODES and "transparency" not in image.info:
            return False
        return bool(np.asarray(image.convert("RGBA"))[..., 3].min() < 255)


def _check_complete(path: Path, kind: str, content: bytes) -> None:
    """Refuse a file that is cut off or, as far as it says itself, damaged; without decoding it."""
    if kind == "JPEG" and b"\xff\xd9" not in content[-1024:]:
        raise ImageError(f"{path} is damaged: the picture ends before its end.")
    if kind == "WEBP" and int.from_bytes(content[4:8], "little") + 8 > len(content):
        raise ImageError(f"{path} is damaged: the picture ends before its end.")
    if kind == "PNG":
        at, ended = 8, False
        while at + 12 <= len(content) and not ended:
            size = int.from_bytes(content[at : at + 4], "big")
            end = at + 12 + size
            body = memoryview(content)[at + 4 : end - 4]
            if end > len(content) or zlib.crc32(body) != int.from_bytes(content[end - 4 : end], "big"):
                raise ImageError(f"{path} is damaged: a part of it is cut off or broken.")
            ended, at = bytes(body[:4]) == b"IEND", end
        if not ended or b"IDAT" not in content:
            raise ImageError(f"{path} is damaged: the picture ends before its end.")


def read_image_size(path: str | Path) -> tuple[int, int]:
    """Return the width and height of the upright image in a file, without reading its pixels."""
    with _open_checked(path) as image:
        width, height = image.size
        turned = _read_orientation(image) in _SIDEWAYS_ORIENTATIONS
    return (height, width) if turned else (width, height)


_JPEG = "image/jpeg"
_PASS_THROUGH_FORMATS = {"JPEG": _JPEG, "PNG": "image/png", "WEBP": "image/webp"}
# Others, CMYK and 16 bit among them, are read wrongly by many a server.
_COMMON_MODES = ("RGB", "RGBA", "L", "LA", "P", "PA", "1")
_ORIENTATION = 0x0112  # in EXIF
_PNG_EXIF = {"exif", "Raw profile type exif", "xmp", "XML:com.adobe.xmp"}
_SIDEWAYS_ORIENTATIONS = (5, 6, 7, 8)


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    """The limit of pixels that counts is ours, and faults in metadata do not concern the pixels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_no_warnings = SharedContext(_ignore_warnings)


@contextmanager
def _open_checked(path: str | Path, content: bytes | None = None) -> Iterator[ImageFile.ImageFile]:
    """Open an image file of a safe size, or its content; whatever goes wrong becomes a sentence."""
    path = Path(path)
    if content is None:
        _check_file(path)
    try:
        with _no_warnings, Image.open(path if content is None else io.BytesIO(content), formats=_formats()) as image:
            _check_size(path, image)
            yield image
    except ImageError:
        raise
    except Image.DecompressionBombError as error:
        raise ImageError(f"{path} is too large to open safely: {error}") from error
    except UnidentifiedImageError as error:
        raise ImageError(f"{path} is not a picture that creval reads{_describe_non_image(path, content)}") from error
    except Exception as error:  # decoders raise almost anything on broken data
        reason = (str(error) or type(error).__name__).rstrip(".")
        raise ImageError(f"{path} is damaged and cannot be opened ({reason}).") from error


def normalise_image(image: Image.Image) -> Image.Image:
    """Return an image as `open_image` gives it."""
    image.load()
    return _flatten_on_white(_to_8_bit(_apply_exif_orientation(image)))


def _read_orientation(image: ImageFile.ImageFile, content: bytes = b"") -> int:
    """Return how an image is to be turned, as EXIF numbers it; `content` is its file's, if at hand."""
    if image.format == "PNG" and not (_PNG_EXIF & image.info.keys() or b"eXIf" in content):
        return 1  # to look behind the pixels for EXIF, Pillow would decode them
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # EXIF that cannot be read says nothing about the orientation
        return 1


def file_digest(path: str | Path) -> str:
    """Return a name for a file's content: the same bytes have the same digest."""
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except (OSError, ValueError) as error:  # a path may be none at all
        reason = getattr(error, "strerror", None) or error
        raise ImageError(f"{path} cannot be read: {reason}.") from error


def check_header(path: Path) -> None:
    """Raise `ImageError` if an image cannot be opened, by its head and end; decode it only if it seems cut off."""
    read_image_size(path)
    with path.open("rb") as file:
        head, size = file.read(12), file.seek(0, io.SEEK_END)
        file.seek(max(0, size - 1024))
        end = file.read()
    cut_off = (
        (head.startswith(b"\xff\xd8") and b"\xff\xd9" not in end)
        or (head.startswith(b"\x89PNG") and b"IEND" not in end)
        or (head.startswith(b"RIFF") and int.from_bytes(head[4:8], "little") + 8 > size)
    )
    if cut_off:
        open_image(path)


def missing_image_reason(images: Iterable[Path], check: Callable[[Path], object] = open_image) -> str:
    """Return what is wrong with a benchmark's images; empty where all can be opened."""
    for path in images:
        try:
            check(path)
        except (ImageError, OSError) as error:
            words = str(error).replace(str(path), path.name)
            return f"in the benchmark, {words}".rstrip(".")
    return ""


@lru_cache(maxsize=1)
def _formats() -> tuple[str, ...]:
    # Only their decoders: `Image.init` would load four times as many.
    for name in _FORMATS:
        plugin = _PLUGINS.get(name, name.capitalize())
        with suppress(ImportError):  # AVIF, in some builds
            import_module(f"PIL.{plugin}ImagePlugin")
    return tuple(name for name in _FORMATS if name in Image.OPEN)


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise ImageError(f"{path} is a folder, not a picture.")
        if not path.is_file():
            kind = "is not a file" if path.exists() else "does not exist"
            raise ImageError(f"{path} {kind}.")
        if path.stat().st_size == 0:
            raise ImageError(f"{path} is empty (0 bytes).")
    except (OSError, ValueError) as error:
        raise ImageError(f"{path} cannot be read: {error}.") from error


def _check_size(path: Path, image: ImageFile.ImageFile) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"{path} has {width} x {height} pixels; more than {MAX_PIXELS / 1e6:.0f} million "
            "are not opened. Make it smaller first."
        )
    if width == 0 or height == 0:
        raise ImageError(f"{path} has no pixels ({width} x {height}).")


def _apply_exif_orientation(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # EXIF that cannot be read says nothing about the orientation
        return image


def _to_8_bit(image: Image.Image) -> Image.Image:
    """Samples of 16 and 32 bits scaled to 8; Pillow itself would cut them off at 255."""
    if not image.mode.startswith("I") and image.mode != "F":
        return image
    samples = np.asarray(image)
    finite = samples[np.isfinite(samples)] if image.mode == "F" else samples
    most = float(finite.max(initial=0))
    full = max(65535.0, most)
    if image.mode == "F":
        full = 1.0 if most <= 1.0 else max(255.0, most)
    scaled = np.empty(samples.shape, dtype=np.uint8)
    for row in range(0, len(samples), _ROWS_PER_CHUNK):
        part = np.nan_to_num(samples[row : row + _ROWS_PER_CHUNK].astype(np.float64), posinf=0.0, neginf=0.0)
        scaled[row : row + _ROWS_PER_CHUNK] = np.clip(part * (255.0 / full) + 0.5, 0, 255)
    return Image.fromarray(scaled)


def _flatten_on_white(image: Image.Image) -> Image.Image:
    if image.mode in _ALPHA_MODES or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image)
    return image.convert("RGB") if image.mode != "RGB" else image.copy()


def _describe_non_image(path: Path, content: bytes | None) -> str:
    """Return what a file that is no image seems to be."""
    if content is None:
        with path.open("rb") as file:
            content = file.read(64)
    start = content[:64]
    if start[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftyphevc"):
        return ": it is a HEIC photo. Convert it to JPEG or PNG first."
    if start.lstrip()[:1] in (b"<", b"{"):
        return ": it holds text, perhaps an error page that was saved in its place."
    return ". JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are."
