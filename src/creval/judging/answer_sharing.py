"""Sharing of a judge's answers between runs through the answer cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from creval.calls.retry import CompletedCall
from creval.core.verdict import Verdict, VerdictStatus
from creval.judges.base import Judge, JudgeRequest, JudgeResponse
from creval.judges.judge_spec import judge_identity
from creval.judging.requests import PendingCall
from creval.providers.openai_wire import Completion, TokenLogprobs
from creval.store.answer_cache import AnswerCache, CachedAnswer


class SharedAnswers:
    """The answer cache for one judge. `enabled` is False without a cache, or if the judge's replies are not shared."""

    def __init__(self, cache: AnswerCache | None, judge: Judge) -> None:
        self.judge = judge_identity(judge.name)
        self._judge, self._cache = judge, cache
        self.enabled = cache is not None and type(judge).cache_key is not Judge.cache_key

    def split_calls(
        self,
        calls: Sequence[PendingCall],
        build: Callable[[PendingCall], JudgeRequest],
        is_new: Callable[[PendingCall, int], bool],
    ) -> list[PendingCall]:
        """Return the calls with their requests. Each cached repeat becomes a separate call.

        A repeat is looked up in the cache only if the run has not requested it before (`is_new`).
        """
        ready = [self._add_key(call, build(call)) for call in calls]
        keys = {
            (at, n): _key(call.share_key, n) for at, call in enumerate(ready) if call.share_key for n in call.repeats
        }
        found = self._cache.get(list(keys.values())) if self._cache and keys else {}
        split: list[PendingCall] = []
        for at, call in enumerate(ready):
            answers = {n: found.get(keys.get((at, n), b"")) for n in call.repeats} if found else {}
            held = {n: answer for n, answer in answers.items() if answer is not None and is_new(call, n)}
            split += [call._replace(repeats=(n,), request=None, cached=answer) for n, answer in held.items()]
            if left := tuple(n for n in call.repeats if n not in held):
                split.append(call._replace(repeats=left, request=None) if held else call)
        return split

    def _add_key(self, call: PendingCall, request: JudgeRequest) -> PendingCall:
        key = self._judge.cache_key(request)
        digest = None if key is None else hashlib.blake2b(key, digest_size=20).digest()
        return call._replace(request=request, share_key=digest)

    def read(self, answer: CachedAnswer) -> CompletedCall[JudgeResponse]:
        """Return a cached answer as a completed call without cost."""
        logprobs = tuple(
            TokenLogprobs(token, tuple((word, float(value)) for word, value in options))
            for token, options in answer.logprobs
        )
        completion = Completion(answer.text, answer.finish_reason, logprobs)
        return CompletedCall(JudgeResponse((completion,), answer.tokens_in, answer.tokens_out, 0.0), 0.0, 0.0, 1)

    def select(
        self, call: PendingCall, made: CompletedCall[JudgeResponse], verdicts: Sequence[Sequence[Verdict]]
    ) -> dict[bytes, CachedAnswer]:
        """Return the replies of a call that are stored in the cache, by cache key.

        These are complete replies that answer at least one question.
        """
        shared: dict[bytes, CachedAnswer] = {}
        if call.share_key is None or call.cached is not None:
            return shared
        answer = made.response
        took = (answer.tokens_in, answer.tokens_out, made.cost)
        for repeat, choice, found in zip(call.repeats, answer.completions, verdicts, strict=False):
            whole = choice.finish_reason == "stop" and choice.text.strip()
            if whole and any(verdict.status is VerdictStatus.ANSWERED for verdict in found):
                own = took if repeat == call.repeats[0] else (None, None, None)
                shared[_key(call.share_key, repeat)] = CachedAnswer(
                    choice.text, choice.finish_reason, choice.logprobs, *own
                )
        return shared


def _key(base: bytes, repeat: int) -> bytes:
    """Return the cache key of one repeat's reply."""
    return base + b"%d" % repeat
