"""Helpers that run remote editors against a test server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest
from creval.editors.editor_spec import open_editor
from creval.editors.remote.base import RemoteEditor
from creval.providers.call_errors import CallError, ProviderUnusable
from tests.editors.servers import Provider, jpeg, png
from tests.serving import serving

KEY = "sk-very-secret/123"
PATHS = {"openai": "/v1", "google": "/v1beta", "bfl": "/v1", "dashscope": "/api/v1", "seedream": "/api/v3"}
MODELS = {
    "openai": "gpt-image-1",
    "google": "gemini-2.5-flash-image",
    "bfl": "flux-kontext-pro",
    "dashscope": "qwen-image-edit-plus",
    "seedream": "seedream-4-0",
}


class Pocket:
    """A pending task in memory, with all ids that were saved."""

    def __init__(self, kept: str | None = None) -> None:
        self.task_id, self.all = kept, list[str]()

    async def save(self, name: str) -> None:
        self.task_id = name
        self.all.append(name)


class Asked:
    """An editor, its requests and its results."""

    def __init__(self, editor: RemoteEditor, ticket: Pocket, made: list[EditOutput]) -> None:
        self.editor, self.ticket, self.made = editor, ticket, made

    @property
    def one(self) -> EditOutput:
        (made,) = self.made
        return made


class NoTicket:
    task_id = None

    async def save(self, name: str) -> None:
        raise AssertionError(name)


def made(editor: Editor, job: EditRequest) -> EditOutput:
    async def run() -> EditOutput:
        await editor.open()
        try:
            return await editor.edit(job, NoTicket())
        finally:
            await editor.close()

    return asyncio.run(run())


@contextmanager
def keyed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CREVAL_API_KEY", KEY)
        yield


def ask(
    kind: str,
    server: Provider,
    job: EditRequest,
    *,
    ticket: Pocket | None = None,
    model: str = "",
    times: int = 1,
    provided: bool = False,
    **options: Any,
) -> Asked:
    """Run an editor with a custom server, or as if the server were the provider's (`provided`)."""
    pocket = ticket or Pocket()
    with keyed(), serving(server.app()) as base:
        server.base = server.elsewhere or base
        spec = f"{kind}:{model or MODELS[kind]}@{base}{PATHS[kind]}"
        editor = open_editor(spec, EditorOptions(**{"timeout": 5.0} | options))
        assert isinstance(editor, RemoteEditor)
        editor.poll_interval = 0.01
        if provided:
            editor._custom_url = False
            editor.price = editor.list_price()

        async def run() -> list[EditOutput]:
            await editor.open()
            try:
                return [await editor.edit(job, pocket) for _ in range(times)]
            finally:
                await editor.close()

        try:
            made = asyncio.run(run())
        except (CallError, ProviderUnusable) as error:
            check_words(error)
            raise
        check_words(made, vars(editor), editor.manifest_entry)
        return Asked(editor, pocket, made)


def check_words(*words: object) -> None:
    """Check that the API key is in none of these."""
    for what in words:
        for secret in (KEY, "very-secret"):
            assert secret not in f"{what} {what!r}"


def fault(kind: str, server: Provider, job: EditRequest, **options: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(kind, server, job, **options)
    return caught.value


def make_job(folder: Path, *, references: int = 0, mask: bool = False, **more: Any) -> EditRequest:
    """Return a request with a source of 60 x 40 pixels."""
    folder.mkdir(exist_ok=True)
    (folder / "source.jpg").write_bytes(jpeg((60, 40)))
    others = []
    for number in range(references):
        others.append(folder / f"reference{number}.png")
        others[-1].write_bytes(png((number, 0, 0), (20, 50)))
    if mask:
        half = png((255, 255, 255), (30, 40))
        (folder / "mask.png").write_bytes(half)
    given = {"source": folder / "source.jpg", "seed": 11, **more}
    return EditRequest(
        "s1", "Make it “red”.", mask=folder / "mask.png" if mask else None, references=tuple(others), **given
    )
