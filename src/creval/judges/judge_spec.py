"""Judges by name: `openai:gpt-4o`, `openai:MODEL@URL`, `hf:org/model`, `panel:A+B+C`, `pixel`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from creval import registry
from creval.core.errors import CrevalError, unknown_name_error
from creval.core.images import ResizeRule
from creval.core.plugins import adopt, create
from creval.core.redaction import hide_words
from creval.core.rehearsal import has_rehearsal
from creval.judges.base import Judge, JudgeOptions, sampling_parameters
from creval.providers.addresses import read_api_key, show_spec, split_address
from creval.providers.catalog import CHAT_PROVIDERS, CUSTOM_SERVER_KEY_ENV, find_list_price
from creval.providers.vision import VisionSpec, find_vision, fit_within_square


def panel_members(spec: str, field: str = "judge") -> list[str]:
    """Return the specs of a panel's judges. For a single judge, return its own spec."""
    kind, _, rest = spec.partition(":")
    if kind != "panel":
        return [spec]
    kinds = "|".join(map(re.escape, registry.judges.names()))
    found = [part.strip() for part in re.split(rf"\+(?=(?:{kinds})(?::|\+|$))", rest)]
    if len(found) < 2 or len(set(found)) < len(found):
        raise CrevalError(
            f"`{field}` {show_spec(spec)}: a panel has two or more different judges, joined by +, such as "
            "panel:openai:gpt-4o+google:gemini-2.5-flash."
        )
    return found


JudgeSpec = str | Judge | Callable[..., Any] | Sequence["str | Judge | Callable[..., Any]"]
"""A judge by name, as an object or as a function. A sequence of them is a panel."""


def open_judges(spec: JudgeSpec, options: JudgeOptions) -> list[Judge]:
    """Create the judges of a spec. The caller must call `open` of each judge before use."""
    if isinstance(spec, Judge):
        return [adopt(Judge, spec, type(spec).__name__)]  # type: ignore[type-abstract]
    if not isinstance(spec, str) and not isinstance(spec, Sequence):
        from creval.judges.python_judge import FunctionJudge

        name = getattr(spec, "__name__", type(spec).__name__)
        return [FunctionJudge(name, name, options, spec)]
    if not isinstance(spec, str):
        members = [judge for member in spec for judge in open_judges(member, options)]
        _check_panel(members, options.option_name)
        return members
    parts = panel_members(spec, options.option_name)
    if options.key_env and len({_place(part) for part in parts}) > 1:
        raise CrevalError(
            "`key_env` names one key, but these judges have different providers or addresses. Remove `key_env`, and "
            "put each key into the environment variable of its provider."
        )
    judges = [_open_judge(part, options) for part in parts]
    if len(judges) > 1:
        _check_panel(judges, options.option_name)
    return judges


def _check_panel(judges: Sequence[Judge], option_name: str) -> None:
    """Raise `CrevalError` if two judges have the same name, or if rehearsal and real judges are mixed."""
    if len({judge.name for judge in judges}) < len(judges):
        raise CrevalError(
            f"`{option_name}`: two judges of a panel have the same name. A model at two addresses counts as one judge."
        )
    if len({has_rehearsal(judge.name) for judge in judges}) > 1:
        raise CrevalError(f"`{option_name}`: rehearsal answers cannot be mixed with those of a real judge.")


def _place(spec: str) -> tuple[str, str]:
    """Return the provider in a judge's spec, and the server's address if the spec has one."""
    kind, _, rest = spec.partition(":")
    return kind, split_address(rest)[2] if kind in CHAT_PROVIDERS else ""


def judge_name(spec: JudgeSpec, judges: Sequence[Judge]) -> str:
    """Return the name under which a run stores its judge or panel."""
    if isinstance(spec, str):
        return hide_words(judge_identity(spec))
    names = [judge.name for judge in judges]
    return names[0] if len(names) == 1 else f"panel:{'+'.join(names)}"


def keep_stored_names(spec: JudgeSpec, judges: Sequence[Judge], stored: str) -> str:
    """Return the name of a run's judge or panel.

    If the `stored` name contains a secret, it is returned, because the run's answers are stored under it.
    """
    hidden = hide_words(stored)
    if not isinstance(spec, str) or stored == hidden or hide_words(spec) != hidden:
        return judge_name(spec, judges)
    for judge, name in zip(judges, panel_members(stored), strict=True):
        judge.name = name
    return stored


