"""OpenAI's image models, and servers with the same API: `POST URL/images/edits`, multipart.

Fields, sizes, the format of masks and replies follow OpenAI's API reference. Without an image to edit,
`URL/images/generations` is called. A single image is sent as `image`, several as `image[]`, as OpenAI's own client
does.

Not confirmed:

- The codes of refusals. `moderation_blocked` and messages about the safety system are treated as refusals.
- Whether source and mask must have the same format. They are sent in the same format.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import aiohttp
from PIL import Image, ImageChops

from creval.core.files import dig
from creval.core.images import EncodedImage, ImageError, decode_image, encode_png, open_image
from creval.editors.base import EditOutput, EditRequest, PendingTask
from creval.editors.remote.base import RemoteEditor
from creval.editors.remote.payload import Size, nearest_size, size_for_aspect, with_settings
from creval.providers.call_errors import CallError
from creval.providers.openai_wire import read_token_count
from creval.providers.pricing import checked_cost

_SIZES: list[Size] = [(1024, 1024), (1536, 1024), (1024, 1536)]
_MAX_IMAGES = 16
# Models that take any size in multiples of 16, with sides of at most 1 : 3.
_ANY_SIZE_MODELS = re.compile(r"gpt-image-(?:[2-9]|\d\d)")
_TARGET_PIXELS, _SIZE_STEP, _MAX_ASPECT = 1024 * 1024, 16, 3.0
_MAX_TOKENS = 200_000  # highest plausible token count of each type per image
_TOKEN_PRICES = {  # US dollars per million tokens: text input, image input, image output
    # developers.openai.com, the model's page as of November 2026. The model was switched off in October.
    "gpt-image-1": (5.0, 10.0, 40.0),
    # From OpenAI's price list in September 2026; 2.6 by its own page.
    "gpt-image-2": (5.0, 8.0, 30.0),
}
# Price of a non-square output image by quality, without the input, from the same page.
_IMAGE_PRICES = {"gpt-image-1": {"low": 0.016, "medium": 0.063, "high": 0.25, "auto": 0.25}}


class OpenAIEditor(RemoteEditor):
    provider = "openai"
    endpoint_path = "/images/edits"
    supports_mask = True
    reserved_settings = frozenset({"model", "prompt", "n", "stream", "image", "image[]", "mask"})

    def list_price(self) -> float | None:
        return _IMAGE_PRICES.get(self.model, {}).get(str(self._settings.get("quality", "auto")))

    async def request_edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        self.add_note("takes no seed: each call returns a different random image.")
        sent = await self.encode_inputs(job, _MAX_IMAGES)
        fields = {"model": self.model, "prompt": job.instruction}
        if sent:
            fields["size"] = self._choose_size(sent[0])
        fields = with_settings(fields, self._settings)
        if sent:
            reply = await self.post("/images/edits", await self._build_form(job, sent, fields))
        else:
            reply = await self.post("/images/generations", fields)
        return await self._parse_output(reply, fields, ticket)

    def _choose_size(self, image: EncodedImage) -> str:
        size = image.width, image.height
        if _ANY_SIZE_MODELS.match(self.model):
            width, height = size_for_aspect(size, _TARGET_PIXELS, _SIZE_STEP, _MAX_ASPECT)
        else:
            width, height = nearest_size(size, _SIZES)
        return f"{width}x{height}"

    async def _build_form(
        self, job: EditRequest, sent: list[EncodedImage], fields: Mapping[str, Any]
    ) -> aiohttp.FormData:
        form = aiohttp.FormData(quote_fields=False)
        for name, value in fields.items():
            form.add_field(name, value if isinstance(value, str) else json.dumps(value))
        if job.mask is not None and job.source is not None:
            content = await asyncio.to_thread(_build_mask, job, sent[0])
            form.add_field("mask", content, filename="mask.png", content_type="image/png")
            # Source and mask must have the same format.
            sent = [await asyncio.to_thread(_as_png, sent[0]), *sent[1:]]
        field = "image" if len(sent) == 1 else "image[]"
        for number, image in enumerate(sent, 1):
            file = f"{number}.{image.media_type.removeprefix('image/')}"
            form.add_field(field, image.content, filename=file, content_type=image.media_type)
        return form

    async def _parse_output(
        self, reply: Mapping[str, Any], fields: Mapping[str, Any], ticket: PendingTask
    ) -> EditOutput:
        first = dig(reply, "data", 0)
        form = reply.get("output_format") or fields.get("output_format") or "png"
        image = await self.read_entry(first, f"image/{form}", ticket)
        usage = reply.get("usage")
        metadata = self.build_metadata(
            size=reply.get("size") or fields.get("size"),
            quality=reply.get("quality"),
            revised_prompt=first.get("revised_prompt"),
            tokens_in=read_token_count(usage, "input_tokens"),
            tokens_out=read_token_count(usage, "output_tokens"),
            **self.reported_version(reply),
        )
        return EditOutput(*image, self._cost(usage), metadata)

    def _cost(self, usage: object) -> float | None:
        """Return the cost from the token counts in a reply, or else the price per image."""
        if self._user_price is not None or self._custom_url:
            return self.price
        rates = _TOKEN_PRICES.get(self.model) or (
            _TOKEN_PRICES["gpt-image-2"] if _ANY_SIZE_MODELS.match(self.model) else ()
        )
        details = dig(usage, "input_tokens_details")
        counts = [read_token_count(details, name) for name in ("text_tokens", "image_tokens")]
        counts.append(read_token_count(usage, "output_tokens"))
        if not rates or None in counts or max(count or 0 for count in counts) > _MAX_TOKENS:
            return self.price
        cost = sum(rate * (count or 0) for rate, count in zip(rates, counts, strict=True)) / 1e6
        return checked_cost(cost, self.price or cost)


def _build_mask(job: EditRequest, source: EncodedImage) -> bytes:
    """Return the mask in OpenAI's format: in the source's size, transparent where the source may change."""
    try:
        image = open_image(str(job.mask)).convert("L")
    except ImageError as error:
        raise CallError("unreadable mask", str(error), retryable=False) from None
    if image.size != (source.width, source.height):
        image = image.resize((source.width, source.height), Image.Resampling.NEAREST)
    alpha = ImageChops.invert(image.point(lambda value: 255 if value > 128 else 0))
    mask = Image.new("RGBA", image.size, (0, 0, 0, 255))
    mask.putalpha(alpha)
    return encode_png(mask)


def _as_png(image: EncodedImage) -> EncodedImage:
    if image.media_type == "image/png":
        return image
    return image._replace(media_type="image/png", content=encode_png(decode_image(image.content)))
