"""An editor's name says who edits, where, and with which key."""

from __future__ import annotations

import pytest

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions
from creval.editors.remote.base import Remote
from creval.editors.spec import PROVIDERS, open_editor

KEY = "sk-very-secret-123"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.setenv(provider.key, KEY)
    monkeypatch.delenv("CREVAL_API_KEY", raising=False)


def one(spec: str, **options: object) -> Remote:
    editor = open_editor(spec, EditorOptions(**options))  # type: ignore[arg-type]
    assert isinstance(editor, Remote)
    return editor


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_provider_by_its_name(kind: str) -> None:
    editor = one(f"{kind}:some-model")
    assert (editor.name, editor.model) == (f"{kind}:some-model", "some-model")
    assert editor.provider == kind
    assert editor._server.url == PROVIDERS[kind].url
    assert editor._server.key == KEY
    assert KEY not in repr(vars(editor)) + repr(editor.facts)


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_server_of_ones_own_gets_no_providers_key(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"{kind}:m@http://localhost:8000/v1/"
    editor = one(spec)
    assert (editor.model, editor._server.url) == ("m", "http://localhost:8000/v1")
    assert editor._server.key == ""
    assert editor.price is None
    assert editor.headers() == {}
    monkeypatch.setenv("MINE", " k1 ")
    assert one(spec, key="MINE")._server.key == "k1"


def test_prices_are_known_or_given() -> None:
    assert one("bfl:flux-kontext-pro").price == 0.04
    assert one("bfl:flux-kontext-pro", price=0.02).price == 0.02
    assert one("bfl:flux-9").price is None
    assert one("google:gemini-3-pro-image-preview").price == 0.134
    assert one("bfl:flux-kontext-pro@http://h/v1").price is None


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("", "give KIND:MODEL"),
        ("openai", "give KIND:MODEL"),
        ("openai:", "give KIND:MODEL"),
        ("opnai:x", "did you mean 'openai'"),
        ("openai:@http://h/v1", "give the model's name"),
        ("openai:m@localhost:8000/v1", "begins with http"),
        ("openai:m@http://user:key@h/v1", "--editor: the address of m must be like"),
    ],
)
def test_names_that_are_wrong(spec: str, sentence: str) -> None:
    with pytest.raises(CrevalError, match=sentence):
        one(spec)


def test_keys_that_are_missing_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BFL_API_KEY")
    with pytest.raises(CrevalError, match=r"--editor bfl:m: put the key into .* BFL_API_KEY"):
        one("bfl:m")
    assert one("bfl:m", keyless=True)._server.key == ""
    monkeypatch.setenv("BFL_API_KEY", "a\nb")
    with pytest.raises(CrevalError, match="holds characters that no key has"):
        one("bfl:m")
    with pytest.raises(CrevalError, match="NOWHERE"):
        one("bfl:m@http://h/v1", key="NOWHERE")
