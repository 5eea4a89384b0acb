"""Addresses and keys in a spec such as `openai:MODEL@URL`."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from creval.core.errors import CrevalError

# What stands behind an at sign and can only be meant as an address.
_ADDRESS = re.compile(r".@(?:[a-z]+://|localhost\b|[0-9]+(?:\.[0-9]+){3}|[\w.-]+:[0-9]+|[\w-]+(?:\.[\w-]+)+(?:/|$))")


def read_api_key(key_env: str, owner: str, *, required: bool) -> str:
    """The key in an environment variable; empty where there is none and none is needed."""
    key = os.environ.get(key_env, "").strip()
    if not key and required:
        raise CrevalError(f"{owner}: put the key into the environment variable {key_env}.")
    if not key.isascii() or not key.isprintable():
        raise CrevalError(f"the key in {key_env} holds characters that no key has.")
    return key


def split_address(rest: str, field: str = "judge") -> tuple[str, str, str]:
    """`MODEL@URL` in its parts; the at sign is empty where there is no address."""
    match = re.search(r"@(?=https?://)", rest)
    if match is None:
        if _ADDRESS.search(rest):
            raise CrevalError(f"{rest}: an address begins with http:// or https://.")
        return rest.strip(), "", ""
    model, url = rest[: match.start()].strip(), rest[match.end() :].strip().rstrip("/")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise CrevalError(f"{model}: its address is not one ({error}).") from error
    if not host or parts.username or parts.password or parts.query or parts.fragment:
        raise CrevalError(
            f"`{field}`: the address of {model} must be like http://host:8000/v1, without a user, "
            "a key or a query in it. A key belongs into an environment variable (`key_env`)."
        )
    return model, "@", url.removesuffix("/chat/completions")
