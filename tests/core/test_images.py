"""Images of any kind open upright, in RGB, on white; all other files raise a clear error."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, features

import shared_data
from creval.core.images import (
    MAX_PIXELS,
    ImageError,
    check_header,
    decode_image,
    encode_image,
    file_digest,
    missing_image_reason,
    open_image,
    read_image_size,
)

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def make_image(size: tuple[int, int] = (40, 20)) -> Image.Image:
    """Red on the left, blue on the right."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (size[0] // 2, 0, *size))
    return image


def near(colour: object, expected: tuple[int, int, int], by: int = 12) -> bool:
    assert isinstance(colour, tuple)
    return all(abs(a - b) <= by for a, b in zip(colour, expected, strict=True))


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif", "bmp", "tiff", "avif", "jp2", "ppm"])
def test_every_usual_format(tmp_path: Path, suffix: str) -> None:
    if suffix == "avif" and not features.check("avif"):
        pytest.skip("this Pillow has no AVIF")
    path = tmp_path / f"a.{suffix}"
    make_image().save(path)
    image = open_image(path)
    assert (image.mode, image.size) == ("RGB", (40, 20))
    assert near(image.getpixel((5, 10)), RED, 40)
    assert near(image.getpixel((35, 10)), BLUE, 40)


@pytest.mark.parametrize(
    ("orientation", "size", "red_at"),
    [
        (1, (40, 20), (5, 10)),
        (2, (40, 20), (35, 10)),
        (3, (40, 20), (35, 10)),
        (4, (40, 20), (5, 10)),
        (5, (20, 40), (10, 5)),
        (6, (20, 40), (10, 5)),
        (7, (20, 40), (10, 35)),
        (8, (20, 40), (10, 35)),
    ],
)
def test_it_is_turned_as_its_exif_says(
    tmp_path: Path, orientation: int, size: tuple[int, int], red_at: tuple[int, int]
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    make_image().save(tmp_path / "a.jpg", exif=exif, quality=95)
    image = open_image(tmp_path / "a.jpg")
    assert image.size == size
    assert near(image.getpixel(red_at), RED)
    assert image.getexif().get(0x0112, 1) == 1, "the orientation is not applied twice"


def test_broken_exif_does_not_hide_the_image(tmp_path: Path) -> None:
    make_image().save(tmp_path / "a.jpg", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff" + b"\xff" * 40)
    assert open_image(tmp_path / "a.jpg").size == (40, 20)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "PA"])
def test_transparent_pixels_become_white(tmp_path: Path, mode: str) -> None:
    image = make_image().convert("RGBA")
    image.paste((0, 0, 0, 0), (0, 0, 10, 20))
    path = tmp_path / ("a.tiff" if mode == "PA" else "a.png")
    if mode == "PA":
        image.save(path)
    else:
        image.convert(mode).save(path)
    opened = open_image(path)
    assert opened.mode == "RGB"
    assert near(opened.getpixel((2, 10)), WHITE)
    assert not near(opened.getpixel((15, 10)), WHITE)


def test_half_transparent_is_half_white(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (0, 0, 0, 128)).save(tmp_path / "a.png")
    assert near(open_image(tmp_path / "a.png").getpixel((0, 0)), (127, 127, 127), 1)


def test_a_colour_marked_as_transparent_is_white(tmp_path: Path) -> None:
    make_image().save(tmp_path / "a.png", transparency=RED)
    assert open_image(tmp_path / "a.png").getpixel((2, 2)) == WHITE


def test_palette_grey_and_one_bit(tmp_path: Path) -> None:
    make_image().convert("P").save(tmp_path / "p.png")
    assert near(open_image(tmp_path / "p.png").getpixel((2, 2)), RED)
    Image.new("L", (4, 4), 77).save(tmp_path / "l.png")
    assert open_image(tmp_path / "l.png").getpixel((0, 0)) == (77, 77, 77)
    Image.new("1", (4, 4), 1).save(tmp_path / "1.png")
    assert open_image(tmp_path / "1.png").getpixel((0, 0)) == WHITE


def test_sixteen_bits_are_scaled_not_cut(tmp_path: Path) -> None:
    ramp = np.array([[0, 257 * 64, 257 * 128, 65535]], dtype=np.uint16)
    Image.fromarray(ramp).save(tmp_path / "a.png")
    assert np.asarray(open_image(tmp_path / "a.png"))[0, :, 0].tolist() == [0, 64, 128, 255]
    Image.fromarray(ramp.astype(np.int32)).save(tmp_path / "a.tiff")
    assert np.asarray(open_image(tmp_path / "a.tiff"))[0, :, 0].tolist() == [0, 64, 128, 255]


