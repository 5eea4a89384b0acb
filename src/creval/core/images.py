"""Opening and encoding of images.

All images are opened here. Whatever the file format, they are rotated upright, converted to RGB and put on white. If an
image cannot be opened, the error is always an `ImageError`.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from creval.core.concurrency import SharedContext
from creval.core.errors import CrevalError
from creval.core.files import open_file, read_bytes
from creval.core.image_integrity import find_damage
from creval.core.image_limits import MAX_IMAGE_BYTES, LimitedReader, is_safe_exif, pixel_budget

MAX_PIXELS = 100_000_000
"""Pixel limit of a decoded image; in RGB, such an image takes 0.4 GB."""
MAX_SENT_BYTES = 32 << 20
"""Size limit of an image in a request to a judge or a text model."""

# Other formats are left out on purpose: EPS would start another program, and ICO is decoded to find its size.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM")
_PLUGINS = {"WEBP": "WebP", "JPEG2000": "Jpeg2K"}
_ROWS_PER_CHUNK = 256  # converted to 8 bits at a time
_PIXELS_PER_STRIP = 4_000_000  # flattened on white at a time
_DIGESTED_BYTES = 1 << 20  # read at a time
_PLAIN_PPM, _MAX_PLAIN_BYTES = (b"P1", b"P2", b"P3"), 16 << 20  # pixels written as digits take seconds to parse
_REDUCED_PIXELS = 32_000_000  # larger JPEG files are decoded at a reduced size if a smaller image is needed
_MASK_THRESHOLD = 128  # of 255
_MASK_TOLERANCE = 0.01  # share of a mask's pixels in which grey and alpha may differ, because of soft edges
_ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")


class ImageError(CrevalError):
    """An image cannot be opened."""


def open_image(path: str | Path) -> Image.Image:
    """Return the image in a file: first frame, upright as its EXIF declares, 8 bit RGB, alpha flattened on white."""
    with _open_checked(path) as image:
        return normalise_image(image)


def open_thumbnail(path: str | Path, side: int, *, fast: bool = False) -> Image.Image:
    """Return the same image as `open_image`, reduced if a side has more than `side` pixels.

    With `fast`, every JPEG is decoded at a reduced size, which changes the pixels slightly.
    """
    reduced_above = 0 if fast else _REDUCED_PIXELS
    with _open_checked(path, enough=lambda *_: (side, side), reduced_above=reduced_above) as image:
        shown = normalise_image(image)
        shown.thumbnail((side, side), Image.Resampling.LANCZOS)
        return shown


def open_mask(path: str | Path) -> Image.Image:
    """Open a mask as upright 8 bit grey.

    Raises `ImageError` if its transparency and its grey mark different regions.
    """
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
                    "without transparency: white for the region to edit, black elsewhere."
                )
        return grey


def open_label_map(path: str | Path) -> NDArray[np.uint8]:
    """Open an image whose pixels are labels: palette indices or grey levels."""
    with _open_checked(path) as image:
        image.load()
        if image.mode not in ("P", "L", "1"):
            raise ImageError(f"{path} has no labels: its pixels are colors.")
        return np.array(image if image.mode != "1" else image.convert("L"))


ResizeRule = Callable[[int, int], tuple[int, int]]
"""Function from an image's width and height to the size at which a model gets it."""


class EncodedImage(NamedTuple):
    """An image as it is sent in a request. `digest` is the digest of the original file."""

    digest: str
    media_type: str
    content: bytes
    width: int
    height: int


def encode_for_request(path: str | Path, resize: ResizeRule | None) -> EncodedImage:
    """Encode an image for a request. Raises `ImageError` if it is larger than `MAX_SENT_BYTES`.

    The limit exists because many requests are in memory at a time.
    """
    image = encode_image(path, resize)
    if len(image.content) > MAX_SENT_BYTES:
        raise ImageError(
            f"{path} takes {len(image.content) >> 20} MB; the limit for a request is {MAX_SENT_BYTES >> 20} MB. "
            "Make it smaller, or set `image_fit` to a number of pixels."
        )
    return image


def encode_image(path: str | Path, resize: ResizeRule | None = None) -> EncodedImage:
    """Encode an image for a model: resized, as JPEG.

    Without `resize`, upright JPEG, PNG and WebP files are returned byte for byte; other images become upright PNG.
    """
    path = Path(path)
    with _explained(path):
        content = read_bytes(path, MAX_IMAGE_BYTES)
    if not content:
        raise _empty(path)
    name = hashlib.sha256(content).hexdigest()
    with _open_checked(path, content, pixels=False) as image:
        orientation = _read_orientation(image, content)
        size = _upright_size(image, orientation)
        wanted = resize(*size) if resize is not None else size
        media = _PASS_THROUGH_FORMATS.get(image.format or "", "")
        if (
            orientation in range(2, 9)
            or (media and getattr(image, "n_frames", 1) > 1)
            or image.mode not in _COMMON_MODES
        ):
            media = ""
        if resize is None:
            _check_size(path, image)
        if media and (resize is None or (media == _JPEG and wanted == size)):
            if damage := find_damage(image, content):
                raise ImageError(f"{path} is damaged: {damage}.")
            return EncodedImage(name, media, content, *size)
    with _open_checked(path, content, resize) as image:
        shown = normalise_image(image)
        if resize is None:
            return EncodedImage(name, "image/png", encode_png(shown), *shown.size)
        if wanted != shown.size:
            shown = shown.resize(wanted, Image.Resampling.LANCZOS)
        sent = io.BytesIO()
        shown.save(sent, "JPEG", quality=90)
        return EncodedImage(name, _JPEG, sent.getvalue(), *wanted)


