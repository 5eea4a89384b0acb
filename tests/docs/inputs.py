"""Files that the documentation's commands read. Each is made when a command names it."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import shared_data
from creval.analysis.scoring import build_score_table
from creval.benchmarks import open_benchmark
from creval.building.review.base import ACCEPTED, DROPPED
from creval.building.review.loader import open_review
from creval.judging.replay_run import replay
from creval.store import open_run
from creval.touchstone.builder import build_touchstone
from miniature import write_miniature
from tests.benchmarks.complex_edit import release_files as complex_edit
from tests.benchmarks.complexbench_edit import release_files as complexbench
from tests.benchmarks.ice_bench import release_files as ice_bench
from tests.benchmarks.ice_bench.paper import write_run
from tests.building.ice.layouts.test_folders import viton
from tests.commands import right
from tests.docs.shell import Shell
from tests.stats.human.test_alignment import METRICS, PAPER

_SHOWS_RELEASED_NUMBERS = ("concepts/statistics", "howto/recorded-answers", "howto/stopping")
_COMPARES_MODELS = "papers"
_DEMO_SAMPLES, _DEMO_SEED = 36, 7
_MODELS = {"Bagel": (0.8, 0.5, 0.8), "OmniGen2": (0.7, 0.6, 0.8), "gpt-image-1": (0.9, 0.6, 0.9)}


class Inputs:
    """Makes the files that commands read. Expensive ones are made once, in `shelf`, and copied for each page.

    `demo` returns the output of `creval demo`.
    """

    def __init__(self, shelf: Path, demo: Callable[[], Path]) -> None:
        self._shelf, self._demo = shelf, demo

    def provide(self, shell: Shell, word: str) -> None:
        """Make the file or folder that a word of a command names, if it is known and does not exist."""
        word = word.rpartition("=")[2]  # a run or file with a name: NAME=PATH
        if not word or word.startswith("-") or os.path.lexists(shell.folder / word):
            return
        for name in (word, word.partition("/")[0]):
            if shell.page == _COMPARES_MODELS and name == "runs/ice":
                write_run(shell.folder / name)
                return
            if shell.page in _SHOWS_RELEASED_NUMBERS and name in _RELEASED:
                _RELEASED[name](self, shell)
                return
            if name in _SHARED:
                self.copy(_SHARED[name], shell.folder)
                return
            if name in _MADE_BY_COMMANDS:
                _MADE_BY_COMMANDS[name](self, shell)
                return

    def provide_edits(self, shell: Shell, bench: str, folder: str) -> None:
        """Put a copy of each source of a benchmark into a model's folder, unless the folder exists.

        On the page of the papers, every edit differs from the source and from those of other models.
        """
        edits = shell.folder / folder
        if edits.exists() or "*" in folder:
            return
        self.provide(shell, bench)
        for sample in open_benchmark(shell.folder / bench).dataset.samples:
            file = edits / f"{sample.id}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            if sample.source is None or not sample.source.is_file():
                image = Image.new("RGB", (32, 24), "teal")
            else:
                image = Image.open(sample.source).convert("RGB")
            if shell.page == _COMPARES_MODELS:
                image.paste(f"#{zlib.crc32(str(file.relative_to(shell.folder)).encode()) % 16**6:06x}", (0, 0, 12, 9))
            image.save(file)

    def provide_demo(self, shell: Shell) -> None:
        """Put the output of `creval demo` into the folder."""
        shutil.copytree(self._demo(), shell.folder / "creval-demo")

    def copy(self, make: Callable[[Path], object], folder: Path) -> None:
        """Copy what `make` writes into a folder. It is called once."""
        shelf = self._shelf / make.__name__
        if not shelf.exists():
            shelf.mkdir()
            make(shelf)
        shutil.copytree(shelf, folder, dirs_exist_ok=True, symlinks=True)


def _write_table(path: Path, head: str, rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head.split(","), *rows])


def _write_photos(folder: Path, names: Iterable[str] = ("a.jpg", "b.jpg", "c.jpg")) -> None:
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        Image.effect_noise((48, 36), 40 + number).convert("RGB").save(folder / name)


def _miniature(folder: Path) -> None:
    """Write a small benchmark in the layout of CREval's release, with recorded answers."""
    made = write_miniature(folder / "made", samples=36, seed=3, models=_MODELS)
    (made / "bench").rename(folder / "CREval")
    (made / "answers").rename(folder / "CREval" / "answer_gpt")
    shutil.rmtree(made)
    # The names of all samples that the subset `paper` leaves out, and of six others.
    stems = [f"i2i_{number:04d}" for number in (*range(31, 34), *range(45, 72), *range(1, 7))]
    names = {f"mini_{number:03d}": stem for number, stem in enumerate(stems, 1)}
    for path in [path for path in (folder / "CREval").rglob("*") if path.is_file()]:
        if path.suffix == ".json":
            path.write_text(re.sub(r"mini_\d+", lambda found: names[found[0]], path.read_text()))
        if path.stem in names:
            path.rename(path.with_stem(names[path.stem]))


