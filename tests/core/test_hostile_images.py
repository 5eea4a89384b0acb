"""Malicious image files are refused with an error, quickly and in little memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.core import images
from creval.core.image_limits import PixelBudget, is_safe_exif
from creval.core.images import (
    ImageError,
    check_header,
    encode_for_request,
    encode_image,
    file_digest,
    open_image,
    open_thumbnail,
    read_image_size,
)
from tests.hostile_images import PIXELS, REFUSED, TAKEN, chunk, plain_png, png, saved, tags, write_sparse

pytestmark = pytest.mark.attack

SECONDS = 2.0  # CPU time


def within(width: int, height: int) -> tuple[int, int]:
    return max(1, width // 2), max(1, height // 2)


@pytest.mark.parametrize("name", REFUSED)
def test_harmful_images_are_refused_before_decoding(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    REFUSED[name](path)
    for use in (
        open_image,
        encode_image,
        lambda path: encode_image(path, within),
        lambda path: open_thumbnail(path, 9),
    ):
        start = time.process_time()
        with pytest.raises(ImageError, match=r"a\.png"):
            use(path)
        assert time.process_time() - start < SECONDS
    start = time.process_time()
    for look in (read_image_size, check_header, file_digest):
        try:
            look(path)
        except ImageError as error:
            assert str(path) in str(error)  # noqa: PT017 (some functions do not read far enough to fail)
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("name", TAKEN)
def test_odd_images_are_images(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    TAKEN[name](path)
    start = time.process_time()
    assert open_image(path).mode == "RGB"
    assert encode_image(path, within).media_type == "image/jpeg"
    assert encode_image(path).width == open_image(path).width
    assert time.process_time() - start < SECONDS


def test_devices_and_endless_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to("/dev/zero")
    for use in (open_image, encode_image, file_digest, check_header):
        with pytest.raises(ImageError, match="it is a device, not a file"):
            use(tmp_path / "a.png")


def test_an_image_without_pixels_is_not_sent_as_it_is(tmp_path: Path) -> None:
    scan = saved("JPEG", (64, 64)).partition(b"\xff\xda")[0]
    path = tmp_path / "a.jpg"
    path.write_bytes(
        scan.replace(b"\x00\x40\x00\x40", b"\x20\x00\x20\x00") + b"\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\x3f\0\xff\xd9"
    )
    assert read_image_size(path) == (8192, 8192)
    with pytest.raises(ImageError, match="image data ends too early"):
        encode_image(path)
    path.write_bytes(png(4, 4, chunk(b"tEXt", b"IDAT\0IDAT")))
    with pytest.raises(ImageError, match="image data ends too early"):
        encode_image(path)
    path.write_bytes(png(4, 4, PIXELS))
    assert encode_image(path).content == path.read_bytes()


def test_the_error_names_the_limit_of_bytes(tmp_path: Path) -> None:
    write_sparse(b"\x89PNG\r\n\x1a\n", (256 << 20) + 1, tmp_path / "a.png")
    with pytest.raises(ImageError, match="larger than 256 MB"):
        encode_image(tmp_path / "a.png")


def test_the_error_names_the_limit_of_pixels(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png(10_001, 10_000, PIXELS))
    for use in (open_image, read_image_size, encode_image):
        with pytest.raises(ImageError, match="10001 x 10000 pixels; the limit is 100 million"):
            use(path)


def test_a_large_jpeg_is_decoded_reduced_where_that_will_do(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(saved("JPEG", (12_800, 8_000)))
    with pytest.raises(ImageError, match="too large"):
        open_image(path)
    with pytest.raises(ImageError, match="too large"):
        encode_image(path)
    start = time.process_time()
    sent = encode_image(path, lambda width, height: (width // 16, height // 16))
    assert (sent.width, sent.height) == (800, 500)
    shown = open_thumbnail(path, 320)
    assert shown.size == (320, 200)
    assert min(shown.getpixel((160, 100))[:1]) > 240, "still red"  # type: ignore[index]
    assert time.process_time() - start < SECONDS


def test_a_small_budget_lets_one_thread_in_at_a_time() -> None:
    budget, inside, most = PixelBudget(100), [0], [0]
    lock = threading.Lock()

    def work(pixels: int) -> None:
        with budget.reserve(pixels), budget.reserve(1000):  # a nested reservation does not count
            with lock:
                inside[0] += pixels
                most[0] = max(most[0], inside[0])
            time.sleep(0.005)
            with lock:
                inside[0] -= pixels

    threads = [threading.Thread(target=work, args=(pixels,)) for pixels in (60, 40, 70, 30, 100, 20, 50) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert 60 < most[0] <= 100
    with budget.reserve(1000):  # more than the whole budget: waits only until no other pixels are reserved
        pass


def test_exif_that_refers_to_itself_is_known() -> None:
    assert is_safe_exif(tags(500, 1000))
    assert not is_safe_exif(tags(40_000, 400_000))
    assert is_safe_exif(b"MM\0*\0\0\0\x08" + bytes(100_000))


def measured(code: str, *arguments: object) -> tuple[int, float, str]:
    """Return a process's peak memory in MB, its CPU time in seconds, and its output."""
    report = (
        "import time; peak = next(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')); "
        "print(peak, time.process_time(), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\ntry:\n    {code}\nfinally:\n    {report}", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,  # for a hang; a busy machine can take far more than the CPU time
        check=False,
    )
    peak, seconds = done.stderr.split()[-2:]
    return int(peak) // 1024, float(seconds), done.stdout + done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_threads(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(plain_png(9_000, 9_000))
    code = (
        "from concurrent.futures import ThreadPoolExecutor as P; from creval.core.images import encode_image as e; "
        "list(P(3).map(lambda _: e(sys.argv[1], lambda w, h: (64, 64)).width, range(3)))"
    )
    memory, _, said = measured(code, tmp_path / "a.png")
    # An image takes 81 MB in grey and 324 MB in RGB, and the budget allows one.
    assert memory < 600, said


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L"])
def test_a_large_transparent_image_is_laid_on_white_like_a_small_one(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 4), dtype=np.uint8)
    image = Image.fromarray(pixels, "RGBA").convert(mode)
    image.save(tmp_path / "a.png", transparency=7 if mode in ("P", "L") else None)
    whole = np.asarray(open_image(tmp_path / "a.png"))
    monkeypatch.setattr(images, "_PIXELS_PER_STRIP", 100)
    assert np.array_equal(np.asarray(open_image(tmp_path / "a.png")), whole)


def test_images_too_large_for_a_request_are_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    noise = np.random.default_rng(0).integers(0, 256, 33 << 20, dtype=np.uint8).tobytes()
    path.write_bytes(png(4096, 4096, chunk(b"IDAT", noise)))
    with pytest.raises(ImageError, match="33 MB; the limit for a request is 32 MB"):
        encode_for_request(path, None)
