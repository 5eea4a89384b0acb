"""Tests of Seedream and SeedEdit at Volcengine Ark."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from creval.editors.base import EditRequest
from creval.providers.call_errors import ProviderUnusable
from tests.editors.asking import KEY, ask, fault, make_job
from tests.editors.servers import MADE, Seedream, as_json, error, jpeg


def test_a_single_image_is_sent_unchanged(tmp_path: Path) -> None:
    server = Seedream()
    asked = ask("seedream", server, make_job(tmp_path))
    (body,) = server.bodies
    head, _, data = body.pop("image").partition(",")
    assert head == "data:image/jpeg;base64"
    assert base64.b64decode(data) == jpeg((60, 40))
    assert body == {
        "model": "seedream-4-0",
        "prompt": "Make it “red”.",
        "response_format": "b64_json",
        "watermark": False,
        "size": "2496x1664",
    }
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert asked.one.content == jpeg()
    assert asked.one.media_type == "image/jpeg"
    assert "takes no seed" in asked.editor.notes[0]


def test_several_go_as_a_list(tmp_path: Path) -> None:
    server = Seedream()
    ask("seedream", server, make_job(tmp_path, references=2))
    assert len(server.bodies[0]["image"]) == 3


def test_seededit_takes_a_seed_and_one_image(tmp_path: Path) -> None:
    server = Seedream()
    ask("seedream", server, make_job(tmp_path), model="doubao-seededit-3-0-i2i-250628")
    assert (server.bodies[0]["seed"], server.bodies[0]["size"]) == (11, "adaptive")
    two = make_job(tmp_path, references=1)
    assert fault("seedream", Seedream(), two, model="seededit-3-0").kind == "unsupported"


def test_an_address_in_the_reply_is_fetched_without_the_key(tmp_path: Path) -> None:
    server = Seedream()
    server.queue = [lambda _: as_json({"data": [{"url": f"{server.base}/files/s.png"}]})(_)]
    asked = ask("seedream", server, make_job(tmp_path), settings={"response_format": "url"})
    assert asked.one.content == MADE
    assert "Authorization" not in server.fetched[0]
    assert server.bodies[0]["response_format"] == "url"


@pytest.mark.parametrize(
    "code",
    [
        "InputImageSensitiveContentDetected",
        "OutputImageSensitiveContentDetected",
        "InputTextSensitiveContentDetected",
        "InputTextRiskDetection",
    ],
)
def test_refusals(code: str, tmp_path: Path) -> None:
    said = {"code": code, "message": "The request failed."}
    for answer in (error(400, {"error": said}), as_json({"data": [{"error": said}]})):
        found = fault("seedream", Seedream(answer), make_job(tmp_path))
        assert (found.kind, found.retryable) == ("content filter", False)


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (403, "AccountOverdueError", "no credit left"),
        (404, "ModelNotOpen", "has no model"),
        (401, "AuthenticationError", "the key was refused"),
    ],
)
def test_accounts_and_models(status: int, code: str, sentence: str, tmp_path: Path) -> None:
    server = Seedream(error(status, {"error": {"code": code, "message": "no"}}))
    with pytest.raises(ProviderUnusable, match=sentence):
        ask("seedream", server, make_job(tmp_path))


def test_text_to_image_and_its_price() -> None:
    server = Seedream()
    asked = ask("seedream", server, EditRequest("s", "A boat."), provided=True)
    assert "image" not in server.bodies[0]
    assert asked.one.cost == 0.03


@pytest.mark.parametrize("reply", [{}, {"data": []}, {"data": [1]}, {"data": [{}]}])
def test_replies_without_an_image(reply: object, tmp_path: Path) -> None:
    found = fault("seedream", Seedream(as_json(reply)), make_job(tmp_path))
    assert (found.kind, found.retryable, found.billed) == ("no image", True, True)