def encode_png(image: Image.Image) -> bytes:
    """Encode an image as PNG."""
    content = io.BytesIO()
    image.save(content, "PNG", compress_level=1)
    return content.getvalue()


def decode_image(content: bytes) -> Image.Image:
    """Return the image in a file's content, normalised as by `open_image`."""
    with _open_checked("the image", content) as image:
        return normalise_image(image)


def detect_image_format(content: bytes) -> str:
    """Return the format of an image file's content: `PNG`, `JPEG` ..."""
    with _open_checked("the image", content, pixels=False) as image:
        return image.format or ""


def has_transparency(content: bytes) -> bool:
    """Return whether the image in a file's content has transparent pixels."""
    with _open_checked("the image", content) as image:
        if image.mode not in _ALPHA_MODES and "transparency" not in image.info:
            return False
        return image.convert("RGBA").getchannel("A").getextrema() != (255, 255)


def read_image_size(path: str | Path, content: bytes | None = None) -> tuple[int, int]:
    """Return the width and height of the upright image in a file (or its content) without decoding the pixels."""
    with _open_checked(path, content, pixels=False) as image:
        return _upright_size(image, _read_orientation(image, content or b""))


_JPEG = "image/jpeg"
_PASS_THROUGH_FORMATS = {"JPEG": _JPEG, "PNG": "image/png", "WEBP": "image/webp"}
# Many servers read other modes, such as CMYK and 16 bit, wrongly.
_COMMON_MODES = ("RGB", "RGBA", "L", "LA", "P", "PA", "1")
_ORIENTATION = 0x0112  # in EXIF
_PNG_EXIF = {"exif", "Raw profile type exif", "xmp", "XML:com.adobe.xmp"}
_SIDEWAYS_ORIENTATIONS = (5, 6, 7, 8)


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    """Ignore Pillow's warnings: creval has its own pixel limit, and invalid metadata does not affect the pixels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_no_warnings = SharedContext(_ignore_warnings)


@contextmanager
def _open_checked(
    path: str | Path,
    content: bytes | None = None,
    enough: ResizeRule | None = None,
    *,
    pixels: bool = True,
    reduced_above: int = _REDUCED_PIXELS,
) -> Iterator[ImageFile.ImageFile]:
    """Open an image file, or its content, if its size is safe. All failures become `ImageError`.

    A JPEG of more than `reduced_above` pixels is decoded at a reduced size if the size from `enough` allows that. If
    `pixels` is True, the image's pixels count towards the limit of decoded pixels until the end of the block.
    """
    path = Path(path)
    start = b""
    try:
        with _open_reader(path, content) as reader:
            start = reader.read(64)
            reader.seek(0)
            with _no_warnings, Image.open(reader, formats=_formats()) as image:  # type: ignore[arg-type]
                reader.end_header()
                if start[:2] in _PLAIN_PPM and reader.size > _MAX_PLAIN_BYTES:
                    raise ImageError(f"{path} is a plain-text PPM of {reader.size >> 20} MB. Save it as PNG.")
                if enough is not None and image.width * image.height > reduced_above:
                    _reduce(image, enough)
                if pixels or image.format != "JPEG":
                    _check_size(path, image)
                with pixel_budget.reserve(image.width * image.height) if pixels else nullcontext():
                    yield image
    except ImageError:
        raise
    except Image.DecompressionBombError as error:
        raise _too_many_pixels(path) from error
    except UnidentifiedImageError as error:
        raise ImageError(f"{path} is not a supported image{_describe_non_image(start)}") from error
    except Exception as error:  # decoders raise all kinds of exceptions for broken data
        reason = (str(error) or type(error).__name__).rstrip(".")
        raise ImageError(f"{path} is damaged and cannot be opened ({reason}).") from error


@contextmanager
def _open_reader(path: Path, content: bytes | None) -> Iterator[LimitedReader]:
    """Open a file, or its content, for decoding."""
    file: BinaryIO = io.BytesIO(content or b"")
    if content is None:
        with _explained(path):
            file = open_file(path, MAX_IMAGE_BYTES)
    with file:
        reader = LimitedReader(file)
        if content is None and reader.size == 0:
            raise _empty(path)
        yield reader


def _empty(path: Path) -> ImageError:
    return ImageError(f"{path} is empty (0 bytes).")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Convert errors that occur when a file is opened into `ImageError`."""
    try:
        yield
    except FileNotFoundError as error:
        raise ImageError(f"{path} does not exist.") from error
    except IsADirectoryError as error:
        raise ImageError(f"{path} is a folder, not an image.") from error
    except (OSError, ValueError) as error:  # ValueError: not a valid path
        raise ImageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _upright_size(image: ImageFile.ImageFile, orientation: int) -> tuple[int, int]:
    return (image.height, image.width) if orientation in _SIDEWAYS_ORIENTATIONS else image.size


