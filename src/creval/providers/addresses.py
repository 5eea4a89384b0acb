"""Addresses and keys in a spec such as `openai:MODEL@URL`."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from creval.core.errors import CrevalError

_EXAMPLE = "openai:MODEL@http://host:8000/v1"
# Text after an at sign that can only be meant as an address. A revision (`model@001`) does not match.
_ADDRESS = re.compile(r"[:/\\@\s.]|localhost", re.IGNORECASE)


def read_api_key(key_env: str, owner: str, *, required: bool) -> str:
    """Return the API key in an environment variable, or an empty string if there is none and it is not required."""
    key = os.environ.get(key_env, "").strip()
    if not key and required:
        raise CrevalError(f"{owner}: set the environment variable {key_env} to the API key.")
    if not key.isascii() or not key.isprintable():
        raise CrevalError(f"the key in {key_env} contains characters that are invalid in a key.")
    return key


def show_spec(spec: str) -> str:
    """Return a spec for an error message, without its address, which may contain a password."""
    kind, colon, _ = spec.partition(":")
    return f"{kind.partition('@')[0]}{colon}..." if "@" in spec else spec


def split_address(rest: str, field: str = "judge") -> tuple[str, str, str]:
    """Split `MODEL@URL` into model, at sign and address. The last two are empty if there is no address."""
    match = re.search(r"@(?=https?://)", rest, re.IGNORECASE)
    # A malformed address is not shown, since it may contain a password.
    if _holds_address(rest if match is None else rest[: match.start()]):
        raise CrevalError(f"`{field}`: the address must begin with http:// or https://, as in {_EXAMPLE}.")
    if match is None:
        return rest.strip(), "", ""
    model, url = rest[: match.start()].strip(), rest[match.end() :].strip().rstrip("/")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise CrevalError(f"`{field}`: the address of {model} is invalid. Give one like http://host:8000/v1.") from None
    if not host or "@" in url or parts.query or parts.fragment or re.search(r"[\s\\=]", url):
        raise CrevalError(
            f"`{field}`: the address of {model} must be like http://host:8000/v1, without a user, "
            "a key or a query. Put the key into an environment variable (`key_env`)."
        )
    return model, "@", url.removesuffix("/chat/completions")


def _holds_address(name: str) -> bool:
    """Return True if a model's name contains an address."""
    model, at, rest = name[1:].partition("@")  # some names begin with an at sign
    return bool(
        re.search(r":[/\\]|//|[?=]|https?[:/\\]", name, re.I) or (at and (":" in model or _ADDRESS.search(rest)))
    )
