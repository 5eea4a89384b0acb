"""Recipes for models: each function is run by `creval edit`, with a stand-in of the project that it calls.

The numbers are those of the projects' own scripts, which the recipes name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image, ImageChops, ImageOps

from creval.benchmarks import open_benchmark
from creval.core.images import open_image
from tests.commands import creval
from tests.docs.markdown import ROOT
from tests.examples.stand_ins import STAND_INS, write_stand_in

RECIPES = ROOT / "examples/recipes"
SEED = 7
CPU, CUDA = {"device": "cpu", "seed": SEED}, {"device": "cuda", "seed": SEED}


def resized(width: int, height: int) -> Callable[[Image.Image], Image.Image]:
    """Return a function: the negative of an image that was resized, and resized back."""
    return lambda source: ImageOps.invert(source.resize((width, height))).resize(source.size)


def right_half(source: Image.Image) -> Image.Image:
    return ImageOps.invert(source.resize((512, source.height * 512 // source.width // 8 * 8)))


def in_sixteenths(source: Image.Image) -> Image.Image:
    return ImageOps.invert(source.resize((source.width // 16 * 16, source.height // 16 * 16)))


class Case(NamedTuple):
    """A recipe's function, its project, what is loaded (each once), the facts of a call, and the edit of a source."""

    function: str
    project: str
    loaded: list[str]
    call: dict[str, Any]
    edit: Callable[[Image.Image], Image.Image] = ImageOps.invert
    settings: dict[str, str] = {}  # noqa: RUF012


BAGEL = {"scales": [4.0, 2.0], "renorm": "text_channel", "interval": [0.0, 1.0], "steps": 50}
STEP1X = "Step1XEditPipelineV1P2"
CASES = [
    Case("bagel_editor:edit", "bagel", ["Qwen2Tokenizer", "Bagel"], {**BAGEL, "think": False}),
    Case(
        "bagel_editor:edit", "bagel", ["Qwen2Tokenizer", "Bagel"], {**BAGEL, "think": True}, settings={"think": "true"}
    ),
    Case(
        "step1x_editor:edit",
        "step1x",
        [STEP1X, STEP1X],
        {"steps": 50, "guidance": 6.0, "think": [False, False], "generator": CPU},
    ),
    Case(
        "step1x_editor:edit",
        "step1x",
        [STEP1X, STEP1X],
        {"steps": 28, "guidance": 4, "think": [True, True], "generator": CPU},
        settings={"think": "true", "steps": "28", "guidance": "4", "model": "stepfun-ai/Step1X-Edit-v1p2-preview"},
    ),
    Case(
        "step1x_editor:edit_v1",
        "step1x",
        ["ImageGenerator"],
        {"steps": 28, "guidance": 6.0, "generator": SEED, "size": 512},
    ),
    Case(
        "omnigen2_editor:edit",
        "omnigen2",
        ["OmniGen2Pipeline", "OmniGen2Transformer2DModel", "OmniGen2Pipeline"],
        {"steps": 50, "scales": [5.0, 2.0], "generator": CUDA},
        in_sixteenths,
    ),
    Case(
        "icedit_editor:edit",
        "icedit",
        ["FluxFillPipeline", "sanaka87/ICEdit-MoE-LoRA", "FluxFillPipeline"],
        {"steps": 28, "guidance": 50.0, "generator": CPU},
        right_half,
    ),
    Case(
        "ultraedit_editor:edit",
        "ultraedit",
        ["StableDiffusion3InstructPix2PixPipeline"] * 2,
        {"steps": 50, "scales": [7.5, 1.5], "mask": [512, 512, 255, 255, 255], "generator": CPU},
        resized(512, 512),
    ),
    Case(
        "anyedit_editor:edit",
        "anyedit",
        ["AnySDPipeline"],
        {"steps": 100, "scales": [3.0, 3.0], "adapter": "general", "generator": CUDA},
        resized(512, 512),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([case.function, *case.settings]))
def test_a_recipe(case: Case, miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(RECIPES / f"{case.function.partition(':')[0]}.py", work)
    write_stand_in(case.project, tmp_path / "project")
    monkeypatch.syspath_prepend(tmp_path / "project")  # as PYTHONPATH
    log = tmp_path / "log"
    settings = [word for item in case.settings.items() for word in ("--set", "=".join(item))]
    given = ["--editor", f"python:{case.function}", "--out", "out", "--seed", SEED, "--limit", 2, *settings]
    done = creval("edit", miniature, *given, "--json", cwd=work, env={"STAND_IN_LOG": str(log)})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["statuses"] == {"done": 2}, done.stdout

    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["load"] for line in lines if "load" in line] == case.loaded, "once for both samples"
    calls = [line for line in lines if "call" in line]
    samples = open_benchmark(miniature).dataset.samples[:2]
    made = {path.stem: path for path in (work / "out").glob("*.png")}
    assert sorted(made) == sorted(sample.id for sample in samples)
    for sample in samples:
        (call,) = [line for line in calls if sample.instruction in line["call"][-1]]
        assert {name: call[name] for name in case.call} == case.call
        source = open_image(str(sample.source))
        expected, edit = case.edit(source), open_image(made[sample.id])
        assert edit.size == expected.size
        assert ImageChops.difference(edit, expected).getbbox() is None
    if case.project == "bagel":
        assert [line["seed"] for line in lines if "seed" in line] == [SEED] * 2, "set before each call"


def test_every_recipe_is_tested_and_described() -> None:
    names = {path.stem for path in RECIPES.glob("*.py")}
    assert names == {case.function.partition(":")[0] for case in CASES}
    assert {case.project for case in CASES} == STAND_INS.keys()
    page = (ROOT / "docs/howto/editors/recipes.md").read_text(encoding="utf-8")
    assert all(f"examples/recipes/{name}.py" in page for name in names)
