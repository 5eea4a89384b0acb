"""Synthetic twins: captions, images made from them, pairs, and their groups in the scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import creval
from creval.analysis.scoring import build_score_table
from creval.benchmarks import open_benchmark
from creval.building.twins.twin_build import TwinBuild, TwinResult
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions
from creval.providers.pricing import Price
from creval.store import open_run
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.ice_bench.release_files import drawn
from tests.building.captions.test_builder import Captioner
from tests.building.chains_made import complex_edit
from tests.commands import creval as run_command
from tests.commands import right
from tests.serving import serving


def paint(image: Image.Image | None, instruction: str, seed: int = 0) -> Image.Image:
    """Make an image from text alone."""
    assert image is None
    return drawn(seed + sum(map(ord, instruction)), (40, 30))


CAPTIONS = [f"A grey cat sits on chair {number} beside a window." for number in range(9)]


def describing() -> Captioner:
    """Return a model that describes each image differently."""
    return Captioner(*CAPTIONS)


def photos(folder: Path, number: int) -> Path:
    folder.mkdir()
    for at in range(number):
        drawn(at).save(folder / f"p{at}.png")
    return folder


def build(tmp_path: Path, url: str, editor: Any = paint, **settings: Any) -> TwinBuild:
    options = EditorOptions(price=0.1)
    return TwinBuild(
        tmp_path / "photos", tmp_path / "twins", f"openai:m@{url}/v1", editor, Settings(**settings), options
    )


def images(tmp_path: Path) -> list[str]:
    folder = tmp_path / "twins" / "images"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))


def test_each_image_gets_a_twin_made_from_its_caption(tmp_path: Path) -> None:
    photos(tmp_path / "photos", 2)
    asked: list[str] = []

    def recorded(image: Image.Image | None, instruction: str, seed: int = 0) -> Image.Image:
        asked.append(instruction)
        return paint(image, instruction, seed + len(asked))

    model = describing()
    with serving(model.app()) as url:
        work = build(tmp_path, url, recorded)
        estimates = {one.role: one for one in work.estimate()}
        assert (estimates["writer"].calls, estimates["editor"].calls, estimates["editor"].cost) == (2, 2, 0.2)
        result = work.run()
        assert (result.pairs, result.left_out, sorted(asked)) == (2, {}, CAPTIONS[:2])
        again = build(tmp_path, url, recorded)
        assert [one.calls for one in again.estimate()] == [0, 0]
        assert again.run().pairs == 2
    assert (len(model.asked), len(asked)) == (2, 2), "nothing is paid for twice"
    assert images(tmp_path) == ["real/p0.png", "real/p1.png", "synthetic/p0.png", "synthetic/p1.png"]
    assert (tmp_path / "twins/images/real/p0.png").read_bytes() == (tmp_path / "photos/p0.png").read_bytes()
    pair = json.loads((tmp_path / "twins/images/twins.json").read_text())["pairs"]["p1"]
    assert pair["caption"] in CAPTIONS[:2]
    assert (pair["made"]["writer"], pair["synthetic"]["file"]) == ("m", "synthetic/p1.png")
    assert pair["made"]["prompts"][0].startswith("caption_source@")


def test_what_is_refused_is_left_out_and_asked_again(tmp_path: Path) -> None:
    photos(tmp_path / "photos", 2)

    def shy(image: Image.Image | None, instruction: str, seed: int = 0) -> Image.Image:
        if not refused:
            refused.append(instruction)
            raise creval.Refused("not this one")
        return paint(image, instruction, seed)

    refused: list[str] = []
    with serving(describing().app()) as url:
        first: TwinResult = build(tmp_path, url, shy).run()
        assert (first.pairs, len(first.left_out)) == (1, 1)
        assert "not this one" in next(iter(first.left_out.values()))
        assert len(images(tmp_path)) == 2, "only complete pairs"
        assert build(tmp_path, url, shy).run().pairs == 2


def test_an_editor_that_needs_a_source_is_refused(tmp_path: Path) -> None:
    photos(tmp_path / "photos", 1)
    with pytest.raises(CrevalError, match="only edits images"):
        build(tmp_path, "http://127.0.0.1:9", "command:./edit.sh {source} {instruction} {output}")
    with pytest.raises(CrevalError, match="`budget` needs the price"):
        TwinBuild(tmp_path / "photos", tmp_path / "t", "openai:m@http://127.0.0.1:9/v1", paint, Settings(budget=1.0))


def test_scores_are_by_input_and_pairs_are_drawn_together(tmp_path: Path) -> None:
    photos(tmp_path / "photos", 3)
    with serving(describing().app()) as url:
        build(tmp_path, url).run()
    bench = tmp_path / "bench"
    with serving(FakeServer(seed=4).app()) as url:
        complex_edit(tmp_path / "twins" / "images", bench, url, steps=2, retries=4).run()
        dataset = open_benchmark(bench).dataset
        assert [level.name for level in dataset.levels] == ["overall", "input", "complexity", "delta", "input_delta"]
        kinds = [sample.tags["input"] for sample in dataset.samples]
        assert (kinds.count("real"), kinds.count("synthetic")) == (6, 6)
        assert len({sample.cluster for sample in dataset.samples}) == 3, "one for each pair"
        edits = tmp_path / "edits" / "m"
        for sample in dataset.samples:
            path = edits / f"{sample.id.removeprefix('built/')}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            drawn(99).save(path)
        run = tmp_path / "run"
        right("judge", bench, "--edits", edits, "--judge", f"openai:j@{url}/v1", "--run", run)
    with open_run(run) as opened:
        table = build_score_table(opened)
        tags = {sample.id: sample.tags["input"] for sample in open_benchmark(bench).dataset.samples}
    found = json.loads(right("score", run, "--json"))["models"]["m"]
    groups, gap = found["inputs"], found["input_deltas"]["synthetic-real"]["IF"]["value"]
    assert gap == pytest.approx(groups["synthetic"]["IF"]["value"] - groups["real"]["IF"]["value"])
    column = [metric.name for metric in table.schema.metrics].index("IF")
    for kind in ("real", "synthetic"):
        mine = [at for at, name in enumerate(table.samples) if tags[name] == kind]
        values = table.values[0, mine, column]
        assert groups[kind]["IF"]["value"] == pytest.approx(np.nanmean(values))
    printed = right("score", run, "--by", "input,input_delta")
    assert "real" in printed
    assert "synthetic-real" in printed


def test_other_images_leave_no_mark(tmp_path: Path) -> None:
    with serving(FakeServer(seed=4).app()) as url:
        complex_edit(photos(tmp_path / "photos", 1), tmp_path / "bench", url, steps=2, retries=4).run()
    assert not (tmp_path / "bench" / "twins.jsonl").exists()


def test_the_command(tmp_path: Path) -> None:
    photos(tmp_path / "photos", 2)
    script = tmp_path / "paint.sh"
    script.write_text(f'#!/bin/sh\ncp "{tmp_path / "photos" / "p1.png"}" "$1"\n')
    script.chmod(0o755)
    with serving(describing().app()) as url:
        arguments = ["build", "twins", "--images", tmp_path / "photos", "--out", tmp_path / "t"]
        arguments += ["--writer", f"openai:m@{url}/v1", "--editor", f"command:{script} {{output}} {{instruction}}"]
        planned = run_command(*arguments, "--dry-run", "--json")
        assert planned.returncode == 0, planned.stderr
        assert not (tmp_path / "t").exists()
        assert [one["calls"] for one in json.loads(planned.stdout)["estimates"]] == [2, 2]
        done = run_command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pairs"] == 2
    assert "Now: creval build complex-edit --images" in done.stderr


def test_the_budget_limits_both_and_a_larger_one_resumes(tmp_path: Path) -> None:
    photos(tmp_path / "photos", 3)
    made: list[str] = []

    def recorded(image: Image.Image | None, instruction: str, seed: int = 0) -> Image.Image:
        made.append(instruction)
        return paint(image, instruction, seed)

    model, price = describing(), Price(1.0, 1.0)
    with serving(model.app()) as url:
        first = build(tmp_path, url, recorded, budget=0.15, price=price, concurrency=1).run()
        assert (first.stopped, first.pairs, len(made)) == ("budget", 1, 1), "an image costs 0.1 USD"
        done = build(tmp_path, url, recorded, budget=1.0, price=price).run()
    assert (done.stopped, done.pairs, len(made), len(model.asked)) == ("", 3, 3, 3)
