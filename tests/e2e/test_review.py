"""Tests of the review pages in a browser: by keyboard, without JavaScript, and with hostile texts."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, expect

from creval.building.review.base import ACCEPTED, DROPPED, OPEN, Review, ReviewField, ReviewGroup, ReviewItem
from creval.web.review.app import ReviewApp
from tests.web.made import image
from tests.web.review.reviewed import Kept, group, instruction, question, sorts_dropped_last


@contextmanager
def reviewing(review: Review, port: int = 0) -> Iterator[str]:
    """Serve a review in a thread and yield its address."""
    import uvicorn

    from creval.web.common.server import open_socket, server_url

    listening = open_socket("127.0.0.1", port)
    config = uvicorn.Config(ReviewApp(review).app(), log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield server_url(listening).rstrip("/")
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def review(tmp_path: Path) -> Kept:
    shown = image(tmp_path / "cat.png", side=900)
    items = (
        instruction(),
        question("IF/1", "Does the cat wear a hat?"),
        question("IF/2", "Is the hat red?", notes=("A second model finds it unclear.",)),
        question("VC/1", "Is it the same cat?"),
    )
    return Kept([group(f"cat-{n}", shown, *items) for n in range(1, 5)])


@pytest.fixture
def served(review: Kept) -> Iterator[str]:
    with reviewing(review) as address:
        yield address


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def card(page: Page, number: int) -> Locator:
    return page.locator(f"#item-{number}")


def said(page: Page, words: str) -> None:
    expect(page.locator("#said")).to_contain_text(words)


def arrived(page: Page, name: str) -> None:
    expect(heading(page)).to_contain_text(name)
    expect(page.locator("#keys-button")).to_be_visible()


def verdicts(review: Kept, name: str) -> list[str]:
    return [item.verdict for item in review.kept[name].items]


def test_by_keyboard_alone(review: Kept, served: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(served)
    expect(page.get_by_text("0 of 16 items decided")).to_be_visible()
    expect(page.locator("#keys-button")).to_be_visible()
    press = page.keyboard.press
    press("u")
    arrived(page, "cat-1")
    expect(card(page, 1)).to_have_attribute("aria-current", "true")

    press("a")
    said(page, "Accepted.")
    expect(card(page, 1).locator(".state")).to_have_text("✓ accepted")
    press("j")
    expect(card(page, 2)).to_be_focused()
    press("d")
    said(page, "IF/1: Dropped.")
    press("o")
    said(page, "IF/1: Reopened.")
    press("d")
    said(page, "IF/1: Dropped.")
    press("ArrowDown")
    press("j")
    press("k")
    expect(card(page, 3)).to_be_focused()

    press("e")
    expect(card(page, 3).get_by_label("text")).to_be_focused()
    press("Control+a")
    page.keyboard.type("Is the hat dark red, and no adjk?")
    press("Tab")  # to the reference
    press("Tab")  # to the weight
    press("ArrowRight")
    said(page, "IF/2: Saved.")
    press("ArrowRight")
    expect(card(page, 3).get_by_role("radio", name="3")).to_be_checked()
    press("Control+Enter")
    said(page, "IF/2: Accepted")
    expect(card(page, 3)).to_be_focused()
    press("j")
    press("e")
    page.keyboard.type("?!")
    press("Escape")
    said(page, "VC/1: Saved.")
    expect(card(page, 4)).to_be_focused()
    expect(page.locator("#decided")).to_have_text("3 of 4 items decided")
    assert verdicts(review, "cat-1") == [ACCEPTED, DROPPED, ACCEPTED, OPEN]
    assert len(review.decided) == 8, "one decision each: a d o d, two weights, Ctrl+Enter, Esc"
    texts = [field.text for field in review.item("cat-1", "IF/2").fields]
    assert texts == ["Is the hat dark red, and no adjk?", "Yes", "3"]
    assert "?!" in review.text("cat-1", "VC/1")

    press("n")
    arrived(page, "cat-2")
    press("A")
    arrived(page, "cat-3")
    assert verdicts(review, "cat-2") == [ACCEPTED] * 4
    press("p")
    arrived(page, "cat-2")
    press("u")
    arrived(page, "cat-3")
    press("A")
    arrived(page, "cat-4")
    press("A")
    arrived(page, "cat-1")
    press("A")
    expect(page.get_by_text("All items are decided.")).to_be_visible()
    assert review.count_undecided() == 0
    expect(page.locator("#keys-button")).to_be_visible()
    press("j")
    press("j")
    press("Enter")
    arrived(page, "cat-2")
    press("l")
    expect(heading(page)).to_have_text("benches/mine")


def test_items_that_move_keep_their_own_cards(review: Kept, served: str, browser_page: Page) -> None:
    sorts_dropped_last(review)
    page = browser_page
    page.goto(f"{served}/group?id=cat-1")
    arrived(page, "cat-1")
    page.keyboard.press("j")
    page.keyboard.press("d")
    said(page, "Dropped.")
    names = page.locator(".item small")
    expect(names).to_have_text(["IF/2", "VC/1", "IF/1"])
    expect(card(page, 4).locator(".state")).to_have_text("✕ dropped")
    expect(card(page, 4)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("a")
    said(page, "VC/1: Accepted.")
    assert [(item.id, item.verdict) for item in review.kept["cat-1"].items] == [
        ("instruction", OPEN),
        ("IF/2", OPEN),
        ("VC/1", ACCEPTED),
        ("IF/1", DROPPED),
    ]


def test_keys_are_listed_and_off_while_typing(review: Kept, served: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{served}/group?id=cat-1#item-2")
    arrived(page, "cat-1")
    expect(card(page, 2)).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("d")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("e")
    page.keyboard.type("adojkenpuAlz?")
    assert review.decided == []
    expect(card(page, 2).get_by_label("text")).to_have_value(re.compile("adojkenpuAlz"))
    page.keyboard.press("Escape")
    said(page, "Saved.")
    assert [decided[2] for decided in review.decided] == [OPEN]
    page.keyboard.press("z")
    expect(page.locator("#zoom")).to_be_visible()
    expect(page.locator("#zoom-size")).to_have_text("900 × 900")
    page.keyboard.press("z")
    expect(page.locator("#zoom .field.full")).to_be_visible()
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    expect(page.locator("#zoom")).to_be_hidden()
    assert len(review.decided) == 1


def test_by_mouse(review: Kept, served: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{served}/group?id=cat-1")
    arrived(page, "cat-1")
    card(page, 2).get_by_label("text").fill("Is it a hat?")
    card(page, 2).get_by_role("button", name="Accept").click()
    said(page, "Accepted, with your changes.")
    card(page, 3).get_by_label("text").fill("Is it blue?")
    card(page, 4).get_by_role("radio", name="No").check()  # leaving a card saves it
    said(page, "VC/1: Saved.")
    card(page, 1).get_by_label("dimension").select_option("Surreal Fantasy")
    said(page, "Instruction: Saved.")
    card(page, 4).get_by_label("text").fill("Is it still the same cat?")
    page.get_by_role("link", name="next ›").click()
    arrived(page, "cat-2")
    assert review.text("cat-1", "IF/1") == "Is it a hat?"
    assert review.item("cat-1", "IF/1").verdict == ACCEPTED
    assert review.text("cat-1", "IF/2") == "Is it blue?"
    texts = [field.text for field in review.item("cat-1", "VC/1").fields]
    assert texts == ["Is it still the same cat?", "No", "1"]
    assert review.item("cat-1", "instruction").fields[1].text == "Surreal Fantasy"
    page.get_by_role("button", name="Accept all open").click()
    arrived(page, "cat-3")
    assert verdicts(review, "cat-2") == [ACCEPTED] * 4
    page.go_back()
    arrived(page, "cat-2")
    expect(card(page, 1).locator(".state")).to_have_text("✓ accepted")


@contextmanager
def refused(chromium: Browser, statuses: set[int]) -> Iterator[Page]:
    """Yield a page that must get responses of exactly these error statuses, and no script errors."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    page = context.new_page()
    wrong: list[str] = []
    found: set[int] = set()

    def answered(response: Response) -> None:
        if response.status >= 400:
            found.add(response.status)

    page.on("response", answered)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert (wrong, found) == ([], statuses)


