"""ComplexBench-Edit's pipeline: from annotated pictures to a benchmark that is read and judged."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.benchmarks.coco import Annotated, read_pictures
from creval.benchmarks.complexbench_release import KINDS, SUBSETS
from creval.build.chains import complexbench
from creval.build.chains.complexbench import Scene, types_of
from creval.build.chains.complexbench_files import file_of, key_of
from creval.build.chains.complexbench_review import ComplexBenchReview
from creval.build.chains.detected import CLASSES, detected
from creval.build.chains.kinds import ATTRIBUTE, GLOBAL, LEVELS, MEANINGS, OBJECT, Types, draw_types
from creval.build.chains.scenes import Thing, thing_named, things, unsuited
from creval.build.chains.scribe import NotAcceptedError, Scribe
from creval.build.review import ACCEPTED, DROPPED, OPEN
from creval.core.errors import CrevalError
from creval.core.sample import Box
from creval.judges.fake import FakeServer
from tests.build.chains.test_complex_edit import Script, creval
from tests.serving import serving

CATEGORIES = ("cat", "cup", "vase", "tv")


def annotated(folder: Path, objects: Sequence[Sequence[str]], crowds: Sequence[int] = ()) -> Path:
    """Pictures, and a file of annotations in which each holds these objects, from left to right."""
    images = folder / "images"
    images.mkdir(parents=True)
    pictures, found = [], []
    for number, names in enumerate(objects, 1):
        name = f"{number:012d}.jpg"
        Image.new("RGB", (80, 40), (number * 20, 90, 90)).save(images / name)
        pictures.append({"id": number, "file_name": name, "width": 80, "height": 40})
        found += [
            {
                "image_id": number, "category_id": CATEGORIES.index(one),
                "bbox": [10 * at, 4, 8, 20], "iscrowd": int(number in crowds),
            }
            for at, one in enumerate(names)
        ]  # fmt: skip
    named = [{"id": at, "name": name} for at, name in enumerate(CATEGORIES)]
    path = folder / "instances.json"
    path.write_text(json.dumps({"images": pictures, "annotations": found, "categories": named}))
    return path


def objects(*names: str) -> list[Annotated]:
    return [Annotated(name, (at / 10, 0.1, at / 10 + 0.1, 0.5)) for at, name in enumerate(names)]


def test_pictures_are_kept_by_their_objects() -> None:
    assert unsuited(objects("cat", "cup", "vase", "cat")) == ""
    assert (
        unsuited(objects("cat", "cat", "cup", "cat", "vase")) == "a class occurs more than 2 times"
    )
    assert unsuited(objects("cat", "cat", "cup")) == "fewer than 3 classes occur"


def test_a_crowd_is_more_than_two(tmp_path: Path) -> None:
    file = annotated(tmp_path, [("cat", "cup", "vase")] * 2, crowds=[2])
    found = read_pictures(file)
    assert unsuited(found["000000000001.jpg"]) == ""
    assert unsuited(found["000000000002.jpg"]) != ""
    file.write_text('{"images": [{}]}')
    with pytest.raises(CrevalError, match="not a file of COCO's annotations"):
        read_pictures(file)


def test_two_of_a_kind_are_told_apart() -> None:
    found = things(objects("cat", "cup", "cat"), (100, 50))
    assert [thing.name for thing in found] == ["left cat", "right cat", "cup"]
    assert found[0].box == pytest.approx((0, 5, 10, 25))
    above = [Annotated("cat", (0.5, 0.6, 0.6, 0.9)), Annotated("cat", (0.5, 0.1, 0.6, 0.3))]
    assert [thing.name for thing in things(above, (50, 50))] == ["upper cat", "lower cat"]


@pytest.mark.parametrize(
    ("said", "name"),
    [("the Left cat", "left cat"), ("cat", None), ("cup's handle", "cup"), ("", None),
     ("cupboard", None), ("dog", None), ("cup and vase", None)],
)  # fmt: skip
def test_objects_by_what_a_model_calls_them(said: str, name: str | None) -> None:
    found = things(objects("cat", "cup", "cat", "vase"), (100, 50))
    thing = thing_named(found, said)
    assert (thing.name if thing else None) == name


def test_types_by_level() -> None:
    assert tuple(MEANINGS) == KINDS
    for level in LEVELS:
        for turn in range(60):
            types = draw_types(level, ["cup"], random.Random(turn), turn)
            assert types.subset in SUBSETS
            assert "pose" not in types.kinds
            one, two, three = types.kinds
            if level == "parallel":
                assert types.needs == ((), (), ())
            else:
                assert one in ("add object", "change object")
                assert two not in ("delete object", *GLOBAL)
            if level == "three-chain":
                assert types.needs == ((), (0,), (1,))
                assert three not in ("delete object", *GLOBAL)
            if types.subset == "COCO-three-obj":
                assert set(types.kinds) <= set(OBJECT)
            if types.subset == "COCO-obj-attr-global":
                assert (one in ATTRIBUTE, three in GLOBAL) == (True, True)
    drawn = {draw_types("parallel", [], random.Random(1), turn).subset for turn in range(3)}
    assert len(drawn) == 3
    alive = {draw_types("parallel", ["left cat"], random.Random(n), 1).kinds[0] for n in range(60)}
    assert alive == set(ATTRIBUTE)


def test_types_of_a_name_that_is_no_text() -> None:
    scene = Scene(things(objects("cat", "cup", "vase"), (10, 10)), (10, 10))
    drawn = [types_of("caf\udce9.jpg", "parallel", scene, 0, 0) for _ in range(2)]
    assert drawn[0] == drawn[1]


SCENE = Scene(
    [Thing("left cat", (0, 4, 8, 24)), Thing("right cat", (30, 4, 38, 24)),
     Thing("cup", (10, 4, 18, 24)), Thing("vase", (20, 4, 28, 24))], (80, 40),
)  # fmt: skip
CHAIN = Types("two-chain", ("change object", "color", "delete object"), ((), (0,), ()))


def step(instruction: str, old: str = "nothing", new: str = "nothing") -> str:
    return json.dumps({"instruction": instruction, "old": old, "new": new})


def checks(*faults: str) -> str:
    return json.dumps([
        {"number": at, "scene": "no" if fault == "scene" else "yes", "reference": "yes",
         "conflict": "yes" if fault == "conflict" else "no", "reason": fault}
        for at, fault in enumerate(faults, 1)
    ])  # fmt: skip


def write(*texts: str, types: Types = CHAIN, retries: int = 1) -> tuple[dict[str, Any], list[str]]:
    script = Script(*texts)
    scribe = Scribe(script, retries)  # type: ignore[arg-type]
    made = asyncio.run(complexbench.write_sample(scribe, complexbench.load_texts(), types, SCENE))
    return {**made, "rejected": scribe.rejected}, script.said


DOG = step("Change the left cat into a white dog.", "left cat", "white dog")
GREEN = step("Change the color of the dog to green.", "white dog")
GONE = step("Delete the vase.", "the vase")


def test_a_chain_with_boxes() -> None:
    made, said = write(DOG, GREEN, GONE, checks("", "", ""))
    assert made["new_ins"].splitlines() == [
        "Change the left cat into a white dog.",
        "Change the color of the dog to green.",
        "Delete the vase.",
    ]
    assert made["edit pair"] == [
        {"edit_type": "change object", "ori obj": "left cat", "new_obj": "white dog",
         "bbox": [0, 4, 8, 24]},
        {"edit_type": "color", "ori obj": "white dog", "new_obj": "nothing"},
        {"edit_type": "delete object", "ori obj": "vase", "new_obj": "nothing",
         "bbox": [20, 4, 28, 24]},
    ]  # fmt: skip
    assert "A later instruction will build on" in said[0]
    assert "carried out by then: Change the left cat into a white dog." in said[1]
    assert "must not depend" not in said[1]
    assert "- Change the left cat into a white dog.\n- Change the color" in said[2]
    assert "Instruction 2 builds on what instruction 1 makes." in said[3]


def test_what_is_infeasible_is_made_anew_with_what_builds_on_it() -> None:
    made, said = write(
        DOG, GREEN, GONE, checks("scene", "", ""),
        step("Change the left cat into a black hat.", "left cat", "black hat"),
        step("Change the color of the hat to red.", "hat"), checks("", "", ""),
    )  # fmt: skip
    assert made["new_ins"].splitlines()[1:] == [
        "Change the color of the hat to red.", "Delete the vase."
    ]  # fmt: skip
    assert "it does not fit the scene (scene)" in said[4]
    assert made["rejected"] == [
        "feasibility, step 1: “Change the left cat into a white dog.”: it does not fit the scene "
        "(scene)."
    ]
    cup = step("Delete the cup.", "cup")
    with pytest.raises(NotAcceptedError, match="conflicts with another instruction"):
        write(DOG, GREEN, GONE, checks("", "", "conflict"), cup, checks("", "", "conflict"))
    with pytest.raises(NotAcceptedError, match="repetition: it is the one that was not accepted"):
        write(DOG, GREEN, GONE, checks("", "", "conflict"), GONE, GONE)


@pytest.mark.parametrize(
    ("at", "text", "reason"),
    [
        (0, step("Change the dog into a hat.", "dog", "hat"), "reference: `old` is “dog”"),
        (0, step("Change a cat into a hat.", "cat", "hat"), "reference: "),
        (0, step("Change the cup into a hat.", "cup"), "result: "),
        (0, "Well.", "format: "),
        (1, step("Change the color of the cup to red.", "cup"), "chain: it does not name"),
        (2, step("Delete the left cat.", "left cat"), "independence: the left cat"),
        (2, step("Delete Delete Delete Delete", "vase"), "garbled text: "),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_asked_for_again(at: int, text: str, reason: str) -> None:
    texts = [DOG, GREEN, GONE, checks("", "", "")]
    texts.insert(at, text)
    made, said = write(*texts)
    assert made["rejected"][0].startswith(f"step {at + 1}: {reason}")
    assert reason in said[at + 1]


def test_a_check_that_cannot_be_read_is_asked_for_again() -> None:
    made, said = write(DOG, GREEN, GONE, "All fine!", checks("", "", ""))
    assert "every instruction needs one yes or no" in said[-1]
    assert len(made["edit pair"]) == 3


def test_a_detector_instead_of_annotations(tmp_path: Path) -> None:
    looked = []

    def find(picture: Image.Image, names: Sequence[str]) -> dict[str, list[Box]]:
        looked.append(picture.size)
        assert tuple(names) == CLASSES
        return {"cat": [(0, 0, 10, 10), (1, 0, 10, 10), (20, 0, 40, 10)], "cup": [(0, 10, 10, 20)]}

    Image.new("RGB", (40, 20)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"none")
    pictures = {name: tmp_path / name for name in ("a.png", "b.png")}
    for _ in range(2):
        found = detected(tmp_path / "bench", pictures, "some/model", find)
        assert found.objects == {
            "a.png": [
                Annotated("cat", (0, 0, 0.25, 0.5)), Annotated("cat", (0.5, 0, 1, 0.5)),
                Annotated("cup", (0, 0.5, 0.25, 1)),
            ],
        }  # fmt: skip
        assert list(found.broken) == ["b.png"], "what cannot be opened is not without objects"
    assert looked == [(40, 20)], "it is looked at once"
    detected(tmp_path / "bench", pictures, "other/model", find)
    assert len(looked) == 2
    assert len(CLASSES) == 80


FITTING = [("cat", "cup", "vase", "cat"), ("cat", "cup", "tv"), ("tv", "cup", "vase")] * 2


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of six pictures; two more do not suit, and one cannot be opened."""
    folder = tmp_path_factory.mktemp("built")
    file = annotated(folder, [*FITTING, ("cat", "cup"), ("cat",) * 3, ("cat", "cup", "vase")])
    (folder / "images" / "000000000009.jpg").write_bytes(b"none")
    Image.new("RGB", (9, 9)).save(folder / "images" / "unknown.jpg")
    with serving(FakeServer(seed=3).app()) as url:
        done = creval(
            "build", "complexbench", "--images", folder / "images", "--coco", file,
            "--out", folder / "bench", "--writer", f"openai:w@{url}/v1",
            "--checker", f"openai:c@{url}/v1", "--retries", 4, "--json",
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "6 pictures kept." in done.stderr
    for reason in ("there are no annotations", "fewer than 3 classes", "more than 2 times"):
        assert f"1 picture not kept: {reason}" in done.stderr.replace("a class occurs ", "")
    told = json.loads(done.stdout)
    assert (told["made"], list(told["left_out"])) == (18, ["000000000009.jpg"])
    return folder / "bench"


def test_what_is_built_is_read_without_fault(built: Path) -> None:
    found = open_benchmark(built).dataset
    assert found.findings == ()
    assert found.made_by == {"writer": "w"}
    counts = {name: sum(s.tags["subset"] == name for s in found.samples) for name in SUBSETS}
    assert list(counts.values()) == [2, 2, 2, 6, 6]
    for sample in found.samples:
        assert sample.source is not None
        assert sample.source.is_file()
        assert len(sample.steps) == 3
        for one in sample.steps:
            local = one.kind in OBJECT + ATTRIBUTE and one.kind != "add object"
            assert bool(one.boxes) == (local and not one.needs)
    pictures = {sample.source.name for sample in found.samples if sample.source}
    assert "1-000000000001.jpg" in pictures


def test_it_is_judged(built: Path, tmp_path: Path) -> None:
    edits = tmp_path / "Model"
    for sample in open_benchmark(built).dataset.samples[:4]:
        path = edits / f"{sample.id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (80, 40), "red").save(path)
    with serving(FakeServer().app()) as url:
        judge = f"openai:n@{url}/v1"
        done = creval(
            "judge", built, "--edits", edits, "--judge", judge, "--run", tmp_path / "run",
            "--metrics", "score",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_review_drops_a_sample_with_its_step(built: Path) -> None:
    review = ComplexBenchReview(built)
    assert (len(review.groups()), review.left()) == (18, 54)
    name = review.groups()[-1]
    group = review.group(name)
    assert group.picture is not None
    assert group.picture.is_file()
    assert [item.kind for item in group.items[1:]] == [
        "step 2, upon step 1", "step 3, upon step 2",
    ]  # fmt: skip
    assert not any(item.notes for item in group.items), "a chain is no reason to look twice"
    review.decide(
        name, "step/1", ACCEPTED, {"instruction": "Add a  red hat.", "type": "add object"}
    )
    review.decide(name, "step/3", DROPPED, {})
    again = ComplexBenchReview(built)
    assert again.left() == 52
    assert again.group(name).items[0].fields[0].text == "Add a red hat."
    assert len(open_benchmark(built).dataset.samples) == 17
    for item, fields in [("step/4", {}), ("step/1", {"type": "paint"}),
                         ("step/1", {"instruction": ""})]:  # fmt: skip
        with pytest.raises(CrevalError):
            review.decide(name, item, ACCEPTED, fields)
    path = file_of(built, name.partition("/")[0])
    path.write_text(path.read_text().replace("Add a red hat.", "Add a blue hat."))
    review.decide(name, "step/3", ACCEPTED, {})
    changed = review.group(name).items[0].fields[0].text
    assert changed == "Add a blue hat.", "what people change meanwhile stays"
    assert len(open_benchmark(built).dataset.samples) == 18


def test_what_builds_on_changed_words_is_looked_at_again(built: Path) -> None:
    review = ComplexBenchReview(built)
    name = review.groups()[-2]
    assert name.startswith("three-chain/")
    for at in (1, 2, 3):
        review.decide(name, f"step/{at}", ACCEPTED, {})
    first, *others = review.group(name).items
    review.decide(name, first.id, ACCEPTED, {"instruction": first.fields[0].text})
    assert [item.verdict for item in review.group(name).items] == [ACCEPTED] * 3
    review.decide(name, first.id, ACCEPTED, {"instruction": "Add a tin drum."})
    items = review.group(name).items
    assert [item.verdict for item in items] == [ACCEPTED, OPEN, ACCEPTED]
    why = "step 1, on which it builds, was changed afterwards"
    assert [item.notes for item in items] == [(), (why,), ()]
    review.decide(name, "step/2", ACCEPTED, {"instruction": others[0].fields[0].text})
    assert [item.notes for item in review.group(name).items] == [()] * 3
    assert open_benchmark(built).dataset.findings == ()


def entries(bench: Path) -> dict[str, Any]:
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((bench / "data" / "instructions").glob("*/*.json"))
    }


def test_killed_it_comes_to_the_same(tmp_path: Path) -> None:
    file = annotated(tmp_path, FITTING)
    server = FakeServer(seed=5, latency=0.01)
    with serving(server.app()) as url:
        command = [
            "build", "complexbench", "--images", tmp_path / "images", "--coco", file, "--writer",
            f"openai:w@{url}/v1", "--concurrency", 4, "--retries", 4, "--level", "three-chain",
            "--out",
        ]  # fmt: skip
        whole = creval(*command, tmp_path / "whole")
        assert whole.returncode == 0, whole.stderr
        assert "the writer checks its own work" in whole.stderr
        calls = server.stats["requests"]
        line = [sys.executable, "-m", "creval", *map(str, command), str(tmp_path / "bench")]
        with subprocess.Popen(line, stderr=subprocess.DEVNULL) as on:
            while on.poll() is None and server.stats["requests"] < calls + 12:
                pass
            on.kill()
        assert creval(*command, tmp_path / "bench").returncode == 0
        assert server.stats["requests"] <= 2 * calls + 4, "only what was under way twice"
        again = creval(*command, tmp_path / "bench")
        assert "0 calls" in again.stderr
    assert entries(tmp_path / "bench") == entries(tmp_path / "whole")
    assert open_benchmark(tmp_path / "bench").dataset.findings == ()


def test_wrong_usage_gets_a_sentence(tmp_path: Path) -> None:
    file = annotated(tmp_path, [("cat",)])
    command = ("build", "complexbench", "--images", tmp_path / "images", "--out", tmp_path / "b",
               "--writer", "openai:w@http://127.0.0.1:1/v1")  # fmt: skip
    for more, sentence in [
        ((), "give --coco FILE"),
        (("--coco", file, "--level", "four-chain"), "no level 'four-chain'"),
        (("--coco", file), "no picture suits"),
    ]:
        done = creval(*command, *more)
        assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
    assert key_of("a/Ünïcode x.png") == "Ünïcode x"