def judge_identity(spec: str) -> str:
    """Return the spec of a judge or panel without addresses.

    The same model counts as the same judge at every address.

    >>> judge_identity("panel:openai:a@http://h:1/v1+pixel")
    'panel:openai:a+pixel'
    """
    try:
        members = panel_members(spec)
        parts = [part.partition(":") for part in members]
        named = [
            f"{kind}:{split_address(rest)[0]}" if kind in CHAT_PROVIDERS else part
            for part, (kind, _, rest) in zip(members, parts, strict=True)
        ]
    except CrevalError:  # a name from an old file
        return spec
    return named[0] if members == [spec] else f"panel:{'+'.join(named)}"


def adopt_stored_name(judge: Judge, stored_names: Iterable[str]) -> None:
    """Give a judge the name under which its answers are stored already.

    Older versions stored the address in the name of a model at a custom address. With this name, such answers are
    found.
    """
    url = getattr(judge, "url", "")
    same = [name for name in stored_names if judge_identity(name) == judge.name]
    if url and same:
        judge.name = min(same, key=lambda name: (name != judge.name, name != f"{judge.name}@{url}", name))


def resize_rule(vision: VisionSpec, image_fit: str) -> ResizeRule | None:
    """Return the rule by which images are resized before they are sent, or None if they keep their size.

    `image_fit` is `original` (keep the size), `provider` (the size that the provider's model sees), or the maximum
    length of the longest side in pixels.
    """
    if image_fit == "original":
        return None
    if image_fit == "provider":
        return vision.resize
    if not image_fit.isdigit() or not 16 <= int(image_fit) <= 16384:
        raise CrevalError(
            f"`image_fit` takes original, provider, or a number of pixels from 16 to 16384 for "
            f"the longest side, not {image_fit!r}."
        )
    return fit_within_square(int(image_fit))


def _open_judge(spec: str, options: JudgeOptions) -> Judge:
    kind, colon, rest = spec.partition(":")
    if kind == "recorded":
        raise CrevalError("recorded answers cannot be a judge. Import them with `creval replay`.")
    known = kind in registry.judges
    if (kind in CHAT_PROVIDERS and not rest.strip()) or not (colon or known):
        raise CrevalError(
            f"`{options.option_name}` {show_spec(spec) or '(nothing)'}: give PROVIDER:MODEL, such as openai:gpt-4o, or "
            "for a server of your own openai:MODEL@http://localhost:8000/v1. "
            f"Providers: {', '.join(CHAT_PROVIDERS)}; local models: hf:ORG/MODEL or hf:FOLDER; "
            "your own code: python:MODULE:NAME, command:TEMPLATE; "
            "for touchstone's images: pixel, truth, noisy:0.9,0.8."
        )
    if not known:
        raise unknown_name_error(options.option_name, show_spec(kind), [*registry.judges.names(), "panel"])
    return create(Judge, registry.judges.get(kind), spec, rest, options)  # type: ignore[type-abstract]


def open_chat(spec: str, rest: str, options: JudgeOptions) -> Judge:
    """Create a judge on a server with the OpenAI chat format."""
    kind = spec.partition(":")[0]
    model, at, url = split_address(rest, options.option_name)
    if not model:
        raise CrevalError(f"`{options.option_name}` {show_spec(spec)}: give the model's name before the address.")
    parameters = sampling_parameters(options)
    provider = CHAT_PROVIDERS[kind]
    if provider.is_rehearsal:
        at = "@"
    if at:
        own = replace(
            provider, key_env=options.key_env or CUSTOM_SERVER_KEY_ENV, supports_n=True, max_reply_tokens=None
        )
        # Assume all features of a custom server, of which only the model's name is known.
        provider = replace(own, supports_logprobs=True, supports_schema=True) if kind == "openai" else own
    elif options.key_env:
        provider = replace(provider, key_env=options.key_env)
    if options.logprobs and not provider.supports_logprobs:
        raise CrevalError(f"`logprobs`: {kind} returns no log-probabilities.")
    needed = (not at or bool(options.key_env)) and not options.key_optional
    key = read_api_key(provider.key_env, f"`{options.option_name}` {spec}", required=needed)
    if provider.max_reply_tokens and not {"max_tokens", "max_completion_tokens"} & parameters.keys():
        parameters["max_tokens"] = provider.max_reply_tokens
    given = {"temperature"} if options.temperature is not None else set()
    optional = frozenset(parameters.keys() - options.parameters.keys() - given)

    from creval.judges.chat import ChatJudge

    return ChatJudge(
        f"{kind}:{model}",
        model,
        provider,
        url=url or provider.url,
        key=key,
        vision=find_vision(model, "" if at else kind),
        price=options.price or (None if at else find_list_price(model)),
        parameters=parameters,
        optional=optional,
        logprobs=options.logprobs,
        timeout=options.timeout,
        connections=options.concurrency,
    )