def test_a_refused_change_is_shown_and_typed_text_is_kept(review: Kept, served: str, chromium: Browser) -> None:
    with refused(chromium, {422}) as page:
        page.goto(f"{served}/group?id=cat-1")
        arrived(page, "cat-1")
        box = card(page, 2).get_by_label("text")
        box.fill("   ")
        card(page, 2).get_by_role("radio", name="3").check()
        alert = card(page, 2).get_by_role("alert")
        expect(alert).to_contain_text("Not saved: a question needs words")
        expect(box).to_have_value("   ")
        expect(card(page, 2).get_by_role("radio", name="3")).to_be_checked()
        page.keyboard.press("A")
        said(page, "this item is not saved yet")
        assert review.decided == []
        box.fill("Is there a hat?")
        page.keyboard.press("Control+Enter")
        expect(alert).to_have_count(0)
        texts = [field.text for field in review.item("cat-1", "IF/1").fields]
        assert texts == ["Is there a hat?", "Yes", "3"]


def test_two_windows(review: Kept, served: str, chromium: Browser, browser_page: Page) -> None:
    with refused(chromium, {409}) as mine:
        for page in (mine, browser_page):
            page.goto(f"{served}/group?id=cat-1#item-2")
            arrived(page, "cat-1")
        browser_page.keyboard.press("e")
        browser_page.keyboard.press("Control+a")
        browser_page.keyboard.type("From the other window?")
        browser_page.keyboard.press("Control+Enter")
        said(browser_page, "Accepted, with your changes.")
        box = card(mine, 2).get_by_label("text")
        box.fill("From this window?")
        mine.keyboard.press("Escape")
        theirs = card(mine, 2).locator(".theirs")
        expect(theirs).to_contain_text("accepted")
        expect(theirs).to_contain_text("From the other window?")
        expect(box).to_have_value("From this window?")
        assert review.text("cat-1", "IF/1") == "From the other window?"
        assert review.item("cat-1", "IF/1").verdict == ACCEPTED
        mine.keyboard.press("d")
        said(mine, "Choose first")
        mine.keyboard.press("Control+Enter")
        assert review.text("cat-1", "IF/1") == "From the other window?"
        mine.keyboard.press("m")
        said(mine, "IF/1: Saved.")
        assert review.text("cat-1", "IF/1") == "From this window?"
    with refused(chromium, {409}) as third:
        third.goto(f"{served}/group?id=cat-1#item-2")
        arrived(third, "cat-1")
        browser_page.goto(f"{served}/group?id=cat-1#item-2")
        browser_page.reload()
        arrived(browser_page, "cat-1")
        browser_page.keyboard.press("d")
        said(browser_page, "Dropped.")
        third.keyboard.press("o")
        expect(card(third, 2).get_by_role("button", name="Reopen it anyway")).to_be_visible()
        third.get_by_role("button", name="Keep the saved version").click()
        said(third, "The saved version is kept.")
        expect(card(third, 2).locator(".state")).to_have_text("✕ dropped")
        assert review.item("cat-1", "IF/1").verdict == DROPPED


