"""Calls to models and their replies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from creval.core.edit_record import EditKey
from creval.core.verdict import VerdictStatus

CACHE_ORIGIN = "cache"
"""Origin of a reply that was taken from the cache, because another run had paid for it."""


class CallKey(NamedTuple):
    """Identity of a call: everything that its reply depends on.

    - `caller`: name of the judge, editor, text model or metric that replies.
    - `subject`: the edit that is judged or created; for text generation, the role and the item.
    - `parts`: the ids of the questions, the step of a strategy, or the stage of a pipeline.
    - `images`: digests of the images, in the order shown.
    - `variant`: name of a deliberate change (images swapped, question reworded), if any.
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
        """Key under which the reply is stored. Equal calls have equal digests."""
        model, sample, draw = self.subject
        parts = (self.caller, model, sample, str(draw), *self.parts, "", self.prompt)
        parts += (*self.images, "", str(self.repeat), self.variant)
        if self.parameters:
            parts += (json.dumps(dict(self.parameters), sort_keys=True),)
        text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).hexdigest()


class Reply(NamedTuple):
    """The result of one call. Cost is in US dollars, latency in seconds.

    `text` is the raw reply, or None if only the parsed answers were stored. `origin` is the source of the reply, such
    as `cache`.
    """

    status: VerdictStatus
    text: str | None = None
    origin: str = ""
    attempt: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency: float | None = None
