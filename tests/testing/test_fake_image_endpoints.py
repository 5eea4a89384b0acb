"""The fake server answers the requests of all remote editors, with marked edits and with faults."""

from __future__ import annotations

import asyncio
import io
import json
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.core.images import decode_image
from creval.editors.base import EditorOptions, EditOutput, EditRequest
from creval.editors.editor_spec import EDITOR_PROVIDERS, open_editor
from creval.editors.remote.base import RemoteEditor
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.testing.fake_chat_server import FakeServer
from creval.testing.fake_faults import FAULT_KINDS
from creval.testing.fake_image_endpoints import ImageQuery, draw_edit
from tests.editors.asking import MODELS, PATHS, Pocket, make_job
from tests.editors.servers import OpenAI, png
from tests.serving import serving

YELLOW = (255, 205, 0)


def ask(spec: str, job: EditRequest, timeout: float = 5.0) -> EditOutput:
    editor = open_editor(spec, EditorOptions(timeout=timeout))
    assert isinstance(editor, RemoteEditor)
    editor.poll_interval = 0.01

    async def run() -> EditOutput:
        await editor.open()
        try:
            return await editor.edit(job, Pocket())
        finally:
            await editor.close()

    return asyncio.run(run())


def rehearse(kind: str, server: FakeServer, job: EditRequest, path: str = "/v1", timeout: float = 5.0) -> EditOutput:
    with serving(server.app()) as url:
        return ask(f"rehearsal:{kind}:{MODELS[kind]}@{url}{path}", job, timeout)


@pytest.mark.parametrize("kind", EDITOR_PROVIDERS)
def test_every_remote_editor_gets_a_marked_edit_of_its_source(kind: str, tmp_path: Path) -> None:
    output = rehearse(kind, FakeServer(marked=True), make_job(tmp_path))
    edit = decode_image(output.content)
    assert edit.getpixel((0, edit.height - 1)) == YELLOW, "the stripe"
    assert Image.open(io.BytesIO(output.content)).info["Software"] == "creval-rehearsal"
    assert output.metadata["rehearsal"] is True
    assert output.cost is None
    # The source is of one colour. The rectangle has at most half of each side, the stripe a tenth of the height.
    source = np.asarray(decode_image((tmp_path / "source.jpg").read_bytes()))[0, 0].astype(int)
    same = (abs(np.asarray(edit).astype(int) - source) <= 2).all(axis=2).mean()
    assert 0.4 < same < 0.95
    again = rehearse(kind, FakeServer(marked=True), make_job(tmp_path), PATHS[kind])
    assert again.content == output.content, "at the provider's own path too"


def test_an_edit_depends_on_the_request_and_on_the_servers_seed() -> None:
    query = ImageQuery("m", "Make it red.", [png(size=(60, 40))], seed=1)
    edits = {
        draw_edit(query),
        draw_edit(query, seed=1),
        draw_edit(query._replace(seed=2)),
        draw_edit(query._replace(instruction="Make it blue.")),
        draw_edit(query._replace(images=[png((0, 0, 0), (60, 40))])),
    }
    assert len(edits) == 5
    assert draw_edit(query) in edits


@pytest.mark.parametrize(
    ("asked", "size"), [("", (60, 40)), ("1536x1024", (1536, 1024)), ("32*16", (32, 16)), ("90000x1", (60, 40))]
)
def test_an_edit_has_the_requested_size(asked: str, size: tuple[int, int]) -> None:
    assert decode_image(draw_edit(ImageQuery("m", "x", [png(size=(60, 40))], asked))).size == size


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (200, 3)])
def test_the_smallest_images_are_marked_too(size: tuple[int, int]) -> None:
    edit = decode_image(draw_edit(ImageQuery("m", "x", [png(size=size)])))
    assert edit.size == size
    difference = abs(np.asarray(edit)[-1, 0].astype(int) - YELLOW)
    assert difference.max() < 10


@pytest.mark.parametrize("kind", ["openai", "google", "seedream"])
def test_an_image_without_a_source(kind: str) -> None:
    output = rehearse(kind, FakeServer(marked=True), EditRequest("s", "A red cube."))
    assert decode_image(output.content).size == (1024, 1024)


@pytest.mark.parametrize("fault", FAULT_KINDS)
@pytest.mark.parametrize("kind", EDITOR_PROVIDERS)
def test_every_fault_is_one_that_editors_know(kind: str, fault: str, tmp_path: Path) -> None:
    server = FakeServer(marked=True, fault_rate=1.0, fault_kinds=(fault,), stall_seconds=5.0)
    with pytest.raises(CallError) as caught:
        rehearse(kind, server, make_job(tmp_path), timeout=1.0)
    refused = fault in ("refusal", "content filter")
    assert caught.value.retryable is not refused
    assert (caught.value.kind == "content filter") is refused
    assert server.stats[fault] > 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("images/generations", {"model": "m", "prompt": "x", "image": "%%%"}),
        ("images/generations", {"model": "m", "prompt": "x", "image": "AAAA"}),
        ("images/generations", {"model": "m"}),
        ("images/generations", []),
        ("flux", {"input_image": "AAAA"}),
        ("models/m:generateContent", {"contents": []}),
    ],
)
def test_a_malformed_request_is_refused(path: str, body: object) -> None:
    with serving(FakeServer(marked=True).app()) as url:
        request = urllib.request.Request(f"{url}/v1/{path}", json.dumps(body).encode(), {"content-type": "x/json"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
    assert caught.value.code == 400
    assert b"not an image request" in caught.value.read()


def test_a_real_editor_refuses_the_rehearsal_server(tmp_path: Path) -> None:
    with serving(FakeServer(marked=True).app()) as url:
        sentence = f"is creval's rehearsal server.*use rehearsal:openai:m@{url}/v1, in a separate folder"
        with pytest.raises(ProviderUnusable, match=sentence):
            ask(f"openai:m@{url}/v1", make_job(tmp_path))


def test_a_rehearsal_refuses_other_servers(tmp_path: Path) -> None:
    with serving(OpenAI().app()) as url:
        sentence = f"is not creval's rehearsal server: use openai:m@{url}/v1"
        with pytest.raises(ProviderUnusable, match=sentence):
            ask(f"rehearsal:openai:m@{url}/v1", make_job(tmp_path))
