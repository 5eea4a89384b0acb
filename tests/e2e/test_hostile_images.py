"""Tests of commands on a folder of hostile files: bounded time and memory, and no access outside the folder."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from creval.testing.fake_chat_server import FakeServer
from miniature import write_miniature
from tests.commands import creval
from tests.core.test_hostile_images import measured
from tests.hostile_images import REFUSED, TAKEN, plain_png
from tests.serving import serving

pytestmark = pytest.mark.attack

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
MEGABYTES = 800  # 300 of them for the pixels in flight
SECONDS = 30  # CPU time


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a benchmark with edits of a model, all hostile except the first three."""
    folder = tmp_path_factory.mktemp("hostile")
    kinds = [*REFUSED.values(), *TAKEN.values()]
    write_miniature(folder, samples=len(kinds) + 4, seed=1, models={"Good": (0.9, 0.9, 0.9)})
    names = sorted(path.name for path in (folder / "edits" / "Good").iterdir())
    hostile = folder / "edits" / "Hostile"
    shutil.copytree(folder / "edits" / "Good", hostile)
    for name, write in zip(names[3:], kinds, strict=False):
        (hostile / name).unlink()
        write(hostile / name)
    (hostile / names[-1]).write_bytes(plain_png(6_000, 6_000))
    (hostile / "a\nname\x1b[31m.png").write_bytes(b"")
    (hostile / f"{'x' * 251}.png").write_bytes(b"")
    return folder


@LINUX
def test_hostile_edits_are_judged_measured_and_shown(bench: Path, tmp_path: Path) -> None:
    edits, run = [bench / "edits" / name for name in ("Good", "Hostile")], tmp_path / "run"
    with serving(FakeServer().app()) as url:
        spec = f"openai:fake@{url}/v1"
        asked = ["judge", bench, "--edits", *edits, "--judge", spec, "--run", run, "--image-fit", "256"]
        commands = [
            [*asked, "--dry-run"],
            asked,
            ["unchanged", run],
            ["measure", "l1_src,colorfulness", "--bench", bench, "--edits", *edits],
            ["report", run, "--out", tmp_path / "report.html", "--samples", "40"],
        ]
        # In one process, because starting one takes a second.
        code = "from tests.commands import creval; [print(creval(*c)) for c in eval(sys.argv[1])]"
        memory, seconds, said = measured(code, [list(map(str, command)) for command in commands])
    assert "Traceback" not in said
    assert said.count("returncode=") == len(commands)
    assert (memory < MEGABYTES, seconds < SECONDS) == (True, True), f"{memory} MB, {seconds:.0f} s"
    assert "it is a pipe, not a file" in said
    assert "Hostile" in creval("score", run).stdout


def test_links_out_of_the_folder_are_errors(bench: Path, tmp_path: Path) -> None:
    edits, private = tmp_path / "Mine", tmp_path / "private.png"
    shutil.copytree(bench / "edits" / "Good", edits)
    image = next(edits.iterdir())
    image.rename(private)
    image.symlink_to(private)
    for arguments in (
        ("judge", bench, "--edits", edits, "--judge", "truth", "--run", tmp_path / "run", "--dry-run"),
        ("measure", "l1_src", "--bench", bench, "--edits", edits),
    ):
        done = creval(*arguments)
        assert done.returncode == 2
        assert f"{image} is a link to {private}, outside of the folders given as --edits" in done.stderr


@pytest.mark.parametrize("given", ["/dev/zero", "pipe.json", "x" * 300 + ".json"])
def test_devices_and_pipes_are_not_read(miniature_run: Path, tmp_path: Path, given: str) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(plain_png(8, 8))
    file, nobody = tmp_path / given, "openai:none@http://127.0.0.1:9/v1"
    folders = ("--images", tmp_path / "images", "--out", tmp_path / "out")
    for arguments in (
        ("align", "--human", file, miniature_run),
        ("build", "creval", *folders, "--writer", nobody, "--asker", nobody, "--instructions", file, "--dry-run"),
    ):
        done = creval(*arguments)
        assert (done.returncode, "cannot be read: " in done.stderr) == (2, True), done
