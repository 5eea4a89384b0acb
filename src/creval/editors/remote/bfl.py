"""Black Forest Labs' FLUX models: `POST URL/MODEL`, then look at the task until it is done.

Fields, the task's states and errors are those of the provider's API reference. The address at which
a task is looked at comes with the reply, often on another host of the provider's; it is kept before
the first look, so that after a kill the same task is waited for. Only the provider's own hosts are
sent the key. Not confirmed: `Task not found` right after submitting, and for how long a finished
task can still be asked for (its picture, for ten minutes).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from yarl import URL

from creval.editors.base import Job, Produced, Ticket
from creval.editors.remote.base import Remote
from creval.editors.remote.payload import base64_of, given, seed_of
from creval.providers.errors import Fault

_PRICES = {  # US dollars a picture: docs.bfl.ai, quick_start/pricing
    "flux-kontext-pro": 0.04,
    "flux-kontext-max": 0.08,
}
_CREDIT = 0.01  # US dollars
_PICTURES = {"flux-kontext-pro": 4, "flux-kontext-max": 4}
_MOST_PICTURES = 8
_LONGEST_INTERVAL = 4.0
_LOOK_SECONDS = 30.0  # that one look may take
_UNSEEN = 4  # looks in a row that may fail
_NOT_FOUND = "Task not found"
_LOST, _FAILED = "task lost", "task failed"
_WAITING = ("pending", "queued", "processing", "generating", "reasoning")
_HOSTS = (".bfl.ai", ".bfl.ml")


class BFLEditor(Remote):
    provider = "bfl"
    path = "/MODEL"
    reserved = frozenset({"prompt", "input_image", "webhook_url", "webhook_secret"})

    def headers(self) -> dict[str, str]:
        return {"x-key": self._server.key} if self._server.key else {}

    def list_price(self) -> float | None:
        return _PRICES.get(self.model)

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        if ticket.kept:
            place, cost, told = ticket.kept, self.price, self.told(resumed=True)
        else:
            place, cost, told = await self._submit(job)
            await ticket.keep(place)
        result = await self._wait(place, ticket)
        # Its address is not kept: it can be had again from the task.
        picture = await self.load(str(self.named(result.get("sample"))), ticket)
        seed, prompt = result.get("seed"), result.get("prompt")
        if isinstance(seed, int):
            told["seed"] = seed
        if isinstance(prompt, str) and prompt != job.instruction:
            told["revised_prompt"] = self._server.shown(prompt)
        return Produced(*picture, cost, told)

    async def _submit(self, job: Job) -> tuple[str, float | None, dict[str, Any]]:
        """Begin a task: where it is looked at, what it costs, and what was told about it."""
        self.leave_out(job)
        sent = await self.pictures(job, _PICTURES.get(self.model, _MOST_PICTURES))
        body: dict[str, Any] = {
            "prompt": job.instruction,
            "seed": seed_of(job),
            "output_format": "png",
        }
        for number, picture in enumerate(sent, 1):
            name = "input_image" if number == 1 else f"input_image_{number}"
            body[name] = base64_of(picture)
        body = given(body, self._settings)
        reply = await self.post(f"/{quote(self.model, safe='')}", body)
        place = self._place(reply)
        told = self.told(seed=body.get("seed"), task=reply.get("id"))
        return place, self._cost(reply.get("cost")), told

    def _cost(self, charged: object) -> float | None:
        """Money by the credits that a reply names; otherwise a picture's price."""
        if self._fixed is not None or self._own or isinstance(charged, bool):
            return self.price
        if isinstance(charged, int | float) and 0 <= charged < 1e6:
            return charged * _CREDIT
        return self.price

    def _place(self, reply: Mapping[str, Any]) -> str:
        """Where the task is looked at: the address in the reply, or the one by its id."""
        if reply.get("polling_url"):
            return str(self.named(reply["polling_url"]))
        if isinstance(reply.get("id"), str):
            return str(URL(f"{self._server.url}/get_result").with_query(id=reply["id"]))
        raise Fault("broken JSON", "a reply without a task", paid=True)

    async def _wait(self, place: str, ticket: Ticket) -> Mapping[str, Any]:
        """A task's result. One that will never have any is forgotten, so that it is begun anew; as
        long as it is kept, another try pays nothing."""
        address = self.named(place)
        until, interval, unseen = time.monotonic() + self._server.timeout, self.interval, 0
        while True:
            found = await self._look(address)
            late = time.monotonic() > until
            if isinstance(found, Fault):
                unseen += 1
                final = not found.again or found.kind == _FAILED
                if final or late or unseen > _UNSEEN:
                    if final or found.kind == _LOST:
                        await ticket.keep("")
                    raise found
                interval = max(interval, min(found.wait or 0.0, 60.0))
            elif found is not None:
                return found
            elif late:
                reason = f"the task is not done after {self._server.timeout:g} s"
                raise Fault("timeout", reason, crowded=True)
            else:
                unseen = 0
            await asyncio.sleep(interval)
            interval = min(interval * 1.5, max(_LONGEST_INTERVAL, self.interval))

    async def _look(self, address: URL) -> Mapping[str, Any] | Fault | None:
        """A task's result, or why there is none; nothing while it is under way."""
        try:
            key = self._is_provider(address)
            got = await self.ask("GET", address, key=key, seconds=_LOOK_SECONDS)
            reply = {"status": _NOT_FOUND} if got.status == 404 else self.read(got)
        except Fault as fault:
            fault.paid = False
            return fault
        result, state = reply.get("result"), str(reply.get("status") or "")
        if state == "Ready" and isinstance(result, dict):
            return result
        return None if state.casefold() in _WAITING else self._ended(state, reply)

    def _ended(self, state: str, reply: Mapping[str, Any]) -> Fault:
        """Why a task ended without a picture."""
        details = reply.get("details")
        shown = self._server.shown(state) or "a task without a state"
        reason = f"{shown} {self._server.shown(details) if details else ''}".strip()
        if "moderated" in state.casefold():
            return Fault("content filter", reason, again=False)
        if state == _NOT_FOUND:
            return Fault(_LOST, reason, paid=True)
        return Fault(_FAILED, reason, paid=state == "Ready")

    def _is_provider(self, address: URL) -> bool:
        """Whether an address may be sent the key: the one that was given, or the provider's."""
        if address.origin() == URL(self._server.url).origin():
            return True
        host = address.host or ""
        return not self._own and address.scheme == "https" and host.endswith(_HOSTS)
