"""What servers of the OpenAI chat wire format send back, in all the shapes that they give it."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

USAGE = ("prompt_tokens", "completion_tokens")
_ENDED_BY_FILTER = re.compile(r"filter|safety|blocklist|prohibited|recitation|spii|refus")


class Said:
    """What an error body says: a text for people, all its words for us, and its own status."""

    def __init__(self, text: str, words: str, number: int | None) -> None:
        self.text, self.words, self.number = text, words.casefold(), number


def errors_in(content: bytes) -> Said:
    """The error in a body, in any of the shapes that servers give it."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        text = re.sub(r"<[^>]*>", " ", content[:2000].decode("utf-8", "replace"))
        return Said(text, "", None)
    if isinstance(body, list) and body:
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return Said(str(error or ""), str(error or ""), None)
    said = (error.get(name) for name in ("message", "detail", "type", "code"))
    text = str(next((words for words in said if words), ""))
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):
        text = f"{text}: {metadata['raw']}"
    code = str(error.get("code"))
    number = int(code) if re.fullmatch("[45][0-9][0-9]", code) else None
    return Said(text, json.dumps(error, ensure_ascii=False)[:4000], number)


def read_choice(choice: Any, masked: Callable[[str], str]) -> Choice | None:
    """One choice of a reply; none where it has no message."""
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return None
    if isinstance(choice.get("error"), dict):
        return None
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(text for text in texts if isinstance(text, str))
    text = masked(content) if isinstance(content, str) else ""
    ended = str(choice.get("finish_reason") or "stop").casefold()
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return Choice(masked(refusal), "refusal")
    if _ENDED_BY_FILTER.search(ended):
        return Choice(text, "refusal")
    if ended in ("length", "max_tokens"):
        return Choice(text, "length", _positions(choice.get("logprobs")))
    return Choice(text, "stop", _positions(choice.get("logprobs")))


def _positions(logprobs: Any) -> tuple[Position, ...]:
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return ()
    try:
        return tuple(
            Position(
                str(place["token"]),
                tuple(
                    (str(option["token"]), float(option["logprob"]))
                    for option in place["top_logprobs"] or [place]
                ),
            )
            for place in content
        )
    except (KeyError, TypeError, ValueError):
        return ()


def read_count(usage: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens, if it can be one."""
    number = usage.get(name)
    return number if isinstance(number, int) and 0 <= number < 10**9 else None


def read_wait(headers: Mapping[str, str]) -> float | None:
    """How long a server asks to wait, in seconds."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        said = headers.get(name)
        if said is None:
            continue
        try:
            seconds = float(said) / unit
            return None if math.isnan(seconds) else max(0.0, seconds)
        except ValueError:
            pass
        try:
            until = email.utils.parsedate_to_datetime(said)
            return max(0.0, until.timestamp() - time.time())
        except (TypeError, ValueError, OverflowError, OSError):
            continue
    return None


class Position(NamedTuple):
    """A token of a reply, and what could have stood in its place, with log-probabilities."""

    token: str
    options: tuple[tuple[str, float], ...]


class Choice(NamedTuple):
    """One answer: its text, why it ended (stop, length, refusal), and its tokens if asked for."""

    text: str
    ended: str = "stop"
    positions: tuple[Position, ...] = ()
