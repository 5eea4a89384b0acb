"""Judges that run here: any image-text-to-text model of the transformers library, in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from creval.core.errors import CrevalError, known_name
from creval.core.images import decode
from creval.judges.base import Answer, Judge, JudgeOptions, Request, sampling
from creval.providers.errors import Fault
from creval.providers.huggingface import load_model
from creval.providers.openai_wire import Choice, Position
from creval.providers.vision import vision_of

_TOP = 20  # options kept for a token
_OWN = ("batch_size", "device", "dtype", "max_tokens", "temperature", "top_p")


class Local(Judge):
    """A model from the hub or from a folder.

    Requests that wait are answered together, up to `batch_size` of them. Where the memory of the
    device does not suffice, batches get smaller.
    """

    def __init__(
        self,
        name: str,
        model: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        logprobs: bool = False,
    ) -> None:
        self.name, self.model, self.vision = name, model, vision_of(model)
        self.learned = []
        self._parameters = dict(parameters or {})
        for given in self._parameters:
            known_name("parameter of a local model", given, _OWN)
        try:
            self._batch = int(self._parameters.get("batch_size", 8))
        except (TypeError, ValueError):
            self._batch = 0
        if self._batch < 1:
            raise CrevalError("--set batch_size takes a whole number from 1.")
        self._logprobs = logprobs
        # Without chance all choices would be the same.
        self.several = float(self._parameters.get("temperature", 0.0)) > 0
        self._waiting: list[tuple[Request, asyncio.Future[Answer]]] = []
        self._running: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-model")
        self._loaded: tuple[Any, Any] | None = None

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "parameters": self._parameters}

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._loaded = await loop.run_in_executor(self._thread, self._load)

    async def close(self) -> None:
        if self._running is not None:
            await self._running
        self._thread.shutdown()

    def _load(self) -> tuple[Any, Any]:
        device, dtype = (str(self._parameters.get(name) or "") for name in ("device", "dtype"))
        kind = "AutoModelForImageTextToText"
        processor, model = load_model(self.model, kind, device=device, dtype=dtype or "auto")
        # Answers follow the prompt, so shorter prompts are filled up in front.
        processor.tokenizer.padding_side = "left"
        return processor, model

    async def ask(self, request: Request) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        await asyncio.sleep(0)  # others that are about to ask come into the first batch
        while self._waiting:
            size = self._batch
            batch, self._waiting = self._waiting[:size], self._waiting[size:]
            await self._settle(batch)
        self._running = None

    async def _settle(self, batch: list[tuple[Request, asyncio.Future[Answer]]]) -> None:
        """Answer a batch; one that fails in smaller ones, so that one request spoils no other."""
        requests = [request for request, _ in batch]
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._thread, self._answer, requests)
        except Exception as error:
            if len(batch) > 1:
                half = max(1, len(batch) // 2)
                if _is_memory(error):
                    self._batch = half
                    self.learned.append(f"{self.name}: batches of {half}, for want of memory.")
                await self._settle(batch[:half])
                await self._settle(batch[half:])
            elif not batch[0][1].done():
                fault = Fault("the model failed", str(error), again=False)
                batch[0][1].set_exception(fault)
            return
        for (_, answer), found in zip(batch, answers, strict=True):
            if not answer.done():
                answer.set_result(found)

    def _answer(self, requests: Sequence[Request]) -> list[Answer]:
        torch = import_module("torch")

        if self._loaded is None:
            raise RuntimeError("open the judge first")
        processor, model = self._loaded
        texts, pictures = [], []
        for request in requests:
            content = [{"type": "image"} for _ in request.pictures]
            content.append({"type": "text", "text": request.text})
            texts.append(
                processor.apply_chat_template(
                    [{"role": "user", "content": content}],
                    add_generation_prompt=True,
                    tokenize=False,
                )
            )
            pictures.append([decode(picture.content) for picture in request.pictures])
        inputs = processor(
            text=texts, images=pictures if any(pictures) else None, padding=True,
            return_tensors="pt",
        ).to(model.device)  # fmt: skip
        choices = max(request.choices for request in requests)
        with torch.inference_mode():
            made = model.generate(
                **inputs,
                **self._sampling(choices),
                return_dict_in_generate=True,
                output_logits=self._logprobs,
            )
        start = inputs["input_ids"].shape[1]
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            self._collect(request, at, choices, made, start, int(lengths[at]))
            for at, request in enumerate(requests)
        ]

    def _sampling(self, choices: int) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "max_new_tokens": int(self._parameters.get("max_tokens", 1024)),
            "num_return_sequences": choices,
            "do_sample": False,
        }
        temperature = float(self._parameters.get("temperature", 0.0))
        if temperature > 0:
            settings |= {"do_sample": True, "temperature": temperature}
            settings["top_p"] = float(self._parameters.get("top_p", 1.0))
        return settings

    def _collect(
        self, request: Request, at: int, choices: int, made: Any, start: int, tokens_in: int
    ) -> Answer:
        processor, model = self._loaded  # type: ignore[misc]
        ends = model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        found, tokens_out = [], 0
        for row in range(at * choices, at * choices + request.choices):
            tokens = made.sequences[row, start:].tolist()
            stop = next((place for place, token in enumerate(tokens) if token in ends), None)
            kept = tokens if stop is None else tokens[:stop]
            tokens_out += len(kept)
            text = processor.tokenizer.decode(kept, skip_special_tokens=True)
            positions = self._positions(made, row, kept) if self._logprobs else ()
            found.append(Choice(text, "stop" if stop is not None else "length", positions))
        return Answer(tuple(found), tokens_in, tokens_out)

    def _positions(self, made: Any, row: int, tokens: Sequence[int]) -> tuple[Position, ...]:
        torch = import_module("torch")
        decode = self._loaded[0].tokenizer.decode  # type: ignore[index]
        positions = []
        for place, token in enumerate(tokens):
            chances = torch.log_softmax(made.logits[place][row].float(), dim=-1)
            best = torch.topk(chances, min(_TOP, chances.shape[-1]))
            options = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            words = tuple((decode([index]), value) for index, value in options)
            positions.append(Position(decode([token]), words))
        return tuple(positions)


def _is_memory(error: Exception) -> bool:
    return "out of memory" in str(error).casefold()


def open_local(spec: str, rest: str, options: JudgeOptions) -> Judge:
    """Open a judge that runs in this process: `hf:ORG/MODEL` or `hf:FOLDER`."""
    if not rest.strip():
        raise CrevalError(f"{options.flag} {spec}: give hf:ORG/MODEL or hf:FOLDER.")
    return Local(spec, rest, parameters=sampling(options), logprobs=options.logprobs)
