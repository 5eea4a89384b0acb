"""Recipes for models: each function is run by `creval edit`, with a stand-in of the project that it calls.

The numbers are those of the projects' own scripts, which the recipes name.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image, ImageChops, ImageOps

from creval.analysis.published_scores import publications
from creval.benchmarks import open_benchmark
from creval.core.images import decode_image, open_image
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.function import FunctionEditor
from tests.commands import creval
from tests.docs.markdown import ROOT, read_blocks, read_commands
from tests.editors.asking import made
from tests.examples.stand_ins import STAND_INS, write_stand_in

RECIPES = ROOT / "examples/recipes"
PAGE = ROOT / "docs/howto/editors/recipes.md"
SEED = 7
CPU, CUDA = {"device": "cpu", "seed": SEED}, {"device": "cuda", "seed": SEED}


def resized(width: int, height: int) -> Callable[[Image.Image], Image.Image]:
    """Return a function: the negative of an image that was resized, and resized back."""
    return lambda source: ImageOps.invert(source.resize((width, height))).resize(source.size)


def right_half(source: Image.Image) -> Image.Image:
    return ImageOps.invert(source.resize((512, source.height * 512 // source.width // 8 * 8)))


def in_sixteenths(source: Image.Image) -> Image.Image:
    return ImageOps.invert(source.resize((source.width // 16 * 16, source.height // 16 * 16)))


def megapixel(source: Image.Image) -> Image.Image:
    scale = (2**20 / (source.width * source.height)) ** 0.5
    width, height = (round(side * scale / 32) * 32 for side in source.size)
    return ImageOps.invert(source.resize((width, height)))


class Case(NamedTuple):
    """A recipe's function, its project, what is loaded (each once), the facts of a call, and the edit of a source."""

    function: str
    project: str
    loaded: list[Any]
    call: dict[str, Any]
    edit: Callable[[Image.Image], Image.Image] = ImageOps.invert
    settings: dict[str, str] = {}  # noqa: RUF012


BAGEL = {"scales": [4.0, 2.0], "renorm": "text_channel", "interval": [0.0, 1.0], "steps": 50}
STEP1X, UNIWORLD = "Step1XEditPipelineV1P2", "UnivaQwen2p5VLForConditionalGeneration"
VARGPT = "VARGPTQwen2VLForConditionalGeneration"
GLOBAL_SEED = ("bagel", "ominicontrol", "seed_llama", "vargpt")  # projects that are seeded before each call
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
    Case(
        "uniworld_editor:edit",
        "uniworld",
        [UNIWORLD, UNIWORLD, "FluxPipeline", "FluxPipeline", "SiglipVisionModel", "SiglipVisionModel"],
        {"steps": 30, "guidance": 4.0, "generator": CUDA},
        megapixel,
    ),
    Case(
        "seed_llama_editor:edit",
        "seed_llama",
        [
            "configs/tokenizer/seed_llama_tokenizer_hf.yaml",
            "configs/llm/seed_llama_8b.yaml",
            "configs/transform/clip_transform.yaml",
            "seed_llama_8b",
        ],
        {"sampling": [1.0, 0.5, True]},
    ),
    Case(
        "ace_plus_editor:edit",
        "ace_plus",
        ["config/ace_plus_diffuser_infer.yaml"],
        {
            "steps": 28,
            "guidance": 50.0,
            "generator": SEED,
            "repainting": 1.0,
            "lora": "local.safetensors",
            "mask": ["L", 255],
        },
    ),
    Case(
        "ominicontrol_editor:edit",
        "ominicontrol",
        ["FluxPipeline", "FluxPipeline", ["Yuanshi/OminiControl", "experimental/depth.safetensors", "depth"]],
        {"steps": 28, "control": "depth"},
        lambda source: ImageOps.invert(source.resize((512, 512))),
        {"control": "depth"},
    ),
    Case(
        "ominicontrol_editor:edit",
        "ominicontrol",
        ["FluxPipeline", "FluxPipeline", ["Yuanshi/OminiControl", "omini/subject_512.safetensors", "subject"]],
        {"steps": 8, "control": "subject"},
        lambda source: ImageOps.invert(source.resize((512, 512))),
        {"control": "subject"},
    ),
    Case(
        "flux_control_editor:edit",
        "flux_control",
        ["FluxControlPipeline"] * 2,
        {"steps": 50, "guidance": 30.0, "generator": CPU},
        in_sixteenths,
    ),
    Case(
        "ip_adapter_editor:edit",
        "ip_adapter",
        [
            "StableDiffusionXLPipeline",
            ["h94/IP-Adapter", "sdxl_models", "ip-adapter_sdxl.safetensors"],
            "StableDiffusionXLPipeline",
        ],
        {"steps": 50, "guidance": 5.0, "scale": 0.6, "generator": CPU},
    ),
    Case(
        "got_editor:edit",
        "got",
        [
            "configs/clm_models/llm_qwen25_vl_3b_lora.yaml",
            "configs/clm_models/agent_got.yaml",
            *("model-1.bin", "model-2.bin"),
        ],
        {"steps": 50, "scales": [7.5, 1.0, 4.0], "generator": SEED},
        settings={"weights": "../project/pretrained/GoT-6B"},
    ),
    Case("vargpt_editor:edit", "vargpt", ["prepared", VARGPT, VARGPT, "VARGPTQwen2VLProcessor"], {"tokens": 4096}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([case.function, *case.settings.values()]))
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
    edits = {path.stem: path for path in (work / "out").glob("*.png")}
    assert sorted(edits) == sorted(sample.id for sample in samples)
    for sample in samples:
        (call,) = [line for line in calls if sample.instruction in line["call"][-1]]
        assert {name: call[name] for name in case.call} == case.call
        source = open_image(str(sample.source))
        expected, edit = case.edit(source), open_image(edits[sample.id])
        assert edit.size == expected.size
        assert ImageChops.difference(edit, expected).getbbox() is None
    assert [line["seed"] for line in lines if "seed" in line] == [SEED] * 2 * (case.project in GLOBAL_SEED)


