"""Opening editors by name: `openai:gpt-image-1`, `openai:MODEL@URL`, `command:...`, `touchstone:lazy`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from creval import registry
from creval.core.errors import CrevalError
from creval.core.plugins import adopt, create
from creval.core.rehearsal import REHEARSAL_PREFIX
from creval.editors.base import Editor, EditorOptions
from creval.providers.addresses import read_api_key, show_spec, split_address
from creval.providers.catalog import CUSTOM_SERVER_KEY_ENV, REHEARSAL_URL

FIELD = "editor"


class EditorProvider(NamedTuple):
    """A provider of editing models: its address, the environment variable of the API key, and the editor class."""

    url: str
    key_env: str
    editor_class: str


EDITOR_PROVIDERS = {
    "openai": EditorProvider("https://api.openai.com/v1", "OPENAI_API_KEY", "openai:OpenAIEditor"),
    "google": EditorProvider(
        "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", "google:GoogleEditor"
    ),
    "bfl": EditorProvider("https://api.bfl.ai/v1", "BFL_API_KEY", "bfl:BFLEditor"),
    "dashscope": EditorProvider(
        "https://dashscope-intl.aliyuncs.com/api/v1", "DASHSCOPE_API_KEY", "dashscope:DashScopeEditor"
    ),
    "seedream": EditorProvider("https://ark.cn-beijing.volces.com/api/v3", "ARK_API_KEY", "seedream:SeedreamEditor"),
}


def open_editor(spec: str | Editor | Callable[..., Any], options: EditorOptions) -> Editor:
    """Return the editor for a name, a function or an `Editor`."""
    if isinstance(spec, Editor):
        return adopt(Editor, spec, type(spec).__name__)  # type: ignore[type-abstract]
    if not isinstance(spec, str):
        from creval.editors.function import FunctionEditor

        name = getattr(spec, "__name__", type(spec).__name__)
        where = f"{getattr(spec, '__module__', '')}:{name}"
        return FunctionEditor(f"python:{where}", where, options, spec)
    kind, _, rest = spec.partition(":")
    if not rest.strip() and not (kind in registry.editors and registry.editors.origin(kind)):
        raise CrevalError(
            f"`{FIELD}` {show_spec(spec) or '(nothing)'}: give KIND:MODEL, such as openai:gpt-image-1, or for "
            "your own server openai:MODEL@http://localhost:8000/v1. "
            f"Kinds: {', '.join(registry.editors.names())}."
        )
    return create(Editor, registry.editors.get(kind), spec, rest, options)  # type: ignore[type-abstract]


def open_remote(spec: str, rest: str, options: EditorOptions) -> Editor:
    """Return an editor that calls a server. A provider's key is never sent to another address."""
    provider = EDITOR_PROVIDERS[spec.partition(":")[0]]
    model, at, url = split_address(rest, FIELD)
    variable = options.key_env or (CUSTOM_SERVER_KEY_ENV if at else provider.key_env)
    required = (not at or bool(options.key_env)) and not options.key_optional
    address = url or provider.url
    return _open(provider, spec, model, address, variable, options, key_required=required, custom_url=bool(at))


def open_rehearsal(spec: str, rest: str, options: EditorOptions) -> Editor:
    """Return the editor of a provider that calls `creval fake-server` instead of the provider."""
    kind, _, model_and_url = rest.partition(":")
    if kind not in EDITOR_PROVIDERS:
        raise CrevalError(
            f"`{FIELD}` {show_spec(spec)}: give {REHEARSAL_PREFIX}PROVIDER:MODEL, such as "
            f"{REHEARSAL_PREFIX}openai:gpt-image-1. Providers: {', '.join(EDITOR_PROVIDERS)}."
        )
    model, _, url = split_address(model_and_url, FIELD)
    variable, required = options.key_env or CUSTOM_SERVER_KEY_ENV, bool(options.key_env) and not options.key_optional
    address = url or REHEARSAL_URL
    return _open(EDITOR_PROVIDERS[kind], spec, model, address, variable, options, key_required=required, rehearsal=True)


def _open(
    provider: EditorProvider,
    spec: str,
    model: str,
    url: str,
    key_env: str,
    options: EditorOptions,
    *,
    key_required: bool,
    custom_url: bool = True,
    rehearsal: bool = False,
) -> Editor:
    if not model:
        raise CrevalError(f"`{FIELD}` {show_spec(spec)}: give the model's name before the @.")
    key = read_api_key(key_env, f"`{FIELD}` {spec}", required=key_required)

    from creval.providers.http import HttpEndpoint

    usual_path = urlsplit(REHEARSAL_URL if rehearsal else provider.url).path
    server = HttpEndpoint(spec, model, url, key, key_env, options.timeout, usual_path)
    module, _, name = provider.editor_class.partition(":")
    editor_class = getattr(import_module(f"creval.editors.remote.{module}"), name)
    editor: Editor = editor_class(server, options, custom_url=custom_url, is_rehearsal=rehearsal)
    return editor
