"""Tests of the diffusers editor with pipelines in the real format and random weights."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.core.edit_record import EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.editing.edit_run import EditRun, EditRunResult, StrategyOptions
from creval.editing.session import EditorSession, EditSettings
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.diffusers import call_signature
from creval.editors.diffusers.call_signature import PipelineInput
from creval.editors.diffusers.diffusers_editor import DiffusersEditor
from creval.editors.diffusers.pipeline import DiffusersPipeline
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.touchstone.builder import build_touchstone
from tests.editors.asking import NoTicket
from tests.editors.diffusers.asking import apart, came, made, opened, pixels
from tests.editors.diffusers.conftest import SIZE

Tiny = Callable[[str], Path]
PIX2PIX = "StableDiffusionInstructPix2PixPipeline"
WORDS = ["make it red", "turn the whole of it into blue", "no"]
# The sources' 90 x 70 in multiples of the pipelines' steps, and Qwen's size for a 128th of a megapixel.
SIZES = {
    "ChronoEditPipeline": (96, 64),
    "Flux2KleinPipeline": (96, 64),
    "FluxFillPipeline": (96, 64),
    "FluxImg2ImgPipeline": (96, 64),
    "FluxInpaintPipeline": (96, 64),
    "FluxKontextInpaintPipeline": (80, 64),
    "FluxKontextPipeline": (96, 64),
    "OmniGenPipeline": (96, 64),
    "QwenImageEditInpaintPipeline": (96, 64),
    "QwenImageEditPipeline": (96, 64),
    "QwenImageEditPlusPipeline": (96, 64),
    "StableDiffusionImg2ImgPipeline": (88, 72),
    "StableDiffusionInpaintPipeline": (88, 72),
    PIX2PIX: (88, 72),
    "StableDiffusionXLImg2ImgPipeline": (88, 72),
    "StableDiffusionXLInpaintPipeline": (88, 72),
    "StableDiffusionXLInstructPix2PixPipeline": (88, 72),
}
_ROUNDING = 2  # of 255
BATCHES = [
    kind
    for kind in SIZES
    if "Qwen" not in kind and kind not in ("ChronoEditPipeline", "Flux2KleinPipeline", "OmniGenPipeline")
]


@pytest.mark.parametrize("kind", SIZES)
def test_an_image_depends_on_all_inputs(kind: str, tiny: Tiny, images: list[Path], half: Path) -> None:
    job = EditRequest("a", WORDS[0], images[0], half, seed=5)
    others = [replace(job, seed=6), replace(job, instruction=WORDS[1]), replace(job, source=images[1])]
    first, again, *different = made(opened(tiny(kind)), job, job, *others)
    assert first.content == again.content
    assert pixels(first).shape[1::-1] == SIZES[kind]
    assert first.metadata["source_size"] == list(SIZE), "the source's size is recorded if it differs"
    for other in different:
        assert apart(first, other) > (_ROUNDING if kind in BATCHES else 0)


@pytest.mark.parametrize("kind", BATCHES)
def test_a_batch_is_what_each_is_alone(
    kind: str, tiny: Tiny, images: list[Path], half: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = watched(monkeypatch)
    jobs = [EditRequest(words, words, images[n], half, seed=n) for n, words in enumerate(WORDS)]
    alone = made(opened(tiny(kind)), *jobs)
    assert calls == [1, 1, 1]
    together = made(opened(tiny(kind), batch=3), *jobs)
    assert calls == [1, 1, 1, 3]
    for one, other in zip(alone, together, strict=True):
        assert apart(one, other) <= _ROUNDING


def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of requests in each call of a pipeline."""
    calls: list[int] = []
    whole = DiffusersPipeline.generate

    def make(self: DiffusersPipeline, inputs: Sequence[PipelineInput], stopped: Callable[[], bool]) -> Any:
        calls.append(len(inputs))
        return whole(self, inputs, stopped)

    monkeypatch.setattr(DiffusersPipeline, "generate", make)
    return calls


