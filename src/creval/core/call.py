"""Requests to models and what they brought back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from creval.core.edit_record import EditKey
from creval.core.verdict import VerdictStatus


class CallKey(NamedTuple):
    """One request to one judge about one edit: the questions by id, and all that shapes the reply.

    `images` are digests, in the order in which the judge sees them. `variant` names a deliberate
    change (images swapped, question reworded); none is the plain form.
    """

    caller: str
    subject: EditKey
    parts: tuple[str, ...]
    prompt: str = ""
    images: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = MappingProxyType({})
    repeat: int = 0
    variant: str = ""

    @property
    def digest(self) -> str:
        """The key under which its reply is kept: the same request has the same digest."""
        model, sample, draw = self.subject
        parts = (self.caller, model, sample, str(draw), *self.parts, "", self.prompt)
        parts += (*self.images, "", str(self.repeat), self.variant)
        if self.parameters:
            parts += (json.dumps(dict(self.parameters), sort_keys=True),)
        text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).hexdigest()


class Reply(NamedTuple):
    """What one request brought back.

    `text` is what the judge sent, letter by letter, or none where only its parsed answers were
    kept; `origin` tells where it came from. Money is in US dollars, latency in seconds.
    """

    status: VerdictStatus
    text: str | None = None
    origin: str = ""
    attempt: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency: float | None = None