def _miniature_runs(folder: Path) -> None:
    """Write runs of the miniature's recorded answers: of all models, and of one."""
    _miniature(folder)
    for name, models in (("paper", tuple(_MODELS)), ("qwen", ("OmniGen2",))):
        bench = open_benchmark(folder / "CREval")
        replay(bench, folder / "CREval" / "answer_gpt", folder / "runs" / name, models=models)


def _release() -> Path:
    release = shared_data.creval_release()
    if release is None:
        pytest.skip("shows numbers of the released data, which is not on this machine")
    return release


def _released_runs(folder: Path) -> None:
    """Write the runs of the released answers."""
    release = _release()
    for name, answers in (("paper", "answer_gpt"), ("qwen", "answer_qwen")):
        replay(open_benchmark(release), release / answers, folder / "runs" / name)


def _link_release(_: Inputs, shell: Shell) -> None:
    (shell.folder / "CREval").symlink_to(_release())


def _demo_benchmark(folder: Path) -> None:
    """Write the benchmark and the edits of `creval demo`."""
    made = folder / "creval-demo"
    build_touchstone(made / "bench", _DEMO_SAMPLES, _DEMO_SEED, edits=made / "edits")


def _judge_demo(inputs: Inputs, shell: Shell) -> None:
    """Judge one of the demo's models by `truth`, which takes much less time than `pixel`."""
    inputs.copy(_demo_benchmark, shell.folder)
    shell.run("creval judge creval-demo/bench --edits creval-demo/edits/lazy --judge truth --run creval-demo/run")


def _own_samples(folder: Path) -> None:
    (folder / "mine").mkdir()
    photos = [f"photo{number}.jpg" for number in range(6)]
    _write_photos(folder / "mine", photos)
    rows = [(photo, "Add an umbrella", ("rain", "sun")[at % 2]) for at, photo in enumerate(photos)]
    _write_table(folder / "mine" / "samples.csv", "source,instruction,weather", rows)


def _coco(folder: Path) -> None:
    """Write an image in COCO's layout, with one annotated object."""
    _write_photos(folder / "val2017", ["000000000139.jpg"])
    entry = {"id": 139, "file_name": "000000000139.jpg", "width": 48, "height": 36}
    outline = [[8, 8, 24, 8, 24, 24, 8, 24]]
    thing = {"id": 1, "image_id": 139, "category_id": 1, "area": 256, "iscrowd": 0, "segmentation": outline}
    content = {"images": [entry], "annotations": [thing], "categories": [{"id": 1, "name": "tv"}]}
    (folder / "instances_val2017.json").write_text(json.dumps(content))


def _virtual_try_on(folder: Path) -> None:
    viton(folder / "zalando-hd-resized")


def _photos(folder: Path) -> None:
    _write_photos(folder / "photos")


def _examples(folder: Path) -> None:
    example = "Turn the kettle into a hot-air balloon with a copper basket, red ropes and a white flag."
    _write_table(folder / "examples.csv", "dimension,instruction", [("Surreal Fantasy", example)])


def _annotated_photos(folder: Path) -> None:
    """Write annotations of the photos in COCO's layout: three objects of different classes in each."""
    names = ("a.jpg", "b.jpg", "c.jpg")
    images = [{"id": at, "file_name": name, "width": 48, "height": 36} for at, name in enumerate(names)]
    things = [
        {"image_id": at, "category_id": kind, "bbox": [4 + 14 * kind, 6, 10, 20], "iscrowd": 0}
        for at in range(len(names))
        for kind in range(3)
    ]
    kinds = [{"id": at, "name": name} for at, name in enumerate(("lamp", "dog", "chair"))]
    (folder / "instances.json").write_text(
        json.dumps({"images": images, "annotations": things, "categories": kinds}), encoding="utf-8"
    )


def _table_of_edits(folder: Path) -> None:
    rows = [(name, "Add an umbrella") for name in ("a.jpg", "b.jpg", "c.jpg")]
    _write_table(folder / "edits.csv", "source,instruction", rows)


def _complex_edit(folder: Path) -> None:
    rows = [complex_edit.row(number, 8) for number in range(6)]
    complex_edit.write_parquet(folder / "Complex-Edit", test_real=rows, test_syn=rows[:3])