def test_floats_are_scaled(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0.0, 0.5, 1.0, np.nan]], dtype=np.float32)).save(tmp_path / "a.tiff")
    assert np.asarray(open_image(tmp_path / "a.tiff"))[0, :, 1].tolist() == [0, 128, 255, 0]


def test_cmyk(tmp_path: Path) -> None:
    make_image().convert("CMYK").save(tmp_path / "a.jpg", quality=95)
    assert near(open_image(tmp_path / "a.jpg").getpixel((5, 10)), RED, 20)


def test_the_first_frame_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, BLUE)]
    for suffix in ("gif", "webp", "png"):
        path = tmp_path / f"a.{suffix}"
        frames[0].save(path, save_all=True, append_images=frames[1:], lossless=True)
        assert near(open_image(path).getpixel((1, 1)), RED)


def test_the_content_counts_not_the_extension(tmp_path: Path) -> None:
    make_image().save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(tmp_path / "a.jpg")
    assert open_image(tmp_path / "a.jpg").size == (40, 20)


@pytest.mark.parametrize("name", ["a b.png", "a&b.png", "33753208_Tườg.png", "图.png", "a'\"$;.png"])
def test_any_name(tmp_path: Path, name: str) -> None:
    make_image().save(tmp_path / name)
    assert open_image(tmp_path / name).size == (40, 20)
    assert open_image(str(tmp_path / name)).size == (40, 20)


def test_sides_of_thirty_thousand_pixels(tmp_path: Path) -> None:
    Image.new("L", (30_000, 40), 9).save(tmp_path / "wide.png")
    assert open_image(tmp_path / "wide.png").size == (30_000, 40)
    Image.new("1", (30_000, 30_000)).save(tmp_path / "vast.png")
    with pytest.raises(ImageError, match=r"vast\.png.*too large"):
        open_image(tmp_path / "vast.png")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    side = int((MAX_PIXELS + 1) ** 0.5) + 1
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(bytes(1000)))
    bomb = tmp_path / "bomb.png"
    bomb.write_bytes(b"\x89PNG\r\n\x1a\n" + header + body + chunk(b"IEND", b""))
    with pytest.raises(ImageError, match=r"bomb\.png"):
        open_image(bomb)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif", "tiff"])
def test_truncated_files_are_damaged(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ImageError, match=rf"a\.{suffix} is (damaged|not a supported image)"):
        open_image(path)


