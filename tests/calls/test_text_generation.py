"""Texts are requested once, stored, and reused on resume."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiohttp import web
from PIL import Image

from creval.calls.settings import Settings
from creval.calls.text_generation import GenerationItem, ItemSession, StageEstimate, TextGenerator
from creval.core.errors import CrevalError
from creval.parsing.reply_format import TEXT, ReplyFormat, object_schema
from creval.prompts import Prompt
from creval.providers.pricing import Price
from creval.store import RunWriter
from tests.serving import serving

PLAN, TELL = Prompt("plan", "Plan {{what}}."), Prompt("tell", "Tell of {{plan}}.")


class Server:
    """A model that repeats its request and records it. It declines some requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.schemas: list[object] = []
        self.images = 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        parts = body["messages"][-1]["content"]
        text = parts[-1]["text"]
        self.images += sum(part["type"] == "image_url" for part in parts)
        self.asked.append(text)
        self.schemas.append(body.get("response_format", {}).get("json_schema", {}).get("schema"))
        if "bad" in text:
            return web.json_response({"error": {"message": "no", "code": "x"}}, status=400)
        message: dict[str, object] = {"role": "assistant", "content": f"<think>hm</think>[{text}]"}
        if "wicked" in text:
            message |= {"content": None, "refusal": "I will not."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return web.json_response({"choices": [choice], "usage": usage})


async def story(desk: ItemSession) -> str:
    plan = await desk.generate("writer", "plan", PLAN, what=desk.item.id)
    return await desk.generate("teller", "tell", TELL, image_paths=(), plan=plan)


def writing(folder: Path, url: str, **more: object) -> TextGenerator[str]:
    roles = {"writer": f"openai:one@{url}/v1", "teller": f"openai:two@{url}/v1"}
    return TextGenerator(folder, roles, Settings(concurrency=4, attempts=2, **more))  # type: ignore[arg-type]


def items(folder: Path, *names: str) -> list[GenerationItem]:
    found = []
    for name in names:
        path = folder / f"{name}.png"
        Image.new("RGB", (64, 48), "teal").save(path)
        found.append(GenerationItem(name, path))
    return found


def test_a_text_is_asked_for_once(tmp_path: Path) -> None:
    server = Server()
    with serving(server.app()) as url:
        some = items(tmp_path, "a", "b")
        first = writing(tmp_path / "kept", url).run(some, story)
        assert first.results == {"a": "[Tell of [Plan a.].]", "b": "[Tell of [Plan b.].]"}
        assert (len(server.asked), server.images) == (4, 2)
        assert first.progress.tokens_in == 40
        more = [*some, *items(tmp_path, "c")]
        second = writing(tmp_path / "kept", url).run(more, story)
        assert len(server.asked) == 6, "only the new item"
        assert (second.progress.requests_sent, second.progress.cached) == (2, 4)
        assert second.results["a"] == first.results["a"]
        Image.new("RGB", (64, 48), "red").save(some[0].image or "")
        writing(tmp_path / "kept", url).run(some, story)
        assert len(server.asked) == 7, "another image is another request"


def test_a_reply_format_has_its_schema(tmp_path: Path) -> None:
    asked, own = Prompt("a", "Write {{what}}. {{format}}"), Prompt("b", "Write {{what}}, as plain text.")

    def write(prompt: Prompt, form: str) -> str:
        async def pipeline(desk: ItemSession) -> str:
            return await desk.generate("writer", "write", prompt, what="it", format=form)

        return writing(tmp_path / "kept", url).run(items(tmp_path, "a"), pipeline).results["a"]

    server = Server()
    with serving(server.app()) as url:
        first = write(asked, ReplyFormat("As JSON.", object_schema(text=TEXT)))
        assert server.schemas == [object_schema(text=TEXT)]
        for form in (ReplyFormat("As JSON.", object_schema(words=TEXT)), "As JSON."):
            assert write(asked, form) == first
        assert len(server.schemas) == 1, "the cache key has the words of the request, not its schema"
        write(own, ReplyFormat("As JSON.", object_schema(text=TEXT)))
        assert server.schemas[1:] == [None], "the prompt asks for a format of its own"


def test_equal_requests_of_items_in_a_shared_stage_are_sent_once(tmp_path: Path) -> None:
    async def alike(desk: ItemSession) -> str:
        plan = await desk.generate("writer", "plan", PLAN, what="a box")
        return await desk.generate("teller", "tell", TELL, image_paths=(), plan=plan)

    server, some = Server(), items(tmp_path, "a", "b", "c")
    with serving(server.app()) as url:
        roles = {"writer": f"openai:one@{url}/v1", "teller": f"openai:two@{url}/v1"}
        for number in (2, 3, 3):
            made = TextGenerator[str](tmp_path / "out", roles, Settings(), shared_stages={"plan"})
            wrote = made.run(some[:number], alike)
            assert set(wrote.results.values()) == {"[Tell of [Plan a box.].]"}
    assert sorted(server.asked) == ["Plan a box.", *["Tell of [Plan a box.]."] * 3]


def test_a_budget_needs_prices(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match=r"`budget` needs the price of openai:one\. Add"):
        writing(tmp_path, "http://127.0.0.1:9", budget=1.0)
    writing(tmp_path, "http://127.0.0.1:9", budget=1.0, price=Price(1, 2))


def test_failed_items_are_left_out_with_their_reason(tmp_path: Path) -> None:
    server = Server()
    with serving(server.app()) as url:
        some = items(tmp_path, "a", "wicked", "bad")
        broken = tmp_path / "broken.png"
        broken.write_bytes(b"none")
        some.append(GenerationItem("broken", broken))
        wrote = writing(tmp_path / "kept", url).run(some, story)
        assert set(wrote.results) == {"a"}
        assert "the model declined: I will not." in wrote.left_out["wicked"]
        assert "plan: " in wrote.left_out["bad"]
        assert "broken.png" in wrote.left_out["broken"]
        before = len(server.asked)
        again = writing(tmp_path / "kept", url).run(some, story)
        assert set(again.results) == {"a"}
        assert len(server.asked) == before + 2, "declined requests are sent again"


def test_an_estimate_before_anything_is_asked(tmp_path: Path) -> None:
    stages = [StageEstimate("writer", 1, 100, 50), StageEstimate("teller", 2, 50, 80, images=0)]
    some = items(tmp_path, "a", "b")
    first, second = writing(tmp_path / "kept", "http://127.0.0.1:1").estimate(some, stages)
    assert (first.calls, first.images, second.calls, second.images) == (2, 2, 4, 0)
    assert second.tokens_out == 320
    assert not (tmp_path / "kept").exists()


def test_an_estimate_takes_off_what_is_kept(tmp_path: Path) -> None:
    stages = [StageEstimate("writer", 1, 100, 50), StageEstimate("teller", 2, 50, 80, images=0)]
    some = items(tmp_path, "a", "b", "c")
    some[2] = GenerationItem("c\udcff", some[2].image)  # a name that is not valid Unicode
    server = Server()
    with serving(server.app()) as url:
        model = writing(tmp_path / "kept", url, price=Price(1, 1))
        before = model.estimate(some, stages)
        model.run([some[0], some[2]], story)
        first, second = model.estimate(some, stages)
        assert (first.calls, first.cached, first.images) == (1, 2, 1)
        assert (second.calls, second.cached) == (4, 2), "each item has one of two texts"
        assert first.cost == pytest.approx((before[0].cost or 0) / 3)
        assert first.seconds == pytest.approx(before[0].seconds / 3)
        elsewhere = writing(tmp_path / "kept", url + "/x").estimate(some, stages)
        assert [made.cached for made in elsewhere] == [2, 2], "a model is the same at another address"
        roles = {"writer": f"openai:new@{url}/v1", "teller": f"openai:too@{url}/v1"}
        other = TextGenerator[str](tmp_path / "kept", roles, Settings()).estimate(some, stages)
        assert [made.cached for made in other] == [0, 0], "another model has written nothing yet"
        once = [StageEstimate("writer", 0.5, 100, 50)]
        assert [made.calls for made in model.estimate(some[:1], once)] == [0, 0], "never below zero"
        with RunWriter(tmp_path / "kept"):
            assert model.estimate(some, stages)[0].cached == 2, "also while another process writes"


def test_a_panel_does_not_write(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="takes one model"):
        TextGenerator(tmp_path, {"writer": "panel:truth+pixel"}, Settings())


SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from tests.calls.test_text_generation import story, writing
from creval.calls.text_generation import GenerationItem as Item
folder, url, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
some = [Item(f"i{{n}}", folder / "a.png") for n in range(count)]
writing(folder / "kept", url).run(some, story)
"""


@pytest.mark.attack
def test_killed_it_loses_nothing(tmp_path: Path) -> None:
    server = Server()
    items(tmp_path, "a")
    script = SCRIPT.format(path=sys.path)
    count = 60
    with serving(server.app()) as url:
        for _ in range(3):
            with subprocess.Popen([sys.executable, "-c", script, str(tmp_path), url, str(count)]) as on:
                goal = min(2 * count, len(server.asked) + 30)
                while on.poll() is None and len(server.asked) < goal:
                    time.sleep(0.002)
                on.kill()
        some = [GenerationItem(f"i{n}", tmp_path / "a.png") for n in range(count)]
        wrote = writing(tmp_path / "kept", url).run(some, story)
    assert len(wrote.results) == count
    assert len(server.asked) <= 2 * count + 3 * 4, "only in-flight requests are sent again"
    assert json.dumps(wrote.left_out) == "{}"
