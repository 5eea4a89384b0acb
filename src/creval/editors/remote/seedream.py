"""ByteDance's Seedream and SeedEdit at Volcengine Ark: `POST URL/images/generations`, JSON.

The request (`image` as an address that holds it, or a list of them; `size`, `watermark`,
`response_format`) and the errors are as Ark's pages, and copies of its API reference, have them;
the reference itself could not be read. Not confirmed: which models but SeedEdit 3.0 take a seed
(4.0 is described without), and how many pictures the newest take.
"""

from __future__ import annotations

from typing import Any

from creval.editors.base import Job, Produced, Ticket
from creval.editors.remote.base import Remote
from creval.editors.remote.payload import Size, data_address, given, nearest, seed_of
from creval.providers.errors import Fault

# What Ark recommends for 2K; 1K is not taken by the newer models.
_SIZES: list[Size] = [
    (2048, 2048), (2304, 1728), (1728, 2304), (2560, 1440),
    (1440, 2560), (2496, 1664), (1664, 2496), (3024, 1296),
]  # fmt: skip
_PICTURES = 10
_PRICES = {  # US dollars a picture, as resellers quote the list price in 2026
    "seedream-4-0": 0.03,
}


class SeedreamEditor(Remote):
    provider = "seedream"
    path = "/images/generations"
    reserved = frozenset({"model", "prompt", "image", "stream", "sequential_image_generation"})

    def headers(self) -> dict[str, str]:
        return self.bearer()

    def list_price(self) -> float | None:
        return next((price for name, price in _PRICES.items() if name in self.model), None)

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        if ticket.kept:
            picture = await self.load(ticket.kept, ticket)
            return Produced(*picture, self.price, self.told(resumed=True))
        self.leave_out(job)
        body = given(await self._body(job), self._settings)
        reply = await self.post("/images/generations", body)
        data = reply.get("data")
        first = data[0] if isinstance(data, list) and data else None
        if not isinstance(first, dict):
            raise Fault("no picture", "a reply without one", paid=True)
        if isinstance(first.get("error"), dict):
            raise self.refused(first["error"].get("code"), first["error"].get("message"))
        if first.get("b64_json"):
            picture = await self.decoded(first["b64_json"], "")
        else:
            picture = await self.collect(first.get("url"), ticket)
        told = self.told(seed=body.get("seed"), size=first.get("size") or body.get("size"))
        return Produced(*picture, self.price, told)

    async def _body(self, job: Job) -> dict[str, Any]:
        old = "seededit" in self.model
        sent = await self.pictures(job, 1 if old else _PICTURES)
        images = [data_address(picture) for picture in sent]
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": job.instruction,
            "response_format": "b64_json",
            "watermark": False,
        }
        if images:
            body["image"] = images[0] if len(images) == 1 else images
            width, height = nearest((sent[0].width, sent[0].height), _SIZES)
            body["size"] = "adaptive" if old else f"{width}x{height}"
        if old:
            body["seed"] = seed_of(job)
        else:
            self.note("takes no seed: each picture is another draw.")
        return body
