"""Redaction of secrets: passwords in URLs, tokens in queries, keys in settings and commands."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "[hidden]"
"""Placeholder for a secret."""

# A URL begins with a scheme, perhaps misspelt. The text up to the last at sign of the same word is user info, because
# passwords may contain any character. An at sign directly before another URL separates a model's name from it.
_USER_INFO = re.compile(
    r"(?P<start>[a-z][a-z0-9+.-]{0,20}:[/\\]{1,4}|(?:https?|socks[45]?)[:;]?[/\\]{0,4}(?=[^\s/\\:@]{0,200}:))"
    r"(?P<secret>[^\s@]{0,500}@(?:(?!https?:)[^\s@]{0,500}@){0,20})(?!https?:)",
    re.IGNORECASE,
)
# A name and password before a host, without a scheme.
_BARE_USER_INFO = re.compile(r"(?:^|(?<=[@\s\"'=(]))[^\s@:/\"']{1,200}:[^\s@/\"']{1,200}@(?=[\w\[])(?!https?:)")
_QUERY_NAMES = (
    r"(?:[\w-]{0,40}[-_])?(?:api[-_]?key|key|key[-_]?id|token|secret|pass(?:word|wd|phrase)?|pwd|auth|authorization"
    r"|sig|signature|credentials?)|[\w-]{0,40}(?:access[-_]?key(?:[-_]?id)?|apikey|accesstoken|clientsecret)"
)
_QUERY_TOKEN = re.compile(rf"(?P<start>[?&;#](?:{_QUERY_NAMES})=)[^\s&;#\"'<>]{{1,4000}}", re.IGNORECASE)

_SECRET_NAME = re.compile(
    r"(?:.*[-_. ])?(?:api[-_]?key|(?:access|secret|private|account|subscription|auth|service)[-_]?key|key|secret"
    r"|(?:(?:api|access|auth|bearer|session|refresh|security|user|private|service|account|id|hf|hub|github)[-_]?)?token"
    r"|pass(?:word|wd|phrase)|pwd|auth|authorization|credentials?|cookie|bearer)",
    re.IGNORECASE,
)
# Tokens of well-known services, by their prefixes.
_TOKEN_SHAPE = re.compile(
    r"(?<![\w-])(?:sk|pk|rk|hf|gh[pousr]|github_pat|glpat|xox[abprs]|r8|nvapi|gsk|pplx|fal)[-_][\w-]{12,}"
    r"|(?<!\w)(?:AKIA|ASIA)[0-9A-Z]{12,}|(?<!\w)AIza[\w-]{20,}|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
_BEARER = re.compile(r"(\b(?:bearer|basic|token)\s+)([^\s\"',;]{6,})", re.IGNORECASE)
_NOT_A_VALUE = ("$", "{", "<")  # start of a variable or placeholder, which is not a secret itself


def hide_secrets(text: str) -> str:
    """Return a text without passwords and tokens in URLs: user info and tokens in queries are replaced by `[hidden]`.

    >>> hide_secrets("http://user:word@proxy:3128 failed, then https://cdn.example/a.png?sig=x1&w=2")
    'http://[hidden]@proxy:3128 failed, then https://cdn.example/a.png?sig=[hidden]&w=2'
    """
    if "@" in text:
        text = _USER_INFO.sub(rf"\g<start>{HIDDEN}@", text)
        text = _BARE_USER_INFO.sub(f"{HIDDEN}@", text)
    return _QUERY_TOKEN.sub(rf"\g<start>{HIDDEN}", text) if "=" in text else text


def hide_values(text: str, values: Iterable[str], shown: str = HIDDEN) -> str:
    """Return a text with the secrets `values` hidden.

    Those shorter than 8 characters are hidden only as whole words.
    """
    for value in sorted({value for value in values if value}, key=len, reverse=True):
        if len(value) >= 8:
            text = text.replace(value, shown)
        else:
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", lambda _: shown, text)
    return text


def hide_in_message(text: str, values: Iterable[str] = ()) -> str:
    """Return a message of a user's code with secrets hidden.

    Secrets are the given `values`, the values of secret environment variables, tokens, and user info in URLs.
    """
    environment = [value for name, value in os.environ.items() if is_secret_name(name) and is_unmistakable(value)]
    return _TOKEN_SHAPE.sub(HIDDEN, hide_values(hide_secrets(text), [*values, *environment]))


def is_unmistakable(secret: str) -> bool:
    """Return whether a secret is too long to occur in a judge's reply by chance: 12 characters with digits, or 24."""
    mixed = re.search("[0-9]", secret) and re.search("[A-Za-z]", secret)
    return len(secret) >= (12 if mixed else 24)


def is_secret_name(name: str) -> bool:
    """Return whether a setting or an option of this name contains a secret.

    >>> [is_secret_name(name) for name in ("api_key", "--hf-token", "max_tokens", "keyword", "pad_token_id")]
    [True, True, False, False, False]
    """
    return _SECRET_NAME.fullmatch(name.strip().lstrip("-")) is not None


def hide_settings(value: Any, name: str = "") -> Any:
    """Return JSON-like settings in which everything that looks like a secret is hidden."""
    if isinstance(value, Mapping):
        return {key: hide_settings(one, str(key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [hide_settings(one, name) for one in value]
    if not isinstance(value, str):
        return value
    return HIDDEN if is_secret_name(name) and _is_value(value) else hide_words(value)


def hide_words(text: str) -> str:
    """Return a user's text with tokens and named secrets (`api_key=...`) hidden."""
    return hide_values(hide_secrets(text), find_secret_words([text]))


def find_secret_words(words: Iterable[str]) -> list[str]:
    """Return the secrets in the words of a command: tokens, and values of secret options, variables and headers.

    >>> find_secret_words(["run", "--api-key", "abc", "--max-tokens", "9", "KEY=def", "--to", "{output}"])
    ['abc', 'def']
    """
    found, expected = list[str](), False
    for word in words:
        if len(inner := word.split()) > 1:  # a script, or a header
            found += [part.strip("\"';") for part in find_secret_words(inner)]
        name, mark, value = word.partition("=")
        if expected and _is_value(word) and not word.startswith("--"):
            found.append(word)
        elif mark and is_secret_name(name) and _is_value(value):
            found.append(value)
        found += _TOKEN_SHAPE.findall(word)
        found += [match[2] for match in _BEARER.finditer(word) if _is_value(match[2])]
        header, colon, rest = word.partition(":")
        if colon and is_secret_name(header) and _is_value(rest.strip()) and not rest.startswith("//"):
            found.append(rest.strip())
        expected = word.startswith("-") and not mark and is_secret_name(word)
    return [value for value in dict.fromkeys(found) if value]


def _is_value(text: str) -> bool:
    return bool(text) and not text.startswith(_NOT_A_VALUE)
