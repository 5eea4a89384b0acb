"""Qwen-Image-Edit at DashScope (Alibaba Cloud Model Studio), with one synchronous call per edit.

The request (`input.messages` with images first and the instruction last, `parameters`) follows the
provider's API reference. An image's address is stored before it is downloaded. Based on third-party
descriptions: the format of replies (addresses of images, valid for 24 hours), `size` and `seed`. Not
confirmed: prices, which are therefore not included, and limits on the size of requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creval.core.files import dig
from creval.core.images import EncodedImage
from creval.editors.base import EditOutput, EditRequest, PendingTask
from creval.editors.remote.base import RemoteEditor
from creval.editors.remote.payload import data_url, seed_in_range, size_for_aspect, with_settings
from creval.providers.call_errors import CallError

_PATH = "/services/aigc/multimodal-generation/generation"
# Models that only edit keep the shape of a single image; of several images, they use the last one's shape. The first
# of these models takes no size. Models that also generate images from text choose a size by the text.
_EDIT_MODEL_PREFIX, _MODEL_WITHOUT_SIZE = "qwen-image-edit", "qwen-image-edit"
_MAX_IMAGES_EDITING, _MAX_IMAGES = 3, 10
_TARGET_PIXELS, _SIZE_STEP, _MAX_ASPECT = 1024 * 1024, 16, 4.0


class DashScopeEditor(RemoteEditor):
    provider = "dashscope"
    endpoint_path = _PATH
    reserved_settings = frozenset({"model", "messages", "n"})

    async def request_edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        editing = self.model.startswith(_EDIT_MODEL_PREFIX)
        if editing and job.source is None and not job.references:
            raise CallError("unsupported", f"{self.name} needs an image to edit", retryable=False)
        sent = await self.encode_inputs(job, _MAX_IMAGES_EDITING if editing else _MAX_IMAGES)
        parameters = with_settings(self._build_parameters(job, sent, editing), self._settings)
        content = [{"image": data_url(image)} for image in sent]
        message = {"role": "user", "content": [*content, {"text": job.instruction}]}
        body = {"model": self.model, "input": {"messages": [message]}, "parameters": parameters}
        reply = await self.post(_PATH, body)
        image = await self.download_result(self._result_url(reply), ticket)
        metadata = self.build_metadata(
            seed=parameters.get("seed"), request=reply.get("request_id"), **self.reported_version(reply)
        )
        return EditOutput(*image, self.price, metadata)

    def _build_parameters(self, job: EditRequest, sent: list[EncodedImage], editing: bool) -> dict[str, Any]:
        parameters: dict[str, Any] = {"seed": seed_in_range(job), "watermark": False}
        named = self.model != _MODEL_WITHOUT_SIZE and (len(sent) > 1 or not editing)
        if named and job.source is not None:
            size = size_for_aspect((sent[0].width, sent[0].height), _TARGET_PIXELS, _SIZE_STEP, _MAX_ASPECT)
            parameters["size"] = f"{size[0]}*{size[1]}"
        return parameters

    def _result_url(self, reply: Mapping[str, Any]) -> object:
        """Return the address of the image in a reply. Raises the error of a reply without one."""
        choices, texts = dig(reply, "output", "choices"), []
        for choice in choices if isinstance(choices, list) else ():
            content = dig(choice, "message", "content")
            for part in content if isinstance(content, list) else ():
                if dig(part, "image"):
                    return dig(part, "image")
                texts.append(str(dig(part, "text") or ""))
        if reply.get("code"):
            raise self.error_in_reply(reply["code"], reply.get("message"))
        reason = self._endpoint.redact_line("".join(texts)) or "the reply contains none"
        raise CallError("no image", reason, billed=True)
