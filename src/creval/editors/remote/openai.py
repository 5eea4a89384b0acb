"""OpenAI's image models, and servers that speak its format: `POST URL/images/edits`, multipart.

Fields, sizes, the form of masks and replies are those of OpenAI's API reference. Where there is
nothing to edit, `URL/images/generations` is asked. A single picture goes as `image`, several as
`image[]`, as OpenAI's own client does. Not confirmed: all codes of refusals (`moderation_blocked`
and what speaks of its safety system count as such), and that a source has to be of its mask's
format, as it is made here.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Mapping
from typing import Any

import aiohttp
from PIL import Image, ImageChops

from creval.core.images import Encoded, ImageError, decode, open_image
from creval.editors.base import Job, Produced, Ticket
from creval.editors.remote.base import Remote
from creval.editors.remote.payload import Size, given, nearest, shaped
from creval.providers.errors import Fault
from creval.providers.openai_wire import read_count

_SIZES: list[Size] = [(1024, 1024), (1536, 1024), (1024, 1536)]
_PICTURES = 16
# Models that take any size in multiples of 16, with sides of at most 1 : 3.
_FREE = re.compile(r"gpt-image-(?:[2-9]|\d\d)")
_PIXELS, _STEP, _STEEPEST = 1024 * 1024, 16, 3.0
_RATES = {  # US dollars for a million tokens of text in, pictures in, pictures out
    # developers.openai.com, the model's page as of November 2026; it was switched off in October.
    "gpt-image-1": (5.0, 10.0, 40.0),
    # As quoted from OpenAI's price list in September 2026; 2.6 by its own page.
    "gpt-image-2": (5.0, 8.0, 30.0),
}
# What a picture that is not square costs by quality, without what goes in; the same page.
_PICTURE = {"gpt-image-1": {"low": 0.016, "medium": 0.063, "high": 0.25, "auto": 0.25}}


class OpenAIEditor(Remote):
    provider = "openai"
    path = "/images/edits"
    masks = True
    reserved = frozenset({"model", "prompt", "n", "stream", "image", "image[]", "mask"})

    def headers(self) -> dict[str, str]:
        return self.bearer()

    def list_price(self) -> float | None:
        return _PICTURE.get(self.model, {}).get(str(self._settings.get("quality", "auto")))

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        if ticket.kept:
            picture = await self.load(ticket.kept, ticket)
            return Produced(*picture, self.price, self.told(resumed=True))
        self.note("takes no seed: each picture is another draw.")
        sent = await self.pictures(job, _PICTURES)
        fields = {"model": self.model, "prompt": job.instruction}
        if sent:
            fields["size"] = self._size(sent[0])
        fields = given(fields, self._settings)
        if sent:
            reply = await self.post("/images/edits", await self._form(job, sent, fields))
        else:
            reply = await self.post("/images/generations", fields)
        return await self._produced(reply, fields, ticket)

    def _size(self, picture: Encoded) -> str:
        size = picture.width, picture.height
        if _FREE.match(self.model):
            width, height = shaped(size, _PIXELS, _STEP, _STEEPEST)
        else:
            width, height = nearest(size, _SIZES)
        return f"{width}x{height}"

    async def _form(
        self, job: Job, sent: list[Encoded], fields: Mapping[str, Any]
    ) -> aiohttp.FormData:
        form = aiohttp.FormData(quote_fields=False)
        for name, value in fields.items():
            form.add_field(name, value if isinstance(value, str) else json.dumps(value))
        if job.mask is not None and job.source is not None:
            content = await asyncio.to_thread(_mask, job, sent[0])
            form.add_field("mask", content, filename="mask.png", content_type="image/png")
            # The two have to be of one format.
            sent = [await asyncio.to_thread(_as_png, sent[0]), *sent[1:]]
        named = "image" if len(sent) == 1 else "image[]"
        for number, picture in enumerate(sent, 1):
            file = f"{number}.{picture.media.removeprefix('image/')}"
            form.add_field(named, picture.content, filename=file, content_type=picture.media)
        return form

    async def _produced(
        self, reply: Mapping[str, Any], fields: Mapping[str, Any], ticket: Ticket
    ) -> Produced:
        data = reply.get("data")
        first = data[0] if isinstance(data, list) and data else None
        if not isinstance(first, dict):
            raise Fault("no picture", "a reply without one", paid=True)
        form = reply.get("output_format") or fields.get("output_format") or "png"
        if first.get("b64_json"):
            picture = await self.decoded(first["b64_json"], f"image/{form}")
        else:
            picture = await self.collect(first.get("url"), ticket)
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        told = self.told(
            size=reply.get("size") or fields.get("size"),
            quality=reply.get("quality"),
            revised_prompt=first.get("revised_prompt"),
            tokens_in=read_count(usage, "input_tokens"),
            tokens_out=read_count(usage, "output_tokens"),
        )
        return Produced(*picture, self._cost(usage), told)

    def _cost(self, usage: Mapping[str, Any]) -> float | None:
        """Money by the tokens that were counted; otherwise a picture's price."""
        if self._fixed is not None or self._own:
            return self.price
        rates = _RATES.get(self.model) or (_RATES["gpt-image-2"] if _FREE.match(self.model) else ())
        details = usage.get("input_tokens_details")
        details = details if isinstance(details, dict) else {}
        counts = [read_count(details, name) for name in ("text_tokens", "image_tokens")]
        counts.append(read_count(usage, "output_tokens"))
        if not rates or None in counts:
            return self.price
        return sum(rate * (count or 0) for rate, count in zip(rates, counts, strict=True)) / 1e6


def _mask(job: Job, source: Encoded) -> bytes:
    """A mask in OpenAI's form: as large as the source, transparent where it may change."""
    try:
        image = open_image(str(job.mask)).convert("L")
    except ImageError as error:
        raise Fault("unreadable mask", str(error), again=False) from None
    if image.size != (source.width, source.height):
        image = image.resize((source.width, source.height), Image.Resampling.NEAREST)
    alpha = ImageChops.invert(image.point(lambda value: 255 if value > 128 else 0))
    made = Image.new("RGBA", image.size, (0, 0, 0, 255))
    made.putalpha(alpha)
    return _png(made)


def _as_png(picture: Encoded) -> Encoded:
    if picture.media == "image/png":
        return picture
    return picture._replace(media="image/png", content=_png(decode(picture.content)))


def _png(image: Image.Image) -> bytes:
    content = io.BytesIO()
    image.save(content, "PNG", compress_level=1)
    return content.getvalue()
