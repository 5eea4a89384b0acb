"""Editors by name: `openai:gpt-image-1`, `openai:MODEL@URL`, `command:...`, `touchstone:lazy`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from creval.core.errors import CrevalError, unknown
from creval.editors.editor import Editor, EditorOptions
from creval.judges.providers import OWN_KEY
from creval.judges.spec import find_key, split_address

FLAG = "--editor"


class Provider(NamedTuple):
    """Who serves editing models: the address, the variable that holds the key, and the class."""

    url: str
    key: str
    editor: str


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "openai:OpenAIEditor"),
    "google": Provider(
        "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", "google:GoogleEditor"
    ),
    "bfl": Provider("https://api.bfl.ai/v1", "BFL_API_KEY", "bfl:BFLEditor"),
    "dashscope": Provider(
        "https://dashscope-intl.aliyuncs.com/api/v1",
        "DASHSCOPE_API_KEY",
        "dashscope:DashScopeEditor",
    ),
    "seedream": Provider(
        "https://ark.cn-beijing.volces.com/api/v3", "ARK_API_KEY", "seedream:SeedreamEditor"
    ),
}


def open_editor(spec: str, options: EditorOptions) -> Editor:
    """The editor that a name stands for, ready to be opened."""
    kind, colon, rest = spec.partition(":")
    if not colon or not rest.strip():
        raise CrevalError(
            f"{FLAG} {spec or '(nothing)'}: give KIND:MODEL, such as openai:gpt-image-1, or for a "
            "server of your own openai:MODEL@http://localhost:8000/v1. "
            f"Kinds: {', '.join(_KINDS)}."
        )
    if kind not in _KINDS:
        raise unknown("editor", kind, _KINDS)
    return _KINDS[kind](spec, options)


def _remote(spec: str, options: EditorOptions) -> Editor:
    """An editor behind a server. A provider's key is never sent to another address."""
    kind, _, rest = spec.partition(":")
    provider = PROVIDERS[kind]
    model, at, url = split_address(rest, FLAG)
    if not model:
        raise CrevalError(f"{FLAG} {spec}: give the model's name before the address.")
    variable = options.key or (OWN_KEY if at else provider.key)
    needed = (not at or bool(options.key)) and not options.keyless
    key = find_key(variable, f"{FLAG} {spec}", needed=needed)

    from creval.judges.server import Server

    server = Server(spec, model, url or provider.url, key, variable, options.timeout)
    module, _, name = provider.editor.partition(":")
    made = getattr(import_module(f"creval.editors.{module}"), name)
    editor: Editor = made(server, options, own=bool(at))
    return editor


def _command(spec: str, options: EditorOptions) -> Editor:
    from creval.editors.command import Command

    return Command(spec, spec.partition(":")[2], options)


def _function(spec: str, options: EditorOptions) -> Editor:
    from creval.editors.function import Function

    return Function(spec, spec.partition(":")[2], options)


def _folder(spec: str, options: EditorOptions) -> Editor:
    from creval.editors.known import Folder

    return Folder(spec, spec.partition(":")[2], options)


def _drawn(spec: str, options: EditorOptions) -> Editor:
    from creval.editors.known import Drawn

    return Drawn(spec, spec.partition(":")[2], options)


def _diffusers(spec: str, options: EditorOptions) -> Editor:
    from creval.editors.diffusers.editor import Diffusers

    return Diffusers(spec, spec.partition(":")[2], options)


# The kinds of editors, each with what makes one of its name.
_KINDS: dict[str, Callable[[str, EditorOptions], Editor]] = {
    **dict.fromkeys(PROVIDERS, _remote),
    "command": _command,
    "python": _function,
    "folder": _folder,
    "touchstone": _drawn,
    "diffusers": _diffusers,
}