@pytest.mark.parametrize(
    ("function", "project", "settings", "call", "expected"),
    [
        ("omnigen2_editor:edit", "omnigen2", {}, {"call": [["RGB", 64, 48], ["RGB", 32, 32], "Do."]}, "source"),
        ("ultraedit_editor:edit", "ultraedit", {}, {"mask": [512, 512, 0, 0, 0]}, "source"),
        ("ace_plus_editor:edit", "ace_plus", {}, {"mask": ["L", 0], "lora": "subject.safetensors"}, "source"),
        ("ominicontrol_editor:edit", "ominicontrol", {"control": "subject"}, {"control": "subject"}, "reference"),
        ("ip_adapter_editor:edit", "ip_adapter", {}, {"call": [["RGB", 32, 32], "Do."]}, "reference"),
    ],
)
def test_masks_and_references(
    function: str,
    project: str,
    settings: dict[str, Any],
    call: dict[str, Any],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The source is teal and 64 x 48, the mask black, the reference red and 32 x 32."""
    write_stand_in(project, tmp_path / "project")
    monkeypatch.syspath_prepend(RECIPES)
    monkeypatch.syspath_prepend(tmp_path / "project")
    monkeypatch.setenv("STAND_IN_LOG", str(tmp_path / "log"))
    for name, size, colour in (
        ("source", (64, 48), "teal"),
        ("mask", (64, 48), "black"),
        ("reference", (32, 32), "red"),
    ):
        Image.new("RGB", size, colour).save(tmp_path / f"{name}.png")
    source, mask, reference = (tmp_path / f"{name}.png" for name in ("source", "mask", "reference"))
    editor = FunctionEditor(f"python:{function}", function, EditorOptions(settings))
    output = made(editor, EditRequest("s", "Do.", source, mask, (reference,), SEED))
    (line,) = [line for line in map(json.loads, (tmp_path / "log").read_text().splitlines()) if "call" in line]
    assert {name: line[name] for name in call} == call
    negative = {"source": (255, 127, 127), "reference": (0, 255, 255)}
    assert decode_image(output.content).getpixel((0, 0)) == negative[expected]


ACE_PROGRAM = """
import argparse
from PIL import Image, ImageOps

parser = argparse.ArgumentParser()
for name in ("cfg", "instruction", "negative_prompt", "input_image", "input_mask", "save_path"):
    parser.add_argument(f"--{name}")
parser.add_argument("--seed", type=int)
given = parser.parse_args()
assert given.cfg == "config/inference_config/models/ace_0.6b_512.yaml"
ImageOps.invert(Image.open(given.input_image).convert("RGB")).save(given.save_path)
"""


def test_the_command_for_ace(miniature: Path, tmp_path: Path) -> None:
    """The page's command is run with a program that has the options of the project's own."""
    commands = [command.text for block in read_blocks(PAGE) for command in read_commands(block)]
    (command,) = [command for command in commands if "run_inference.py" in command]
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/run_inference.py").write_text(ACE_PROGRAM, encoding="utf-8")
    editor = shlex.split(command)[-1].replace("command:python ", f"command:{sys.executable} ")
    done = creval("edit", miniature, "--editor", editor, "--out", "out", "--limit", 2, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["statuses"] == {"done": 2}, done.stdout
    for sample in open_benchmark(miniature).dataset.samples[:2]:
        expected = ImageOps.invert(open_image(str(sample.source)))
        assert ImageChops.difference(open_image(tmp_path / f"out/{sample.id}.png"), expected).getbbox() is None


def test_every_recipe_is_tested_and_described() -> None:
    names = {path.stem for path in RECIPES.glob("*.py")}
    assert names == {case.function.partition(":")[0] for case in CASES}
    assert {case.project for case in CASES} == STAND_INS.keys()
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"examples/recipes/{name}.py" in page for name in names)


def test_every_open_model_of_the_papers_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    papers = publications().values()
    opened = {name for paper in papers for name, model in paper.models.items() if model.group == "open"}
    assert len(opened) > 20
    assert {name for name in opened if name not in page} == set()
