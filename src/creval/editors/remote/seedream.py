"""ByteDance's Seedream and SeedEdit at Volcengine Ark: `POST URL/images/generations`, JSON.

The request (`image` as a data URL or a list of them, `size`, `watermark`, `response_format`) and the
errors are based on Ark's pages and copies of its API reference. The reference itself was not accessible.
Not confirmed: whether models other than SeedEdit 3.0 take a seed (Seedream 4.0 is documented without one), and how
many images the newest models take.
"""

from __future__ import annotations

from typing import Any

from creval.core.files import dig
from creval.editors.base import EditOutput, EditRequest, PendingTask
from creval.editors.remote.base import RemoteEditor
from creval.editors.remote.payload import Size, data_url, nearest_size, seed_in_range, with_settings

# Sizes that Ark recommends for 2K. Newer models do not support 1K.
_SIZES: list[Size] = [
    (2048, 2048),
    (2304, 1728),
    (1728, 2304),
    (2560, 1440),
    (1440, 2560),
    (2496, 1664),
    (1664, 2496),
    (3024, 1296),
]
_MAX_IMAGES = 10
_PRICES = {  # US dollars per image, the list price as quoted by resellers in 2026
    "seedream-4-0": 0.03
}


class SeedreamEditor(RemoteEditor):
    provider = "seedream"
    endpoint_path = "/images/generations"
    reserved_settings = frozenset({"model", "prompt", "image", "stream", "sequential_image_generation"})

    def list_price(self) -> float | None:
        return next((price for name, price in _PRICES.items() if name in self.model), None)

    async def request_edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        body = with_settings(await self._build_body(job), self._settings)
        reply = await self.post("/images/generations", body)
        first = dig(reply, "data", 0)
        if isinstance(error := dig(first, "error"), dict):
            raise self.error_in_reply(error.get("code"), error.get("message"))
        image = await self.read_entry(first, "", ticket)
        metadata = self.build_metadata(
            seed=body.get("seed"), size=first.get("size") or body.get("size"), **self.reported_version(reply)
        )
        return EditOutput(*image, self.price, metadata)

    async def _build_body(self, job: EditRequest) -> dict[str, Any]:
        old = "seededit" in self.model
        sent = await self.encode_inputs(job, 1 if old else _MAX_IMAGES)
        images = [data_url(image) for image in sent]
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": job.instruction,
            "response_format": "b64_json",
            "watermark": False,
        }
        if images:
            body["image"] = images[0] if len(images) == 1 else images
            width, height = nearest_size((sent[0].width, sent[0].height), _SIZES)
            body["size"] = "adaptive" if old else f"{width}x{height}"
        if old:
            body["seed"] = seed_in_range(job)
        else:
            self.add_note("takes no seed: each call returns a different random image.")
        return body
