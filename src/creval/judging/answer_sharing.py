"""Answers of a judge shared between runs: which calls another run has paid for, and what this run gives to others."""

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
    """The cache as one judge uses it. Without a cache, or a judge whose replies can be shared, it is not `enabled`."""

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
        """Return the calls with their requests, each cached repeat as a call of its own.

        `is_new` says whether the run has not made a call in a repeat: only then the cache may answer it.
        """
        ready: list[tuple[PendingCall, dict[int, bytes]]] = []
        for call in calls:
            request = build(call)
            base = self._judge.cache_key(request)
            wanted = {} if base is None else {n: _key(base, n) for n in call.repeats if is_new(call, n)}
            ready.append((call._replace(request=request), wanted))
        keys = [key for _, wanted in ready for key in wanted.values()]
        found = self._cache.get(keys) if self._cache and keys else {}
        split: list[PendingCall] = []
        for call, wanted in ready:
            held = {n: found[key] for n, key in wanted.items() if key in found}
            split += [call._replace(repeats=(n,), request=None, cached=answer) for n, answer in held.items()]
            if left := tuple(n for n in call.repeats if n not in held):
                split.append(call._replace(repeats=left, request=None) if held else call)
        return split

    def read(self, answer: CachedAnswer) -> CompletedCall[JudgeResponse]:
        """Return a cached answer as a call that has cost nothing."""
        logprobs = tuple(
            TokenLogprobs(token, tuple((word, float(value)) for word, value in options))
            for token, options in answer.logprobs
        )
        completion = Completion(answer.text, answer.finish_reason, logprobs)
        return CompletedCall(JudgeResponse((completion,), answer.tokens_in, answer.tokens_out, 0.0), 0.0, 0.0, 1)

    def select(
        self, request: JudgeRequest, made: CompletedCall[JudgeResponse], verdicts: Sequence[Sequence[Verdict]]
    ) -> dict[bytes, CachedAnswer]:
        """Return what to share of a call: the replies that came whole and answer at least one question."""
        base, answer = self._judge.cache_key(request), made.response
        shared: dict[bytes, CachedAnswer] = {}
        for at, (repeat, choice, found) in enumerate(zip(request.repeats, answer.completions, verdicts, strict=False)):
            whole = choice.finish_reason == "stop" and choice.text.strip()
            if base is None or not whole or all(verdict.status is not VerdictStatus.ANSWERED for verdict in found):
                continue
            took = (answer.tokens_in, answer.tokens_out, made.cost) if at == 0 else (None, None, None)
            shared[_key(base, repeat)] = CachedAnswer(choice.text, choice.finish_reason, choice.logprobs, *took)
        return shared


def _key(base: bytes, repeat: int) -> bytes:
    return hashlib.blake2b(base + b"\x1f%d" % repeat, digest_size=20).digest()
