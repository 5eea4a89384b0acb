"""The pages of a review: content, saving, and refusals."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from creval.building.review.base import ACCEPTED, DROPPED, OPEN, ReviewField, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError
from creval.web.common.forms import MAX_BODY_BYTES
from creval.web.review.app import ReviewApp
from tests.web.made import image
from tests.web.review.reviewed import Kept, group, instruction, question, sorts_dropped_last

BASE = "http://127.0.0.1:8000"
OWN = {"Origin": BASE, "Sec-Fetch-Site": "same-origin"}


def looking(review: Kept) -> TestClient:
    return TestClient(ReviewApp(review).app(), base_url=BASE, headers=OWN, follow_redirects=False)


@pytest.fixture
def review(tmp_path: Path) -> Kept:
    done = question("IF/1", "Is it done?", verdict=ACCEPTED)
    return Kept(
        [
            group("one", image(tmp_path / "one.png")),
            group("two", None, done, question("IF/2", "And this?", verdict=DROPPED)),
            group("three", image(tmp_path / "three.png")),
        ]
    )


@pytest.fixture
def client(review: Kept) -> TestClient:
    return looking(review)


def words(page: str) -> str:
    """Return the text of a page on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def form(client: TestClient, name: str, place: int) -> tuple[str, dict[str, str]]:
    """Return the action of a card's form, and the data that a browser would send."""
    page = client.get("/group", params={"id": name}).text
    card = re.findall(r'<form[^>]* method="post".*?</form>', page, re.DOTALL)[place]
    inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', card)
    areas = re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n(.*?)</textarea>', card, re.DOTALL)
    radios = re.findall(r'type="radio" name="([^"]+)" value="([^"]+)" checked', card)
    action = re.search(r'action="([^"]+)"', card)
    assert action is not None
    sent = {name: unescape(value) for name, value in [*inputs, *areas, *radios]}
    return unescape(action[1]), sent


def send(client: TestClient, name: str, place: int, changes: Mapping[str, str], script: bool = True) -> Any:
    """Submit a card's form, as the page's script does or as a browser without JavaScript."""
    action, sent = form(client, name, place)
    sent |= changes
    return client.post(action, json=sent) if script else client.post(action, data=sent)


def test_the_start_page_says_how_far_it_is(client: TestClient) -> None:
    said = words(client.get("/").text)
    assert "2 of 8 items decided 1 accepted 1 dropped 6 open" in said
    assert "all 3 open 2 flagged 2 dropped 1" in said
    assert "Give the cat of one a red hat. one On the source alone it is answered No." in said
    assert "✓ decided 1 accepted 1 dropped" in said
    assert "Groups 1 to 3 of 3" in said
    for show, there in (("open", "one three"), ("flagged", "one three"), ("dropped", "two")):
        page = client.get("/", params={"show": show}).text
        found = re.findall(r'href="/group\?id=(\w+)&amp;show=\w+" data-line', page)
        assert found == there.split()


def test_a_group(client: TestClient) -> None:
    page = client.get("/group?id=one").text
    said = words(page)
    assert "0 of 3 items decided" in said
    assert "Check: On the source alone it is answered No." in said
    assert "writer model-w" in said
    assert re.search(r'name="field-1" value="0" checked> <span>Yes</span>', page)
    assert re.search(r'<option value="1" selected>Commercial Design</option>', page)
    assert 'src="/image?group=one&amp;name=one.png&amp;size=medium"' in page
    assert "This group has no image." in client.get("/group?id=two").text


