from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.benchmarks.complexbench_edit.release import SUBSETS
from creval.building.complexbench.builder import ComplexBenchBuilder
from creval.building.complexbench.edit_types import ATTRIBUTE, OBJECT, RELEASED_LEVELS
from creval.building.complexbench.objects import Detections
from creval.building.complexbench.review import ComplexBenchReview
from creval.building.review.base import DROPPED
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import FITTING, annotated, complexbench, entries, objects
from tests.serving import serving

NOWHERE = "openai:w@http://127.0.0.1:1/v1"


def test_images_become_samples_that_are_read_without_fault(tmp_path: Path) -> None:
    annotated(tmp_path, [*FITTING, ("cat", "cup"), ("cat", "cup", "vase")])
    (tmp_path / "images" / "000000000008.jpg").write_bytes(b"none")
    with serving(FakeServer(seed=3).app()) as url:
        work = complexbench(tmp_path, tmp_path / "bench", url, levels=RELEASED_LEVELS)
        assert (work.item_count, work.unit) == (18, "sample")
        assert work.warnings() == ["6 images kept.", "1 image not kept: fewer than 3 classes occur (000000000007.jpg)."]
        wrote = work.run()
    assert (len(wrote.results), list(wrote.left_out)) == (18, ["000000000008.jpg"])
    found = open_benchmark(tmp_path / "bench").dataset
    assert (found.issues, found.authored_by) == ((), {"writer": "w"})
    counts = {name: sum(s.tags["subset"] == name for s in found.samples) for name in SUBSETS}
    assert list(counts.values()) == [2, 2, 2, 6, 6]
    for sample in found.samples:
        assert sample.source is not None
        assert sample.source.is_file()
        assert len(sample.steps) == 3
        for one in sample.steps:
            local = one.kind in OBJECT + ATTRIBUTE and one.kind != "add object"
            assert bool(one.boxes) == (local and not one.needs)
    images = {sample.source.name for sample in found.samples if sample.source}
    assert "1-000000000001.jpg" in images


def test_an_entry_that_is_there_stays_and_levels_add(tmp_path: Path) -> None:
    annotated(tmp_path, FITTING[:2])
    bench, server = tmp_path / "bench", FakeServer(seed=3)
    with serving(server.app()) as url:
        complexbench(tmp_path, bench, url, levels=["two-chain"]).run()
        first, asked = entries(bench), server.stats["requests"]
        again = complexbench(tmp_path, bench, url, levels=["two-chain"])
        assert (again.item_count, again.run().results) == (0, {})
        assert server.stats["requests"] == asked
        complexbench(tmp_path, bench, url, levels=["two-chain", "three-chain"]).run()
    assert entries(bench)["two-chain"] == first["two-chain"]
    assert len(entries(bench)["three-chain"]) == 2


def test_two_images_of_one_name_cannot_both_be_kept(tmp_path: Path) -> None:
    annotated(tmp_path, FITTING[:1])
    inside = tmp_path / "images" / "more" / "000000000001.jpg"
    inside.parent.mkdir()
    Image.new("RGB", (80, 40), "teal").save(inside)
    with serving(FakeServer(seed=3).app()) as url:
        wrote = complexbench(tmp_path, tmp_path / "bench", url).run()
    assert len(wrote.results) == 1
    why = "it would have the same key as 000000000001.jpg. Rename it."
    assert wrote.left_out == {"more/000000000001.jpg": why}


def test_the_writer_that_checks_itself_gets_a_warning(tmp_path: Path) -> None:
    annotated(tmp_path, FITTING[:1])
    fine = objects("cat", "cup", "vase")
    work = ComplexBenchBuilder(
        tmp_path / "images",
        tmp_path / "bench",
        {"writer": NOWHERE, "checker": NOWHERE},
        Settings(),
        lambda names: Detections(dict.fromkeys(names, fine), {}),
        dry_run=True,
    )
    assert "the writer checks its own work" in work.warnings()[-1]
    assert [made.calls for made in work.estimate()] == [9, 3]
    assert not (tmp_path / "bench").exists()


