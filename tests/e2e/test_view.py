"""Tests of the viewer in a browser, on a demo run and on a run with hostile texts."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import pytest
from aiohttp import web
from playwright.sync_api import Locator, Page, expect

from creval.benchmarks.creval.release import CATEGORY_BY_DIMENSION, LEVELS
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.probe import Question
from creval.core.sample import InstructionStep, Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import RunWriter
from creval.store.manifest import level_entry
from creval.store.provenance import PROVENANCE_KEY, CallCosts, EditProvenance
from tests.commands import right
from tests.serving import serving
from tests.web.made import image, write_run


@contextmanager
def viewing(run: Path, *more: str) -> Iterator[str]:
    """Start `creval view` and yield its address."""
    command = [sys.executable, "-m", "creval", "view", str(run), *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"at (http://127\.0\.0\.1:\d+(?:/\?token=[\w-]+)?)", line):
                yield found[1]
                break
        else:
            pytest.fail("the viewer ended without printing its address")
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
    assert (process.returncode, said) == (0, ""), "Ctrl-C stops the viewer without output"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a viewer of a small demo run."""
    folder = tmp_path_factory.mktemp("view") / "demo"
    right("demo", "--out", folder, "--samples", "6")
    with viewing(folder / "run") as address:
        yield address


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def arrived(page: Page) -> None:
    """Wait until keyboard shortcuts work."""
    expect(page.locator("#keys-button")).to_be_visible()


def test_from_the_table_to_a_question(demo: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(demo)
    expect(page.locator(".lead")).to_contain_text("pairs of models differ")
    page.get_by_role("rowheader", name="overeager").get_by_role("link").click()
    expect(heading(page)).to_have_text("overeager")
    page.get_by_role("link", name="Surreal Fantasy").click()
    page.get_by_role("rowheader").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    arrived(page)
    expect(page.locator("figure img").first).to_have_js_property("complete", True)
    question = page.locator("tr.question").first
    words = question.get_by_role("link").inner_text()
    page.locator("tr.whys summary").first.click()
    expect(page.locator("table.told").first).to_be_visible()
    question.get_by_role("link").click()
    expect(heading(page)).to_have_text(words)
    page.get_by_role("link", name="raw").first.click()
    expect(page.locator("pre.raw")).to_contain_text('"answer"')
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()


def test_filters_stay_in_the_address(demo: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{demo}/questions")
    page.get_by_label("Model", exact=True).select_option("lazy")
    page.get_by_label("Outcome").select_option("wrong")
    page.get_by_label("Metric").select_option("IF")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("model=lazy.*metric=IF.*outcome=wrong"))
    expect(page.locator(".facts")).to_contain_text("lazy, IF, wrong")
    column = page.locator("table.list td.chosen .said")
    assert {one.get_attribute("class") for one in column.all()} == {"said wrong"}
    page.get_by_label("Models").select_option("yes")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile("split=yes"))
    page.reload()
    expect(page.get_by_label("Models")).to_have_value("yes")
    page.get_by_role("link", name="show the samples").click()
    expect(page).to_have_url(re.compile("/samples.*split=yes"))
    page.get_by_role("link", name="Clear").click()
    expect(page.locator(".facts")).to_contain_text("all samples: 6 samples")


