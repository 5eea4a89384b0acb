"""Black Forest Labs' FLUX models: `POST URL/MODEL`, then look at the task until it is done.

Fields, the task's states and errors are those of the provider's API reference. The address at which a task is looked
at comes with the reply, often on another host of the provider's; it is kept before the first look, so that after a
kill the same task is waited for. Only the provider's own hosts are sent the key. Not confirmed: `Task not found`
right after submitting, and for how long a finished task can still be asked for (its picture, for ten minutes).
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

_PRICES = {  # US dollars a picture: docs.bfl.ai, quick_start/pricing
    "flux-kontext-pro": 0.04,
    "flux-kontext-max": 0.08,
}
_CREDIT_PRICE = 0.01  # US dollars
_MAX_CREDITS = 100  # that a picture can cost
_MAX_IMAGES_BY_MODEL = {"flux-kontext-pro": 4, "flux-kontext-max": 4}
_MAX_IMAGES = 8
_MAX_POLL_INTERVAL = 4.0
_POLL_TIMEOUT = 30.0  # that one look may take
_MAX_FAILED_POLLS = 4  # looks in a row that may fail
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
        told = self.build_metadata(seed=body.get("seed"), task=reply.get("id"))
        return await self.resume(job, ticket, self._cost(reply.get("cost")), told)

    async def resume(
        self, job: EditRequest, ticket: PendingTask, cost: float | None, metadata: dict[str, Any]
    ) -> EditOutput:
        """Wait for the task that is kept."""
        result = await self._wait_for_result(ticket)
        # Its address is not kept: it can be had again from the task.
        image = await self.download(str(self.validate_url(result.get("sample"))), ticket)
        seed, prompt = result.get("seed"), result.get("prompt")
        if isinstance(seed, int):
            metadata["seed"] = seed
        if isinstance(prompt, str) and prompt != job.instruction:
            metadata["revised_prompt"] = self._endpoint.redact_line(prompt)
        return EditOutput(*image, cost, metadata)

    def _cost(self, charged: object) -> float | None:
        """Money by the credits that a reply names; otherwise a picture's price."""
        if self._user_price is not None or self._custom_url or isinstance(charged, bool):
            return self.price
        if isinstance(charged, int | float) and 0 <= charged <= _MAX_CREDITS:
            return checked_cost(charged * _CREDIT_PRICE, self.price or charged * _CREDIT_PRICE)
        return self.price

    def _polling_url(self, reply: Mapping[str, Any]) -> str:
        """Where the task is looked at: the address in the reply, or the one by its id."""
        if reply.get("polling_url"):
            return str(self.validate_url(reply["polling_url"]))
        if isinstance(reply.get("id"), str):
            return str(URL(f"{self._endpoint.url}/get_result").with_query(id=reply["id"]))
        raise CallError("broken JSON", "a reply without a task", billed=True)

    async def _wait_for_result(self, ticket: PendingTask) -> Mapping[str, Any]:
        """Return a task's result; a task that will never have one is forgotten, so that it is begun anew."""
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
        """A task's result, or why there is none; nothing while it is under way."""
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
        """Why a task ended without a picture."""
        details = reply.get("details")
        shown = self._endpoint.redact_line(state) or "a task without a state"
        reason = f"{shown} {self._endpoint.redact_line(details) if details else ''}".strip()
        if "moderated" in state.casefold():
            return CallError("content filter", reason, retryable=False)
        if state == _NOT_FOUND:
            return CallError(_TASK_LOST, reason, billed=True)
        return CallError(_TASK_FAILED, reason, billed=state == "Ready")

    def _may_receive_key(self, address: URL) -> bool:
        """Whether an address may be sent the key: the one that was given, or the provider's."""
        if address.origin() == URL(self._endpoint.url).origin():
            return True
        host = address.host or ""
        return not self._custom_url and address.scheme == "https" and host.endswith(_PROVIDER_HOSTS)
