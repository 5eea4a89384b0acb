"""A fake server with the OpenAI chat wire format, for rehearsals, tests and benchmarks. It can simulate faults.

It also replies to the requests of builders (`fake_creval`, `fake_chains`, `fake_ice`) and of remote editors
(`fake_image_endpoints`). Answers depend only on the seed, the question and the images, not on the order of requests.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiohttp import web

from creval.core.scales import AnswerScale, NamedChoice, get_scale
from creval.providers.catalog import REHEARSAL_MARK
from creval.testing.fake_chains import CHAIN_WRITERS
from creval.testing.fake_creval import CREVAL_WRITERS, REFUSAL, is_true_of_source
from creval.testing.fake_faults import FAULT_KINDS, TRANSPORT_FAULTS, error_response, send_transport_fault
from creval.testing.fake_ice import ICE_WRITERS
from creval.testing.fake_image_endpoints import FakeImageEndpoints

_QUESTION_LINE = re.compile(r"^(Q[0-9]+): (.+)$", re.MULTILINE)
_LAST_ANSWER = re.compile(r'(.*"answer": "?)(\w+)(.*)', re.DOTALL)
_MAX_BODY_BYTES = 1 << 28
_ERROR_RATE = 0.03  # share of wrong answers about a source alone


def write_text(text: str, rng: random.Random) -> str | None:
    """Return the reply to a builder's prompt, or None if the text is not a builder's prompt."""
    writers = CREVAL_WRITERS | CHAIN_WRITERS | ICE_WRITERS
    return next((write(text, rng) for marker, write in writers.items() if marker in text), None)


class ChatQuery(NamedTuple):
    """The content of a request: questions by label, their scale, and options.

    `images_key` identifies the images: equal images have the same key.
    """

    questions: Mapping[str, str]
    scale: AnswerScale
    images_key: str
    bare: bool
    choice_count: int
    logprobs: bool
    text: str = ""


@dataclass(kw_only=True, eq=False)
class FakeServer:
    """A fake server with the OpenAI chat wire format.

    - `latency`: seconds before each reply.
    - `fault_rate`: share of faulty replies; all `fault_kinds` are equally frequent.
    - `skipped_phrase`: questions that contain this phrase are left out of replies.
    - `decline_rate`: share of images for which builders' requests are declined.
    - `stall_seconds`: duration of the fault `timeout`.
    - `marked`: mark replies as a rehearsal, as `creval fake-server` always does.
    """

    seed: int = 0
    latency: float = 0.0
    fault_rate: float = 0.0
    fault_kinds: Sequence[str] = FAULT_KINDS
    skipped_phrase: str = ""
    decline_rate: float = 0.0
    stall_seconds: float = 600.0
    marked: bool = False
    stats: Counter[str] = field(default_factory=Counter, init=False)
    _in_flight: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)  # noqa: S311

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        if self.marked:
            app.on_response_prepare.append(_mark_response)
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        FakeImageEndpoints(self).add_routes(app.router)
        return app

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model"}]})

    async def _stats(self, _: web.Request) -> web.Response:
        return web.json_response(dict(self.stats))

    async def complete(self, request: web.Request) -> web.StreamResponse:
        async with self.counted(request):
            content = await request.read()
            try:
                body = json.loads(content)
                asked = parse_chat_request(body)
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                return error_response(400, f"not a chat request: {error!r}")
            return await self.reply(request, body, asked)

    @asynccontextmanager
    async def counted(self, request: web.Request) -> AsyncIterator[None]:
        """Count a request, and wait for `latency`."""
        self._in_flight += 1
        self.stats["requests"] += 1
        self.stats["most at once"] = max(self.stats["most at once"], self._in_flight)
        try:
            self.stats["bytes"] += request.content_length or 0
            if self.latency:
                await asyncio.sleep(self.latency)
            yield
        finally:
            self._in_flight -= 1

    def draw_fault(self, kinds: Sequence[str] = FAULT_KINDS) -> str:
        """Return a random kind of fault with the probability `fault_rate`, and count it.

        Otherwise return an empty string.
        """
        possible = [kind for kind in self.fault_kinds if kind in kinds]
        if self._rng.random() >= self.fault_rate or not possible:
            return ""
        kind = self._rng.choice(possible)
        self.stats[kind] += 1
        return kind

    async def reply(self, request: web.Request, body: Mapping[str, Any], query: ChatQuery) -> web.StreamResponse:
        """Send a reply, or a fault with the probability `fault_rate`."""
        if kind := self.draw_fault():
            return await self.send_fault(kind, request, body, query)
        self.stats["answered"] += 1
        return web.json_response(self.build_reply(body, query))

    def build_reply(self, body: Mapping[str, Any], query: ChatQuery) -> dict[str, Any]:
        """Return the JSON of a reply without faults."""
        texts = [self._write_reply(query, choice) for choice in range(query.choice_count)]
        choices = []
        for at, text in enumerate(texts):
            message = {"role": "assistant", "content": text, "refusal": None}
            choice = {"index": at, "message": message, "finish_reason": "stop"}
            if query.logprobs:
                choice["logprobs"] = {"content": self._logprobs(query, text)}
            choices.append(choice)
        words = sum(map(len, texts)) // 4
        return {
            **({"system_fingerprint": REHEARSAL_MARK} if self.marked else {}),
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "model": str(body.get("model", "fake")),
            "choices": choices,
            "usage": {"prompt_tokens": 1000, "completion_tokens": words, "total_tokens": 1000 + words},
        }

    def _write_reply(self, query: ChatQuery, choice: int) -> str:
        chance = random.Random(self._hash_fraction(query, query.text, choice))  # noqa: S311
        written = write_text(query.text, chance)
        if written is not None:
            unwilling = self.decline_rate > self._hash_fraction(query, "declined?", 0)
            return REFUSAL if unwilling else written
        answers = {
            label: self._choose_answer(query, question, choice)
            for label, question in query.questions.items()
            if not self.skipped_phrase or self.skipped_phrase not in question
        }
        if query.bare:
            return str(next(iter(answers.values()), ""))
        entries = {label: {"explanation": "as the images show", "answer": value} for label, value in answers.items()}
        return json.dumps(entries)

    def _choose_answer(self, query: ChatQuery, question: str, choice: int) -> str | int:
        drawn = self._hash_fraction(query, question, choice)
        choices = query.scale.choices
        alone = bool(query.images_key) and "|" not in query.images_key
        if alone and (so := is_true_of_source(question)) is not None:
            return choices[so is (drawn > _ERROR_RATE)]
        # Higher answers are more frequent: two in three are yes.
        return choices[min(len(choices) - 1, int(len(choices) * drawn**0.6))]

    def _hash_fraction(self, query: ChatQuery, question: str, choice: int) -> float:
        key = f"{self.seed}|{choice}|{query.images_key}|{question}".encode("utf-8", "replace")
        return int.from_bytes(hashlib.blake2b(key, digest_size=6).digest(), "big") / 2**48

    def _logprobs(self, query: ChatQuery, text: str) -> list[dict[str, Any]]:
        """Return a reply as tokens with probabilities: its last answer, and the text before and after it."""
        match = None if query.bare else _LAST_ANSWER.fullmatch(text)
        if match is None:
            return [self._token(query, text)]
        certain: dict[str, Any] = {"logprob": 0.0, "top_logprobs": []}
        return [{"token": match[1], **certain}, self._token(query, match[2]), {"token": match[3], **certain}]

    def _token(self, query: ChatQuery, text: str) -> dict[str, Any]:
        question = next(iter(query.questions.values()), "")
        sure = 0.5 + 0.5 * self._hash_fraction(query, f"sure? {question}", 0)
        others = [str(choice) for choice in query.scale.choices if str(choice) != text]
        options = [{"token": text, "logprob": math.log(sure)}]
        options += [{"token": other, "logprob": math.log((1 - sure + 1e-9) / len(others))} for other in others]
        return {"token": text, "logprob": math.log(sure), "top_logprobs": options}

    async def send_fault(
        self, kind: str, request: web.Request, body: Mapping[str, Any], query: ChatQuery
    ) -> web.StreamResponse:
        """Send a fault of one kind."""
        good = self.build_reply(body, query)
        if kind in TRANSPORT_FAULTS:
            return await send_transport_fault(kind, request, json.dumps(good).encode(), self.stall_seconds)
        for choice in good["choices"]:
            _spoil_choice(choice, kind)
        return web.json_response(good)


def _spoil_choice(choice: dict[str, Any], kind: str) -> None:
    """Replace the correct content of one of a reply's `choices` by a fault of this kind."""
    message = choice["message"]
    text = message["content"]
    choice.pop("logprobs", None)
    if kind == "empty":
        message["content"] = ""
    elif kind == "refusal":
        message["content"], message["refusal"] = None, "I cannot help with this image."
    elif kind == "content filter":
        message["content"], choice["finish_reason"] = "", "content_filter"
    elif kind == "length":
        message["content"], choice["finish_reason"] = text[: len(text) // 2], "length"
    elif kind == "left out" and (entries := _entries(text)):
        entries.popitem()
        message["content"] = json.dumps(entries)
    else:
        message["content"] = "It is hard to say, and it depends."


def _entries(text: str) -> dict[str, Any]:
    """Parse a reply as a JSON object. Returns an empty dict if it is something else."""
    try:
        entries = json.loads(text)
    except ValueError:
        return {}
    return entries if isinstance(entries, dict) else {}


_NUMBERS = re.compile(r"a whole number from (\d+) to (\d+)")
_NAMES = re.compile(r'one of ("(?:[^"\\\n]|\\.)+"(?:, "(?:[^"\\\n]|\\.)+")+)')


def _find_scale(text: str) -> AnswerScale:
    """Return the scale that a request describes; yes/no by default."""
    named = next((scale for scale in map(get_scale, ("yes/no", "1/0")) if scale.description in text), None)
    if named is None and (match := _NUMBERS.search(text)):
        return get_scale(f"{match[1]}-{match[2]}")
    if named is None and (match := _NAMES.search(text)):
        return NamedChoice("names", json.loads(f"[{match[1]}]"))
    return named or get_scale("yes/no")


def parse_chat_request(body: Mapping[str, Any]) -> ChatQuery:
    """Parse a request that creval has sent."""
    content = body["messages"][-1]["content"]
    parts: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [part["text"] for part in parts if part["type"] == "text"]
    images = [str(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    text = "\n".join(texts)
    contract = _find_scale(text)
    return ChatQuery(
        dict(_QUESTION_LINE.findall(text)) or {"Q1": text},
        contract,
        "|".join(f"{len(url)} {url[-200:]}" for url in images),
        contract.bare_reply_format() in text,
        int(body.get("n") or 1),
        bool(body.get("logprobs")),
        text,
    )


async def _mark_response(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = REHEARSAL_MARK