def _reduce(image: ImageFile.ImageFile, enough: ResizeRule) -> None:
    """Make a JPEG decode at a reduced size that is still at least twice as large as `enough`."""
    orientation = _read_orientation(image)
    size = enough(*_upright_size(image, orientation))
    if orientation in _SIDEWAYS_ORIENTATIONS:
        size = size[1], size[0]
    image.draft(None, (2 * size[0], 2 * size[1]))


def normalise_image(image: Image.Image) -> Image.Image:
    """Return an image upright, in 8 bit RGB, flattened on white."""
    image.load()
    return _flatten_on_white(_to_8_bit(_apply_exif_orientation(image)))


def _read_orientation(image: Image.Image, content: bytes = b"") -> int:
    """Return an image's EXIF orientation. `content` is the file's content, if already read."""
    if image.format == "PNG" and not (_PNG_EXIF & image.info.keys() or b"eXIf" in content):
        return 1  # Pillow would decode the pixels to find EXIF after them
    try:
        exif = image.info.get("exif", b"")
        profile = image.info.get("Raw profile type exif", "")
        if not is_safe_exif(exif or bytes.fromhex("".join(profile.split("\n")[3:]))):
            return 1
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # unreadable EXIF: assume upright
        return 1


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 digest of an image file's content."""
    digest = hashlib.sha256()
    try:
        with open_file(path, MAX_IMAGE_BYTES) as file:
            while part := file.read(_DIGESTED_BYTES):
                digest.update(part)
    except (OSError, ValueError) as error:  # ValueError: not a valid path
        reason = getattr(error, "strerror", None) or error
        raise ImageError(f"{path} cannot be read: {reason}.") from error
    return digest.hexdigest()


def check_header(path: Path) -> None:
    """Raise `ImageError` if an image cannot be opened.

    Only the start and end of the file are checked. It is decoded only if it seems truncated.
    """
    read_image_size(path)
    with open_file(path, MAX_IMAGE_BYTES) as file:
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
    """Return the first problem of a benchmark's images; empty if all can be opened."""
    for path in images:
        try:
            check(path)
        except (ImageError, OSError) as error:
            words = str(error).replace(str(path), path.name)
            return f"in the benchmark, {words}".rstrip(".")
    return ""


@lru_cache(maxsize=1)
def _formats() -> tuple[str, ...]:
    # Load only the needed decoders; `Image.init` would load four times as many.
    for name in _FORMATS:
        plugin = _PLUGINS.get(name, name.capitalize())
        with suppress(ImportError):  # some builds lack AVIF
            import_module(f"PIL.{plugin}ImagePlugin")
    return tuple(name for name in _FORMATS if name in Image.OPEN)


def _check_size(path: Path, image: ImageFile.ImageFile) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise _too_many_pixels(path, f"{width} x {height} pixels")
    if width <= 0 or height <= 0:
        raise ImageError(f"{path} has no pixels ({width} x {height}).")


def _too_many_pixels(path: Path, found: str = "too many pixels") -> ImageError:
    return ImageError(
        f"{path} is too large: it has {found}; the limit is {MAX_PIXELS / 1e6:.0f} million. Make it smaller first."
    )


def _apply_exif_orientation(image: Image.Image) -> Image.Image:
    if _read_orientation(image) not in range(2, 9):
        return image
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # unreadable EXIF: assume upright
        return image


def _to_8_bit(image: Image.Image) -> Image.Image:
    """Scale samples of 16 and 32 bits to 8, because Pillow would clip them at 255."""
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
    if image.mode not in _ALPHA_MODES and "transparency" not in image.info:
        return image.convert("RGB") if image.mode != "RGB" else image.copy()
    width, height = image.size
    rows = max(1, _PIXELS_PER_STRIP // width)  # avoids five copies of a large image in memory
    if rows >= height:
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    shown = Image.new("RGB", image.size)
    for top in range(0, height, rows):
        strip = image.crop((0, top, width, min(height, top + rows)))
        shown.paste(_flatten_on_white(strip), (0, top))
    return shown


def _describe_non_image(start: bytes) -> str:
    """Return the end of an error message that says what kind of file this probably is, if not a supported image."""
    if start[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftyphevc"):
        return ": it is a HEIC photo. Convert it to JPEG or PNG first."
    if start.lstrip()[:1] in (b"<", b"{"):
        return ": it contains text, perhaps a saved error page."
    return ". Use JPEG, PNG, WebP, AVIF, GIF, BMP or TIFF."
