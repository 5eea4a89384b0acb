"""Tests of Gemini's `generateContent`: images as parts, and replies without an image."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from creval.editors.base import EditRequest
from tests.editors.asking import KEY, ask, fault, make_job
from tests.editors.servers import MADE, Google, as_json, error, jpeg


def test_images_are_sent_first_and_the_key_in_a_header(tmp_path: Path) -> None:
    server = Google()
    asked = ask("google", server, make_job(tmp_path), settings={"temperature": 0.5})
    (body,) = server.bodies
    assert body["model"] == "gemini-2.5-flash-image"
    (message,) = body["contents"]
    first, text = message["parts"]
    assert first["inlineData"]["mimeType"] == "image/jpeg"
    assert base64.b64decode(first["inlineData"]["data"]) == jpeg((60, 40))
    assert text == {"text": "Make it “red”."}
    assert body["generationConfig"] == {"responseModalities": ["TEXT", "IMAGE"], "seed": 11, "temperature": 0.5}
    assert server.headers[0]["x-goog-api-key"] == KEY
    assert "Authorization" not in server.headers[0]
    facts = asked.one.metadata
    assert (facts["seed"], facts["request"], facts["tokens_out"]) == (11, "r-1", 1290)
    assert asked.editor.notes == []


def test_with_references_the_sources_shape_is_named(tmp_path: Path) -> None:
    server = Google()
    asked = ask("google", server, make_job(tmp_path, references=2, mask=True))
    (body,) = server.bodies
    assert len(body["contents"][0]["parts"]) == 4
    assert body["generationConfig"]["imageConfig"] == {"aspectRatio": "3:2"}
    assert "takes no mask" in asked.editor.notes[0]


def test_settings_go_where_they_belong(tmp_path: Path) -> None:
    server = Google()
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    settings = {"aspectRatio": "16:9", "imageSize": "2K", "safetySettings": safety, "seed": None}
    ask("google", server, make_job(tmp_path), settings=settings)
    (body,) = server.bodies
    assert body["safetySettings"] == safety
    assert body["generationConfig"] == {
        "responseModalities": ["TEXT", "IMAGE"],
        "imageConfig": {"aspectRatio": "16:9", "imageSize": "2K"},
    }


def test_thoughts_are_ignored_and_texts_stored(tmp_path: Path) -> None:
    data = {"mime_type": "image/png", "data": base64.b64encode(MADE).decode()}
    draft = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}, "thought": True}
    parts: list[dict[str, Any]] = [draft, {"text": "Here "}, {"inline_data": data}, {"text": "it is."}]
    asked = ask("google", Google(as_json(Google().reply(*parts))), make_job(tmp_path))
    assert asked.one.content == MADE
    assert asked.one.metadata["said"] == "Here it is."


@pytest.mark.parametrize(
    "reply",
    [
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
        Google().reply({"text": ""}, ended="IMAGE_SAFETY"),
        Google().reply({"text": ""}, ended="SAFETY"),
        {"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]},
        {"candidates": [{"finishReason": "IMAGE_RECITATION", "finishMessage": "x"}]},
    ],
)
def test_refusals(reply: dict[str, Any], tmp_path: Path) -> None:
    found = fault("google", Google(as_json(reply)), make_job(tmp_path))
    assert (found.kind, found.retryable) == ("content filter", False)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Google().reply({"text": "I can only describe it."}), "I can only describe it."),
        ({"candidates": [{"finishReason": "NO_IMAGE"}]}, "NO_IMAGE"),
        ({"candidates": [{"finishReason": "IMAGE_OTHER", "finishMessage": "no"}]}, "IMAGE_OTHER"),
        ({"candidates": []}, "contains none"),
        ({"candidates": "x"}, "contains none"),
        ({"candidates": [{"content": {"parts": "x"}}]}, "contains none"),
        (Google().reply({"text": f"The key is {KEY}"}), r"\[key\]"),
    ],
)
def test_replies_without_an_image(reply: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=words):
        raise fault("google", Google(as_json(reply)), make_job(tmp_path))
    found = fault("google", Google(as_json(reply)), make_job(tmp_path))
    assert (found.kind, found.retryable, found.billed) == ("no image", True, True)


def test_google_tells_the_time_to_wait_in_the_body(tmp_path: Path) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "9s"}]
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}
    assert fault("google", Google(error(429, body)), make_job(tmp_path)).retry_after == 9


def test_text_to_image_and_its_price() -> None:
    server = Google()
    asked = ask("google", server, EditRequest("s", "A boat."), provided=True)
    assert server.bodies[0]["contents"][0]["parts"] == [{"text": "A boat."}]
    assert asked.one.cost == 0.039
    large = ask("google", Google(), EditRequest("s", "A boat."), provided=True, settings={"imageSize": "4K"})
    assert large.editor.price is None
