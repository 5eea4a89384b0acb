"""Only images of the run are served."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.images import ImageError
from creval.store import RunWriter
from creval.web.common.browser_images import BrowserImages
from tests.web.made import image, looking_at, write_run

SCRIPT = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def test_an_image_is_served_unchanged(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    with looking_at(run) as client:
        answer = client.get("/image", params={"sample": "s1", "name": "source"})
        assert answer.headers["content-type"] == "image/png"
        assert answer.content == (tmp_path / "s1.png").read_bytes()
        again = client.get(
            "/image", params={"sample": "s1", "name": "source"}, headers={"If-None-Match": answer.headers["etag"]}
        )
        assert again.status_code == 304
        small = client.get("/image", params={"sample": "s1", "name": "0:beta", "size": "small"})
        assert small.headers["content-type"] == "image/jpeg"
        assert Image.open(io.BytesIO(small.content)).size == (48, 48)


@pytest.mark.parametrize(
    ("sample", "name", "size"),
    [
        ("s1", "", ""),
        ("s1", "mask", ""),
        ("s1", "reference:0", ""),
        ("s1", "reference:-1", ""),
        ("s1", "reference:" + "9" * 500, ""),
        ("s1", "0:nobody", ""),
        ("s1", "1:beta", ""),
        ("s1", "-1:beta", ""),
        ("s1", "٣:beta", ""),
        ("s1", "before:0:0:beta", ""),
        ("s1", "before:-1:0:beta", ""),
        ("s1", "before:0:beta", ""),
        ("s1", "before:" + "9" * 500 + ":0:beta", ""),
        ("s1", "before:0:0:nobody", ""),
        ("s1", "9" * 500 + ":beta", ""),
        ("s1", "source", "huge"),
        ("s1", "0:../s1.png", ""),
        ("s1", "/etc/passwd", ""),
        ("s1", "../../../../etc/passwd", ""),
        ("s1", "file:///etc/passwd", ""),
        ("../s1", "source", ""),
        ("s9", "source", ""),
        ("", "source", ""),
    ],
)
def test_files_outside_the_run_are_not_served(
    tmp_path_factory: pytest.TempPathFactory, sample: str, name: str, size: str
) -> None:
    run = write_run(tmp_path_factory.mktemp("run"))
    with looking_at(run) as client:
        given = {"sample": sample, "name": name, "size": size}
        refused = client.get("/image", params=given)
        assert refused.status_code == 404
        assert refused.headers["content-type"].startswith("text/plain")
        for path in (
            "/static/../app.py",
            "/static/%2e%2e/app.py",
            "/static/..%2fapp.py",
            "/creval.db",
            "/run/creval.db",
            "/static/",
        ):
            assert client.get(path).status_code == 404


@pytest.mark.parametrize("content", [SCRIPT, b"<html><script>alert(1)</script>", b"", b"\x89PNG\r\n\x1a\nnot really"])
def test_files_that_are_no_images_are_not_served(tmp_path: Path, content: bytes) -> None:
    run = write_run(tmp_path)
    path = tmp_path / "s1.png"
    path.write_bytes(content)
    with looking_at(run) as client:
        for size in ("", "small"):
            given = {"sample": "s1", "name": "source", "size": size}
            refused = client.get("/image", params=given)
            assert refused.status_code == 404
            assert refused.headers["content-type"].startswith("text/plain")
            assert b"<script>" not in refused.content
        page = client.get("/sample?id=s1").text
        assert "No image." in page
        path.unlink()
        assert "does not exist" in client.get("/sample?id=s1").text


def test_a_damaged_image_is_reported(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    path = tmp_path / "s1.png"
    path.write_bytes(path.read_bytes()[:-30])
    with looking_at(run) as client:
        refused = client.get("/image?sample=s1&name=source")
        assert refused.status_code == 404
        assert "damaged" in refused.text
        assert client.get("/sample?id=s1").status_code == 200


def test_other_formats_are_made_png(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    Image.new("RGB", (9, 5), (1, 2, 3)).save(tmp_path / "odd.bmp")
    Image.new("CMYK", (9, 5)).save(tmp_path / "ink.jpg")
    with RunWriter(run) as store, store.transaction():
        store.put_edits(
            [
                Edit(EditKey("alpha", "s1"), image=tmp_path / "odd.bmp"),
                Edit(EditKey("beta", "s1"), image=tmp_path / "ink.jpg"),
            ]
        )
    with looking_at(run) as client:
        for model in ("alpha", "beta"):
            answer = client.get("/image", params={"sample": "s1", "name": f"0:{model}"})
            assert answer.headers["content-type"] == "image/png"
            assert Image.open(io.BytesIO(answer.content)).size == (9, 5)


def test_thumbnails_are_kept_up_to_a_bound(tmp_path: Path) -> None:
    paths = [image(tmp_path / f"{n}.png", (n * 9, 0, 0)) for n in range(8)]
    one = len(BrowserImages().get(paths[0], "small").content)
    images = BrowserImages(max_bytes=3 * one + one // 2)
    for path in paths:
        images.get(path, "small")
    assert len(images._cache) == 3
    paths[7].write_bytes(paths[0].read_bytes())
    assert images.get(paths[7], "small").content == BrowserImages().get(paths[0], "small").content
    with pytest.raises(ImageError):
        images.get(tmp_path / "none.png", "small")


def test_lists_show_only_what_is_there(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    (tmp_path / "s2.png").unlink()
    (tmp_path / "edits" / "alpha-s3.png").unlink()
    shown = image(tmp_path / "second.png")
    with RunWriter(run) as store, store.transaction():
        store.put_edits(
            [
                Edit(EditKey("alpha", "s1"), EditStatus.REFUSED),
                Edit(EditKey("alpha", "s1", 1), image=shown),
                Edit(EditKey("alpha", "s1", 2), image=shown),
            ]
        )
    with looking_at(run) as client:
        page = unescape(client.get("/samples?model=alpha").text)
        images = re.findall(r'<img src="([^"]*)"', page)
        assert images == [
            "/image?sample=s1&name=source&size=small",
            "/image?sample=s1&name=1%3Aalpha&size=small",
            "/image?sample=s2&name=0%3Aalpha&size=small",
            "/image?sample=s3&name=source&size=small",
        ]
        assert {client.get(path).status_code for path in images} == {200}
