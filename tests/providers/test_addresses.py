"""Tests of addresses in specs of judges and editors. A malformed address may contain a password and is not shown."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions
from creval.editors.editor_spec import open_editor
from creval.judges.base import JudgeOptions
from creval.judges.judge_spec import open_judges
from creval.providers.addresses import split_address

SECRET = "s3cretword"


def judge_words(spec: str) -> str:
    (judge,) = open_judges(spec, JudgeOptions(key_optional=True))
    return f"{judge.name} {judge.manifest_entry}"


def editor_words(spec: str) -> str:
    editor = open_editor(spec, EditorOptions(key_optional=True))
    return f"{editor.name} {editor.manifest_entry}"


def what_is_said(of: Callable[[str], str], spec: str) -> str:
    """Return all texts of the editor or judge for a spec, or the error message."""
    try:
        return of(spec)
    except CrevalError as error:
        return str(error)


@pytest.mark.parametrize("of", [judge_words, editor_words])
@pytest.mark.parametrize(
    "spec",
    [
        "openai:m@http://user:{}@host/v1",
        "openai:m@http:/user:{}@host/v1",
        "openai:m@http:user:{}@host/v1",
        "openai:m@http//user:{}@host:8000",
        "openai:m@HTTP://user:{}@host",
        "openai:m@htp://user:{}@host",
        "openai:m@user:{}@host",
        "openai:user:{}@host",
        "openai:http://user:{}@host/v1",
        "openai@http://user:{}@host/v1",
        "http://user:{}@host/v1",
        "user:{}@host",
        "openai:m@http://user:x/{}@host",
        "openai:m@http://user:x {}@host",
        "openai:m@http://{}@host",
        "openai:m@http://host:{}/v1",
        "openai:m@http://host/v1?key={}",
        "panel:openai:m@http//user:{}@host",
        "panel:openai:a@http://u:{}@h/v1+openai:b@http://g/v1",
    ],
)
def test_a_password_in_a_malformed_name_is_never_shown(spec: str, of: Callable[[str], str]) -> None:
    assert SECRET not in what_is_said(of, spec.format(SECRET))
    with pytest.raises(CrevalError):
        of(spec.format(SECRET))


def test_a_password_is_never_shown_whatever_was_mistyped() -> None:
    rng = random.Random(5)
    good = ("openai:m@http://user:#@host:8000/v1", "google:m@https://user:#@host", "bfl:m@http://u:#@127.0.0.1/v1")
    for _ in range(3000):
        signs = list(rng.choice(good))
        for _ in range(rng.choice([1, 1, 2, 3])):
            place = rng.randrange(len(signs))
            if signs[place] != "#" and signs[place - 1] != "#":
                signs[place] = rng.choice(["", "", signs[place] * 2, *":/@ \\?.Z"])
        spec = "".join(signs).replace("#", SECRET)
        for of in (judge_words, editor_words):
            assert SECRET not in what_is_said(of, spec), spec


@pytest.mark.parametrize(
    ("rest", "parts"),
    [
        ("llama3.2-vision:11b@http://localhost:11434/v1", ("llama3.2-vision:11b", "@", "http://localhost:11434/v1")),
        ("@cf/meta/llama-3.2-11b", ("@cf/meta/llama-3.2-11b", "", "")),
        ("claude-3-5-sonnet@20240620", ("claude-3-5-sonnet@20240620", "", "")),
        ("m@20240620@https://[::1]:8000/v1/", ("m@20240620", "@", "https://[::1]:8000/v1")),
        ("ft:gpt-4o:me::A1", ("ft:gpt-4o:me::A1", "", "")),
    ],
)
def test_good_names_stay_as_they_are(rest: str, parts: tuple[str, str, str]) -> None:
    assert split_address(rest) == parts
