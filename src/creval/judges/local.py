"""Judges that run in this process: image-text-to-text models of the transformers library, in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from creval.core.errors import CrevalError, require_known
from creval.core.images import decode_image
from creval.core.redaction import hide_settings
from creval.judges.base import Judge, JudgeOptions, JudgeRequest, JudgeResponse, sampling_parameters
from creval.providers.call_errors import CallError
from creval.providers.huggingface import load_model
from creval.providers.openai_wire import Completion, TokenLogprobs
from creval.providers.vision import find_vision

_TOP_LOGPROBS = 20  # most likely alternatives kept for each token
_PARAMETERS = ("batch_size", "device", "dtype", "max_tokens", "temperature", "top_p")


class LocalJudge(Judge):
    """A model from the hub or a folder.

    Waiting requests are answered in batches. Batches become smaller if memory runs out.
    """

    def __init__(
        self, name: str, model: str, *, parameters: Mapping[str, Any] | None = None, logprobs: bool = False
    ) -> None:
        self.name, self.model, self.vision = name, model, find_vision(model)
        self.notes = []
        self._parameters = dict(parameters or {})
        for given in self._parameters:
            require_known("parameter of a local model", given, _PARAMETERS)
        try:
            self._batch_size = int(self._parameters.get("batch_size", 8))
        except (TypeError, ValueError):
            self._batch_size = 0
        if self._batch_size < 1:
            raise CrevalError("`parameters` batch_size takes a whole number from 1.")
        self._logprobs = logprobs
        # Without sampling, all completions would be the same.
        self.supports_n = float(self._parameters.get("temperature", 0.0)) > 0
        self._queue: list[tuple[JudgeRequest, asyncio.Future[JudgeResponse]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-model")
        self._loaded: tuple[Any, Any] | None = None

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, "parameters": hide_settings(self._parameters)}

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._loaded = await loop.run_in_executor(self._thread, self._load)

    async def close(self) -> None:
        if self._worker is not None:
            await self._worker
        self._thread.shutdown()

    def _load(self) -> tuple[Any, Any]:
        device, dtype = (str(self._parameters.get(name) or "") for name in ("device", "dtype"))
        processor, model = load_model(self.model, "AutoModelForImageTextToText", device=device, dtype=dtype or "auto")
        # Answers follow the prompt, so shorter prompts are padded on the left.
        processor.tokenizer.padding_side = "left"
        return processor, model

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        answer: asyncio.Future[JudgeResponse] = asyncio.get_running_loop().create_future()
        self._queue.append((request, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run_batches())
        return await answer

    async def _run_batches(self) -> None:
        await asyncio.sleep(0)  # let requests that are about to be queued join the first batch
        while self._queue:
            size = self._batch_size
            batch, self._queue = self._queue[:size], self._queue[size:]
            await self._answer_batch(batch)
        self._worker = None

    async def _answer_batch(self, batch: list[tuple[JudgeRequest, asyncio.Future[JudgeResponse]]]) -> None:
        """Answer a batch. If it fails, answer its halves separately, so that one bad request does not fail the rest."""
        requests = [request for request, _ in batch]
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._thread, self._generate, requests)
        except Exception as error:
            if len(batch) > 1:
                half = max(1, len(batch) // 2)
                if "out of memory" in str(error).casefold():
                    self._batch_size = half
                    self.notes.append(f"{self.name}: out of memory, batch size reduced to {half}.")
                await self._answer_batch(batch[:half])
                await self._answer_batch(batch[half:])
            elif not batch[0][1].done():
                fault = CallError("the model failed", str(error), retryable=False)
                batch[0][1].set_exception(fault)
            return
        for (_, answer), found in zip(batch, answers, strict=True):
            if not answer.done():
                answer.set_result(found)

    def _generate(self, requests: Sequence[JudgeRequest]) -> list[JudgeResponse]:
        torch = import_module("torch")

        if self._loaded is None:
            raise RuntimeError("open the judge first")
        processor, model = self._loaded
        texts, images = [], []
        for request in requests:
            content = [{"type": "image"} for _ in request.images]
            content.append({"type": "text", "text": request.text})
            chat = [{"role": "user", "content": content}]
            texts.append(processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False))
            images.append([decode_image(image.content) for image in request.images])
        shown = images if any(images) else None
        inputs = processor(text=texts, images=shown, padding=True, return_tensors="pt").to(model.device)
        choices = max(request.completion_count for request in requests)
        with torch.inference_mode():
            made = model.generate(**inputs, **self._generation_settings(choices))
        start = inputs["input_ids"].shape[1]
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            self._build_response(request, at, choices, made, start, int(lengths[at]))
            for at, request in enumerate(requests)
        ]

    def _generation_settings(self, choices: int) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "max_new_tokens": int(self._parameters.get("max_tokens", 1024)),
            "num_return_sequences": choices,
            "do_sample": False,
            "return_dict_in_generate": True,
            "output_logits": self._logprobs,
        }
        temperature = float(self._parameters.get("temperature", 0.0))
        if temperature > 0:
            settings |= {"do_sample": True, "temperature": temperature}
            settings["top_p"] = float(self._parameters.get("top_p", 1.0))
        return settings

    def _build_response(
        self, request: JudgeRequest, at: int, choices: int, made: Any, start: int, tokens_in: int
    ) -> JudgeResponse:
        processor, model = self._loaded  # type: ignore[misc]
        ends = model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        found, tokens_out = [], 0
        for row in range(at * choices, at * choices + request.completion_count):
            tokens = made.sequences[row, start:].tolist()
            stop = next((place for place, token in enumerate(tokens) if token in ends), None)
            kept = tokens if stop is None else tokens[:stop]
            tokens_out += len(kept)
            text = processor.tokenizer.decode(kept, skip_special_tokens=True)
            positions = self._token_logprobs(made, row, kept) if self._logprobs else ()
            found.append(Completion(text, "stop" if stop is not None else "length", positions))
        return JudgeResponse(tuple(found), tokens_in, tokens_out)

    def _token_logprobs(self, made: Any, row: int, tokens: Sequence[int]) -> tuple[TokenLogprobs, ...]:
        torch = import_module("torch")
        decode = self._loaded[0].tokenizer.decode  # type: ignore[index]
        positions = []
        for place, token in enumerate(tokens):
            chances = torch.log_softmax(made.logits[place][row].float(), dim=-1)
            best = torch.topk(chances, min(_TOP_LOGPROBS, chances.shape[-1]))
            options = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            words = tuple((decode([index]), value) for index, value in options)
            positions.append(TokenLogprobs(decode([token]), words))
        return tuple(positions)


def open_local(spec: str, rest: str, options: JudgeOptions) -> Judge:
    """Create a judge that runs in this process: `hf:ORG/MODEL` or `hf:FOLDER`."""
    if not rest.strip():
        raise CrevalError(f"`{options.option_name}` {spec}: give hf:ORG/MODEL or hf:FOLDER.")
    return LocalJudge(spec, rest, parameters=sampling_parameters(options), logprobs=options.logprobs)
