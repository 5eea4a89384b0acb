from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from creval.benchmarks import open_benchmark
from creval.benchmarks.complex_edit.atomic_operations import OPERATIONS
from creval.core.errors import CrevalError
from creval.store import RunWriter
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import complex_edit, draw_images, rows
from tests.serving import serving


def test_images_become_rows_that_are_read_without_fault(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 3)
    (images / "broken.png").write_bytes(b"none")
    with serving(FakeServer(seed=4).app()) as url:
        work = complex_edit(images, tmp_path / "bench", url, steps=4, retries=4)
        assert (work.item_count, work.unit, work.warnings()) == (4, "image", [])
        wrote = work.run()
    assert sorted(wrote.results) == ["p0.png", "p1.png", "p2.png"]
    assert list(wrote.left_out) == ["broken.png"]
    assert wrote.share_left_out == 0.25
    found = open_benchmark(tmp_path / "bench").dataset
    assert (found.issues, found.authored_by, len(found.samples)) == ((), {"writer": "m"}, 12)
    for sample in found.samples:
        assert sample.source is not None
        assert len(sample.steps) == int(sample.tags["complexity"][1:])
        assert all(step.kind in OPERATIONS for step in sample.steps)
        if sample.tags["complexity"] == "C1":
            assert sample.instruction == sample.steps[0].text
    with RunWriter(tmp_path / "bench") as store:
        held = store.manifest
    assert (held["system"], held["steps"], held["temperature"]) == ("complex-edit", 4, 1.15)
    assert len(held["prompts"]) == 3


def test_a_row_that_is_there_stays_and_a_larger_limit_adds(tmp_path: Path) -> None:
    images, bench = draw_images(tmp_path / "images", 4), tmp_path / "bench"
    server = FakeServer(seed=4)
    with serving(server.app()) as url:
        complex_edit(images, bench, url, limit=2, retries=4).run()
        assert len(rows(bench)) == 2
        changed = sorted((bench / "built").glob("*.json"))[0]
        content = json.loads(changed.read_text())
        content["edit"]["sequence"][0]["instruction"] = "My own words."
        changed.write_text(json.dumps(content))
        asked = server.stats["requests"]
        again = complex_edit(images, bench, url, limit=2, retries=4)
        assert (again.item_count, again.warnings()) == (0, ["2 images already exist and will not be changed."])
        assert [made.calls for made in again.estimate()] == [0, 0]
        assert again.run().results == {}
        assert server.stats["requests"] == asked
        complex_edit(images, bench, url, limit=3, retries=4).run()
    assert len(rows(bench)) == 3
    assert rows(bench)[changed.name] == content


def test_another_model_or_other_steps_are_refused(tmp_path: Path) -> None:
    images, bench = draw_images(tmp_path / "images", 1), tmp_path / "bench"
    with serving(FakeServer(seed=4).app()) as url:
        complex_edit(images, bench, url, retries=4).run()
        with pytest.raises(CrevalError, match="started with other models"):
            complex_edit(images, bench, url, model="other", retries=4)
        with pytest.raises(CrevalError, match=r"started with other steps \(2, not 3\)"):
            complex_edit(images, bench, url, steps=3, retries=4)


def test_an_estimate_subtracts_stored_replies_of_unfinished_images(tmp_path: Path) -> None:
    images, bench = draw_images(tmp_path / "images", 2), tmp_path / "bench"
    with serving(FakeServer(seed=4).app()) as url:
        before = complex_edit(images, bench, url, steps=3, retries=4).estimate()
        assert [made.calls for made in before] == [2, 10]
        complex_edit(images, bench, url, steps=3, retries=4).run()
        (bench / "built" / "0000.json").unlink()
        work = complex_edit(images, bench, url, steps=3, retries=4)
        left = work.estimate()
        assert work.item_count == 1
        assert [made.calls for made in left] == [0, 0]
        assert sum(made.cached for made in left) >= 6
        work.run()
    assert len(rows(bench)) == 2


class Hostile(FakeServer):
    """A server that returns garbled texts now and then."""

    def build_reply(self, body: Any, asked: Any) -> dict[str, Any]:
        good = super().build_reply(body, asked)
        chance = random.Random(str(asked.questions))
        message = good["choices"][0]["message"]
        if chance.random() < 0.3:
            message["content"] = chance.choice(
                ['{"instruction": ' * 50, "\x1b[31m\u202e{}[]", "No" * 4000, "{{reason}} {{count}}"]
            )
        return good


def test_noise_is_left_out_and_the_rest_is_whole(tmp_path: Path) -> None:
    images, bench = draw_images(tmp_path / "images", 6), tmp_path / "bench"
    with serving(Hostile().app()) as url:
        wrote = complex_edit(images, bench, url, steps=3, retries=1).run()
    assert len(wrote.results) + len(wrote.left_out) == 6
    assert wrote.left_out
    assert len(rows(bench)) == len(wrote.results)
    if wrote.results:
        assert open_benchmark(bench).dataset.issues == ()
