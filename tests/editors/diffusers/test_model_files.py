"""Tests of finding models in folders and on the hub, and of loading them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.diffusers.diffusers_editor import DiffusersEditor
from creval.editors.diffusers.model_files import (
    DevicePlacement,
    LocatedModel,
    choose_placement,
    find_pipeline_class,
    import_libraries,
    load_pipeline,
    locate_model,
    memory_hint,
    truncated_token_count,
)
from tests.editors.diffusers.asking import made, pixels
from tests.serving import serving

Tiny = Callable[[str], Path]
PIX2PIX = "StableDiffusionInstructPix2PixPipeline"
torch: Any = import_module("torch")
diffusers: Any = import_module("diffusers")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        if name == "diffusers":
            raise ImportError("No module named 'diffusers'")
        return import_module(name)

    monkeypatch.setattr("creval.editors.diffusers.model_files.import_module", absent)
    with pytest.raises(CrevalError, match=r"diffusers:a/b needs .*pip install 'creval\[diffusers\]'"):
        import_libraries("diffusers:a/b")


@pytest.mark.parametrize("name", ["nowhere", "./nowhere", "/nowhere/at/all", "a/b/c", "../x"])
def test_a_folder_that_is_not_there(name: str) -> None:
    with pytest.raises(CrevalError, match="no folder"):
        locate_model(name)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "has no model_index.json"),
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "must contain a JSON object"),
        ("{}", "with custom code"),
        ('{"_class_name": "Step1XEditPipeline"}', "is a Step1XEditPipeline, which diffusers"),
        ('{"_class_name": ["pipeline.py", "Mine"]}', "with custom code"),
        ('{"_class_name": "logging"}', "is a logging"),
        ('{"_class_name": "UNet2DConditionModel"}', "does not include or cannot run"),
    ],
)
def test_a_folder_that_holds_no_pipeline(content: str | None, reason: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "model_index.json").write_text(content)
    with pytest.raises(CrevalError, match=reason):
        find_pipeline_class(locate_model(str(tmp_path)), diffusers)


def test_a_part_that_is_missing_gets_a_sentence(tiny: Tiny, tmp_path: Path) -> None:
    index = (tiny(PIX2PIX) / "model_index.json").read_text()
    (tmp_path / "model_index.json").write_text(index)
    kind = getattr(diffusers, PIX2PIX)
    with pytest.raises(CrevalError, match="cannot be loaded"):
        load_pipeline(LocatedModel("x", tmp_path), kind, DevicePlacement("cpu", "float32"), torch, "")


class Recorded:
    """Fake pipeline class that records its calls."""

    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []

    def from_pretrained(self, folder: Path, **given: Any) -> Recorded:
        self.done.append((str(folder), given))
        return self

    def __getattr__(self, name: str) -> Any:
        def do(*given: Any, **named: Any) -> Recorded:
            self.done.append((name, given or named))
            return self

        return do


@pytest.mark.parametrize(
    ("offload", "done"),
    [
        ("none", ("to", ("cuda:1",))),
        ("model", ("enable_model_cpu_offload", {"device": "cuda:1"})),
        ("sequential", ("enable_sequential_cpu_offload", {"device": "cuda:1"})),
    ],
)
def test_the_device_of_a_pipeline(offload: str, done: object) -> None:
    kind: Any = Recorded()
    placed = DevicePlacement("cuda:1", "bfloat16", offload)
    load_pipeline(LocatedModel("x", Path("x")), kind, placed, torch, "fp16")
    assert kind.done == [
        ("x", {"dtype": torch.bfloat16, "variant": "fp16"}),
        ("set_progress_bar_config", {"disable": True}),
        done,
    ]


def test_placement_depends_on_the_machine() -> None:
    def machine(cuda: bool, mps: bool, new: bool = True) -> Any:
        return SimpleNamespace(
            device=torch.device,
            cuda=SimpleNamespace(is_available=lambda: cuda, is_bf16_supported=lambda **_: new),
            backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
        )

    assert choose_placement(machine(True, False), "", "", "none") == ("cuda", "bfloat16", "none")
    assert choose_placement(machine(True, False, new=False), "", "", "model") == ("cuda", "float16", "model")
    assert choose_placement(machine(False, True), "", "", "none") == ("mps", "bfloat16", "none")
    assert choose_placement(machine(False, False), "", "", "none") == ("cpu", "float32", "none")
    assert choose_placement(machine(True, False), "cpu", "", "none") == ("cpu", "float32", "none")
    assert choose_placement(machine(False, False), "", "bfloat16", "none") == ("cpu", "bfloat16", "none")


def test_errors_about_memory_are_recognised() -> None:
    for error in (
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 MiB"),
        RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        MemoryError(),
    ):
        assert "offload=model" in memory_hint(error)
    assert memory_hint(ValueError("wrong shape")) == ""


def test_how_far_a_text_is_read() -> None:
    def reader(most: int) -> Any:
        class Reader:
            model_max_length = most

            def __call__(self, text: str) -> dict[str, list[int]]:
                return {"input_ids": [0] * len(text)}

        return Reader()

    one = SimpleNamespace(tokenizer=reader(5))
    assert (truncated_token_count(one, "12345"), truncated_token_count(one, "123456")) == (None, 5)
    two = SimpleNamespace(tokenizer=reader(5), tokenizer_2=reader(8))
    assert (truncated_token_count(two, "12345678"), truncated_token_count(two, "123456789")) == (None, 8)
    assert truncated_token_count(SimpleNamespace(), "1" * 100_000) is None
    assert truncated_token_count(SimpleNamespace(tokenizer=object()), "1" * 100_000) is None


COMMIT = "c0ffee" * 6 + "c0ff"


def hub(folder: Path) -> web.Application:
    """Server that offers a folder for download as the hub does."""
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]

    def declined(request: web.Request) -> web.Response | None:
        codes = {"gated": (403, "GatedRepo"), "nowhere": (404, "RepoNotFound")}
        status, code = codes.get(request.match_info["name"], (0, ""))
        return web.Response(status=status, headers={"X-Error-Code": code}) if status else None

    async def info(request: web.Request) -> web.Response:
        siblings = [{"rfilename": name} for name in files]
        body = {"id": "org/tiny", "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
        return declined(request) or web.json_response(body)

    async def tree(request: web.Request) -> web.Response:
        sizes = {name: (folder / name).stat().st_size for name in files}
        entries = [{"type": "file", "path": name, "oid": COMMIT, "size": size} for name, size in sizes.items()]
        return declined(request) or web.json_response(entries)

    async def file(request: web.Request) -> web.StreamResponse:
        path = folder / request.match_info["path"]
        if answer := declined(request):
            return answer
        if not path.is_file() or request.match_info["name"] != "tiny":
            return web.Response(status=404, headers={"X-Error-Code": "EntryNotFound"})
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{path.stat().st_size:x}"'}
        return web.Response(body=path.read_bytes(), headers=headers)

    app = web.Application()
    app.router.add_get("/api/models/{org}/{name}", info)
    app.router.add_get("/api/models/{org}/{name}/revision/{revision}", info)
    app.router.add_get("/api/models/{org}/{name}/tree/{revision}", tree)
    app.router.add_get("/{org}/{name}/resolve/{revision}/{path:.+}", file)
    return app


@pytest.fixture
def served(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Return a hub with one model and an empty download cache."""
    with serving(hub(tiny(PIX2PIX))) as address:
        template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.hf_api.api.endpoint", address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        yield


@pytest.mark.usefixtures("served")
def test_from_the_hub(images: list[Path]) -> None:
    editor = DiffusersEditor("diffusers:org/tiny", "org/tiny", EditorOptions({"steps": 2}))
    (found,) = made(editor, EditRequest("a", "red", images[0]))
    assert pixels(found).shape == (72, 88, 3)
    assert editor.manifest_entry["revision"] == COMMIT
    assert editor.manifest_entry["class"] == PIX2PIX


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("org/gated", "accept its licence at https://huggingface.co/org/gated"),
        ("org/nowhere", "nor a model on the hub"),
        ("org/other", "has no model_index.json"),
    ],
)
def test_models_missing_from_the_hub(name: str, reason: str) -> None:
    with pytest.raises(CrevalError, match=reason):
        locate_model(name)