def test_a_batch_is_of_one_shape(tiny: Tiny, images: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = watched(monkeypatch)
    Image.open(images[1]).resize((64, 64)).save(images[1])
    editor = opened(tiny(PIX2PIX), batch=2)
    found = made(editor, *(EditRequest("a", "red", path) for path in images[:3]))
    assert sorted(calls) == [1, 2]
    assert [pixels(one).shape[:2] for one in found] == [(72, 88), (64, 64), (72, 88)]
    assert "source_size" not in found[1].metadata


def test_unknown_pipelines_get_no_batches(tiny: Tiny, images: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = watched(monkeypatch)
    editor = opened(tiny("Flux2KleinPipeline"), batch=2)
    made(editor, *(EditRequest("a", "red", path) for path in images[:2]))
    assert calls == [1, 1]
    assert "one image at a time" in editor.notes[0]


def test_a_price_is_the_users(tiny: Tiny, images: list[Path]) -> None:
    given = EditorOptions({"steps": 1}, price=0.02)
    editor = DiffusersEditor("x", str(tiny(PIX2PIX)), given)
    (found,) = made(editor, EditRequest("a", "red", images[0]))
    assert (editor.price, found.cost) == (0.02, 0.02)


def test_through_the_engine(tiny: Tiny, images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = watched(monkeypatch)
    jobs = {EditKey("M", str(n)): EditRequest(str(n), WORDS[n % 3], path, seed=n) for n, path in enumerate(images)}
    editing = EditorSession(opened(tiny(PIX2PIX), batch=3), tmp_path / "M", EditSettings(concurrency=6))
    found = editing.edit_all(jobs)
    assert {edit.status for edit in found.values()} == {EditStatus.DONE}
    assert sum(calls) == 6
    assert max(calls) > 1
    assert all(edit.metadata["size"] == [88, 72] for edit in found.values())
    again = opened(tiny(PIX2PIX), batch=1, device="cpu")
    monkeypatch.setattr(DiffusersPipeline, "load", lambda _: pytest.fail("nothing is to be made"))
    kept = EditorSession(again, tmp_path / "M", EditSettings())
    assert kept.edit_all(jobs) == found, "images do not depend on batches or the device"
    assert kept.progress.cached == 6


def test_rounds_share_the_model(
    tiny: Tiny, images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    whole = form_class(PIX2PIX).from_pretrained

    def load(*given: Any, **more: Any) -> Any:
        loads.append(given)
        return whole(*given, **more)

    monkeypatch.setattr(form_class(PIX2PIX), "from_pretrained", load)
    editing = EditorSession(opened(tiny(PIX2PIX)), tmp_path / "M", EditSettings())
    for round_ in range(2):
        key = EditKey("M", "a", round_)
        job = EditRequest("a", "red", images[round_])
        assert editing.edit_all({key: job})[key].status is EditStatus.DONE
    assert len(loads) == 1


def test_a_benchmark_step_by_step(tiny: Tiny, tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 2, 1)
    benchmark = open_benchmark(tmp_path / "bench")

    def run(**settings: Any) -> EditRunResult:
        options = EditorOptions({"steps": 1, "pixels": 64 * 64, **settings})
        return EditRun(
            benchmark,
            benchmark.dataset.samples,
            f"diffusers:{tiny(PIX2PIX)}",
            tmp_path / "M",
            StrategyOptions("sequential"),
            options,
            EditSettings(),
        ).run()

    edited = run(batch=2)
    assert edited.statuses == {"done": 2}
    assert edited.progress.requests_sent > 2, "an image for each step"
    again = run(batch=4, device="cpu")
    assert (again.progress.requests_sent, again.progress.cached) == (0, edited.progress.requests_sent)
    with pytest.raises(CrevalError, match="another `out`"):
        run(steps=2)


def form_class(kind: str) -> Any:
    return getattr(import_module("diffusers"), kind)


def test_a_mask_says_where(tiny: Tiny, images: list[Path], half: Path, tmp_path: Path) -> None:
    white = tmp_path / "white.png"
    Image.new("L", (10, 10), 200).save(white)
    for kind in ("StableDiffusionInpaintPipeline", "FluxFillPipeline", "FluxInpaintPipeline"):
        editor = opened(tiny(kind))
        masked, all_, none = made(
            editor,
            EditRequest("a", "red", images[0], half),
            EditRequest("a", "red", images[0], white),
            EditRequest("a", "red", images[0]),
        )
        assert apart(masked, all_) > 2
        assert all_.content == none.content
        assert "the whole image may change" in editor.notes[0]
    editor = opened(tiny(PIX2PIX))
    masked, none = made(editor, EditRequest("a", "red", images[0], half), EditRequest("a", "red", images[0]))
    assert masked.content == none.content
    assert "takes no mask" in editor.notes[0]


def test_sources_are_seen_upright_and_on_white(tiny: Tiny, images: list[Path], tmp_path: Path) -> None:
    upright = Image.open(images[0])
    turned = upright.transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6  # viewers rotate it by 90 degrees clockwise
    turned.save(tmp_path / "turned.png", exif=exif)
    clear = upright.convert("RGBA")
    clear.paste((10, 20, 30, 0), (0, 0, 45, 70))
    clear.save(tmp_path / "clear.png")
    white = upright.copy()
    white.paste((255, 255, 255), (0, 0, 45, 70))
    white.save(tmp_path / "white.png")
    paths = [images[0], *(tmp_path / f"{name}.png" for name in ("turned", "clear", "white"))]
    plain, turned_, clear_, white_ = made(opened(tiny(PIX2PIX)), *(EditRequest("a", "red", path) for path in paths))
    assert plain.content == turned_.content
    assert clear_.content == white_.content
    assert plain.content != clear_.content


@pytest.mark.parametrize(
    "kind", ["Flux2KleinPipeline", "OmniGenPipeline", "QwenImageEditPlusPipeline", "FluxKontextInpaintPipeline"]
)
def test_references(kind: str, tiny: Tiny, images: list[Path]) -> None:
    jobs = [
        EditRequest("a", "red", images[0]),
        EditRequest("a", "red", images[0], references=(images[1],)),
        EditRequest("a", "red", images[0], references=(images[2],)),
    ]
    none, first, second = made(opened(tiny(kind)), *jobs)
    assert pixels(first).shape == pixels(none).shape
    assert apart(none, first) > 0
    assert apart(first, second) > 0


def test_more_images_than_it_takes(tiny: Tiny, images: list[Path]) -> None:
    jobs = [
        EditRequest("a", "red", images[0], references=(images[1],)),
        EditRequest("a", "red", references=(images[1],)),
    ]
    both, reference = came(opened(tiny(PIX2PIX)), jobs)
    assert isinstance(both, CallError)
    assert (both.kind, both.retryable) == ("unsupported", False)
    assert "at most 1 image," in str(both)
    assert not isinstance(reference, BaseException), "a single reference counts as one image"


def test_text_to_image(tiny: Tiny, images: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny("StableDiffusionPipeline")
    (drawn,) = made(opened(folder), EditRequest("a", "a red hat"))
    assert pixels(drawn).shape == (64, 64, 3)
    other = opened(folder, pipeline="StableDiffusionImg2ImgPipeline")
    (edited,) = made(other, EditRequest("a", "red", images[0]))
    assert pixels(edited).shape == (72, 88, 3)
    monkeypatch.setattr(DiffusersPipeline, "load", lambda _: pytest.fail("it cannot edit"))
    (refused,) = came(opened(folder), [EditRequest("a", "red", images[0])])
    assert isinstance(refused, CallError)
    assert "`settings` pipeline=StableDiffusionImg2ImgPipeline" in str(refused)
    inpainting = opened(tiny("StableDiffusionInpaintPipeline"))
    (refused,) = came(inpainting, [EditRequest("a", "a red hat")])
    assert "needs an image" in str(refused)


def spoilt(monkeypatch: pytest.MonkeyPatch, error: Exception, when: Callable[[Sequence[str]], bool]) -> None:
    """A pipeline that fails for some prompts."""
    kind = form_class(PIX2PIX)
    whole = kind.__call__

    def call(self: Any, prompt: Any, **more: Any) -> Any:
        if when([prompt] if isinstance(prompt, str) else prompt):
            raise error
        return whole(self, prompt=prompt, **more)

    call.__wrapped__ = whole  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "__call__", call)


def test_one_job_spoils_no_other(tiny: Tiny, images: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt(monkeypatch, ValueError("no hats"), lambda prompts: "hat" in prompts)
    jobs = [EditRequest(w, w, images[0]) for w in ("red", "hat", "blue", "green")]
    found = came(opened(tiny(PIX2PIX), batch=4), jobs)
    assert [isinstance(one, CallError) for one in found] == [False, True, False, False]
    assert str(found[1]) == "the model failed: ValueError: no hats"


def test_batches_get_smaller_for_want_of_memory(
    tiny: Tiny, images: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
    spoilt(monkeypatch, error, lambda prompts: len(prompts) > 2 or "hat" in prompts)
    calls = watched(monkeypatch)
    editor = opened(tiny(PIX2PIX), batch=4)
    jobs = [EditRequest("a", w, images[0]) for w in (*"abcd", "e", "f")]
    assert len(made(editor, *jobs)) == 6
    assert calls == [4, 2, 2, 2]
    assert "ran out of memory: the batch size is now 2" in editor.notes[-1]
    (alone,) = came(editor, [EditRequest("a", "hat", images[0])])
    assert isinstance(alone, CallError)
    assert alone.kind == "out of memory"
    assert "`settings` offload=model" in str(alone)


def test_images_blocked_by_a_safety_checker_are_refused(
    tiny: Tiny, images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(_: Any, image: Any, *__: Any) -> tuple[Any, list[bool]]:
        return image, [True] + [False] * (len(image) - 1)

    monkeypatch.setattr(form_class(PIX2PIX), "run_safety_checker", check)
    jobs = {EditKey("M", str(n)): EditRequest(str(n), "red", images[n]) for n in range(2)}
    editing = EditorSession(opened(tiny(PIX2PIX), batch=2), tmp_path / "M", EditSettings(concurrency=2))
    states = [edit.status for edit in editing.edit_all(jobs).values()]
    assert sorted(states) == [EditStatus.DONE, EditStatus.REFUSED]


def test_a_black_image_is_no_edit(
    tiny: Tiny, images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(_: Any, image: Any, *__: Any) -> tuple[Any, None]:
        return image * 0 - 1, None

    monkeypatch.setattr(form_class(PIX2PIX), "run_safety_checker", check)
    Image.new("RGB", SIZE).save(tmp_path / "night.png")
    jobs = [EditRequest("a", "red", images[0]), EditRequest("a", "red", tmp_path / "night.png")]
    black, night = came(opened(tiny(PIX2PIX)), jobs)
    assert "dtype=float32" in str(black)
    assert not isinstance(night, BaseException)


def test_a_truncated_instruction_is_reported(tiny: Tiny, images: list[Path]) -> None:
    short, long = "red " * 20, "blue " * 20
    editor = opened(tiny(PIX2PIX))
    whole, cut = made(editor, EditRequest("a", short, images[0]), EditRequest("a", long, images[0]))
    assert "tokens_read" not in whole.metadata
    assert cut.metadata["tokens_read"] == 77
    assert "reads 77 tokens" in editor.notes[0]
    editor = opened(tiny("FluxImg2ImgPipeline"))
    (whole,) = made(editor, EditRequest("a", long, images[0]))
    assert "tokens_read" not in whole.metadata, "T5 reads more tokens than CLIP"


def test_sizes(tiny: Tiny, tmp_path: Path) -> None:
    Image.new("RGB", (600, 200), "red").save(tmp_path / "wide.png")
    wide = EditRequest("a", "red", tmp_path / "wide.png")
    folder = tiny(PIX2PIX)
    (found,) = made(opened(folder, pixels=64 * 64), wide)
    assert pixels(found).shape == (40, 112, 3)
    assert found.metadata["source_size"] == [600, 200]
    kontext = tiny("FluxKontextPipeline")
    (found,) = made(opened(kontext, width=48, height=32, pixels=None), wide)
    assert pixels(found).shape == (32, 48, 3)
    (found,) = made(opened(kontext, max_area=96 * 32, pixels=None), wide)
    assert pixels(found).shape == (32, 96, 3), "its own area, in the source's shape"


def test_guidance_and_steps_shape_the_image(tiny: Tiny, images: list[Path]) -> None:
    job = EditRequest("a", "red", images[0])
    for kind, name in ((PIX2PIX, "guidance_scale"), ("QwenImageEditPipeline", "true_cfg_scale")):
        (plain,) = made(opened(tiny(kind), guidance=2), job)
        (same,) = made(opened(tiny(kind), **{name: 2}), job)
        (more,) = made(opened(tiny(kind), guidance=9), job)
        (steps,) = made(opened(tiny(kind), guidance=2, steps=5), job)
        assert plain.content == same.content
        assert apart(plain, more) > 0
        assert apart(plain, steps) > 0
    (plain,) = made(opened(tiny(PIX2PIX), batch=2, negative_prompt="hat"), job)
    two = made(opened(tiny(PIX2PIX), batch=2, negative_prompt="hat"), job, job)
    assert apart(plain, two[0]) <= _ROUNDING, "a text setting applies to each item of a batch"


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_closing_stops_what_is_in_the_making(batch: int, tiny: Tiny, images: list[Path]) -> None:
    editor = opened(tiny(PIX2PIX), steps=900, batch=batch)

    async def run() -> list[Any]:
        await editor.open()
        jobs = [EditRequest("a", "red", path) for path in images[:3]]
        asked = [asyncio.create_task(editor.edit(job, NoTicket())) for job in jobs]
        while editor._worker is None:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)
        await editor.close()
        return list(await asyncio.gather(*asked, return_exceptions=True))

    began = time.monotonic()
    found = asyncio.run(run())
    assert time.monotonic() - began < 8
    assert all(isinstance(one, BaseException) for one in found)


def test_a_source_that_cannot_be_opened(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("<html>")
    (found,) = came(opened(tiny(PIX2PIX)), [EditRequest("a", "red", tmp_path / "text.png")])
    assert isinstance(found, CallError)
    assert not found.retryable
    assert "text.png" in str(found)


def test_damaged_weights_stop_everything_once(tiny: Tiny, images: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / PIX2PIX
    shutil.copytree(tiny(PIX2PIX), folder)
    for path in folder.glob("unet/*.safetensors"):
        path.write_bytes(path.read_bytes()[:1000])
    jobs = {EditKey("M", str(n)): EditRequest(str(n), "red", images[n]) for n in range(4)}
    with pytest.raises(ProviderUnusable, match="cannot be loaded"):
        EditorSession(opened(folder), tmp_path / "M", EditSettings()).edit_all(jobs)


def test_batches_need_concurrency() -> None:
    options = EditorOptions({"batch": 5}, concurrency=4)
    with pytest.raises(CrevalError, match="`concurrency` 5"):
        DiffusersEditor("x", "x", options)


def test_all_that_take_batches_are_tried_here() -> None:
    assert set(BATCHES) == call_signature._SUPPORTS_BATCHES
    assert all(call_signature.read_call_signature(form_class(kind)).supports_batches for kind in BATCHES)
