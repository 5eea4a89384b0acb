"""Calls to models and what they brought back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from creval.core.edit_record import EditKey
from creval.core.verdict import VerdictStatus

CACHE_ORIGIN = "cache"
"""The origin of a reply that another run had paid for."""


class CallKey(NamedTuple):
    """One call, with all that its reply depends on.

    `caller` is the name of the judge, editor, text model or metric that replies. `subject` is the
    edit that it is about or makes; for text generation, the role and the item. `parts` are the
    questions by id, the step of a strategy, or the stage of a pipeline. `images` are digests in the
    order shown. `variant` names a deliberate change (images swapped, question reworded), if any.
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
        """The key under which its reply is kept: the same call has the same digest."""
        model, sample, draw = self.subject
        parts = (self.caller, model, sample, str(draw), *self.parts, "", self.prompt)
        parts += (*self.images, "", str(self.repeat), self.variant)
        if self.parameters:
            parts += (json.dumps(dict(self.parameters), sort_keys=True),)
        text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).hexdigest()


class Reply(NamedTuple):
    """What one call brought back, in US dollars and seconds.

    `text` is what the model sent, unchanged, or None if only its parsed answers were kept; `origin` is where it came
    from.
    """

    status: VerdictStatus
    text: str | None = None
    origin: str = ""
    attempt: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency: float | None = None