def test_no_suitable_image_is_an_error_with_reasons(tmp_path: Path) -> None:
    annotated(tmp_path, [("cat",), ("cat", "cup", "vase")])
    (tmp_path / "images" / "000000000002.jpg").write_bytes(b"none")
    with pytest.raises(CrevalError, match=r"no image is suitable.*fewer than 3.*000000000002\.jpg"):
        complexbench(tmp_path, tmp_path / "bench", "http://127.0.0.1:1")


def test_another_model_is_refused_before_detection(tmp_path: Path) -> None:
    annotated(tmp_path, FITTING[:1])

    def looks(_: Sequence[str]) -> Detections:
        raise AssertionError("it looked")

    with serving(FakeServer(seed=3).app()) as url:
        complexbench(tmp_path, tmp_path / "bench", url).run()
        roles = {"writer": NOWHERE, "checker": NOWHERE}
        with pytest.raises(CrevalError, match="started with other models"):
            ComplexBenchBuilder(tmp_path / "images", tmp_path / "bench", roles, Settings(), looks)


def test_decisions_during_a_build_are_kept(tmp_path: Path) -> None:
    annotated(tmp_path, FITTING[:2])
    bench = tmp_path / "bench"
    with serving(FakeServer(seed=3).app()) as url:
        complexbench(tmp_path, bench, url, levels=["two-chain"]).run()
        work = complexbench(tmp_path, bench, url, levels=["two-chain", "three-chain"])
        review = ComplexBenchReview(bench)  # after the build has read the files
        review.decide("two-chain/1", "step/1", DROPPED, {})
        work.run()
    assert review.group("two-chain/1").items[0].verdict == DROPPED
    assert len(entries(bench)["three-chain"]) == 2


def test_parallel_steps_of_any_types_are_a_subset_of_their_own(tmp_path: Path) -> None:
    annotated(tmp_path, FITTING)
    bench = tmp_path / "bench"
    with serving(FakeServer(seed=3).app()) as url:
        wrote = complexbench(tmp_path, bench, url, levels=["any"], types="color,material,text,change style").run()
        assert (len(wrote.results), wrote.left_out) == (len(FITTING), {})
        with pytest.raises(CrevalError, match="started with other types"):
            complexbench(tmp_path, bench, url, levels=["any"])
    benchmark = open_benchmark(bench)
    assert benchmark.dataset.issues == ()
    for sample in benchmark.dataset.samples:
        assert sample.id.startswith("parallel-any/")
        kinds = [step.kind for step in sample.steps]
        assert len(set(kinds)) == 3
        assert set(kinds) <= {"color", "material", "text", "change style"}
        assert not any(step.needs for step in sample.steps)
        probes = benchmark.protocol.probes(sample)
        scored = benchmark.protocol.score(sample, probes, {"score/1": 5, "score/2": 1, "score/3": 3})
        assert scored["score"].value == pytest.approx(60), "the mean of 100, 20 and 60"
        assert bool(scored["L1"].total) == ("change style" not in kinds)
    level = next(level for level in benchmark.schema.levels if level.name == "subset")
    assert level.groups == (*SUBSETS, "parallel-any")
    review = ComplexBenchReview(bench)
    assert set(review.groups()) == {sample.id for sample in benchmark.dataset.samples}


def test_other_benchmarks_do_not_have_that_subset(tmp_path: Path) -> None:
    annotated(tmp_path, FITTING[:1])
    with serving(FakeServer(seed=3).app()) as url:
        complexbench(tmp_path, tmp_path / "bench", url).run()
    assert not (tmp_path / "bench" / "data" / "instructions" / "parallel-any").exists()
    benchmark = open_benchmark(tmp_path / "bench")
    level = next(level for level in benchmark.schema.levels if level.name == "subset")
    assert level.groups == tuple(SUBSETS)


def test_an_image_without_a_fitting_type_is_left_out(tmp_path: Path) -> None:
    annotated(tmp_path, [("cat", "cup", "vase"), ("tv", "cup", "vase")])
    with serving(FakeServer(seed=3).app()) as url:
        work = complexbench(tmp_path, tmp_path / "bench", url, levels=["any"], types="pose,color,text")
        wrote = work.run()
    assert len(wrote.results) == 1
    (reason,) = wrote.left_out.values()
    assert reason.startswith("fewer than 3 of the given types")