def test_search(demo: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(demo)
    page.keyboard.press("/")
    page.keyboard.type("Is there? jkfuz")
    expect(page.get_by_role("searchbox")).to_have_value("Is there? jkfuz")
    assert page.url.rstrip("/") == demo, "shortcuts are off while typing in a field"
    page.get_by_role("searchbox").fill("subject edited")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Questions 6")).to_be_visible()
    expect(page.locator("mark").first).to_have_text("subject")
    page.locator(".found a").first.click()
    expect(heading(page)).to_contain_text("main subject")


def test_keys(demo: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{demo}/samples?model=lazy")
    page.get_by_role("rowheader").get_by_role("link").first.click()
    expect(heading(page)).to_have_text("t0001")
    arrived(page)
    page.keyboard.press("j")
    expect(heading(page)).to_have_text("t0002")
    arrived(page)
    page.keyboard.press("k")
    expect(heading(page)).to_have_text("t0001")
    arrived(page)
    page.keyboard.press("f")
    row = page.locator("tr.question:focus")
    expect(row).to_have_attribute("data-failed", "")
    expect(row).to_be_in_viewport()
    failures = page.locator("tr[data-failed]").count()
    for _ in range(failures):
        page.keyboard.press("f")
    expect(heading(page)).to_have_text("t0002")
    expect(page.locator("tr.question:focus")).to_have_attribute("data-failed", "")
    assert "#q" in page.url
    page.keyboard.press("e")
    assert page.locator("tr.whys details[open]").count() == page.locator("tr.whys details").count()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.press("u")
    expect(page).to_have_url(f"{demo}/samples?model=lazy")


def test_two_models_with_the_slider(demo: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{demo}/samples")
    page.get_by_role("rowheader").get_by_role("link").first.click()
    expect(heading(page)).to_have_text("t0001")
    arrived(page)
    page.get_by_label("Left", exact=True).select_option("0:faithful")
    page.get_by_label("Right", exact=True).select_option("0:overeager")
    expect(page).to_have_url(re.compile("left=0%3Afaithful.*right=0%3Aovereager"))
    expect(page.locator(".stage .over")).to_have_attribute("src", re.compile("faithful"))
    page.keyboard.press("c")
    slider = page.get_by_role("slider")
    expect(slider).to_be_focused()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_have_value("40")
    shown = "getComputedStyle(document.querySelector('.stage .over')).clipPath"
    assert "60%" in page.evaluate(shown)
    box = slider.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    assert float(slider.input_value()) > 80
    page.reload()
    expect(page.get_by_label("Right", exact=True)).to_have_value("0:overeager")
    expect(page.locator(".stage .under")).to_have_attribute("src", re.compile("overeager"))
    arrived(page)
    page.keyboard.press("5")
    page.keyboard.press("j")
    expect(heading(page)).to_have_text("t0002")
    expect(page.get_by_label("Left", exact=True)).to_have_value("0:faithful")
    expect(page.get_by_label("Right", exact=True)).to_have_value("0:lazy")


def test_zoom(demo: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{demo}/samples")
    page.get_by_role("rowheader").get_by_role("link").first.click()
    expect(heading(page)).to_have_text("t0001")
    arrived(page)
    page.locator("figure a.zoom").nth(1).click()
    dialog = page.locator("dialog#zoom")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("heading")).to_have_text("faithful")
    expect(dialog.locator("#zoom-size")).to_have_text(re.compile(r"\d+ × \d+"))
    page.keyboard.press("ArrowLeft")
    expect(dialog.get_by_role("heading")).to_have_text("source")
    page.set_viewport_size({"width": 500, "height": 400})
    page.keyboard.press("z")
    field = dialog.locator(".field")
    expect(field).to_have_class("field full")
    page.mouse.move(300, 300)
    page.mouse.down()
    page.mouse.move(200, 200)
    page.mouse.up()
    assert field.evaluate("field => [field.scrollLeft, field.scrollTop]") == [100, 100]
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("width", [360, 1400])
def test_pages_fit_the_window(demo: str, browser_page: Page, width: int) -> None:
    page = browser_page
    page.set_viewport_size({"width": width, "height": 800})
    for path in (
        "/",
        "/model?name=lazy",
        "/samples?model=lazy",
        "/questions",
        "/search?q=is",
        "/sample?id=t0001",
        "/question?sample=t0001&id=IF/1",
        "/reply?id=1",
    ):
        page.goto(demo + path)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, path


# Returns all texts whose WCAG 2 contrast with the background is below 4.5.
FAINT = """() => {
  const parse = (colour) => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    return found.length > 3 ? found : [...found, 1];
  };
  const over = (top, below) =>
    [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement)
      layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    let own = parse(style.color);
    for (let one = element; one; one = one.parentElement)
      own[3] *= Number(getComputedStyle(one).opacity);
    const below = behind(element);
    const [a, b] = [light(over(own, below)), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faint.push(`${texts.currentNode.data.trim()}: ${ratio.toFixed(2)}`);
  }
  return faint;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(demo: str, browser_page: Page, scheme: Literal["light", "dark"]) -> None:
    page = browser_page
    page.emulate_media(color_scheme=scheme)
    for path in (
        "/",
        "/model?name=lazy",
        "/samples?model=lazy&outcome=wrong",
        "/questions",
        "/sample?id=t0001&model=lazy#q1",
        "/reply?id=1",
        "/search?q=is",
    ):
        page.goto(demo + path)
        arrived(page)
        page.keyboard.press("e")
        assert page.evaluate(FAINT) == [], path


# Hostile texts. None may run, and each must be visible as text.
TRAPS = {
    "script": "<script>window.ran = 1; alert('script')</script>",
    "handler": '<img src=x onerror="window.ran=2"> "\' onmouseover=\'window.ran=3\' x="',
    "link": '<a href="javascript:window.ran=4">javascript:window.ran=5</a>',
    "template": "{{ 7*7 }} {% for x in y %} ${7*7} #{7*7} {{ self.__init__ }}",
    "markup": "</td></table></script><style>*{display:none}</style><!-- &lt;b&gt; &#60;i&#62;",
}
ALL = " ".join(TRAPS.values())


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a viewer of a run in which every text is hostile."""
    folder = tmp_path_factory.mktemp("traps")
    question = Question(f"IF/{ALL}", "IF", f"question {ALL}", "yes/no", "Yes", ALL, 1.0, ALL)
    asked = (question, question._replace(id="VC/1", metric="VC", weight=3.0, text="Plain?"))
    named = image(folder / "<img src=x onerror=window.ran=6>.png")
    gone = folder / f"gone {TRAPS['handler'].replace('/', '')}.png"
    dimension = "Surreal Fantasy"
    tags = {"category": CATEGORY_BY_DIMENSION[dimension], "dimension": dimension}
    samples = [
        Sample(
            f"sample {ALL}",
            f"instruction {ALL}",
            named,
            tags,
            mask=gone,
            steps=(InstructionStep(ALL, ALL, (), (), ALL, ALL),),
            captions={ALL: ALL},
        ),
        Sample("plain", "Nothing.", named, tags),
    ]
    models = [f"model {ALL}", "other"]
    levels = [level_entry(level) for level in LEVELS]
    with RunWriter(folder / "run") as store, store.transaction():
        store.put_manifest(
            {
                "benchmark": f"benchmark {ALL}",
                "protocol": "creval",
                "judge": f"judge {ALL}",
                "levels": levels,
                "prompts": {ALL: f"prompt {ALL}"},
                PROVENANCE_KEY: {
                    models[0]: EditProvenance(f"editor {ALL}", f"strategy {ALL}", 1, CallCosts()).to_dict()
                },
            }
        )
        store.put_samples([(sample, asked) for sample in samples], {})
        keys = [EditKey(model, sample.id) for model in models for sample in samples]
        facts = {ALL: ALL, "plan": f"plan {ALL}", "instruction": f"step {ALL}"}
        scores = {"scores": {"1": 5.0, ALL: ALL}, "picked_from": ALL}
        before = tuple(
            Edit(EditKey(models[0], f"{ALL}#1", draw), image=named, metadata={**facts, **scores}, reason=ALL)
            for draw in (1, 2)
        )
        refused = Edit(EditKey(models[0], ALL), EditStatus.REFUSED, reason=f"refusal {ALL}")
        store.put_edits(
            Edit(key, image=named, parents=(keys[0],), metadata=facts, reason=ALL, ancestors=(*before, refused))
            for key in keys
        )
        lost = EditKey(models[0], samples[1].id, 7)
        store.put_edits([Edit(lost, EditStatus.REFUSED, reason=f"refusal {ALL}")])
        for key in keys:
            ask = CallKey(f"judge {ALL}", key, tuple(q.id for q in asked), ALL, parameters={ALL: ALL})
            verdicts = [
                Verdict(q.id, VerdictStatus.ANSWERED, float(key.model == "other"), f"said {ALL}", f"explanation {ALL}")
                for q in asked
            ]
            reply = Reply(VerdictStatus.ANSWERED, f"reply {ALL}\nsecond line {ALL}", f"origin {ALL}")
            store.put_replies([(ask, reply, verdicts)])
    with viewing(folder / "run") as address:
        yield address


def test_hostile_texts_are_shown_and_never_run(traps: str, browser_page: Page) -> None:
    page = browser_page
    sample, model, probe = f"sample {ALL}", f"model {ALL}", f"IF/{ALL}"
    pages = {
        "/": ("benchmark", "judge", "model", "editor", "strategy"),
        "/model?" + urlencode({"name": model}): ("model", "editor", "refusal"),
        "/samples?" + urlencode({"model": model}): ("sample", "instruction", "model"),
        "/questions?" + urlencode({"model": model}): ("sample", "question", "model", "said"),
        "/sample?" + urlencode({"id": sample, "model": model}): (
            "sample",
            "instruction",
            "question",
            "said",
            "explanation",
            "model",
            "gone",
            "plan",
            "step",
            "refusal",
        ),
        "/question?" + urlencode({"sample": sample, "id": probe}): (
            "sample",
            "question",
            "said",
            "explanation",
            "model",
            "gone",
        ),
        "/reply?id=1": ("reply", "second line", "origin", "judge", "sample", "model", "prompt"),
    }
    for path, shown in pages.items():
        page.goto(traps + path)
        page.keyboard.press("e")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        text = " ".join(page.inner_text("body").split())
        for what in shown:
            for name, trap in TRAPS.items():
                expected = f"{what} {ALL}" if what != "gone" else 'onerror="window.ran=2"'
                assert " ".join(expected.split()) in text, (path, what, name, trap)
        hover(page)
        harmless(page, path)


def hover(page: Page) -> None:
    """Trigger every mouseover handler."""
    page.evaluate(
        "document.querySelectorAll('main *').forEach(one =>"
        " one.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})))"
    )


def harmless(page: Page, where: str) -> None:
    assert page.evaluate("window.ran") is None, where
    assert page.locator("script").count() == 1, where
    assert page.locator("style").count() == 0, where
    assert page.locator("[onerror], [onmouseover], [onload]").count() == 0, where
    assert page.locator("a[href^='javascript:' i], img[src='x']").count() == 0, where
    assert page.evaluate("[...document.images].every(i => !i.src || i.src.startsWith(location.origin))")


def test_hostile_texts_in_an_address_and_in_a_search(traps: str, browser_page: Page) -> None:
    page = browser_page
    for trap in (*TRAPS.values(), "window alert", "handler onmouseover"):
        page.goto(f"{traps}/search?" + urlencode({"q": trap}))
        expect(page.get_by_role("searchbox")).to_have_value(" ".join(trap.split()))
        harmless(page, trap)
    page.goto(f"{traps}/search?q=explanation+onerror")
    expect(page.locator(".found li")).to_have_count(8)
    page.keyboard.press("z")
    page.goto(f"{traps}/sample?" + urlencode({"id": f"sample {ALL}"}))
    page.keyboard.press("z")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.keyboard.press("2")
    harmless(page, "zoom and slider")


def test_foreign_hosts_and_methods_are_refused(traps: str, browser_page: Page) -> None:
    foreign = browser_page.request.get(traps, headers={"Host": "evil.example"})
    assert foreign.status == 403
    assert browser_page.request.post(traps).status == 405
    assert browser_page.request.get(f"{traps}/creval.db").status == 404


def test_a_link_with_a_token_opens_the_pages_without_keeping_the_token_in_the_address(
    tmp_path: Path, browser_page: Page
) -> None:
    async def elsewhere(_: web.Request) -> web.Response:
        text = f'<link rel="icon" href="data:,"><a href="{link.replace("127.0.0.1", "localhost")}">look</a>'
        return web.Response(text=text, content_type="text/html")

    page, app = browser_page, web.Application()
    app.router.add_get("/mail", elsewhere)
    with viewing(write_run(tmp_path), "--token") as link, serving(app) as other:
        home = link.partition("?")[0]
        page.goto(link)
        expect(page).to_have_url(home)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.cookie") == ""
        page.goto(f"{other}/mail")
        page.get_by_role("link").click()
        expect(page).to_have_url(home.replace("127.0.0.1", "localhost"))
        expect(page.locator("h1")).to_be_visible()
        page.goto("about:blank")  # before the server ends, because the icon may still be loading
