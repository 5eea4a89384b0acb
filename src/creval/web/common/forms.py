"""What a form or a page's script sent: read within bounds, as names and texts."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

MOST = 256 << 10
"""The longest body that is read, in bytes."""
_NAMES = 200  # in a form
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"


async def read_sent(request: Request) -> dict[str, str]:
    """The names and texts in the body of a request; anything else is refused."""
    kind, body = _kind(request), await _body(request)
    if kind == _JSON:
        return _from_json(body)
    if kind == _FORM:
        return _from_form(body)
    raise HTTPException(415, "Only a form or JSON can be read here.")


def is_script(request: Request) -> bool:
    """Whether a page's script sent it, which reads JSON; a form wants a page."""
    return _kind(request) == _JSON


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _body(request: Request) -> bytes:
    told = request.headers.get("content-length", "")
    if told.isascii() and told.isdigit() and int(told[:12]) > MOST:
        raise HTTPException(413, f"More than {MOST >> 10} kB are not read.")
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST:
                raise HTTPException(413, f"More than {MOST >> 10} kB are not read.")
    except ClientDisconnect as error:
        raise HTTPException(400, "It ended before its end.") from error
    return bytes(body)


def _from_json(body: bytes) -> dict[str, str]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "That is no JSON.") from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise HTTPException(400, "That is no object of texts.")
    return found


def _from_form(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_NAMES
        )
    except ValueError as error:
        raise HTTPException(400, "The form has too many fields.") from error
    return dict(pairs)
