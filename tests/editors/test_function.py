"""Tests of functions as editors: arguments, results and side effects."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageOps

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.function import FunctionEditor
from creval.providers.call_errors import CallError
from tests.editors.asking import NoTicket, made


def flip(source: Image.Image, instruction: str, strength: int = 0) -> Image.Image:
    if instruction == "fail":
        raise ValueError("no")
    return ImageOps.invert(source) if strength else ImageOps.flip(source)


async def slow(source: Image.Image, **_: object) -> bytes:
    sent = io.BytesIO()
    source.save(sent, "WEBP")
    return sent.getvalue()


def test_a_function_gets_what_it_takes(source: Path) -> None:
    where = f"{__name__}:flip"
    options = EditorOptions({"strength": 1})
    found = made(FunctionEditor("x", where, options), EditRequest("a", "do", source, seed=3))
    assert Image.open(io.BytesIO(found.content)).getpixel((0, 0)) == (245, 55, 165)
    with pytest.raises(CallError, match="ValueError: no"):
        made(FunctionEditor("x", where, options, flip), EditRequest("a", "fail", source))
    found = made(FunctionEditor("x", where, options, slow), EditRequest("a", "do", source))
    assert found.content[8:12] == b"WEBP", "byte for byte"
    for wrong in ("", "nothing", "no.module:f", f"{__name__}:nothing"):
        with pytest.raises(CrevalError, match="python:"):
            FunctionEditor("x", wrong, options)
    with pytest.raises(CrevalError, match="has no such parameter"):
        FunctionEditor("x", where, EditorOptions({"other": 2}), flip)


def brings(source: Image.Image, what: Callable[[], Any]) -> Any:
    del source
    return what()


async def awaits(source: Image.Image, what: Callable[[], Any]) -> Any:
    del source
    await asyncio.sleep(0)
    return what()


def function(what: Callable[[], Any], name: str = "brings", timeout: float = 5.0) -> FunctionEditor:
    """Return an editor that calls a function in this process."""
    given = {"brings": brings, "awaits": awaits}[name]
    return FunctionEditor("x", name, EditorOptions({"what": what}, timeout=timeout), given)


def raising(error: BaseException) -> Callable[[], Any]:
    def do() -> Any:
        raise error

    return do


both = pytest.mark.parametrize("name", ["brings", "awaits"])


@both
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(2),
        KeyboardInterrupt(),
        StopIteration(),
        TimeoutError("late"),
        MemoryError(),
        asyncio.CancelledError(),
    ],
)
def test_an_exception_of_a_function_fails_one_sample(source: Path, name: str, error: BaseException) -> None:
    with pytest.raises(CallError, match="the function failed"):
        made(function(raising(error), name), EditRequest("a", "do", source))


@both
def test_return_values_of_functions(tmp_path: Path, source: Path, name: str) -> None:
    content = source.read_bytes()
    for what in (content, bytearray(content), memoryview(content), source, str(source)):
        assert made(function(lambda w=what: w, name), EditRequest("a", "do")).content == content  # type: ignore[misc]
    with (tmp_path / "large.png").open("wb") as file:
        file.truncate(3 << 30)
    wrong = {
        tmp_path / "large.png": "more than 64 MB",
        tmp_path / "absent.png": "No such file",
        tmp_path: "is not a regular file",
        "nul \0": "null",
        7: "returned int",
    }
    for brought, reason in wrong.items():
        with pytest.raises(CallError, match=reason) as caught:
            made(function(lambda w=brought: w, name), EditRequest("a", "do"))  # type: ignore[misc]
        assert str(tmp_path) not in str(caught.value), "reasons must not differ by path"


@pytest.mark.parametrize(
    ("mode", "color", "shown"),
    [
        ("CMYK", (0, 255, 255, 0), (255, 0, 0)),
        ("F", 1.0, (255, 255, 255)),
        ("HSV", (0, 255, 255), (255, 0, 0)),
        ("RGBa", (0, 0, 0, 0), (255, 255, 255)),
        ("LA", (90, 255), (90, 90, 90)),
        ("1", 1, (255, 255, 255)),
    ],
)
def test_images_of_all_modes(mode: str, color: Any, shown: tuple[int, ...]) -> None:
    image = Image.new(mode, (4, 3), color)
    found = Image.open(io.BytesIO(made(function(lambda: image), EditRequest("a", "do")).content))
    assert found.format == "PNG"
    assert found.convert("RGB").getpixel((2, 1)) == shown


def test_an_image_without_pixels() -> None:
    with pytest.raises(CallError, match="the function failed"):
        made(function(lambda: Image.new("RGB", (0, 0))), EditRequest("a", "do"))


def test_images_that_cannot_be_opened(tmp_path: Path, source: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(source.read_bytes()[:50])
    takes_all = FunctionEditor("x", "slow", EditorOptions(), slow)
    takes_none = FunctionEditor("x", "flip", EditorOptions(), flip)
    for job in (
        EditRequest("a", "do", source, mask=broken),
        EditRequest("a", "do", source, references=(tmp_path / "absent.png",)),
    ):
        assert made(takes_none, job).content
        with pytest.raises(CallError, match="unreadable source"):
            made(takes_all, job)
    for editor in (takes_all, takes_none):
        with pytest.raises(CallError, match="unreadable source"):
            made(editor, EditRequest("a", "do", broken))


def test_a_function_that_hangs_stops_no_other(source: Path) -> None:
    free = threading.Event()
    content = source.read_bytes()
    threads = []

    def what() -> bytes:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            free.wait()
        time.sleep(0.4)
        return content

    editor = function(what, timeout=1.0)

    async def run() -> list[Any]:
        await editor.open()
        try:
            jobs = [editor.edit(EditRequest(name, "do", source), NoTicket()) for name in "abcd"]
            return list(await asyncio.gather(*jobs, return_exceptions=True))
        finally:
            await editor.close()

    try:
        first, *others = asyncio.run(run())
    finally:
        free.set()
    assert isinstance(first, CallError)
    assert first.kind == "timeout"
    assert [other.content for other in others] == [content] * 3, "waiting for other calls does not count"
    hung, *after = threads
    assert hung not in after
    assert len(set(after)) == 1


def test_a_coroutine_that_hangs(source: Path) -> None:
    editor = FunctionEditor("x", "never", EditorOptions(timeout=0.2), never)
    with pytest.raises(CallError, match="timeout"):
        made(editor, EditRequest("a", "do", source))


async def never(source: Image.Image) -> None:
    del source
    await asyncio.sleep(60)


SCRIPT = """
import asyncio, sys, time
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.function import FunctionEditor

