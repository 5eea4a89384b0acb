"""Parsing of form and JSON request bodies, with limits on size and time."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

MAX_BODY_BYTES = 256 << 10
"""Maximum size of a request body, in bytes."""
BODY_SECONDS = 10.0
"""Timeout for receiving a request body, in seconds."""
_MAX_FIELDS = 200  # in a form
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_TOO_LARGE = f"The request is too large: at most {MAX_BODY_BYTES >> 10} kB are accepted."


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form or JSON object in a request. Raises HTTPException for any other body."""
    kind, body = _content_type(request), await _read_body(request)
    if kind == _JSON:
        return _parse_json(body)
    if kind == _FORM:
        return _parse_form(body)
    raise HTTPException(415, "The request must be a form or JSON.")


def is_json_request(request: Request) -> bool:
    """Return whether a script sent the request. A script expects JSON as the response, and a form expects a page."""
    return _content_type(request) == _JSON


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _read_body(request: Request) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:12]) > MAX_BODY_BYTES:
        raise HTTPException(413, _TOO_LARGE)
    try:
        return await asyncio.wait_for(_read_stream(request), BODY_SECONDS)
    except ClientDisconnect as error:
        raise HTTPException(400, "The request is incomplete.") from error
    except asyncio.TimeoutError as error:
        raise HTTPException(408, "The request took too long.", {"Connection": "close"}) from error


async def _read_stream(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, _TOO_LARGE)
    return bytes(body)


def _parse_json(body: bytes) -> dict[str, str]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "The request is not valid JSON.") from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise HTTPException(400, "The request must be a JSON object whose values are texts.")
    return found


def _parse_form(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise HTTPException(400, "The form has too many fields.") from error
    return dict(pairs)