def test_neighbours_follow_the_list(client: TestClient) -> None:
    def to(page: str, key: str) -> str:
        found = re.search(rf'href="([^"]*)"[^>]*data-key="{key}"', page)
        return unescape(found[1]) if found else ""

    page = client.get("/group?id=one").text
    assert (to(page, "previous"), to(page, "next")) == ("", "/group?id=two")
    page = client.get("/group?id=one&show=open").text
    assert to(page, "next") == "/group?id=three&show=open"
    outside = client.get("/group?id=two&show=open").text
    assert to(outside, "previous") == "/group?id=one&show=open"
    assert client.get("/next?after=one").headers["location"] == "/group?id=three"
    assert client.get("/next?after=three").headers["location"] == "/group?id=one"
    assert client.get("/next").headers["location"] == "/group?id=one"
    assert to(client.get("/?show=open").text, "onward") == "/next?show=open"
    assert to(client.get("/?show=dropped").text, "onward") == "/next", "no dropped item is open"


@pytest.mark.parametrize("script", [True, False])
def test_accept_drop_reopen_and_change(review: Kept, client: TestClient, script: bool) -> None:
    for act, verdict in (("accept", ACCEPTED), ("drop", DROPPED), ("reopen", OPEN)):
        send(client, "one", 2, {"act": act}, script)
        assert review.item("one", "IF/1").verdict == verdict
    answer = send(client, "one", 2, {"act": "accept", "field-0": "Is the hat red?", "field-2": "2"}, script)
    item = review.item("one", "IF/1")
    assert item.verdict == ACCEPTED
    assert [field.text for field in item.fields] == ["Is the hat red?", "Yes", "3"]
    send(client, "one", 2, {"act": "save", "field-1": "1"}, script)
    item = review.item("one", "IF/1")
    assert item.verdict == ACCEPTED, "saving does not change the verdict"
    assert [field.text for field in item.fields] == ["Is the hat red?", "No", "3"]
    if script:
        found = answer.json()
        assert (found["ok"], found["said"]) == (True, "Accepted, with your changes.")
        assert found["decided"] == "1 of 3 items decided"
        assert found["total"] == "3 of 8 decided"
        assert "✓ accepted" in found["cards"]["item-2"]
    else:
        assert answer.status_code == 303
        there = answer.headers["location"]
        assert there == "/group?id=one&saved=IF%2F1#item-2"
        assert "Saved." in client.get(there).text
    assert "3 of 8 items decided" in words(client.get("/").text)


@pytest.mark.parametrize("script", [True, False])
def test_refused_changes_are_reported_and_typed_text_is_kept(review: Kept, client: TestClient, script: bool) -> None:
    answer = send(client, "one", 2, {"act": "accept", "field-0": "  ", "field-2": "2"}, script)
    assert answer.status_code == 422
    assert review.decided == []
    card = answer.json()["cards"]["item-2"] if script else answer.text
    assert "Not saved: a question needs words; drop it if nothing is to be asked." in words(card)
    assert re.search(r'id="item-2-field-0"[^>]*>\n  </textarea>', card)
    assert 'name="field-2" value="2" checked' in card


@pytest.mark.parametrize("script", [True, False])
def test_a_change_from_elsewhere_is_noticed(review: Kept, client: TestClient, script: bool) -> None:
    def post(sent: Mapping[str, str]) -> Any:
        return client.post(action, json=sent) if script else client.post(action, data=sent)

    action, old = form(client, "one", 2)
    send(client, "one", 2, {"act": "drop", "field-0": "Is the other window's hat red?"})
    mine = old | {"act": "accept", "field-0": "Is my hat red?"}
    answer = post(mine)
    assert answer.status_code == 409
    assert review.text("one", "IF/1") == "Is the other window's hat red?"
    card = answer.json()["cards"]["item-2"] if script else answer.text
    assert "changed elsewhere" in words(card)
    assert "decided dropped text Is the other window's hat red?" in words(card)
    assert "Is my hat red?</textarea>" in card
    assert "Keep the saved version t Accept mine instead m" in words(card)
    version = re.findall(r'name="version" value="(\w+)"', card)[0 if script else 2]
    assert post(mine | {"version": version}).status_code == (200 if script else 303)
    assert review.text("one", "IF/1") == "Is my hat red?"
    assert review.item("one", "IF/1").verdict == ACCEPTED
    same = old | {"act": "accept", "field-0": "Is my hat red?"}
    assert post(same).status_code == (200 if script else 303), "nothing to change"
    taken = post(old | {"act": "theirs", "field-0": "What I typed."})
    assert taken.status_code == (200 if script else 303)
    assert review.text("one", "IF/1") == "Is my hat red?"


