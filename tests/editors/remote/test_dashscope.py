"""Tests of Qwen-Image-Edit at DashScope."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from creval.editors.base import EditRequest
from creval.providers.call_errors import ProviderUnusable
from tests.editors.asking import KEY, ask, fault, make_job
from tests.editors.servers import DashScope, as_json, error, jpeg


def test_images_are_sent_first_and_the_instruction_last(tmp_path: Path) -> None:
    server = DashScope()
    settings = {"negative_prompt": "blurred", "prompt_extend": False}
    asked = ask("dashscope", server, make_job(tmp_path), settings=settings)
    (body,) = server.bodies
    (message,) = body["input"]["messages"]
    image, text = message["content"]
    head, _, data = image["image"].partition(",")
    assert head == "data:image/jpeg;base64"
    assert base64.b64decode(data) == jpeg((60, 40))
    assert text == {"text": "Make it “red”."}
    assert body["parameters"] == {"seed": 11, "watermark": False, "negative_prompt": "blurred", "prompt_extend": False}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert asked.one.metadata["request"] == "q-1"
    assert asked.one.metadata["seed"] == 11


@pytest.mark.parametrize(("model", "size"), [("qwen-image-edit-plus", "1248*832"), ("qwen-image-edit", None)])
def test_with_references_the_sources_shape_is_kept(model: str, size: str | None, tmp_path: Path) -> None:
    server = DashScope()
    asked = ask("dashscope", server, make_job(tmp_path, references=2, mask=True), model=model)
    assert len(server.bodies[0]["input"]["messages"][0]["content"]) == 4
    assert server.bodies[0]["parameters"].get("size") == size
    assert "takes no mask" in asked.editor.notes[0]


def test_models_that_choose_a_size_get_the_sources_size(tmp_path: Path) -> None:
    server = DashScope()
    ask("dashscope", server, make_job(tmp_path), model="qwen-image-3.0")
    assert server.bodies[0]["parameters"]["size"] == "1248*832"
    server = DashScope()
    ask("dashscope", server, EditRequest("s", "A boat."), model="qwen-image-3.0")
    assert server.bodies[0]["input"]["messages"][0]["content"] == [{"text": "A boat."}]
    assert "size" not in server.bodies[0]["parameters"]


def test_there_has_to_be_an_image() -> None:
    found = fault("dashscope", DashScope(), EditRequest("s", "A boat."))
    assert (found.kind, found.retryable) == ("unsupported", False)


def test_refusals(tmp_path: Path) -> None:
    body = {"code": "DataInspectionFailed", "message": "Input data is suspected.", "request_id": ""}
    for answer in (error(400, body), as_json(body)):
        found = fault("dashscope", DashScope(answer), make_job(tmp_path))
        assert (found.kind, found.retryable) == ("content filter", False)


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (400, "Arrearage", "no credit left"),
        (401, "InvalidApiKey", "the key was refused"),
        (403, "AccessDenied", "access was refused"),
        (404, "ModelNotFound", "has no model"),
    ],
)
def test_accounts_and_models(status: int, code: str, sentence: str, tmp_path: Path) -> None:
    server = DashScope(error(status, {"code": code, "message": "no"}))
    with pytest.raises(ProviderUnusable, match=sentence):
        ask("dashscope", server, make_job(tmp_path))


def test_throttling(tmp_path: Path) -> None:
    server = DashScope(error(429, {"code": "Throttling.RateQuota", "message": "too fast"}))
    assert fault("dashscope", server, make_job(tmp_path)).overloaded


@pytest.mark.parametrize("reply", [{}, {"output": 1}, {"output": {"choices": [{"message": 1}]}}])
def test_replies_without_an_image(reply: object, tmp_path: Path) -> None:
    found = fault("dashscope", DashScope(as_json(reply)), make_job(tmp_path))
    assert (found.kind, found.retryable, found.billed) == ("no image", True, True)
    said = DashScope(as_json(DashScope().reply({"text": "I will not."})))
    assert "I will not." in str(fault("dashscope", said, make_job(tmp_path)))
