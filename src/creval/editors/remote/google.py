"""Google's Gemini image models: `POST URL/models/MODEL:generateContent`, with images as parts.

The request follows Google's API reference. Without an aspect ratio, the model keeps that of its input. With several
images, it may take the ratio of an image other than the source. Therefore such a request contains the documented ratio
that is nearest to the source's. Not confirmed: the list of refusal reasons, which is based on third-party reports, and
the effect of `seed` on image models (the reference lists it for all models).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from creval.core.files import dig
from creval.core.images import EncodedImage
from creval.editors.base import EditOutput, EditRequest, PendingTask
from creval.editors.remote.base import RemoteEditor
from creval.editors.remote.payload import encode_base64, nearest_size, seed_in_range, with_settings
from creval.providers.call_errors import CallError
from creval.providers.openai_wire import read_token_count

_ASPECT_RATIOS = ((1, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 5), (5, 4), (9, 16), (16, 9), (21, 9))
_MAX_IMAGES = 14  # limit of Gemini 3; the servers of older models check their own limits
_REFUSAL_REASONS = frozenset(
    {"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"}
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)
# Settings that belong next to `generationConfig` or in its `imageConfig`. All others belong in `generationConfig`.
_TOP_LEVEL_SETTINGS = ("safetySettings", "systemInstruction", "tools", "toolConfig", "cachedContent")
_IMAGE_CONFIG_SETTINGS = ("aspectRatio", "imageSize")
_PRICES = {  # US dollars per 1K image, from Google's price list in 2026
    "gemini-2.5-flash-image": 0.039,  # March
    "gemini-3.1-flash-image": 0.067,  # March
    "gemini-3-pro-image": 0.134,  # March
    "gemini-nano-banana-2.1": 0.0336,  # October
}


class GoogleEditor(RemoteEditor):
    provider = "google"
    endpoint_path = "/models/MODEL:generateContent"
    key_header = ("x-goog-api-key", "")
    reserved_settings = frozenset({"model", "contents", "candidateCount"})

    def list_price(self) -> float | None:
        if self._settings.get("imageSize", "1K") != "1K":
            return None
        return _PRICES.get(self.model.removesuffix("-preview"))

    async def request_edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:  # noqa: ARG002
        sent = await self.encode_inputs(job, _MAX_IMAGES)
        parts = [{"inlineData": {"mimeType": image.media_type, "data": encode_base64(image)}} for image in sent]
        body = self._build_body(job, [*parts, {"text": job.instruction}], sent)
        path = f"/models/{quote(self.model, safe='')}:generateContent"
        return await self._parse_output(await self.post(path, body), body["generationConfig"])

    def _build_body(self, job: EditRequest, parts: list[Any], sent: list[EncodedImage]) -> dict[str, Any]:
        image: dict[str, Any] = {}
        if job.source is not None and len(sent) > 1:
            width, height = nearest_size((sent[0].width, sent[0].height), _ASPECT_RATIOS)
            image["aspectRatio"] = f"{width}:{height}"
        outside = {name: self._settings[name] for name in _TOP_LEVEL_SETTINGS if name in self._settings}
        image = with_settings(
            image, {name: self._settings.get(name, image.get(name)) for name in _IMAGE_CONFIG_SETTINGS}
        )
        inside = {
            name: value
            for name, value in self._settings.items()
            if name not in (*_TOP_LEVEL_SETTINGS, *_IMAGE_CONFIG_SETTINGS)
        }
        config = {"responseModalities": ["TEXT", "IMAGE"], "seed": seed_in_range(job), "imageConfig": image or None}
        return {
            "contents": [{"role": "user", "parts": parts}],
            "generationConfig": with_settings(config, inside),
            **outside,
        }

    async def _parse_output(self, reply: Mapping[str, Any], config: Mapping[str, Any]) -> EditOutput:
        first = dig(reply, "candidates", 0)
        found, text = _find_image_and_text(first)
        if found is None:
            raise self._no_image_error(reply, first, text)
        media = found.get("mimeType") or found.get("mime_type")
        image = await self.decode_base64_image(found.get("data"), str(media))
        usage = reply.get("usageMetadata")
        metadata = self.build_metadata(
            seed=config.get("seed"),
            said=text,
            request=reply.get("responseId"),
            version=reply.get("modelVersion"),
            tokens_in=read_token_count(usage, "promptTokenCount"),
            tokens_out=read_token_count(usage, "candidatesTokenCount"),
        )
        return EditOutput(*image, self.price, metadata)

    def _no_image_error(self, reply: Mapping[str, Any], candidate: object, text: str) -> CallError:
        """Return the error for a reply without an image."""
        blocked = dig(reply, "promptFeedback", "blockReason")
        ended, message = str(dig(candidate, "finishReason") or ""), dig(candidate, "finishMessage")
        reason = self._endpoint.redact_line(": ".join(str(part) for part in (message, text) if part))
        if blocked:
            blocked = self._endpoint.redact_line(blocked)
            return CallError("content filter", f"prompt blocked: {blocked}", retryable=False)
        if ended in _REFUSAL_REASONS:
            return CallError("content filter", f"{ended} {reason}".strip(), retryable=False)
        shown = self._endpoint.redact_line(ended) or "the reply contains none"
        return CallError("no image", f"{shown} {reason}".strip(), billed=True)


def _find_image_and_text(candidate: object) -> tuple[Mapping[str, Any] | None, str]:
    """Return the first image of a candidate, or None, and its text. Thoughts are ignored."""
    parts = dig(candidate, "content", "parts")
    found, texts = None, []
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("thought"):
            continue
        data = part.get("inlineData") or part.get("inline_data")
        if isinstance(data, dict) and found is None:
            found = data
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
    return found, "".join(texts)