def test_files_that_are_no_images_are_described(tmp_path: Path) -> None:
    cases = {
        "empty.png": (b"", r"empty \(0 bytes\)"),
        "page.png": (b"<!DOCTYPE html><html>", "error page"),
        "error.jpg": (b'{"error": "rate limit"}', "contains text"),
        "noise.jpg": (b"\x00\x01\x02\x03" * 50, "not a supported image"),
        "phone.heic": (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", "HEIC"),
        "vector.eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "not a supported image"),
    }
    for name, (content, sentence) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ImageError, match=sentence) as caught:
            open_image(tmp_path / name)
        assert name in str(caught.value)
    with pytest.raises(ImageError, match="does not exist"):
        open_image(tmp_path / "absent.png")
    with pytest.raises(ImageError, match="is a folder"):
        open_image(tmp_path)
    with pytest.raises(ImageError):
        open_image("a\x00b.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(ImageError, match="not a file"):
        open_image(tmp_path / "pipe.png")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"]), st.data())
def test_damage_anywhere_gives_an_image_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a"
    make_image().save(path, format=kind)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(ImageError):
        assert open_image(path).mode == "RGB"


def test_the_released_images_open() -> None:
    images = shared_data.creval_images()
    if not images:
        pytest.skip("needs the released images")
    for path in images[:12]:
        assert open_image(path).mode == "RGB"


def test_digests_name_the_content(tmp_path: Path) -> None:
    for name, content in (("a", b"x"), ("b", b"x"), ("c", b"y")):
        (tmp_path / name).write_bytes(content)
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b") != file_digest(tmp_path / "c")
    with pytest.raises(ImageError, match="cannot be read"):
        file_digest(tmp_path / "d")


def half(width: int, height: int) -> tuple[int, int]:
    return width // 2, height // 2


def same(width: int, height: int) -> tuple[int, int]:
    return width, height


@pytest.mark.parametrize(("suffix", "media"), [("jpg", "jpeg"), ("png", "png"), ("webp", "webp")])
def test_upright_files_are_sent_byte_for_byte(tmp_path: Path, suffix: str, media: str) -> None:
    path = tmp_path / f"a.{suffix}"
    make_image().save(path)
    sent = encode_image(path)
    assert (sent.media_type, sent.content) == (f"image/{media}", path.read_bytes())
    assert (sent.width, sent.height) == (40, 20)
    assert sent.digest == file_digest(path)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_an_image_on_its_side_is_turned_before_it_is_sent(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    exif = Image.Exif()
    exif[0x0112] = 6
    make_image().save(path, exif=exif)
    for fit, media in ((None, "image/png"), (same, "image/jpeg")):
        sent = encode_image(path, fit)
        assert (sent.media_type, sent.width, sent.height) == (media, 20, 40)
        image = Image.open(io.BytesIO(sent.content))
        assert near(image.convert("RGB").getpixel((10, 5)), RED, 40)
    assert read_image_size(path) == (20, 40)


def test_fitted_images_are_jpeg_of_the_given_size(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    make_image((400, 200)).save(path)
    sent = encode_image(path, half)
    assert (sent.media_type, sent.width, sent.height) == ("image/jpeg", 200, 100)
    image = Image.open(io.BytesIO(sent.content))
    assert image.size == (200, 100)
    assert near(image.getpixel((20, 50)), RED)
    assert sent.digest == file_digest(path), "the digest of the file, not of the sent image"


def test_a_jpeg_that_fits_is_not_encoded_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    make_image().save(path)
    assert encode_image(path, same).content == path.read_bytes()


def test_formats_that_no_model_supports_become_png(tmp_path: Path) -> None:
    moving = tmp_path / "a.webp"
    make_image().save(moving, save_all=True, append_images=[make_image().rotate(180)])
    for path in (moving, tmp_path / "a.tiff"):
        if not path.exists():
            make_image().save(path)
        sent = encode_image(path)
        assert sent.media_type == "image/png"
        assert near(Image.open(io.BytesIO(sent.content)).getpixel((5, 10)), RED, 40)


def test_unreadable_images_cannot_be_sent(tmp_path: Path) -> None:
    (tmp_path / "page.png").write_text("<html>")
    for name in ("page.png", "nowhere.png"):
        for use in (encode_image, read_image_size):
            with pytest.raises(ImageError):
                use(tmp_path / name)


def test_many_threads_may_encode_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    make_image((300, 300)).save(path)
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda _: encode_image(path, half).content, range(64)))
    assert len(set(sent)) == 1
    with pytest.warns(UserWarning, match="still shown"):
        warnings.warn("still shown", UserWarning, stacklevel=1)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_truncated_images_are_not_sent(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    generator = np.random.default_rng(0)
    Image.fromarray(generator.integers(0, 255, (200, 200, 3), dtype=np.uint8)).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 16)
    assert encode_image(path).content == path.read_bytes(), "bytes after the end do no harm"
    path.write_bytes(whole[: len(whole) // 2])
    for fit in (None, same):
        with pytest.raises(ImageError, match="damaged"):
            encode_image(path, fit)


def test_a_png_with_a_broken_part_is_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    make_image((300, 300)).save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(ImageError, match="damaged"):
        encode_image(path)


def test_modes_that_servers_read_wrongly_are_not_sent_as_they_are(tmp_path: Path) -> None:
    ink, deep = tmp_path / "ink.jpg", tmp_path / "deep.png"
    make_image().convert("CMYK").save(ink)
    Image.fromarray(np.full((20, 40), 40000, dtype=np.uint16)).save(deep)
    for path in (ink, deep):
        sent = encode_image(path)
        assert sent.media_type == "image/png"
        assert decode_image(sent.content).mode == "RGB"
    assert near(decode_image(encode_image(deep).content).getpixel((5, 5)), (156, 156, 156))


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_content_that_is_no_image(content: bytes) -> None:
    with pytest.raises(ImageError, match=r"the image is (damaged|not a supported image)"):
        decode_image(content)


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
def test_a_glance_sees_what_is_cut_off(tmp_path: Path, kind: str) -> None:
    whole, part = tmp_path / f"whole.{kind}", tmp_path / f"part.{kind}"
    noise = np.random.default_rng(1).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(whole)
    check_header(whole)
    assert missing_image_reason([whole], check_header) == ""
    part.write_bytes(whole.read_bytes()[:-2000])
    with pytest.raises(ImageError):
        check_header(part)
    assert missing_image_reason([whole, part], check_header).startswith(f"in the benchmark, part.{kind} is damaged")
    part.write_bytes(whole.read_bytes() + bytes(3000))
    check_header(part)  # bytes after the end of an image do not matter