def test_other_items_changed_by_a_decision_are_shown(review: Kept, client: TestClient) -> None:
    decide = review.decide

    def both(group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        decide(group, item, verdict, fields)
        other = review.item(group, "VC/1")
        decide(group, "VC/1", verdict, {field.name: field.text for field in other.fields})

    review.decide = both  # type: ignore[method-assign]
    found = send(client, "one", 1, {"act": "drop"}).json()
    assert list(found["cards"]) == ["item-1", "item-3"]
    assert "✕ dropped" in found["cards"]["item-3"]
    assert found["decided"] == "2 of 3 items decided"


def test_items_moved_by_a_decision_are_shown(review: Kept, client: TestClient) -> None:
    review.kept["one"] = replace(review.kept["one"], items=tuple(question(f"IF/{n}", "Is it?") for n in (1, 2, 3, 4)))
    sorts_dropped_last(review)
    found = send(client, "one", 2, {"act": "drop"}).json()
    shown = {name: words(card).split()[2] for name, card in found["cards"].items()}
    assert shown == {"item-4": "IF/2", "item-2": "IF/3", "item-3": "IF/4"}


def test_notes_added_by_a_decision_are_shown(review: Kept, client: TestClient) -> None:
    decide = review.decide

    def noting(group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        decide(group, item, verdict, fields)
        first, second, third = review.kept[group].items
        noted = replace(second, notes=("It rests on other words.",))
        review.kept[group] = replace(review.kept[group], items=(first, noted, third))

    review.decide = noting  # type: ignore[method-assign]
    found = send(client, "one", 1, {"act": "accept"}).json()
    assert list(found["cards"]) == ["item-1", "item-2"]
    assert "It rests on other words." in found["cards"]["item-2"]


def test_a_name_is_not_repeated(client: TestClient) -> None:
    said = words(client.get("/group", params={"id": "one"}).text)
    assert "Instruction open" in said
    assert "IF IF/1 open" in said


def test_all_open_items_at_once(review: Kept, client: TestClient) -> None:
    send(client, "one", 2, {"act": "drop"})
    answer = send(client, "one", 0, {})
    assert answer.json()["said"] == "2 items accepted."
    assert answer.json()["onward"] == "/next?after=one"
    verdicts = [item.verdict for item in review.kept["one"].items]
    assert verdicts == [ACCEPTED, DROPPED, ACCEPTED]
    answer = send(client, "three", 0, {}, script=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/next?after=three")
    assert client.get("/next?after=three").headers["location"] == "/"
    assert "All items are decided." in client.get("/").text


def test_all_are_accepted_only_as_they_were_shown(review: Kept, client: TestClient) -> None:
    action, old = form(client, "one", 0)
    send(client, "one", 1, {"act": "save", "field-0": "Another instruction."})
    answer = client.post(action, json=old)
    assert answer.status_code == 409
    assert "Nothing was accepted" in answer.json()["said"]
    assert "Another instruction." in answer.json()["cards"]["item-1"]
    assert {item.verdict for item in review.kept["one"].items} == {OPEN}


def test_invalid_items_stay_open(review: Kept, client: TestClient) -> None:
    empty = question("IF/9", "")
    review.kept["one"] = replace(review.kept["one"], items=(empty, question("IF/2", "Is it?")))
    answer = send(client, "one", 0, {})
    assert answer.status_code == 422
    assert answer.json()["said"] == "1 item accepted. 1 could not be accepted."
    assert "Not accepted: a question needs words" in words(answer.json()["cards"]["item-1"])
    assert [item.verdict for item in review.kept["one"].items] == [OPEN, ACCEPTED]


ODD = "tab\there, a bell \x07, \u202eturned\u202c, e\u0301, line\r\nand line\rend, <b>&amp;</b> "


def test_unchanged_fields_keep_their_exact_text(review: Kept, client: TestClient) -> None:
    odd = replace(
        question("IF/1", "\n" + ODD),
        fields=(ReviewField("text", "\n" + ODD), ReviewField("weight", "7", ("1", "2")), ReviewField("none", "")),
    )
    review.kept["one"] = replace(review.kept["one"], items=(odd,))
    for script in (True, False):
        review.decided.clear()
        _, sent = form(client, "one", 1)
        # Browsers send CRLF line endings.
        typed = sent["field-0"] if script else sent["field-0"].replace("\n", "\r\n")
        send(client, "one", 1, {"act": "accept", "field-0": typed}, script)
        assert review.decided[0][3] == {"text": "\n" + ODD, "weight": "7", "none": ""}
    page = words(client.get("/group?id=one").text)
    assert r"Contains invisible characters: \x07, \u202e, \u202c" in page
    assert "7 (not one of the choices)" in page
    send(client, "one", 1, {"act": "save", "field-0": "one\r\ntwo", "field-1": "1"})
    assert review.decided[-1][3] == {"text": "one\ntwo", "weight": "2", "none": ""}


def test_no_characters_at_all(review: Kept, client: TestClient) -> None:
    """File names and JSON can contain characters that no page can."""
    name = "b\udce9te"
    odd = ReviewItem("q\udcff", "IF", (ReviewField("text", "half \ud83d of it"),), notes=("\udc80",))
    review.kept[name] = ReviewGroup(name, f"heading {name}", {}, (odd,))
    client = looking(review)
    assert "heading b?te" in client.get("/").text
    answer = send(client, "b?te", 1, {"act": "accept"})
    assert answer.status_code == 200
    assert review.decided == [(name, "q\udcff", ACCEPTED, {"text": "half \ud83d of it"})]
    action, sent = form(client, "b?te", 1)
    body = '{"token": "%s", "version": "%s", "field-0": "\\ud800 x"}'
    content = body % (sent["token"], sent["version"])
    client.post(action, content=content, headers={"Content-Type": "application/json"})
    assert review.decided[-1][3] == {"text": "? x"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
    ],
)
def test_foreign_origins_cannot_write(review: Kept, client: TestClient, headers: dict[str, str]) -> None:
    action, sent = form(client, "one", 1)
    for script in (True, False):
        data: dict[str, Any] = {"json": sent} if script else {"data": sent}
        assert client.post(action, headers=headers, **data).status_code == 403
    assert review.decided == []


@pytest.mark.parametrize("token", ["", "guess", "é"])
def test_writing_needs_the_token(review: Kept, client: TestClient, token: str) -> None:
    for place in (0, 1):
        for script in (True, False):
            answer = send(client, "one", place, {"token": token, "field-0": "Typed."}, script)
            assert answer.status_code == 403
            if place:
                card = answer.json()["cards"]["item-1"] if script else answer.text
                assert "Typed.</textarea>" in card
                assert "was opened before creval was restarted" in card
    assert review.decided == []


def test_reading_changes_nothing(review: Kept, client: TestClient) -> None:
    action, sent = form(client, "one", 1)
    accept, _ = form(client, "one", 0)
    for path in ("/", "/group?id=one", "/next", "/image?group=one", "/group?id=one&saved=IF/1"):
        assert client.get(path, params=None).status_code in (200, 303)
        assert client.head(path).status_code in (200, 303)
    for path in (action, accept):
        assert client.get(path).status_code == 405
        assert client.get(path + "&token=" + sent["token"] + "&act=drop").status_code == 405
        assert client.put(path, json=sent).status_code == 405
        assert client.delete(path).status_code == 405
    assert client.post("/", json=sent).status_code == 405
    assert review.decided == []


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/group?id=noe", "There is no group 'noe'; did you mean 'one'?"),
        ("/group", "There is no group ''"),
        ("/next?after=nowhere", "There is no group 'nowhere'"),
        ("/?show=some", "There is no list 'some'"),
        ("/?page=two", "The page must be a number"),
        ("/image?group=../../secret", "There is no group"),
        ("/elsewhere", "this page does not exist"),
        ("/static/review.py", "this page does not exist"),
    ],
)
def test_unknown_pages_are_errors(client: TestClient, path: str, sentence: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert sentence in words(answer.text)


def test_unknown_targets_are_errors(client: TestClient, review: Kept) -> None:
    _, sent = form(client, "one", 1)
    for path in ("/decide?group=none&item=IF/1", "/decide?group=one&item=IF/7", "/decide", "/accept?group=none"):
        answer = client.post(path, json=sent)
        assert answer.status_code == 404
        assert answer.json()["said"].startswith("Not saved: There is no ")
        assert client.post(path, data=sent).status_code == 404
    for changes, status in (({"act": "burn"}, 400), ({"field-1": "99"}, 422), ({"field-1": "Commercial Design"}, 422)):
        assert send(client, "one", 1, changes).status_code == status
    assert review.decided == []


def test_a_body_has_bounds(client: TestClient, review: Kept) -> None:
    action, sent = form(client, "one", 1)

    def refused(status: int, **given: Any) -> None:
        assert client.post(action, **given).status_code == status

    def endless() -> Any:
        for _ in range(MAX_BODY_BYTES // 1024 + 2):
            yield b"x" * 1024

    json_type = {"Content-Type": "application/json"}
    refused(413, json=sent | {"field-0": "x" * MAX_BODY_BYTES})
    refused(413, data=sent | {"field-0": "x" * MAX_BODY_BYTES})
    refused(413, content=endless(), headers=json_type)
    refused(400, data={f"f{n}": "x" for n in range(500)})
    for body in ("{", "[]", "7", '{"token": 7}', "[" * 100_000, "\xff"):
        refused(400, content=body.encode("latin-1"), headers=json_type)
    refused(415, content=b"x", headers={"Content-Type": "text/plain"})
    refused(415, files={"field-0": b"x"})
    refused(415)
    assert review.decided == []
    long = "x" * (MAX_BODY_BYTES // 2)
    assert client.post(action, json=sent | {"field-0": long}).status_code == 200
    assert review.text("one", "instruction") == long


def test_only_the_groups_own_images_are_served(review: Kept, client: TestClient, tmp_path: Path) -> None:
    whole = client.get("/image?group=one")
    assert (whole.status_code, whole.headers["content-type"]) == (200, "image/png")
    small = client.get("/image?group=one&size=small")
    assert small.headers["content-type"] == "image/jpeg"
    tagged = client.get("/image?group=one", headers={"If-None-Match": whole.headers["etag"]})
    assert tagged.status_code == 304
    assert client.get("/image?group=two").status_code == 404
    assert client.get("/image?group=one&name=one.png").content == whole.content
    assert client.get("/image?group=one&name=three.png").status_code == 404
    assert client.get("/image?group=one&size=huge").status_code == 404
    (tmp_path / "page.html").write_text("<script>alert(1)</script>")
    for name in ("page.html", "gone.png"):
        review.kept["odd"] = group("odd", tmp_path / name)
        client = looking(review)
        assert client.get("/image?group=odd").status_code == 404
        assert "No image." in client.get("/group?id=odd").text


def test_answers_are_closed_in(client: TestClient) -> None:
    for path in ("/", "/group?id=one", "/group?id=none", "/image?group=one"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "connect-src 'self'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        assert client.get(path, headers={"Host": "evil.example"}).status_code == 403


def test_read_and_write_errors_are_reported(review: Kept, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(error: Exception) -> Callable[..., Any]:
        def method(*_: object) -> None:
            raise error

        return method

    with monkeypatch.context() as patch:
        patch.setattr(review, "decide", raising(OSError(28, "No space left on device")))
        answer = send(client, "one", 1, {"act": "accept"})
        assert answer.status_code == 422
        assert "No space left on device" in answer.json()["said"]
    with monkeypatch.context() as patch:
        patch.setattr(review, "group", raising(CrevalError("one.json is no JSON.")))
        answer = client.get("/group?id=one")
        assert answer.status_code == 503
        assert "One cannot be read: one.json is no JSON. Try again." in words(answer.text)
    assert client.get("/group?id=one").status_code == 200


def test_nothing_to_review() -> None:
    client = looking(Kept([group("empty")]))
    assert client.get("/?show=dropped").text.count("No group has a dropped item.") == 1
    client = looking(Kept([]))
    assert "There is nothing to review." in client.get("/").text
    assert client.get("/next").headers["location"] == "/"
    client = looking(Kept([ReviewGroup("bare", "", {}, ())]))
    assert "This group has no items." in client.get("/group?id=bare").text


def test_large_reviews_stay_quick() -> None:
    items = [question(f"IF/{n}", f"Is it number {n}?") for n in range(17)]
    review = Kept([group(f"g{n:04d}", None, instruction(), *items) for n in range(1000)])
    client = looking(review)
    assert review.reads == 1000, "each group is read once, at the start"

    def took(path: str) -> float:
        began = time.perf_counter()
        assert client.get(path).status_code == 200
        return time.perf_counter() - began

    for path in ("/", "/?page=40", "/?show=open&page=7"):
        assert min(took(path) for _ in range(3)) < 0.15
    assert review.reads == 1000, "lists read no group"
    assert min(took("/group?id=g0500") for _ in range(3)) < 0.15
    assert review.reads == 1003


def with_addition(review: Kept) -> None:
    new = (ReviewField("text", ""),)
    review.kept["one"] = replace(review.kept["one"], instruction="Make <it> red.", new_item=new)


def test_an_item_can_be_added(review: Kept, client: TestClient) -> None:
    with_addition(review)
    action, sent = form(client, "one", -1)
    assert action == "/add?group=one"
    assert client.post(action, data={**sent, "token": "wrong"}).status_code == 403
    refused = client.post(action, data=sent)
    assert refused.status_code == 422
    assert "Not added: a question needs words." in words(refused.text)
    assert "<details" in refused.text
    added = client.post(action, data={**sent, "field-0": "Is it <red>?"})
    assert added.status_code == 303
    assert added.headers["location"] == "/group?id=one&saved=new-3#item-4"
    assert "Is it &lt;red&gt;?" in client.get("/group?id=one").text
    assert "/add" not in client.get("/group?id=two").text, "this group takes no new items"


def test_the_instruction_stays_in_view_and_follows_its_change(review: Kept, client: TestClient) -> None:
    with_addition(review)
    assert 'id="asked-for">Make &lt;it&gt; red.</p>' in client.get("/group?id=one").text
    assert send(client, "one", 1, {"act": "accept"}).json()["instruction"] == "Make <it> red."


def test_groups_can_be_searched_for(client: TestClient) -> None:
    def found(**asked: str) -> list[str]:
        page = client.get("/", params=asked).text
        return re.findall(r'href="/group\?id=(\w+)[^"]*" data-line', page)

    assert found(q="OF three, HA") == ["three"]
    assert found(q="and this?") == ["two"], "dropped items are searched, too"
    assert found(q="hat three", show="dropped") == []
    assert found(q="") == ["one", "two", "three"]
    page = client.get("/", params={"q": "<b>nothing"}).text
    assert "No group has all of these words." in page
    assert "<b>nothing" not in page
