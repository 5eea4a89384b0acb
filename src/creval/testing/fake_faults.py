"""Faults of the fake server: their kinds, and how faults that do not depend on the request are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

TRANSPORT_FAULTS = ("rate limit", "server error", "overload", "timeout", "reset", "cut-off body", "HTML")
"""Faults of the connection or the server, without a readable reply."""
FAULT_KINDS = (*TRANSPORT_FAULTS, "empty", "refusal", "content filter", "length", "left out", "garbled")


async def send_transport_fault(
    kind: str, request: web.Request, content: bytes, stall_seconds: float, media: str = "application/json"
) -> web.StreamResponse:
    """Send a fault of `TRANSPORT_FAULTS`. `content` is the correct reply, for the fault `cut-off body`."""
    if kind == "rate limit":
        return error_response(429, "too many requests", {"retry-after-ms": "20"})
    if kind in ("server error", "overload"):
        return error_response(500 if kind == "server error" else 503, "try again later")
    if kind == "HTML":
        return web.Response(text="<html><body><h1>Bad gateway</h1></body></html>", content_type="text/html")
    if kind == "cut-off body":
        response = web.StreamResponse(headers={"Content-Type": media})
        response.content_length = len(content)
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        if request.transport is not None:
            request.transport.close()
        return response
    if kind == "timeout":
        await asyncio.sleep(stall_seconds)
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an error in OpenAI's format."""
    content = {"error": {"message": message, "type": "fake", "code": None}}
    return web.json_response(content, status=status, headers=headers)
