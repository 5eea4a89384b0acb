"""Qwen-Image-Edit at DashScope (Alibaba Cloud Model Studio), asked and answered in one call.

The request (`input.messages` with pictures first and the instruction last, `parameters`) is that of
the provider's API reference. A picture's address is kept before it is fetched. Not confirmed, but
as others describe it: the reply's shape (addresses of pictures, good for 24 hours), `size` and
`seed`. Not confirmed: prices, which are therefore not given, and the limits of what is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creval.core.images import Encoded
from creval.editors.base import Job, Produced, Ticket
from creval.editors.remote.base import Remote
from creval.editors.remote.payload import data_address, given, seed_of, shaped
from creval.providers.errors import Fault

_CALL = "/services/aigc/multimodal-generation/generation"
# Models for editing alone keep a single picture's shape; of several, they take the last one's. The
# first of them takes no size. Those that also make pictures from words choose a size by the words.
_EDITING, _SIZELESS = "qwen-image-edit", "qwen-image-edit"
_PICTURES, _MOST_PICTURES = 3, 10
_PIXELS, _STEP, _STEEPEST = 1024 * 1024, 16, 4.0


class DashScopeEditor(Remote):
    provider = "dashscope"
    path = _CALL
    reserved = frozenset({"model", "messages", "n"})

    def headers(self) -> dict[str, str]:
        return self.bearer()

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        if ticket.kept:
            picture = await self.load(ticket.kept, ticket)
            return Produced(*picture, self.price, self.told(resumed=True))
        editing = self.model.startswith(_EDITING)
        if editing and job.source is None and not job.references:
            raise Fault("unsupported", f"{self.name} needs a picture to edit", again=False)
        self.leave_out(job)
        sent = await self.pictures(job, _PICTURES if editing else _MOST_PICTURES)
        parameters = given(self._parameters(job, sent, editing), self._settings)
        content = [{"image": data_address(picture)} for picture in sent]
        message = {"role": "user", "content": [*content, {"text": job.instruction}]}
        body = {"model": self.model, "input": {"messages": [message]}, "parameters": parameters}
        reply = await self.post(_CALL, body)
        picture = await self.collect(self._result(reply), ticket)
        told = self.told(seed=parameters.get("seed"), request=reply.get("request_id"))
        return Produced(*picture, self.price, told)

    def _parameters(self, job: Job, sent: list[Encoded], editing: bool) -> dict[str, Any]:
        parameters: dict[str, Any] = {"seed": seed_of(job), "watermark": False}
        named = self.model != _SIZELESS and (len(sent) > 1 or not editing)
        if named and job.source is not None:
            size = shaped((sent[0].width, sent[0].height), _PIXELS, _STEP, _STEEPEST)
            parameters["size"] = f"{size[0]}*{size[1]}"
        return parameters

    def _result(self, reply: Mapping[str, Any]) -> object:
        """The address of the picture in a reply."""
        output = reply.get("output")
        choices = output.get("choices") if isinstance(output, dict) else None
        words = []
        for choice in choices if isinstance(choices, list) else ():
            message = choice.get("message") if isinstance(choice, dict) else None
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict) and part.get("image"):
                    return part["image"]
                words.append(str(part.get("text", "")) if isinstance(part, dict) else "")
        if reply.get("code"):
            raise self.refused(reply["code"], reply.get("message"))
        reason = self._server.shown("".join(words)) or "a reply without one"
        raise Fault("no picture", reason, paid=True)
