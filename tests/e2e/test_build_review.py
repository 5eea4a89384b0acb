"""Tests of the review of built benchmarks in a browser: decisions change the files."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.complexbench.files import instructions_file
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import FITTING, annotated, draw_images, rows
from tests.building.ice.made import draw_task, entries
from tests.building.made import drawn
from tests.commands import parsed
from tests.serving import serving


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "creval", *map(str, arguments)]


def bench(folder: Path) -> Any:
    """Return the JSON output of `creval bench`."""
    return parsed("bench", folder)


@pytest.fixture
def served() -> Iterator[str]:
    with serving(FakeServer(seed=3).app()) as url:
        yield url


@contextmanager
def reviewing(*arguments: object) -> Iterator[str]:
    """Run a build with `--review` and yield the address of its pages."""
    process = subprocess.Popen(
        command(*arguments, "--review"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert process.stderr is not None
    said = []
    try:
        for line in process.stderr:
            said.append(line)
            found = re.match(r"reviewing .* at (http://127\.0\.0\.1:\d+)/ \(Ctrl-C to stop\)", line)
            if found:
                yield found[1]
                break
        else:
            pytest.fail("".join(said))
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[1]
    assert process.returncode == 0, rest
    assert re.fullmatch(r"(\d+ items? left to decide|All items are decided)\.\n", rest)


def card(page: Page, number: int) -> Locator:
    return page.locator(f"#item-{number}")


def said(page: Page, words: str) -> None:
    expect(page.locator("#said")).to_contain_text(words)


def begin(page: Page, address: str, items: int) -> None:
    """Go to the first group with undecided items."""
    page.goto(address)
    expect(page.get_by_text(f"0 of {items} items decided")).to_be_visible()
    expect(page.locator("#keys-button")).to_be_visible()
    page.keyboard.press("u")
    expect(card(page, 1)).to_have_attribute("aria-current", "true")
    expect(page.locator("#keys-button")).to_be_visible()


def rewrite(page: Page, item: str, words: str) -> None:
    """Change the text of the current card, and accept it."""
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type(words)
    page.keyboard.press("Control+Enter")
    said(page, f"{item}: Accepted, with your changes.")


def test_a_built_creval(tmp_path: Path, served: str, browser_page: Page) -> None:
    images, out, page = drawn(tmp_path / "pictures", "a", "b"), tmp_path / "bench", browser_page
    build = (
        "build",
        "creval",
        "--images",
        images,
        "--out",
        out,
        "--writer",
        f"openai:writer@{served}/v1",
        "--asker",
        f"openai:asker@{served}/v1",
    )

    def listed() -> dict[str, dict[str, Any]]:
        entries = json.loads((out / "instruction.json").read_text())
        return {Path(entry["input_image"][0]).stem: entry for entry in entries}

    def asked(metric: str, name: str = "a") -> Any:
        return json.loads((out / "questions_all" / metric / f"{name}.json").read_text())

    with reviewing(*build) as address:
        counts = {metric: len(asked(metric)["quality_check_questions"]) for metric in ("IF", "VC")}
        found = bench(out)
        begin(page, address, 2 + sum(found["questions"].values()))
        rewrite(page, "instruction", "Turn the whole picture into a mosaic of small blue tiles.")
        entry = listed()["a"]
        assert entry["input_prompt"] == "Turn the whole picture into a mosaic of small blue tiles."
        assert entry["review"] == "accepted"

        page.keyboard.press("j")
        first = asked("IF")["quality_check_questions"][0]["question_id"]
        page.keyboard.press("d")
        said(page, f"IF/{first}: Dropped.")
        assert len(asked("IF")["quality_check_questions"]) == counts["IF"] - 1
        assert [gone["question_id"] for gone in asked("IF")["dropped"]] == [first]
        page.keyboard.press("j")
        page.keyboard.press("a")
        second = asked("IF")["quality_check_questions"][0]["question_id"]
        said(page, f"IF/{second}: Accepted.")
        assert asked("IF")["quality_check_questions"][0]["review"] == "accepted"
        assert bench(out)["problems"] == []

        for _ in range(counts["IF"] - 1):
            page.keyboard.press("j")
        label = asked("VC")["quality_check_questions"][0]["question_id"]
        rewrite(page, f"VC/{label}", "Is the largest shape still at its place?")
        question = asked("VC")["quality_check_questions"][0]
        assert question["question"] == "Is the largest shape still at its place?"
        page.keyboard.press("e")
        for _ in range(2):  # past the answer, to the weight
            page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        said(page, f"VC/{label}: Saved.")
        page.keyboard.press("Escape")
        assert asked("VC")["quality_check_questions"][0]["weight"] != question["weight"]

        page.keyboard.press("n")
        expect(page).to_have_url(re.compile(r"id=b\b"))
        expect(card(page, 1)).to_have_attribute("aria-current", "true")
        page.keyboard.press("d")
        said(page, "instruction: Dropped.")
        assert list(listed()) == ["a"], "a sample without instruction is removed"
        assert (bench(out)["samples"], bench(out)["problems"]) == (1, [])
        page.keyboard.press("o")
        said(page, "Reopened.")
        assert list(listed()) == ["a", "b"]
        assert (bench(out)["samples"], bench(out)["problems"]) == (2, [])
        page.keyboard.press("d")
        said(page, "Dropped.")

    before = listed()
    again = subprocess.run(command(*build), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "changed by hand: the instruction of a" in again.stderr
    assert listed() == before, "the next build does not change reviewed texts"
    assert bench(out)["problems"] == []


def test_a_built_complexbench_edit(tmp_path: Path, served: str, browser_page: Page) -> None:
    file, out, page = annotated(tmp_path, FITTING[:2]), tmp_path / "bench", browser_page
    build = (
        "build",
        "complexbench",
        "--images",
        tmp_path / "images",
        "--coco",
        file,
        "--out",
        out,
        "--level",
        "three-chain",
        "--retries",
        4,
        "--writer",
        f"openai:writer@{served}/v1",
        "--checker",
        f"openai:checker@{served}/v1",
    )

    def entry(key: str) -> Any:
        return json.loads(instructions_file(out, "three-chain").read_text())[key]

    with reviewing(*build) as address:
        assert (bench(out)["samples"], bench(out)["problems"]) == (2, [])
        begin(page, address, 6)
        page.keyboard.press("a")
        said(page, "step/1: Accepted.")
        page.keyboard.press("j")
        rewrite(page, "step/2", "Add a small flag to what was made before.")
        assert entry("1")["new_ins"].splitlines()[1] == "Add a small flag to what was made before."
        assert [pair.get("review") for pair in entry("1")["edit pair"]] == ["accepted"] * 2 + [None]

        page.keyboard.press("j")
        page.keyboard.press("d")
        said(page, "step/3: Dropped.")
        assert entry("1")["dropped"] is True
        assert (bench(out)["samples"], bench(out)["problems"]) == (1, [])
        page.keyboard.press("o")
        said(page, "Reopened.")
        assert (bench(out)["samples"], bench(out)["problems"]) == (2, [])

        page.keyboard.press("n")
        expect(page).to_have_url(re.compile(r"id=three-chain(/|%2F)2\b"))
        expect(card(page, 1)).to_have_attribute("aria-current", "true")
        kind = entry("2")["edit pair"][0]["edit_type"]
        page.keyboard.press("e")
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Control+Enter")
        said(page, "step/1: Accepted")
        assert entry("2")["edit pair"][0]["edit_type"] != kind
        assert bench(out)["problems"] == []

    before = json.loads(instructions_file(out, "three-chain").read_text())
    again = subprocess.run(command(*build), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert json.loads(instructions_file(out, "three-chain").read_text()) == before


def test_a_built_complex_edit(tmp_path: Path, served: str, browser_page: Page) -> None:
    images, out, page = draw_images(tmp_path / "images", 1), tmp_path / "bench", browser_page
    build = (
        "build",
        "complex-edit",
        "--images",
        images,
        "--out",
        out,
        "--steps",
        3,
        "--retries",
        4,
        "--writer",
        f"openai:writer@{served}/v1",
    )
    with reviewing(*build) as address:
        assert bench(out)["samples"] == 3
        begin(page, address, 6)
        rewrite(page, "atomic/1", "Add a red kite above the roof.")
        edit = rows(out)["0000.json"]["edit"]
        assert edit["sequence"][0]["instruction"] == "Add a red kite above the roof."
        assert edit["compound"][0]["compound_instruction"] == "Add a red kite above the roof."
        for _ in range(5):
            page.keyboard.press("j")
        page.keyboard.press("d")
        said(page, "compound/3: Dropped.")
        assert (bench(out)["samples"], bench(out)["problems"]) == (2, [])


def test_a_built_ice_bench(tmp_path: Path, served: str, browser_page: Page) -> None:
    for name in ("Color Editing", "Face Swap"):
        draw_task(tmp_path / "in", TASKS[name])
    out, page = tmp_path / "bench", browser_page
    build = (
        "build",
        "ice",
        "--images",
        tmp_path / "in",
        "--out",
        out,
        "--fill",
        "people",
        "--retries",
        4,
        "--writer",
        f"openai:writer@{served}/v1",
    )

    def entry(name: str) -> Any:
        return next(one for one in entries(out) if one["ItemID"].startswith(name))

    with reviewing(*build) as address:
        begin(page, address, 5)
        expect(page.locator(".seen figure")).to_have_count(1)
        expect(card(page, 1)).to_contain_text("to fill in: ")
        rewrite(page, "instruction", "Make the sky in <SOURCE> violet.")
        assert entry("color")["Instruction"] == "Make the sky in <SOURCE> violet."
        page.keyboard.press("A")
        expect(page).to_have_url(re.compile("id=face-swap"))
        expect(card(page, 1)).to_have_attribute("aria-current", "true")
        expect(page.locator("#keys-button")).to_be_visible()
        expect(page.locator(".seen figure")).to_have_count(3)
        expect(page.locator(".seen figure img").nth(2)).to_have_js_property("complete", True)
        expect(page.locator(".seen")).to_contain_text("reference 1")
        for number in (2, 3):
            page.keyboard.press("j")
            expect(card(page, number)).to_have_attribute("aria-current", "true")
        page.keyboard.press("d")
        said(page, "TargetCaption: Dropped.")
        assert entry("face")["dropped"] is True

    assert bench(out)["samples"] == 1
    again = subprocess.run(command(*build), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert entry("color")["Instruction"] == "Make the sky in <SOURCE> violet."
    assert entry("color")["TargetCaption"], "the next build writes a caption for the changed instruction"
    assert entry("face")["dropped"] is True
