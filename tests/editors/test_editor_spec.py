"""Tests of editor specs: provider, address and key."""

from __future__ import annotations

import pytest

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions
from creval.editors.editor_spec import EDITOR_PROVIDERS, open_editor
from creval.editors.remote.base import RemoteEditor

KEY = "sk-very-secret-123"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in EDITOR_PROVIDERS.values():
        monkeypatch.setenv(provider.key_env, KEY)
    monkeypatch.delenv("CREVAL_API_KEY", raising=False)


def one(spec: str, **options: object) -> RemoteEditor:
    editor = open_editor(spec, EditorOptions(**options))  # type: ignore[arg-type]
    assert isinstance(editor, RemoteEditor)
    return editor


@pytest.mark.parametrize("kind", EDITOR_PROVIDERS)
def test_a_provider_by_its_name(kind: str) -> None:
    editor = one(f"{kind}:some-model")
    assert (editor.name, editor.model) == (f"{kind}:some-model", "some-model")
    assert editor.provider == kind
    assert editor._endpoint.url == EDITOR_PROVIDERS[kind].url
    assert editor._endpoint.key == KEY
    assert KEY not in repr(vars(editor)) + repr(editor.manifest_entry)


@pytest.mark.parametrize("kind", EDITOR_PROVIDERS)
def test_a_server_of_ones_own_gets_no_providers_key(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = f"{kind}:m@http://localhost:8000/v1/"
    editor = one(spec)
    assert (editor.model, editor._endpoint.url) == ("m", "http://localhost:8000/v1")
    assert editor._endpoint.key == ""
    assert editor.price is None
    assert editor.auth_headers() == {}
    monkeypatch.setenv("MINE", " k1 ")
    assert one(spec, key_env="MINE")._endpoint.key == "k1"


@pytest.mark.parametrize("kind", EDITOR_PROVIDERS)
def test_a_rehearsal_of_a_provider_has_neither_its_key_nor_its_price(kind: str) -> None:
    editor = one(f"rehearsal:{kind}:m")
    assert (editor.provider, editor.model, editor._endpoint.url) == (kind, "m", "http://127.0.0.1:8099/v1")
    assert (editor._endpoint.key, editor.price) == ("", None)
    assert one(f"rehearsal:{kind}:m@http://h:1/v1", price=0.5).price == 0.5


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
        ("rehearsal:openai", "give the model's name"),
        ("rehearsal:m@http://h/v1", "give rehearsal:PROVIDER:MODEL"),
        ("openai:m@localhost:8000/v1", "must begin with http"),
        ("openai:m@http://user:key@h/v1", "`editor`: the address of m must be like"),
    ],
)
def test_names_that_are_wrong(spec: str, sentence: str) -> None:
    with pytest.raises(CrevalError, match=sentence):
        one(spec)


def test_keys_that_are_missing_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BFL_API_KEY")
    with pytest.raises(CrevalError, match=r"`editor` bfl:m: set .* BFL_API_KEY"):
        one("bfl:m")
    assert one("bfl:m", key_optional=True)._endpoint.key == ""
    monkeypatch.setenv("BFL_API_KEY", "a\nb")
    with pytest.raises(CrevalError, match="contains characters that are invalid in a key"):
        one("bfl:m")
    with pytest.raises(CrevalError, match="NOWHERE"):
        one("bfl:m@http://h/v1", key_env="NOWHERE")
