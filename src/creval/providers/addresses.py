"""Addresses and keys in a spec such as `openai:MODEL@URL`."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from creval.core.errors import CrevalError

_EXAMPLE = "openai:MODEL@http://host:8000/v1"
# What stands behind an at sign and can only be meant as an address; a revision (`model@001`) is none.
_ADDRESS = re.compile(r"[:/\\@\s.]|localhost", re.IGNORECASE)


def read_api_key(key_env: str, owner: str, *, required: bool) -> str:
    """The key in an environment variable; empty where there is none and none is needed."""
    key = os.environ.get(key_env, "").strip()
    if not key and required:
        raise CrevalError(f"{owner}: put the key into the environment variable {key_env}.")
    if not key.isascii() or not key.isprintable():
        raise CrevalError(f"the key in {key_env} holds characters that no key has.")
    return key


def show_spec(spec: str) -> str:
    """Return a spec for an error: without what may be an address, which may hold a password where it is malformed."""
    kind, colon, _ = spec.partition(":")
    return f"{kind.partition('@')[0]}{colon}..." if "@" in spec else spec


def split_address(rest: str, field: str = "judge") -> tuple[str, str, str]:
    """`MODEL@URL` in its parts; the at sign is empty where there is no address."""
    match = re.search(r"@(?=https?://)", rest, re.IGNORECASE)
    # What is malformed is not shown: it may hold a password.
    if _holds_address(rest if match is None else rest[: match.start()]):
        raise CrevalError(f"`{field}`: an address begins with http:// or https://, as in {_EXAMPLE}.")
    if match is None:
        return rest.strip(), "", ""
    model, url = rest[: match.start()].strip(), rest[match.end() :].strip().rstrip("/")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise CrevalError(f"`{field}`: the address of {model} is not one: give it like http://host:8000/v1.") from None
    if not host or "@" in url or parts.query or parts.fragment or re.search(r"[\s\\=]", url):
        raise CrevalError(
            f"`{field}`: the address of {model} must be like http://host:8000/v1, without a user, "
            "a key or a query in it. A key belongs into an environment variable (`key_env`)."
        )
    return model, "@", url.removesuffix("/chat/completions")


def _holds_address(name: str) -> bool:
    """Whether there is an address where a model's name should be."""
    model, at, behind = name[1:].partition("@")  # some names begin with an at sign
    return bool(
        re.search(r":[/\\]|//|[?=]|https?[:/\\]", name, re.I) or (at and (":" in model or _ADDRESS.search(behind)))
    )