async def run():
    editor = FunctionEditor("x", "hanging:hang", EditorOptions(timeout=0.5))
    await editor.open()
    try:
        await editor.edit(EditRequest("a", "do"), None)
    except Exception as error:
        print(error, file=sys.stderr)
    await editor.close()

asyncio.run(run())
print("the result")
"""
HANGING = """
import time
print("imported")

def hang(source):
    print("called")
    time.sleep(60)
"""


def test_a_process_ends_with_a_function_that_hangs(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    paths = os.pathsep.join([str(Path(p).resolve()) for p in sys.path if p])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=40,
        check=True,
    )
    assert done.stdout == "the result\n"
    assert done.stderr == "imported\ncalled\ntimeout: it took more than 0.5 s\n"


@both
def test_output_of_a_function_goes_to_standard_error(
    source: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = sys.stdout

    def what() -> Path:
        print("words")
        return source

    made(function(what, name), EditRequest("a", "do"))
    assert sys.stdout is out
    assert capsys.readouterr() == ("", "words\n")


def test_two_editors_leave_standard_output_as_it_was() -> None:
    async def run() -> None:
        one, two = function(dict), function(dict)
        await one.open()
        await two.open()
        await one.close()
        assert sys.stdout is sys.stderr
        await two.close()

    out = sys.stdout
    asyncio.run(run())
    assert sys.stdout is out is not sys.stderr


def test_a_module_that_exits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "exits_at_once.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for where, reason in (("exits_at_once:f", "it exits the process"), ("builtins:dict", "cannot be determined")):
        with pytest.raises(CrevalError, match=reason):
            FunctionEditor("x", where, EditorOptions())


def test_its_time_does_not_count_waiting_for_others(source: Path) -> None:
    def nap(source: Image.Image) -> Image.Image:
        time.sleep(0.1)
        return source

    editor = FunctionEditor("python:nap", "nap", EditorOptions(), nap)

    async def all_at_once() -> list[float]:
        await editor.open()
        try:
            jobs = [editor.edit(EditRequest("s", "nap", source, seed=seed), NoTicket()) for seed in range(4)]
            return [made.seconds or 0.0 for made in await asyncio.gather(*jobs)]
        finally:
            await editor.close()

    taken = asyncio.run(all_at_once())
    assert min(taken) >= 0.1
    assert max(taken) < 0.3, "the last call waits for three others, which does not count"