def _complexbench(folder: Path) -> None:
    release = complexbench.write_release(folder / "ComplexBench-Edit")
    for path in release.rglob("final_update_v2.json"):
        entries = json.loads(path.read_text())
        for pair in (pair for entry in entries.values() for pair in entry["edit pair"]):
            pair["bbox"] = [4, 4, 16, 16]
        path.write_text(json.dumps(entries))


def _ice_bench(folder: Path) -> None:
    ice_bench.write_release(folder / "ICE-Bench", 2)


def _benchmark(folder: Path) -> None:
    build_touchstone(folder / "BENCH", 3, 1)


def _program(folder: Path) -> None:
    (folder / "edit.py").write_text(
        "import shutil, sys\n"
        "named = dict(word.lstrip('-').split('=', 1) for word in sys.argv[1:])\n"
        "shutil.copy(named['image'], named['out'])\n"
    )


def _editing_script(folder: Path) -> None:
    script = folder / "edit.sh"
    script.write_text('#!/bin/sh\ncp "$1" "$3"\n')
    script.chmod(0o755)


def _task_weights(folder: Path) -> None:
    (folder / "mine.json").write_text('{"Local Editing": {"PF": 2, "SRC": 1}, "Image Deblurring": {"CTRL": 1}}')


def _edits_of_another_tool(folder: Path) -> None:
    _benchmark(folder)
    shutil.copytree(folder / "BENCH" / "image", folder / "downloads" / "ModelA")
    shutil.rmtree(folder / "BENCH")


def _ratings(folder: Path) -> None:
    """Write scores, ratings and choices that follow a run's scores."""
    _miniature_runs(folder)
    generator = np.random.default_rng(0)
    with open_run(folder / "runs" / "paper") as opened:
        table = build_score_table(opened)
    values = table.with_composite()[:, :, -1]
    scores, ratings, choices = [], [], []
    for at, sample in enumerate(table.samples):
        felt = [int(np.clip(round(1 + value / 25 + generator.normal()), 1, 5)) for value in values[:, at]]
        scores += [(sample, model, "S", value) for model, value in zip(table.models, values[:, at], strict=True)]
        ratings += [
            ("ann", sample, model, "overall", rated, "1-5") for model, rated in zip(table.models, felt, strict=True)
        ]
        better = "tie" if felt[0] == felt[1] else table.models[int(felt[1] > felt[0])]
        choices.append(("ann", sample, table.models[0], table.models[1], "overall", better))
    _write_table(folder / "metrics.csv", "sample,model,metric,score", scores)
    _write_table(folder / "ratings.csv", "rater,sample,model,metric,rating,scale", ratings)
    _write_table(folder / "choices.csv", "rater,sample,first,second,metric,choice", choices)


def _table_3(folder: Path) -> None:
    """Write CREval's Table 3: five automatic scores of six models, and people's."""
    scores = [
        (model, metric, value) for model, row in PAPER.items() for metric, value in zip(METRICS, row, strict=False)
    ]
    _write_table(folder / "table3-scores.csv", "model,metric,score", scores)
    people = [(model, row[-1], "0-100") for model, row in PAPER.items()]
    _write_table(folder / "table3-people.csv", "model,rating,scale", people)


def _strategies(folder: Path) -> None:
    """Write the benchmark, the edits and the run of docs/howto/strategies.md."""
    build_touchstone(folder / "bench", 9, 4)
    options = {
        "direct": [],
        "sequential": ["--strategy", "sequential"],
        "best3": ["--strategy", "best-of:3", "--judge", "noisy:0.9,0.8"],
    }
    edits = [folder / "outputs" / model for model in options]
    for out in edits:
        right("edit", folder / "bench", "--editor", "touchstone:forgetful", "--out", out, *options[out.name])
    right("judge", folder / "bench", "--edits", *edits, "--judge", "truth", "--run", folder / "runs" / "ways")


def _few_edits(inputs: Inputs, shell: Shell) -> None:
    """Take three edits of one model away, and judge the rest."""
    inputs.copy(_strategies, shell.folder)
    for path in sorted((shell.folder / "outputs" / "best3").glob("*.png"))[:3]:
        path.unlink()
    shell.run("creval judge bench --edits outputs/direct outputs/best3 --judge truth --run runs/few")