def test_typed_text_is_kept_if_the_server_stops_or_restarts(review: Kept, chromium: Browser) -> None:
    with refused(chromium, {403}) as page:
        with reviewing(review) as address:
            page.goto(f"{address}/group?id=cat-1")
            arrived(page, "cat-1")
        card(page, 2).get_by_label("text").fill("Is it there?")
        page.keyboard.press("Control+Enter")
        expect(card(page, 2).get_by_role("alert")).to_contain_text("creval does not respond")
        expect(card(page, 2).get_by_label("text")).to_have_value("Is it there?")
        with reviewing(review, int(address.rpartition(":")[2])):
            page.keyboard.press("a")
            alert = card(page, 2).get_by_role("alert")
            expect(alert).to_contain_text("was opened before creval was restarted")
            expect(card(page, 2).get_by_label("text")).to_have_value("Is it there?")
            assert review.decided == []
            page.keyboard.press("a")
            said(page, "IF/1: Accepted, with your changes.")
            page.keyboard.press("j")
            page.keyboard.press("d")
            said(page, "IF/2: Dropped.")
        assert review.text("cat-1", "IF/1") == "Is it there?"


def test_without_javascript(review: Kept, served: str, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.goto(served)
    page.get_by_role("link", name="Start with the next open group").click()
    expect(heading(page)).to_contain_text("cat-1")
    card(page, 2).get_by_label("text").fill("Two\nlines?")
    card(page, 2).get_by_role("radio", name="2").check()
    card(page, 2).get_by_role("button", name="Accept").click()
    expect(page).to_have_url(re.compile("#item-2$"))
    expect(card(page, 2)).to_contain_text("Saved.")
    expect(card(page, 2).locator(".state")).to_have_text("✓ accepted")
    item = review.item("cat-1", "IF/1")
    assert item.verdict == ACCEPTED
    assert [field.text for field in item.fields] == ["Two\nlines?", "Yes", "2"]
    card(page, 3).get_by_label("text").fill("")
    card(page, 3).get_by_role("button", name="Save").click()
    expect(card(page, 3).get_by_role("alert")).to_contain_text("a question needs words")
    page.get_by_role("link", name="IF/2").click()
    expect(page).to_have_url(re.compile("#item-3$"))
    card(page, 3).get_by_label("text").fill("Is it?")
    card(page, 3).get_by_role("button", name="Drop").click()
    assert review.item("cat-1", "IF/2").verdict == DROPPED
    page.get_by_role("button", name="Accept all open").click()
    expect(heading(page)).to_contain_text("cat-2")
    assert verdicts(review, "cat-1") == [ACCEPTED, ACCEPTED, DROPPED, ACCEPTED]
    context.close()


TRAPS = {
    "script": "<script>window.ran=1</script>",
    "handler": '<img src=x onerror="window.ran=2"> " onmouseover="window.ran=3" x=\'',
    "link": "javascript:window.ran=4 <a href='javascript:window.ran=5'>go</a>",
    "template": "{{ 7*7 }} {% for x in y %} ${7*7} #{7*7} {{ self.__init__ }}",
    "markup": "</textarea></form></script><style>*{display:none}</style><!-- &lt;b&gt; &#60;i&#62;",
}
ALL = " ".join(TRAPS.values())


def test_hostile_texts_are_shown_and_never_run(tmp_path: Path, browser_page: Page) -> None:
    page = browser_page
    shown = image(tmp_path / "<img src=x onerror=window.ran=6>.png")
    fields = (
        ReviewField(f"name {ALL}", f"text {ALL}"),
        ReviewField(f"few {ALL}", f"choice {ALL}", (f"choice {ALL}", "plain")),
        ReviewField(f"many {ALL}", f"0 {ALL}", tuple(f"{n} {ALL}" for n in range(7))),
    )
    notes, facts = (f"note {ALL}",), {f"fact {ALL}": f"origin {ALL}"}
    item = ReviewItem(f"item {ALL}", f"kind {ALL}", fields, OPEN, notes, facts)
    review = Kept([ReviewGroup(f"id {ALL}", f"heading {ALL}", {shown.name: shown}, (item,))], f"title {ALL}")
    plain = " ".join(ALL.split())
    with reviewing(review) as address:
        page.goto(address)
        text = " ".join(page.inner_text("body").split())
        for what in ("title", "heading", "id", "note"):
            assert f"{what} {plain}" in text, what
        harmless(page)
        expect(page.locator("#keys-button")).to_be_visible()
        page.keyboard.press("u")
        arrived(page, "heading")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        text = " ".join(page.inner_text("body").split())
        wanted = ("heading", "id", "item", "kind", "name", "few", "choice", "many", "note", "fact", "origin", "title")
        for what in wanted:
            assert f"{what} {plain}" in text, what
        assert shown.name in text
        box = page.locator("textarea")
        expect(box).to_have_value(f"text {ALL}")
        expect(page.locator("select option:checked")).to_have_text(f"0 {ALL}")
        harmless(page)
        box.fill(f"typed {ALL}")
        page.keyboard.press("Control+Enter")
        said(page, f"item {ALL}: Accepted")
        expect(box).to_have_value(f"typed {ALL}")
        harmless(page)
        assert review.kept[f"id {ALL}"].items[0].fields[0].text == f"typed {ALL}"
        page.keyboard.press("z")
        expect(page.locator("#zoom-title")).to_have_text(shown.name)
        harmless(page)


def harmless(page: Page) -> None:
    page.evaluate(
        "document.querySelectorAll('main *').forEach(one =>"
        " one.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})))"
    )
    assert page.evaluate("window.ran") is None
    assert page.locator("script").count() == 1
    assert page.locator("style").count() == 0
    assert page.locator("[onerror], [onmouseover], [onload]").count() == 0
    assert page.locator("a[href^='javascript:' i], img[src='x']").count() == 0


def test_a_foreign_page_cannot_write(review: Kept, served: str, chromium: Browser) -> None:
    """A page of another origin is refused, even with the right token."""
    with refused(chromium, {403}) as page:
        page.goto(f"{served}/group?id=cat-1")
        token = page.locator("input[name=token]").first.get_attribute("value")
        address = f"{served}/decide?group=cat-1&item=IF/1"
        page.route(
            "http://elsewhere.test/",
            lambda route: route.fulfill(
                content_type="text/html",
                body=f"<form method=post action='{address}'><input name=act value=drop>"
                f"<input name=token value='{token}'><button>go</button></form>",
            ),
        )
        page.goto("http://elsewhere.test/")
        page.get_by_role("button").click()
        expect(page.get_by_text("Changes are accepted only from creval's own pages.")).to_be_visible()
    assert review.decided == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(served: str, chromium: Browser, scheme: str) -> None:
    dark = scheme == "dark"
    context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark" if dark else "light")
    page = context.new_page()
    for path in ("/", "/group?id=cat-1"):
        page.goto(served + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(20, 23, 26)") == dark
    context.close()


def test_ctrl_c_prints_the_number_of_undecided_items() -> None:
    """Broken requests before that cause no traceback."""
    script = textwrap.dedent(
        """
        from creval.web.review.app import serve_review
        from tests.web.review.reviewed import Kept, group
        serve_review(Kept([group("one"), group("two")]))
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    found = re.fullmatch(r"reviewing benches/mine at http://127\.0\.0\.1:(\d+)/ \(Ctrl-C to stop\)\n", first)
    assert found is not None
    own = f"Host: localhost:{found[1]}\r\nOrigin: http://localhost:{found[1]}\r\n"
    head = f"POST /accept?group=one HTTP/1.1\r\n{own}Content-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", int(found[1]))) as connection:
        connection.sendall(f"{head}Content-Length: 99\r\n\r\n{{".encode())
    with socket.create_connection(("127.0.0.1", int(found[1]))) as connection:
        connection.sendall(f"{head}Content-Length: 9\r\n\r\nnonsense!".encode())
        assert b"400 Bad Request" in connection.recv(100)
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=20)[1]
    assert (process.returncode, rest) == (0, "6 items left to decide.\n")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_instruction_stays_in_view_and_the_caret_is_at_the_end(
    review: Kept, served: str, browser_page: Page, width: int
) -> None:
    new = (ReviewField("text", ""),)
    review.kept["cat-1"] = replace(review.kept["cat-1"], instruction="Give the cat a red hat.", new_item=new)
    page = browser_page
    page.set_viewport_size({"width": width, "height": 500})
    page.goto(f"{served}/group?id=cat-1")
    expect(page.locator(".item[aria-current]")).to_have_count(1)
    for _ in range(3):
        page.keyboard.press("j")
    expect(card(page, 4)).to_be_in_viewport()
    expect(page.locator("#asked-for")).to_be_in_viewport()
    bar, shown = (place.bounding_box() for place in (page.locator("#asked-for"), card(page, 4)))
    assert bar is not None
    assert shown is not None
    assert bar["y"] + bar["height"] <= shown["y"] + 1, "the instruction does not cover the card"
    page.keyboard.press("e")
    page.keyboard.type(" Or not?")
    page.keyboard.press("Escape")
    said(page, "Saved")
    assert review.text("cat-1", "VC/1") == "Is it the same cat? Or not?"
    page.keyboard.press("+")
    page.keyboard.type("Is it day?")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#item-5 textarea")).to_have_value("Is it day?")
