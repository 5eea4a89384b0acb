"""Verdicts in the replies of a judge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from creval.core.probe import Question
from creval.core.verdict import Verdict, VerdictStatus
from creval.judges.base import JudgeRequest
from creval.parsing.judge_replies import missing_verdicts, parse_reply
from creval.providers.openai_wire import Completion, TokenLogprobs

_MAX_REASON_LENGTH = 300
_ANSWER_KEY = '"answer"'
_NO_LOGPROBS = "no log-probabilities came with the answer"


def read_verdicts(
    completion: Completion, request: JudgeRequest, questions: Sequence[Question], *, use_logprobs: bool = False
) -> list[Verdict]:
    """Return the verdict on each question, with a reason if it is unanswered.

    With `use_logprobs`, the value of an answer is its expected value.
    """
    if completion.finish_reason == "refusal":
        why = f"the judge declined: {completion.text}" if completion.text else "a filter declined"
        return [Verdict(q.id, VerdictStatus.REFUSED, explanation=why[:_MAX_REASON_LENGTH]) for q in questions]
    if completion.finish_reason == "length":
        return missing_verdicts(
            questions, "the reply was cut off (if it was too long, `parameters` max_tokens=N allows more)"
        )
    if not completion.text.strip():
        return missing_verdicts(questions, "the reply was empty")
    verdicts = parse_reply(completion.text, questions, request.labels, prompt=request.text)
    return [_apply_logprobs(verdict, completion, request) for verdict in verdicts] if use_logprobs else verdicts


def _apply_logprobs(verdict: Verdict, completion: Completion, request: JudgeRequest) -> Verdict:
    """Replace an answer's value by the expected value, from the probabilities of the answer's token."""
    contract = request.scale
    if verdict.status is not VerdictStatus.ANSWERED or contract is None:
        return verdict
    said = (VerdictStatus.ANSWERED, verdict.value)
    for position in _tokens_from_answer(completion.logprobs):
        if contract.parse_answer(position.token) == said:
            value = contract.expected_value(position.alternatives)
            if value is not None:
                return verdict._replace(value=value)
    return Verdict(verdict.probe, VerdictStatus.MISSING, None, verdict.raw_answer, _NO_LOGPROBS)


def _tokens_from_answer(positions: Sequence[TokenLogprobs]) -> Sequence[TokenLogprobs]:
    """Return the tokens of a reply from its answer on, without an explanation before it."""
    found = "".join(position.token for position in positions).rfind(_ANSWER_KEY)
    ends = accumulate(len(position.token) for position in positions)
    first = next((n for n, end in enumerate(ends) if end > found + len(_ANSWER_KEY)), 0)
    return positions[first:] if found >= 0 else positions
