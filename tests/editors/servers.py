"""Fake servers with the providers' protocols, on loopback.

Each records its requests. Queued `answers` are sent before the server's own replies, and queued `results` before the
images. The addresses of images can be on another host (`elsewhere`).
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, SupportsIndex

from aiohttp import BodyPartReader, web
from PIL import Image

Body = dict[str, Any]
Answer = Callable[[web.Request], web.StreamResponse | Awaitable[web.StreamResponse]]


def png(colour: tuple[int, int, int] = (10, 200, 30), size: tuple[int, int] = (48, 32)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, colour).save(content, "PNG")
    return content.getvalue()


def jpeg(size: tuple[int, int] = (48, 32)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, (200, 30, 10)).save(content, "JPEG")
    return content.getvalue()


MADE = png()


def error(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an error in a provider's format."""
    return lambda _: web.json_response(body, status=status, headers=headers)


def image(content: bytes = MADE, media: str = "image/png") -> Answer:
    return lambda _: web.Response(body=content, content_type=media)


def slow(seconds: float = 5.0) -> Answer:
    async def wait(_: web.Request) -> web.Response:
        await asyncio.sleep(seconds)
        return web.Response()

    return wait


def cut(content: bytes = b"{", media: str = "application/json") -> Answer:
    """Send the beginning of a reply, and then nothing more."""

    async def begin(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": media})
        response.content_length = len(content) + 1000
        await response.prepare(request)
        await response.write(content)
        assert request.transport is not None
        request.transport.close()
        return response

    return begin


def redirect(where: str) -> Answer:
    return lambda _: web.Response(status=307, headers={"Location": where})


class Part(NamedTuple):
    """A form field."""

    name: str
    content: bytes
    media: str | None
    file: str | None


class Provider:
    """Base class: records requests and headers, and sends queued answers."""

    def __init__(self, *answers: Answer) -> None:
        self.queue = list(answers)
        self.bodies: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self.fetched: list[Mapping[str, str]] = []
        self.results: list[Answer] = []
        self.base = self.elsewhere = ""
        self.sold = 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_get("/files/{name}", self._file)
        self.routes(app.router)
        return app

    def routes(self, router: web.UrlDispatcher) -> None:
        raise NotImplementedError

    async def _said(self, request: web.Request) -> web.StreamResponse | None:
        """Send the next answer in the queue, or the server's own reply with an image if the queue is empty."""
        self.headers.append(dict(request.headers))
        said = await _next(self.queue, request)
        self.sold += said is None
        return said

    async def _file(self, request: web.Request) -> web.StreamResponse:
        self.fetched.append(dict(request.headers))
        return await _next(self.results, request) or await _call(image(), request)


async def _next(queue: list[Answer], request: web.Request) -> web.StreamResponse | None:
    return await _call(queue.pop(0), request) if queue else None


class Chances(list[Answer]):
    """An endless queue: sometimes one of several answers, otherwise the server's own reply."""

    def __init__(self, answers: Sequence[Answer], share: float, seed: int) -> None:
        super().__init__(answers)
        self._share, self._chance = share, random.Random(seed)

    def __bool__(self) -> bool:
        return self._chance.random() < self._share

    def pop(self, _: SupportsIndex = -1) -> Answer:
        return self._chance.choice(list(self))


async def _call(answer: Answer, request: web.Request) -> web.StreamResponse:
    found = answer(request)
    return found if isinstance(found, web.StreamResponse) else await found


class OpenAI(Provider):
    """`/v1/images/edits` and `/v1/images/generations`."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(*answers)
        self.forms: list[list[Part]] = []

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1/images/edits", self._edit)
        router.add_post("/v1/images/generations", self._generate)

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        parts = []
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            media = part.headers.get("Content-Type")
            parts.append(Part(str(part.name), bytes(await part.read()), media, part.filename))
        self.forms.append(parts)
        return await self._said(request) or web.json_response(self.reply())

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        return await self._said(request) or web.json_response(self.reply())

    def reply(self, content: bytes = MADE) -> Body:
        details = {"text_tokens": 100, "image_tokens": 1000}
        return {
            "created": 1,
            "data": [{"b64_json": base64.b64encode(content).decode(), "revised_prompt": "Redder."}],
            "output_format": "png",
            "quality": "high",
            "size": "1536x1024",
            "usage": {
                "input_tokens": 1100,
                "input_tokens_details": details,
                "output_tokens": 4000,
                "total_tokens": 5100,
            },
        }


class Google(Provider):
    """`/v1beta/models/MODEL:generateContent`."""

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1beta/models/{model}:generateContent", self._generate)

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append({"model": request.match_info["model"], **await request.json()})
        return await self._said(request) or web.json_response(self.reply())

    def reply(self, *parts: Body, ended: str = "STOP", **more: Any) -> Body:
        data = {"mimeType": "image/png", "data": base64.b64encode(MADE).decode()}
        content = {"role": "model", "parts": list(parts) or [{"inlineData": data}]}
        return {
            "candidates": [{"content": content, "finishReason": ended, "index": 0}],
            "usageMetadata": {"promptTokenCount": 300, "candidatesTokenCount": 1290},
            "modelVersion": "gemini-test",
            "responseId": "r-1",
            **more,
        }


class BFL(Provider):
    """`/v1/MODEL` starts a task, `/v1/get_result` returns its state."""

    def __init__(self, *answers: Answer, states: tuple[str, ...] = ("Pending", "Ready")) -> None:
        super().__init__(*answers)
        self.states, self.looks = list(states), list[Answer]()
        self.looked: list[Mapping[str, str]] = []
        self.polling_base = self.sample_base = ""

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/v1/get_result", self._look)
        router.add_post("/v1/{model}", self._submit)

    async def _submit(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append({"model": request.match_info["model"], **await request.json()})
        said = await self._said(request)
        if said is not None:
            return said
        base = self.polling_base or self.base
        task = f"task-{len(self.bodies)}"
        return web.json_response({"id": task, "polling_url": f"{base}/v1/get_result?id={task}", "cost": 4.0})

    async def _look(self, request: web.Request) -> web.StreamResponse:
        self.looked.append({**request.headers, "id": request.query["id"]})
        said = await _next(self.looks, request)
        if said is not None:
            return said
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        result = None
        if state == "Ready":
            address = f"{self.sample_base or self.base}/files/a.png?sig=a%2Fb%2Bc"
            result = {"sample": address, "prompt": "Make it red.", "seed": 7}
        return web.json_response({"id": request.query["id"], "status": state, "result": result})


class DashScope(Provider):
    """`/api/v1/services/aigc/multimodal-generation/generation`."""

    def routes(self, router: web.UrlDispatcher) -> None:
        path = "/api/v1/services/aigc/multimodal-generation/generation"
        router.add_post(path, self._generate)

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        return await self._said(request) or web.json_response(self.reply())

    def reply(self, *content: Body) -> Body:
        parts = list(content) or [{"image": f"{self.base}/files/q.png?Signature=x%3D"}]
        message = {"role": "assistant", "content": parts}
        return {
            "output": {"choices": [{"finish_reason": "stop", "message": message}]},
            "usage": {"width": 48, "height": 32, "image_count": 1},
            "request_id": "q-1",
        }


class Seedream(Provider):
    """`/api/v3/images/generations`."""

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/api/v3/images/generations", self._generate)

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        said = await self._said(request)
        data = {"b64_json": base64.b64encode(jpeg()).decode(), "size": "2496x1664"}
        return said or web.json_response(
            {
                "model": self.bodies[-1]["model"],
                "created": 1,
                "data": [data],
                "usage": {"generated_images": 1, "output_tokens": 16280, "total_tokens": 16280},
            }
        )


def as_json(body: Any) -> Answer:
    """Return a reply with status 200."""
    return lambda _: web.Response(text=json.dumps(body), content_type="application/json")