def _judged(bench: str, run: str, options: str = "") -> Callable[[Inputs, Shell], None]:
    """Return a function that judges copies of a benchmark's sources as the edits of two models."""

    def judge(inputs: Inputs, shell: Shell) -> None:
        inputs.provide(shell, bench)
        names = ("ModelA", "ModelB") if bench == "CREval" else ("OmniGen", "OmniGen+sequential")
        models = [f"outputs/{bench}/{name}" for name in names]
        for model in models:
            inputs.provide_edits(shell, bench, model)
        shell.run(f"creval judge {bench} --edits {' '.join(models)} --judge openai:gpt-4o --run {run} {options}")

    return judge


def _complex_choices(inputs: Inputs, shell: Shell) -> None:
    """Write what two people prefer of two models' edits, at random."""
    inputs.provide(shell, "Complex-Edit")
    generator = np.random.default_rng(1)
    answers = ("OmniGen", "OmniGen+sequential", "tie")
    rows = [
        (rater, sample.id, *answers[:2], metric, answers[generator.integers(3)])
        for sample in open_benchmark(shell.folder / "Complex-Edit").dataset.samples
        for rater in ("ann", "ben")
        for metric in ("IF", "IP", "PQ", "overall")
    ]
    _write_table(shell.folder / "complex-choices.csv", "rater,sample,first,second,metric,choice", rows)


def _images(folder: Path) -> None:
    generator = np.random.default_rng(5)
    source = np.kron(generator.integers(0, 255, (6, 8, 3)), np.ones((6, 6, 1))).astype(np.uint8)
    edit = source.copy()
    edit[10:26, 10:30] = (200, 40, 40)
    for name, pixels in (("source", source), ("edit", edit), ("ref", source[::-1])):
        Image.fromarray(pixels).save(folder / f"{name}.png")
    mask = Image.new("L", (48, 36))
    mask.paste(255, (0, 0, 24, 36))
    mask.save(folder / "mask.png")


def _built_benchmark(inputs: Inputs, shell: Shell) -> None:
    """Build a benchmark as docs/howto/building.md does."""
    inputs.copy(_photos, shell.folder)
    shell.run(
        "creval build creval --images photos --out benches/mine --writer openai:gpt-4o --asker openai:gpt-4o-mini"
    )


def _reviewed_twice(inputs: Inputs, shell: Shell) -> None:
    """Build a benchmark that two named reviewers have decided, with one disagreement."""
    inputs.copy(_photos, shell.folder)
    folder = shell.folder / "benches" / "twice"
    shell.run(
        "creval build creval --images photos --out benches/twice --writer openai:gpt-4o --asker openai:gpt-4o-mini"
    )
    for name, first in (("ann", ACCEPTED), ("ben", DROPPED)):
        review = open_review(folder, name)
        review.decide("a", "IF/Q1", first, {})
        review.decide("a", "IF/Q2", ACCEPTED, {})


_SHARED: dict[str, Callable[[Path], None]] = {
    "BENCH": _benchmark,
    "CREval": _miniature,
    "Complex-Edit": _complex_edit,
    "ComplexBench-Edit": _complexbench,
    "ICE-Bench": _ice_bench,
    "choices.csv": _ratings,
    "creval-demo": _demo_benchmark,
    "downloads": _edits_of_another_tool,
    "edit.png": _images,
    "edit.py": _program,
    "edit.sh": _editing_script,
    "edits.csv": _table_of_edits,
    "examples.csv": _examples,
    "instances.json": _annotated_photos,
    "instances_val2017.json": _coco,
    "metrics.csv": _ratings,
    "mine": _own_samples,
    "mine.json": _task_weights,
    "photos": _photos,
    "ratings.csv": _ratings,
    "ref.png": _images,
    "runs/paper": _miniature_runs,
    "runs/qwen": _miniature_runs,
    "runs/ways": _strategies,
    "source.png": _images,
    "table3-scores.csv": _table_3,
    "val2017": _coco,
    "zalando-hd-resized": _virtual_try_on,
}
_RELEASED: dict[str, Callable[[Inputs, Shell], None]] = {
    "CREval": _link_release,
    "runs/paper": lambda inputs, shell: inputs.copy(_released_runs, shell.folder),
    "runs/qwen": lambda inputs, shell: inputs.copy(_released_runs, shell.folder),
}
_MADE_BY_COMMANDS: dict[str, Callable[[Inputs, Shell], None]] = {
    "benches": _built_benchmark,
    "benches/twice": _reviewed_twice,
    "complex-choices.csv": _complex_choices,
    "creval-demo/run": _judge_demo,
    "runs/complex": _judged("Complex-Edit", "runs/complex", "--repeat 4"),
    "runs/complexbench": _judged("ComplexBench-Edit", "runs/complexbench"),
    "runs/few": _few_edits,
    "runs/first": _judged("CREval", "runs/first"),
    "runs/ice": _judged("ICE-Bench", "runs/ice"),
}
