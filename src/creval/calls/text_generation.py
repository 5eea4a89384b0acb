"""Text generation for building benchmarks and for plans. Each text is requested once, stored, and reused on resume.

A pipeline processes an item: it is a coroutine that requests one text after another through the item's `ItemSession`.
The key of a stored reply is the complete request, so a pipeline that runs again gets the same texts without a call.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, NamedTuple, TypeGuard, TypeVar

from creval.calls.call_session import CallSession
from creval.calls.cost_estimate import CostEstimate
from creval.calls.limits import raise_open_file_limit
from creval.calls.retry import JudgeCaller, Progress, ProgressCallback
from creval.calls.settings import ChatSettings
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.files import replace_lone_surrogates
from creval.core.images import EncodedImage, ImageError, encode_for_request, read_image_size
from creval.core.verdict import VerdictStatus
from creval.judges.base import Judge, JudgeRequest, completion_status
from creval.judges.judge_spec import adopt_stored_name, open_judges, resize_rule
from creval.parsing.reply_format import ReplyFormat
from creval.parsing.reply_text import readable_text
from creval.prompts import Prompt
from creval.providers.call_errors import CallError
from creval.store import RunWriter, read_stored_texts

T = TypeVar("T")


class GenerationItem(NamedTuple):
    """Item to generate texts for: its id, and its image if it has one."""

    id: str
    image: Path | None = None


class GenerationFailedError(Exception):
    """A text could not be generated: the model declined, or every attempt failed."""


class StageEstimate(NamedTuple):
    """Estimated calls, words and tokens of one stage of a pipeline, for each item."""

    role: str
    calls: float
    words: int
    tokens_out: int
    images: int = 1


@dataclass
class GenerationResult(Generic[T]):
    """Results of the pipelines by item id.

    - `left_out`: items without a result, with the reason.
    - `stopped`: reason of an early stop, or "".
    - `already_done`: number of items that were finished when this run started.
    """

    progress: Progress
    results: dict[str, T] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stopped: str = ""
    already_done: int = 0

    @property
    def share_left_out(self) -> float:
        """Share of items that were left out, of all items including those in `already_done`."""
        return len(self.left_out) / max(1, self.already_done + len(self.results) + len(self.left_out))

    def leave_out(self, name: str, why: str) -> None:
        """Remove the result of an item and record the reason."""
        self.left_out[name] = why
        del self.results[name]


class ItemSession:
    """Requests for the texts of one item."""

    def __init__(self, generator: TextGenerator[T], item: GenerationItem) -> None:
        self.item = item
        self._generator = generator
        self._encoded: dict[tuple[str, Path], asyncio.Future[EncodedImage]] = {}

    async def generate(
        self,
        role: str,
        stage: str,
        prompt: Prompt,
        *,
        attempt: int = 0,
        image_paths: Sequence[Path] | None = None,
        **places: str,
    ) -> str:
        """Return the text that a model writes about the item's image, or about `image_paths` if given.

        Raises `GenerationFailedError` if the model gives no text. To send a request again instead of using its stored
        reply, give another number as `attempt`. If `format` is a `ReplyFormat`, its JSON schema is sent, too.
        """
        if image_paths is None:
            image_paths = [self.item.image] if self.item.image else []
        images = [await self._get_image(role, path) for path in image_paths]
        reply_format = places.get("format")
        sends_format = "format" in prompt.placeholders
        schema = reply_format.schema if isinstance(reply_format, ReplyFormat) and sends_format else None
        text = prompt.fill(**places)
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        call_key = CallKey(
            self._generator.judges[role].name,
            EditKey(role, self.item.id),
            (stage,),
            prompt.version,
            tuple(image.digest for image in images),
            {"text": digest, **self._generator.answer_affecting(role)},
            attempt,
        )
        request = JudgeRequest(images, text, None, (), (attempt,), "free", schema=schema)
        return await self._generator.generate(call_key, request)

    async def _get_image(self, role: str, path: Path) -> EncodedImage:
        """Return an image, encoded for the model of a role. The encoded image is kept for further requests."""
        if (role, path) not in self._encoded:
            self._encoded[role, path] = self._generator.encode_image(role, path)
        return await asyncio.shield(self._encoded[role, path])


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


ItemPipeline = Callable[[ItemSession], Awaitable[T]]


class TextGenerator(Generic[T]):
    """Text generation with one model for each role (`writer`, `asker` ...).

    In the `shared_stages`, a request that is the same for several items is sent once.
    """

    def __init__(
        self,
        folder: str | Path,
        roles: Mapping[str, str],
        settings: ChatSettings,
        *,
        temperatures: Mapping[str, float] | None = None,
        shared_stages: Collection[str] = (),
        dry_run: bool = False,
    ) -> None:
        self.folder, self.settings, self._shared_stages = Path(folder), settings, shared_stages
        self.judges: dict[str, Judge] = {}
        options = replace(settings.judge_options(), key_optional=dry_run)
        for role, spec in roles.items():
            temperature = (temperatures or {}).get(role, options.temperature)
            found = open_judges(spec, replace(options, temperature=temperature, option_name=role))
            if len(found) != 1:
                raise CrevalError(f"`{role}` takes one model, not a panel.")
            self.judges[role] = found[0]
        manifest, stored = read_stored_texts(self.folder)
        manifest_names = [*manifest.values(), *manifest.get("models", {}).values()]
        for role, judge in self.judges.items():
            adopt_stored_name(
                judge, {name for name, other, _ in stored if other == role} or filter(_is_text, manifest_names)
            )
        settings.check_prices(self.judges.values())
        self._resize_rules = {
            role: resize_rule(judge.vision, settings.image_fit) for role, judge in self.judges.items()
        }
        self._callers: dict[str, JudgeCaller] = {}
        self._cached_texts: dict[str, str] = {}
        self._shared_texts: dict[str, str] = {}
        self._shared_locks: dict[str, asyncio.Lock] = {}

    def estimate(
        self, items: Sequence[GenerationItem], stages: Sequence[StageEstimate], changed_ids: Container[str] = ()
    ) -> list[CostEstimate]:
        """Return the estimated cost of each role for these items.

        Stored texts cost nothing, except those of items in `changed_ids`: their texts are requested again.
        """
        found = []
        texts = read_stored_texts(self.folder).texts
        for role, judge in self.judges.items():
            of_role = [stage for stage in stages if stage.role == role]
            estimate = CostEstimate(judge.name, pace=judge.seconds_per_call, exact=False, role=role)
            seen = [tokens for item in items[:50] if (tokens := self._count_image_tokens(judge, item)) is not None]
            image = sum(seen) / len(seen) if seen else 0.0
            stored = [
                0 if item.id in changed_ids else texts[judge.name, role, replace_lone_surrogates(item.id)]
                for item in items
            ]
            estimate.cached = sum(stored)
            calls_per_item = sum(stage.calls for stage in of_role)
            left = sum(max(0.0, 1 - number / calls_per_item) for number in stored) if calls_per_item else 0.0
            for stage in of_role:
                calls = stage.calls * left
                estimate.calls += round(calls)
                estimate.images += round(calls * stage.images)
                estimate.tokens_in += calls * (stage.words * 1.4 + stage.images * image)
                estimate.tokens_out += calls * (stage.tokens_out + judge.thinking_tokens)
            if judge.price is not None:
                estimate.cost = judge.price.cost(estimate.tokens_in, estimate.tokens_out)
            estimate.seconds = self.settings.estimate_seconds(estimate.calls, estimate.pace)
            found.append(estimate)
        return found

    def _count_image_tokens(self, judge: Judge, item: GenerationItem) -> float | None:
        """Return the number of tokens of an item's image, or None if it has none or it is unreadable."""
        if item.image is None:
            return None
        try:
            size = read_image_size(item.image)
        except (ImageError, OSError):
            return None
        return judge.vision.count_tokens(*(judge.vision.resize(*size) if judge.vision.resize else size))

    def run(
        self,
        items: Sequence[GenerationItem],
        pipeline: ItemPipeline[T],
        *,
        calls: float = 1.0,
        watch: ProgressCallback | None = None,
    ) -> GenerationResult[T]:
        """Run a pipeline for each item. `calls` is the expected number of calls for each item."""
        result: GenerationResult[T] = GenerationResult(Progress(calls=round(calls * len(items))))
        raise_open_file_limit(2 * self.settings.concurrency * len(self.judges) + 64)
        self.folder.mkdir(parents=True, exist_ok=True)  # with default permissions, since benchmarks are shared
        with RunWriter(self.folder) as store:
            self._cached_texts = store.reply_texts()
            with store.transaction():
                store.put_edits(Edit(EditKey(role, item.id)) for item in items for role in self.judges)
            self._session = CallSession(store, result.progress, self.settings.budget)
            result.stopped = self._session.run(lambda: self._run_all(items, pipeline, result), watch)
        for judge in self.judges.values():
            result.notes += judge.notes
        return result

    async def _run_all(
        self, items: Iterable[GenerationItem], pipeline: ItemPipeline[T], result: GenerationResult[T]
    ) -> None:
        self._shared_texts, self._shared_locks = {}, {}
        has_replies = bool(self._cached_texts)
        self._callers = {
            role: JudgeCaller(judge, self.settings, self._session, has_succeeded=has_replies)
            for role, judge in self.judges.items()
        }

        async def work(item: GenerationItem) -> None:
            try:
                result.results[item.id] = await pipeline(ItemSession(self, item))
            except (GenerationFailedError, ImageError, OSError) as error:
                result.left_out[item.id] = str(error)

        await self._session.for_each(list(self.judges.values()), items, work, self.settings.concurrency)

    async def generate(self, call_key: CallKey, request: JudgeRequest) -> str:
        """Return a text from the store, from another item in a shared stage, or from the model."""
        if call_key.parts[0] not in self._shared_stages:
            return await self._fetch_text(call_key, request)
        same = call_key._replace(subject=call_key.subject._replace(sample="")).digest
        async with self._shared_locks.setdefault(same, asyncio.Lock()):
            if same in self._shared_texts and call_key.digest not in self._cached_texts:
                words = self._cached_texts[call_key.digest] = self._shared_texts[same]
                reply = Reply(VerdictStatus.ANSWERED, words, call_key.caller)
                await self._session.journal.append([(call_key, reply, ())])
            found = await self._fetch_text(call_key, request)
            self._shared_texts[same] = self._cached_texts[call_key.digest]
            return found

    async def _fetch_text(self, call_key: CallKey, request: JudgeRequest) -> str:
        """Return the stored text of a request, or request it from the model."""
        caller, (stage,) = self._callers[call_key.subject.model], call_key.parts
        progress = caller.progress
        progress.done += 1
        if call_key.digest in self._cached_texts:
            progress.cached += 1
            return readable_text(self._cached_texts[call_key.digest])
        try:
            completed = await caller.call(request)
        except CallError as error:
            reply = caller.failed_reply(error)
            await self._session.journal.append([(call_key, reply, ())])
            if reply.status is not VerdictStatus.REFUSED:
                caller.record_failure(error)
            raise GenerationFailedError(f"{stage}: {error}") from error
        answer, choice = completed.response, completed.response.completions[0]
        status = completion_status(choice)
        usage = (completed.attempt, answer.tokens_in, answer.tokens_out, completed.cost, completed.latency)
        reply = Reply(status, choice.text, caller.judge.name, *usage)
        await self._session.journal.append([(call_key, reply, ())])
        caller.record_success(answer)
        if status is not VerdictStatus.ANSWERED:
            quote = f": {choice.text}" if choice.text else ""
            why = "declined" if status is VerdictStatus.REFUSED else "wrote nothing"
            raise GenerationFailedError(f"{stage}: the model {why}{quote}"[:300])
        self._cached_texts[call_key.digest] = choice.text
        return readable_text(choice.text)

    def answer_affecting(self, role: str) -> dict[str, object]:
        """Return the settings that affect answers, besides model, text and image."""
        parameters = dict(getattr(self.judges[role], "parameters", {}))
        settings = {"image_fit": self.settings.image_fit, "parameters": parameters}
        return {name: value for name, value in settings.items() if value}

    def encode_image(self, role: str, path: Path) -> asyncio.Future[EncodedImage]:
        """Return a future of an image, encoded for the model of a role."""
        judge, fit = self.judges[role], self._resize_rules[role]
        return asyncio.get_running_loop().run_in_executor(
            self._session.pool, lambda: judge.prepare_image(encode_for_request(path, fit))
        )
