"""Secrets are hidden, and words that only look like secrets are not."""

from __future__ import annotations

import time

import pytest

from creval.core.errors import CrevalError
from creval.core.redaction import HIDDEN, find_secret_words, hide_secrets, hide_settings, hide_values, hide_words
from creval.providers.call_errors import CallError


@pytest.mark.parametrize(
    "text",
    [
        "http://user:s3cret@proxy:3128",
        "cannot connect to https://user:s3cret@proxy",
        "HTTP://s3cret@host/v1",
        "http://user:p@s3cret@host",
        "http://user:pa/s3cret@host",
        "http:/user:s3cret@host",
        "http:user:s3cret@host",
        "http//user:s3cret@host:80",
        "htp://user:s3cret@host",
        "socks5://user:s3cret@host",
        "openai:m@user:s3cret@host:8000",
        "openai:m@http://user:s3cret@host",
        "user:s3cret@proxy:3128",
        "url='http://user:s3cret@host'",
        "https://cdn.example/a.png?X-Amz-Signature=s3cret&w=1",
        "https://cdn.example/a.png?w=1&sig=s3cret",
        "https://h/v1?api_key=s3cret#x",
        "https://h/v1#access_token=s3cret",
    ],
)
def test_secrets_in_addresses_are_hidden_before_a_message_exists(text: str) -> None:
    for shown in (hide_secrets(text), str(CrevalError(text)), str(CallError("no connection", text))):
        assert "s3cret" not in shown
        assert HIDDEN in shown


@pytest.mark.parametrize(
    "text",
    [
        "openai:llama3.2-vision:11b@http://localhost:11434/v1",
        "panel:openai:a@http://h:1/v1+openai:b@https://g/v1",
        "openai:@cf/meta/llama-3.2-11b",
        "claude-3-5@20240620 at http://host:8000/v1",
        "an image@2x.png, 12:30, see https://host/a?size=3&page=keyword",
        "command:python edit.py {source} {output}",
    ],
)
def test_texts_without_secrets_are_shown(text: str) -> None:
    assert hide_secrets(text) == text


def test_a_short_secret_is_hidden_as_a_word_only() -> None:
    assert hide_values("a cat has abc, not abcd", ["abc"]) == f"a cat has {HIDDEN}, not abcd"
    assert hide_values("Bearer long-enough-key2!", ["long-enough-key"]) == f"Bearer {HIDDEN}2!"


def test_secrets_in_settings_are_hidden_and_settings_stay() -> None:
    given = {"api_key": "abc", "max_tokens": 9, "extra": {"Authorization": "Bearer xyz123", "size": "1K"}, "top_p": 0.1}
    assert hide_settings(given) == {
        "api_key": HIDDEN,
        "max_tokens": 9,
        "extra": {"Authorization": HIDDEN, "size": "1K"},
        "top_p": 0.1,
    }
    assert hide_settings({"token": 7, "eos_token": "</s>", "tokenizer": "abc", "keywords": "x"}) == {
        "token": 7,
        "eos_token": "</s>",
        "tokenizer": "abc",
        "keywords": "x",
    }


@pytest.mark.parametrize(
    "command",
    [
        ["edit", "--api-key", "s3cret", "{source}"],
        ["edit", "--api-key=s3cret"],
        ["env", "OPENAI_API_KEY=s3cret", "edit"],
        ["edit", "--password", "s3cret"],
        ["curl", "-H", "Authorization: Bearer s3cret-s3cret"],
        ["curl", "-H", "X-Api-Key: s3cret"],
        ["sh", "-c", "edit --to {output} --hf-token s3cret; true"],
        ["sh", "-c", "edit --api-key 's3cret' {output}"],
        ["edit", "sk-s3cret-0123456789"],
        ["edit", "http://me:s3cret@host/"],
    ],
)
def test_secrets_in_commands_are_hidden(command: list[str]) -> None:
    shown = [hide_words(hide_values(word, find_secret_words(command))) for word in command]
    assert "s3cret" not in " ".join(shown)


def test_commands_without_secrets_stay_as_they_are() -> None:
    for command in (
        "python edit.py --max-tokens 100 --token-limit 7 {source} {instruction} {output}",
        "edit --key {seed} --api-key $KEY --tokenizer bert {output}",
        "edit --author Ann --keyword cat --authors x {output}",
    ):
        assert find_secret_words(command.split()) == []
        assert hide_words(command) == command


def test_hiding_takes_time_that_grows_with_length_only() -> None:
    for part in ("http://", "a:/", "a:b@", "?key=", "x" * 7, "token ", "@http:", "-", "sk-"):
        took = []
        for size in (20_000, 80_000):
            text = part * (size // len(part))
            tries = []
            for _ in range(3):  # garbage collection can slow down one of them
                began = time.process_time()
                hide_words(f"@{text}=")
                tries.append(time.process_time() - began)
            took.append(min(tries))
        assert took[1] < 12 * took[0] + 0.1, part
