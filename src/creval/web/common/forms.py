"""What a form or a page's script sent: read within bounds, as names and texts."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

MAX_BODY_BYTES = 256 << 10
"""The longest body that is read, in bytes."""
BODY_SECONDS = 10.0
"""Seconds in which a body has to come."""
_MAX_FIELDS = 200  # in a form
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """The names and texts in the body of a request; anything else is refused."""
    kind, body = _content_type(request), await _read_body(request)
    if kind == _JSON:
        return _parse_json(body)
    if kind == _FORM:
        return _parse_form(body)
    raise HTTPException(415, "Only a form or JSON can be read here.")


def is_json_request(request: Request) -> bool:
    """Whether a page's script sent it, which reads JSON; a form wants a page."""
    return _content_type(request) == _JSON


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _read_body(request: Request) -> bytes:
    told = request.headers.get("content-length", "")
    if told.isascii() and told.isdigit() and int(told[:12]) > MAX_BODY_BYTES:
        raise HTTPException(413, f"A request has at most {MAX_BODY_BYTES >> 10} kB.")
    try:
        return await asyncio.wait_for(_read_stream(request), BODY_SECONDS)
    except ClientDisconnect as error:
        raise HTTPException(400, "It ended before its end.") from error
    except asyncio.TimeoutError as error:
        raise HTTPException(408, "The request took too long.", {"Connection": "close"}) from error


async def _read_stream(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"A request has at most {MAX_BODY_BYTES >> 10} kB.")
    return bytes(body)


def _parse_json(body: bytes) -> dict[str, str]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "That is no JSON.") from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise HTTPException(400, "That is no object of texts.")
    return found


def _parse_form(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise HTTPException(400, "The form has too many fields.") from error
    return dict(pairs)
