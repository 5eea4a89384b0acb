"""Black Forest Labs' FLUX models: `POST URL/MODEL`, then poll the task until it is done.

Fields, task states and errors are those of the provider's API reference. The reply contains the polling address,
often on another host of the provider. It is stored before the first poll, so that polling is resumed if the
process was killed. The key is only sent to the provider's own hosts. Not confirmed: whether the server can answer
`Task not found` right after submitting, and how long a finished task can be polled (its image is available for ten
minutes).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from yarl import URL

from creval.editors.base import EditOutput, EditRequest, PendingTask
from creval.editors.remote.base import RemoteEditor
from creval.editors.remote.payload import encode_base64, seed_in_range, with_settings
from creval.providers.call_errors import CallError
from creval.providers.pricing import checked_cost

_PRICES = {  # US dollars per image: docs.bfl.ai, quick_start/pricing
    "flux-kontext-pro": 0.04,
    "flux-kontext-max": 0.08,
}
_CREDIT_PRICE = 0.01  # US dollars
_MAX_CREDITS = 100  # highest plausible cost of an image
_MAX_IMAGES_BY_MODEL = {"flux-kontext-pro": 4, "flux-kontext-max": 4}
_MAX_IMAGES = 8
_MAX_POLL_INTERVAL = 4.0
_POLL_TIMEOUT = 30.0  # seconds per poll
_MAX_FAILED_POLLS = 4  # consecutive polls that may fail
_NOT_FOUND = "Task not found"
_TASK_LOST, _TASK_FAILED = "task lost", "task failed"
_PENDING_STATES = ("pending", "queued", "processing", "generating", "reasoning")
_PROVIDER_HOSTS = (".bfl.ai", ".bfl.ml")


class BFLEditor(RemoteEditor):
    provider = "bfl"
    endpoint_path = "/MODEL"
    key_header = ("x-key", "")
    reserved_settings = frozenset({"prompt", "input_image", "webhook_url", "webhook_secret"})

    def list_price(self) -> float | None:
        return _PRICES.get(self.model)

    async def request_edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        sent = await self.encode_inputs(job, _MAX_IMAGES_BY_MODEL.get(self.model, _MAX_IMAGES))
        body: dict[str, Any] = {"prompt": job.instruction, "seed": seed_in_range(job), "output_format": "png"}
        for number, image in enumerate(sent, 1):
            name = "input_image" if number == 1 else f"input_image_{number}"
            body[name] = encode_base64(image)
        body = with_settings(body, self._settings)
        reply = await self.post(f"/{quote(self.model, safe='')}", body)
        await ticket.save(self._polling_url(reply))
        metadata = self.build_metadata(seed=body.get("seed"), task=reply.get("id"))
        return await self.resume(job, ticket, self._cost(reply.get("cost")), metadata)

    async def resume(
        self, job: EditRequest, ticket: PendingTask, cost: float | None, metadata: dict[str, Any]
    ) -> EditOutput:
        """Wait for the stored task and return its image."""
        result = await self._wait_for_result(ticket)
        # The image's address is not stored, since another poll of the task returns it again.
        image = await self.download(str(self.validate_url(result.get("sample"))), ticket)
        seed, prompt = result.get("seed"), result.get("prompt")
        if isinstance(seed, int):
            metadata["seed"] = seed
        if isinstance(prompt, str) and prompt != job.instruction:
            metadata["revised_prompt"] = self._endpoint.redact_line(prompt)
        return EditOutput(*image, cost, metadata)

    def _cost(self, charged: object) -> float | None:
        """Return the cost from the credits in a reply, or else the price per image."""
        if self._user_price is not None or self._custom_url or isinstance(charged, bool):
            return self.price
        if isinstance(charged, int | float) and 0 <= charged <= _MAX_CREDITS:
            return checked_cost(charged * _CREDIT_PRICE, self.price or charged * _CREDIT_PRICE)
        return self.price

    def _polling_url(self, reply: Mapping[str, Any]) -> str:
        """Return the address to poll: the one in the reply, or else the one with the task's id."""
        if reply.get("polling_url"):
            return str(self.validate_url(reply["polling_url"]))
        if isinstance(reply.get("id"), str):
            return str(URL(f"{self._endpoint.url}/get_result").with_query(id=reply["id"]))
        raise CallError("broken JSON", "the reply contains no task", billed=True)

    async def _wait_for_result(self, ticket: PendingTask) -> Mapping[str, Any]:
        """Poll a task until it has a result. A failed or lost task is discarded, so that a retry starts a new one."""
        address = self.validate_url(ticket.task_id)
        until, interval, unseen = time.monotonic() + self._endpoint.timeout, self.poll_interval, 0
        while True:
            found = await self._poll(address)
            late = time.monotonic() > until
            if isinstance(found, CallError):
                unseen += 1
                final = not found.retryable or found.kind == _TASK_FAILED
                if final or late or unseen > _MAX_FAILED_POLLS:
                    if final or found.kind == _TASK_LOST:
                        await ticket.save("")
                    raise found
                interval = max(interval, min(found.retry_after or 0.0, 60.0))
            elif found is not None:
                return found
            elif late:
                reason = f"the task is not done after {self._endpoint.timeout:g} s"
                raise CallError("timeout", reason, overloaded=True)
            else:
                unseen = 0
            await asyncio.sleep(interval)
            interval = min(interval * 1.5, max(_MAX_POLL_INTERVAL, self.poll_interval))

    async def _poll(self, address: URL) -> Mapping[str, Any] | CallError | None:
        """Return a task's result, the error, or None while the task is running."""
        try:
            key = self._may_receive_key(address)
            got = await self.fetch("GET", address, with_key=key, seconds=_POLL_TIMEOUT)
            reply = {"status": _NOT_FOUND} if got.status == 404 else self.parse_json(got)
        except CallError as fault:
            fault.billed = False
            return fault
        result, state = reply.get("result"), str(reply.get("status") or "")
        if state == "Ready" and isinstance(result, dict):
            return result
        return None if state.casefold() in _PENDING_STATES else self._error_for_state(state, reply)

    def _error_for_state(self, state: str, reply: Mapping[str, Any]) -> CallError:
        """Return the error for a task that ended without an image."""
        details = reply.get("details")
        shown = self._endpoint.redact_line(state) or "a task without a state"
        reason = f"{shown} {self._endpoint.redact_line(details) if details else ''}".strip()
        if "moderated" in state.casefold():
            return CallError("content filter", reason, retryable=False)
        if state == _NOT_FOUND:
            return CallError(_TASK_LOST, reason, billed=True)
        return CallError(_TASK_FAILED, reason, billed=state == "Ready")

    def _may_receive_key(self, address: URL) -> bool:
        """Return True if the key may be sent to an address: the given server's or the provider's."""
        if address.origin() == URL(self._endpoint.url).origin():
            return True
        host = address.host or ""
        return not self._custom_url and address.scheme == "https" and host.endswith(_PROVIDER_HOSTS)
