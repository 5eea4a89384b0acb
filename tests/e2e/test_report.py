"""Tests of the report in a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from creval.benchmarks import open_benchmark
from creval.judging.replay_run import replay
from miniature import write_miniature
from tests.commands import right

if TYPE_CHECKING:
    from playwright.sync_api import Page

EDITORS = ("faithful", "clumsy", "overeager", "forgetful", "lazy", "stranger")


@pytest.fixture
def report(demo: Path) -> Path:
    return demo / "report.html"


def test_the_headline_the_table_and_a_question(report: Path, browser_page: Page) -> None:
    page = browser_page
    page.goto(report.as_uri())
    assert "faithful (100.00" in page.locator(".lead").inner_text()
    scores = page.locator("#scores table")
    names = scores.locator("tbody th")
    assert names.all_inner_texts() == list(EDITORS)
    keeping = scores.locator("thead tr").last.get_by_role("button", name="VC").first
    keeping.click()
    assert keeping.locator("..").get_attribute("aria-sort") == "descending"
    assert names.all_inner_texts()[-2:] == ["overeager", "stranger"]
    keeping.press("Enter")
    assert names.all_inner_texts()[:2] == ["stranger", "overeager"]
    scores.get_by_role("button", name="model").click()
    assert names.all_inner_texts() == sorted(EDITORS)
    page.get_by_role("link", name="samples").click()
    first = page.locator("article").first
    assert first.locator("img").count() == 1 + len(EDITORS)
    assert first.locator("img").evaluate_all("all => all.every(one => one.naturalWidth > 50)")
    first.locator("summary").first.click()
    question = first.locator(".questions tbody th").first
    assert question.is_visible()
    assert first.locator("td.right").first.inner_text().startswith("✓")


@pytest.mark.parametrize("wide", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_the_window(report: Path, browser_page: Page, wide: int, scheme: str) -> None:
    page = browser_page
    page.set_viewport_size({"width": wide, "height": 800})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    for ink, ground in (
        ("--ink", "--paper"),
        ("--soft", "--paper"),
        ("--soft", "--raised"),
        ("--accent", "--paper"),
        ("--good", "--raised"),
        ("--bad", "--raised"),
        ("--open", "--raised"),
    ):
        assert contrast(page, ink, ground) >= 4.5, (ink, ground)


def test_a_phone_shows_whole_plots_and_the_ranking_column(report: Path, browser_page: Page) -> None:
    page = browser_page
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(report.as_uri())
    charts = page.locator(".chart")
    assert charts.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)")
    captions = charts.locator("figcaption").all_inner_texts()
    assert len(captions) == charts.count() == 4
    assert all(words.startswith("creval, judge pixel, 12 samples.") for words in captions)
    ranks = page.locator("#scores thead tr").last.get_by_role("columnheader").nth(1)
    assert ranks.inner_text().startswith("S")
    box = ranks.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390


@pytest.mark.parametrize("wide", [1280, 390])
def test_a_thumbnail_opens_large(report: Path, browser_page: Page, wide: int) -> None:
    page = browser_page
    page.set_viewport_size({"width": wide, "height": 800})
    page.goto(report.as_uri())
    thumbs = page.locator("article").first.locator("button.large")
    thumbs.first.scroll_into_view_if_needed()
    thumbs.first.locator("img").evaluate("one => one.decode()")
    small = thumbs.first.bounding_box()
    thumbs.first.click()
    dialog = page.locator("dialog#large")
    shown = dialog.locator("img")
    shown.wait_for()
    large = shown.bounding_box()
    assert small is not None
    assert large is not None
    assert large["width"] * large["height"] > 4 * small["width"] * small["height"]
    assert dialog.inner_text().startswith("source")
    page.keyboard.press("ArrowLeft")
    last = thumbs.last.locator("img").get_attribute("alt") or ""
    assert dialog.inner_text().startswith(last), "the left arrow goes from the first image to the last"
    page.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_headings_are_not_repeated(report: Path, browser_page: Page) -> None:
    page = browser_page
    page.goto(report.as_uri())
    for section in page.locator("main > section").all():
        heading = section.locator("h2").inner_text()
        assert section.locator("caption", has_text=heading).count() == 0
        drawn = section.locator(".chart svg text").all_text_contents()
        assert not [words for words in drawn if words.startswith(heading)]


def contrast(page: Page, ink: str, ground: str) -> float:
    """Return the WCAG contrast ratio of two colours of the page."""
    light = []
    for name in (ink, ground):
        text = page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name)", name).strip()
        parts = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_charts_have_names_and_tables(report: Path, browser_page: Page) -> None:
    page = browser_page
    page.goto(report.as_uri())
    charts = page.locator(".chart svg")
    assert charts.count() == 4
    for at in range(charts.count()):
        chart = charts.nth(at)
        assert chart.get_attribute("role") == "img"
        title, description = str(chart.get_attribute("aria-labelledby")).split()
        assert page.locator(f"#{title}").text_content()
        assert page.locator(f"#{description}").text_content()
    assert page.locator("#by-dimension details table").count() == 4
    for name in ("forest", "plane", "weights"):
        assert page.locator(f"#{name} details table").count() == 1
    ids = page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_links_instead_of_thumbnails(report: Path, browser_page: Page) -> None:
    out = report.parent / "further" / "linked.html"
    right("report", report.parent / "run", "--images", "link", "--samples", "1", "--out", out)
    page = browser_page
    page.goto(out.as_uri())
    images = page.locator("article img")
    for image in images.all():
        image.scroll_into_view_if_needed()
        image.evaluate("one => one.decode()")
        assert not str(image.get_attribute("src")).startswith("data:")
    assert images.count() >= 1 + len(EDITORS)


PLANTS = (
    "<script>window.planted = 1</script>",
    "<img src=x onerror='window.planted = 2'>",
    '" onmouseover="window.planted = 3',
    "<a href='javascript:window.planted = 4'>x</a>",
    "{{7*7}} {% raw %} ${7*7}",
    "</script><script>window.planted = 5</script>",
    "<svg onload=window.planted=6>",
)
FILE = "'\"><img src=x onerror=window.planted=7>"


def plant(bench: Path) -> None:
    """Put hostile texts into instructions, questions, explanations, model names and file names."""
    text = json.dumps(" ".join(PLANTS))[1:-1]
    stem = sorted((bench / "bench" / "image").iterdir())[0].stem
    for path in [bench / "bench" / "instruction.json", *bench.rglob("*/*/*.json")]:
        content = path.read_text()
        for words in ("Turn the", "Is the ", "As the picture", "The picture does"):
            content = content.replace(words, f"{text} {words}")
        path.write_text(content.replace(stem, json.dumps(FILE)[1:-1]))
    for path in sorted(bench.rglob(f"{stem}.*")):
        path.rename(path.with_name(f"{FILE}{path.suffix}"))
    for metric in ("IF", "VC", "VQ"):
        answers = bench / "answers" / metric
        shutil.copytree(answers / "Keeper", answers / PLANTS[1])


def test_hostile_texts_are_shown_and_never_run(tmp_path: Path, browser_page: Page) -> None:
    bench = write_miniature(tmp_path / "bench", samples=9)
    plant(bench)
    replay(open_benchmark(bench), bench / "answers", tmp_path / "run")
    out = tmp_path / "report.html"
    right("report", tmp_path / "run", "--out", out)
    page = browser_page
    page.goto(out.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    shown = page.locator("body").inner_text()
    for text in (*PLANTS, FILE):
        assert text in shown
    page.evaluate("document.querySelectorAll('*').forEach(one => one.dispatchEvent(new Event('mouseover')))")
    assert page.evaluate("window.planted") is None
    assert page.locator("a[href^=javascript]").count() == 0
