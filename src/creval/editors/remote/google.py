"""Google's Gemini image models: `POST URL/models/MODEL:generateContent`, pictures as parts.

The request is that of Google's API reference; the reasons why no picture comes are those that
others report. Without an aspect ratio the model keeps that of what it is sent; with several
pictures that may be another's than the source's, so then the nearest documented one is named. Not
confirmed: the list of reasons, and that image models honour `seed`, which the reference has for all
models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from creval.core.images import Encoded
from creval.editors.base import Job, Produced, Ticket
from creval.editors.remote.base import Remote
from creval.editors.remote.payload import base64_of, given, nearest, seed_of
from creval.providers.errors import Fault
from creval.providers.openai_wire import read_count

_RATIOS = ((1, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 5), (5, 4), (9, 16), (16, 9), (21, 9))
_PICTURES = 14  # that Gemini 3 takes; the ones before say for themselves when it is too many
_REFUSED = frozenset(
    {"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"}
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)
# Settings that stand beside `generationConfig` or in its `imageConfig`; all others stand in it.
_OUTSIDE = ("safetySettings", "systemInstruction", "tools", "toolConfig", "cachedContent")
_IMAGE = ("aspectRatio", "imageSize")
_PRICES = {  # US dollars for a picture of 1K, as quoted from Google's price list in 2026
    "gemini-2.5-flash-image": 0.039,  # March
    "gemini-3.1-flash-image": 0.067,  # March
    "gemini-3-pro-image": 0.134,  # March
    "gemini-nano-banana-2.1": 0.0336,  # October
}


class GoogleEditor(Remote):
    provider = "google"
    path = "/models/MODEL:generateContent"
    reserved = frozenset({"model", "contents", "candidateCount"})

    def headers(self) -> dict[str, str]:
        return {"x-goog-api-key": self._server.key} if self._server.key else {}

    def list_price(self) -> float | None:
        if self._settings.get("imageSize", "1K") != "1K":
            return None
        return _PRICES.get(self.model.removesuffix("-preview"))

    async def edit(self, job: Job, ticket: Ticket) -> Produced:  # noqa: ARG002
        self.leave_out(job)
        sent = await self.pictures(job, _PICTURES)
        parts = [
            {"inlineData": {"mimeType": picture.media, "data": base64_of(picture)}}
            for picture in sent
        ]
        body = self._body(job, [*parts, {"text": job.instruction}], sent)
        path = f"/models/{quote(self.model, safe='')}:generateContent"
        return await self._produced(await self.post(path, body), body["generationConfig"])

    def _body(self, job: Job, parts: list[Any], sent: list[Encoded]) -> dict[str, Any]:
        image: dict[str, Any] = {}
        if job.source is not None and len(sent) > 1:
            width, height = nearest((sent[0].width, sent[0].height), _RATIOS)
            image["aspectRatio"] = f"{width}:{height}"
        outside = {name: self._settings[name] for name in _OUTSIDE if name in self._settings}
        image = given(image, {name: self._settings.get(name, image.get(name)) for name in _IMAGE})
        inside = {
            name: value
            for name, value in self._settings.items()
            if name not in (*_OUTSIDE, *_IMAGE)
        }
        config = {
            "responseModalities": ["TEXT", "IMAGE"],
            "seed": seed_of(job),
            "imageConfig": image or None,
        }
        return {
            "contents": [{"role": "user", "parts": parts}],
            "generationConfig": given(config, inside),
            **outside,
        }

    async def _produced(self, reply: Mapping[str, Any], config: Mapping[str, Any]) -> Produced:
        candidates = reply.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else {}
        first = first if isinstance(first, dict) else {}
        found, words = _parts(first)
        if found is None:
            raise self._missing(reply, first, words)
        data = found.get("data")
        media = found.get("mimeType") or found.get("mime_type")
        picture = await self.decoded(data, str(media))
        usage = reply.get("usageMetadata")
        usage = usage if isinstance(usage, dict) else {}
        told = self.told(
            seed=config.get("seed"),
            said=words,
            request=reply.get("responseId"),
            version=reply.get("modelVersion"),
            tokens_in=read_count(usage, "promptTokenCount"),
            tokens_out=read_count(usage, "candidatesTokenCount"),
        )
        return Produced(*picture, self.price, told)

    def _missing(self, reply: Mapping[str, Any], candidate: Mapping[str, Any], words: str) -> Fault:
        """Why there is no picture in a reply."""
        feedback = reply.get("promptFeedback")
        blocked = feedback.get("blockReason") if isinstance(feedback, dict) else None
        ended = str(candidate.get("finishReason") or "")
        message = candidate.get("finishMessage")
        reason = self._server.shown(": ".join(str(part) for part in (message, words) if part))
        if blocked:
            return Fault("content filter", f"the prompt, {self._server.shown(blocked)}",
                         again=False)  # fmt: skip
        if ended in _REFUSED:
            return Fault("content filter", f"{ended} {reason}".strip(), again=False)
        shown = self._server.shown(ended) or "a reply without one"
        return Fault("no picture", f"{shown} {reason}".strip(), paid=True)


def _parts(candidate: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    """The first picture of a reply, if there is one, and its words; thoughts are left out."""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    found, words = None, []
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("thought"):
            continue
        data = part.get("inlineData") or part.get("inline_data")
        if isinstance(data, dict) and found is None:
            found = data
        if isinstance(part.get("text"), str):
            words.append(part["text"])
    return found, "".join(words)
