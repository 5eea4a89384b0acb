"""Tests of OpenAI's `/images/edits`: requests and replies."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from creval.core.images import decode_image
from creval.editors.base import EditRequest
from tests.editors.asking import KEY, ask, fault, make_job
from tests.editors.servers import MADE, OpenAI, as_json, error, jpeg
from tests.serving import serving


def fields(server: OpenAI) -> dict[str, str]:
    return {part.name: part.content.decode() for part in server.forms[0] if part.file is None}


def test_the_form_holds_the_image_and_the_instruction(tmp_path: Path) -> None:
    server = OpenAI()
    asked = ask("openai", server, make_job(tmp_path), settings={"quality": "high", "user": 7})
    assert fields(server) == {
        "model": "gpt-image-1",
        "prompt": "Make it “red”.",
        "size": "1536x1024",
        "quality": "high",
        "user": "7",
    }
    (sent,) = [part for part in server.forms[0] if part.file is not None]
    assert (sent.name, sent.media, sent.content) == ("image", "image/jpeg", jpeg((60, 40)))
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["Content-Type"].startswith("multipart/form-data")
    assert decode_image(asked.one.content).getpixel((5, 5)) == (10, 200, 30)
    assert asked.one.metadata["revised_prompt"] == "Redder."
    assert asked.one.metadata["tokens_out"] == 4000
    assert "takes no seed" in asked.editor.notes[0]
    assert len(asked.editor.notes) == 1


def test_references_follow_the_source(tmp_path: Path) -> None:
    server = OpenAI()
    ask("openai", server, make_job(tmp_path, references=2))
    files = [part for part in server.forms[0] if part.file is not None]
    assert [part.name for part in files] == ["image[]"] * 3
    assert files[0].content == jpeg((60, 40))
    assert files[2].content == (tmp_path / "reference1.png").read_bytes()


def test_a_mask_is_transparent_where_the_source_may_change(tmp_path: Path) -> None:
    job = make_job(tmp_path, mask=True)
    mask = Image.new("L", (30, 20), 0)
    mask.paste(255, (15, 0, 30, 20))  # half the size of the source, white on the right
    mask.save(tmp_path / "mask.png")
    server = OpenAI()
    ask("openai", server, job)
    sent = {part.name: part for part in server.forms[0]}
    made = Image.open(io.BytesIO(sent["mask"].content))
    assert (made.mode, made.size, sent["mask"].media) == ("RGBA", (60, 40), "image/png")
    assert made.getchannel("A").getpixel((2, 2)) == 255
    assert made.getchannel("A").getpixel((57, 37)) == 0
    assert sent["image"].media == "image/png", "the source has the mask's format"
    assert decode_image(sent["image"].content).tobytes() == decode_image(jpeg((60, 40))).tobytes()


@pytest.mark.parametrize(
    ("model", "size", "sent"),
    [
        ("gpt-image-1", (100, 100), "1024x1024"),
        ("gpt-image-1", (90, 100), "1024x1024"),
        ("gpt-image-1", (50, 100), "1024x1536"),
        ("gpt-image-1-mini", (100, 50), "1536x1024"),
        ("gpt-image-2", (192, 108), "1360x768"),
        ("gpt-image-2.5-flare", (100, 20), "1776x592"),
    ],
)
def test_the_nearest_size(model: str, size: tuple[int, int], sent: str, tmp_path: Path) -> None:
    Image.new("RGB", size).save(tmp_path / "a.png")
    server = OpenAI()
    ask("openai", server, EditRequest("s", "x", source=tmp_path / "a.png"), model=model)
    assert fields(server)["size"] == sent


def test_a_setting_overrides_crevals_value(tmp_path: Path) -> None:
    server = OpenAI()
    ask("openai", server, make_job(tmp_path), settings={"size": "auto"})
    assert fields(server)["size"] == "auto"
    server = OpenAI()
    ask("openai", server, make_job(tmp_path), settings={"size": None})
    assert "size" not in fields(server)


def test_a_sample_without_a_source_is_generated_from_text() -> None:
    server = OpenAI()
    assert ask("openai", server, EditRequest("s", "A red boat.")).one.content == MADE
    assert server.bodies == [{"model": "gpt-image-1", "prompt": "A red boat."}]


def test_money_by_tokens(tmp_path: Path) -> None:
    asked = ask("openai", OpenAI(), make_job(tmp_path), provided=True)
    # 100 text tokens at 5, 1,000 image tokens at 10 and 4,000 output tokens at 40 dollars per million
    assert asked.one.cost == pytest.approx(0.0005 + 0.01 + 0.16)
    later = ask("openai", OpenAI(), make_job(tmp_path), provided=True, model="gpt-image-2")
    assert later.one.cost == pytest.approx(0.0005 + 0.008 + 0.12)
    server = OpenAI()
    server.queue = [as_json({**server.reply(), "usage": None})]
    assert ask("openai", server, make_job(tmp_path), provided=True).one.cost == 0.25
    for claim in (10**9, -1, 10**400, True, "4000"):
        server.queue = [as_json({**server.reply(), "usage": {**server.reply()["usage"], "output_tokens": claim}})]
        assert ask("openai", server, make_job(tmp_path), provided=True).one.cost == 0.25
    low = ask("openai", OpenAI(), make_job(tmp_path), provided=True, settings={"quality": "low"})
    assert low.editor.price == 0.016


def test_a_compatible_server_that_gives_an_address(tmp_path: Path) -> None:
    server = OpenAI()
    server.queue = [lambda _: as_json({"data": [{"url": f"{server.base}/files/x.png"}]})(_)]
    assert ask("openai", server, make_job(tmp_path)).one.content == MADE
    assert "Authorization" not in server.fetched[0]
    inside = base64.b64encode(MADE).decode()
    server.queue = [as_json({"data": [{"url": f"data:image/png;base64,{inside}"}]})]
    assert ask("openai", server, make_job(tmp_path)).one.content == MADE


@pytest.mark.parametrize(
    "said",
    [
        {"code": "moderation_blocked", "message": "Rejected.", "type": "user_error"},
        {"code": None, "message": "Your request was rejected as a result of our safety system."},
        {"code": "content_policy_violation", "message": "no"},
        {"code": "moderation_blocked"},
    ],
)
def test_refusals(said: dict[str, str], tmp_path: Path) -> None:
    found = fault("openai", OpenAI(error(400, {"error": said})), make_job(tmp_path))
    assert (found.kind, found.retryable, found.billed) == ("content filter", False, False)
    assert (said.get("message") or said["code"]) in str(found)


def test_the_form_is_that_of_openais_own_client(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    ours, theirs = OpenAI(), OpenAI()
    job = make_job(tmp_path, references=1)
    ask("openai", ours, job)
    ask("openai", ours, make_job(tmp_path, mask=True))
    files = [("1.jpeg", jpeg((60, 40)), "image/jpeg"), ("2.png", MADE, "image/png")]
    mask = ("mask.png", (tmp_path / "mask.png").read_bytes(), "image/png")
    named = {"model": "gpt-image-1", "prompt": job.instruction, "size": "1536x1024"}
    with serving(theirs.app()) as base:
        client = openai.OpenAI(base_url=f"{base}/v1", api_key=KEY, max_retries=0)
        client.images.edit(image=files, **named)
        reply = client.images.edit(image=("1.png", MADE, "image/png"), mask=mask, **named)
        client.close()
    assert base64.b64decode(reply.data[0].b64_json) == MADE
    assert reply.usage.input_tokens_details.image_tokens == 1000
    for mine, its in zip(ours.forms, theirs.forms, strict=True):
        shapes = [
            sorted((part.name, part.file, None if part.file else part.content) for part in form) for form in (mine, its)
        ]
        assert shapes[0] == shapes[1]
