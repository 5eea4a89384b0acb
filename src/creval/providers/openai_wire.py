"""Parsing of replies and errors in the OpenAI chat format, including the variants that other servers send."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from creval.core.files import dig

USAGE_FIELDS = ("prompt_tokens", "completion_tokens")
_MAX_ERROR_CHARS = 4000
_MAX_TOKENS = 10**8
_FILTER_FINISH_REASON = re.compile(r"filter|safety|blocklist|prohibited|recitation|spii|refus")
_CUT_OFF_FINISH_REASON = re.compile(r"length|max_|limit|error|abort|cancel|interrupt|incomplete|time_?out")


class ErrorBody:
    """A parsed error body: a readable message, the whole text for pattern matching, and a status if it contains one."""

    def __init__(self, message: str, searchable_text: str, status: int | None) -> None:
        self.message, self.searchable_text, self.status = (message, searchable_text.casefold(), status)


def parse_error_body(content: bytes) -> ErrorBody:
    """Parse an error body in any of the formats that servers use."""
    try:
        return _parse_error_json(json.loads(content))
    except (ValueError, RecursionError):
        text = re.sub(r"<[^<>]{0,500}>", " ", content[:2000].decode("utf-8", "replace"))
        return ErrorBody(text, "", None)


def _parse_error_json(body: Any) -> ErrorBody:
    if isinstance(body, list) and body:
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        whole = str(error or "")[:_MAX_ERROR_CHARS]
        return ErrorBody(whole, whole, None)
    values = (error.get(name) for name in ("message", "detail", "type", "code"))
    text = str(next((value for value in values if value), ""))
    if raw := dig(error, "metadata", "raw"):
        text = f"{text}: {raw}"
    code = str(error.get("code"))
    number = int(code) if re.fullmatch("[45][0-9][0-9]", code) else None
    return ErrorBody(text[:_MAX_ERROR_CHARS], json.dumps(error, ensure_ascii=False)[:_MAX_ERROR_CHARS], number)


def parse_completion(choice: Any, redact: Callable[[str], str]) -> Completion | None:
    """Parse one entry of a reply's `choices`. Returns None if it has no message."""
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return None
    if isinstance(choice.get("error"), dict):
        return None
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(text for text in texts if isinstance(text, str))
    text = redact(content) if isinstance(content, str) else ""
    ended = str(choice.get("finish_reason") or "stop").casefold()
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return Completion(redact(refusal), "refusal")
    if _FILTER_FINISH_REASON.search(ended):
        return Completion(text, "refusal")
    reason = "length" if _CUT_OFF_FINISH_REASON.search(ended) else "stop"
    return Completion(text, reason, _parse_logprobs(choice.get("logprobs")))


def _parse_logprobs(logprobs: Any) -> tuple[TokenLogprobs, ...]:
    content = dig(logprobs, "content")
    if not isinstance(content, list):
        return ()
    try:
        return tuple(
            TokenLogprobs(
                str(entry["token"]),
                tuple((str(option["token"]), float(option["logprob"])) for option in entry["top_logprobs"] or [entry]),
            )
            for entry in content
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return ()


def read_token_count(usage: object, name: str) -> int | None:
    """Return a token count from a reply, or None if it is missing or implausible."""
    number = dig(usage, name)
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _MAX_TOKENS else None


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, or None."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
            return None if math.isnan(seconds) else max(0.0, seconds)
        except ValueError:
            pass
        try:
            until = email.utils.parsedate_to_datetime(value)
            return max(0.0, until.timestamp() - time.time())
        except (TypeError, ValueError, OverflowError, OSError):
            continue
    return None


class TokenLogprobs(NamedTuple):
    """A token of a reply, with the alternatives at its position and their log-probabilities."""

    token: str
    alternatives: tuple[tuple[str, float], ...]


class Completion(NamedTuple):
    """A completion: its text, finish reason (`stop`, `length` if truncated, `refusal`), and requested logprobs."""

    text: str
    finish_reason: str = "stop"
    logprobs: tuple[TokenLogprobs, ...] = ()
