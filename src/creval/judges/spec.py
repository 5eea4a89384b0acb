"""Judges by name: `openai:gpt-4o`, `openai:MODEL@URL`, `hf:org/model`, `panel:A+B+C`, `pixel`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from creval.core.errors import CrevalError, unknown
from creval.core.images import Fit
from creval.judges.judge import Judge, Price
from creval.judges.providers import OWN_KEY, PROVIDERS, price_of
from creval.judges.vision import Vision, vision_of, within

LOCAL = "hf"
# Those that know touchstone's pictures; `noisy` is told how wrong it is.
_TOUCHSTONE = ("pixel", "truth", "noisy")
_KINDS = (*PROVIDERS, LOCAL, "panel", "recorded", *_TOUCHSTONE)
# What stands behind an at sign and can only be meant as an address.
_ADDRESS = re.compile(
    r".@(?:[a-z]+://|localhost\b|[0-9]+(?:\.[0-9]+){3}|[\w.-]+:[0-9]+|[\w-]+(?:\.[\w-]+)+(?:/|$))"
)
_JOINED = re.compile(rf"\+(?=(?:{'|'.join(_KINDS)}):|(?:pixel|truth)(?:\+|$))")


@dataclass(frozen=True)
class JudgeOptions:
    """How judges are asked. `parameters` go into every request as they are.

    A temperature of none is 0, or 1 where repeats are wanted. `key` names the environment variable
    that holds the key, if not the usual one; `keyless` does without, where nothing is asked.
    `flag` is the option that names them.
    """

    temperature: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    logprobs: bool = False
    repeat: int = 1
    timeout: float = 300.0
    concurrency: int = 16
    price: Price | None = None
    key: str | None = None
    keyless: bool = False
    flag: str = "--judge"


def members(spec: str, flag: str = "--judge") -> list[str]:
    """The judges that a name stands for: those of a panel, or the one."""
    kind, _, rest = spec.partition(":")
    if kind != "panel":
        return [spec]
    found = [part.strip() for part in _JOINED.split(rest)]
    if len(found) < 2 or len(set(found)) < len(found):
        raise CrevalError(
            f"{flag} {spec}: a panel has two different judges or more, joined by +, such as "
            "panel:openai:gpt-4o+google:gemini-2.5-flash."
        )
    return found


def open_judges(spec: str, options: JudgeOptions) -> list[Judge]:
    """The judges that a name stands for, ready to be opened."""
    parts = members(spec, options.flag)
    if (
        options.key
        and len({part.partition(":")[0] + "@".join(split_address(part)[1:]) for part in parts}) > 1
    ):
        raise CrevalError(
            "--key-env names one key, and these judges are at different places: put each one's key "
            "into its own variable."
        )
    return [_judge(part, options) for part in parts]


def _place(part: str) -> str:
    """Whom a judge's key is sent to: its own address, or its provider."""
    kind, _, rest = part.partition(":")
    return split_address(rest)[2] or kind


def fit_of(vision: Vision, image_fit: str) -> Fit | None:
    """How pictures are fitted: as they are, to what the provider's model sees, or into PIXELS."""
    if image_fit == "original":
        return None
    if image_fit == "provider":
        return vision.fit
    if not image_fit.isdigit() or not 16 <= int(image_fit) <= 16384:
        raise CrevalError(
            f"--image-fit takes original, provider, or a number of pixels from 16 to 16384 for "
            f"the longest side, not {image_fit!r}."
        )
    return within(int(image_fit))


def _judge(spec: str, options: JudgeOptions) -> Judge:
    kind, colon, rest = spec.partition(":")
    if kind in _TOUCHSTONE:
        from creval.judges.touchstone import touchstone_judge

        return touchstone_judge(spec, options.parameters, options.flag)
    model, at, url = split_address(rest, options.flag)
    if not colon or not model:
        raise CrevalError(
            f"{options.flag} {spec or '(nothing)'}: give PROVIDER:MODEL, such as openai:gpt-4o, or "
            "for a server of your own openai:MODEL@http://localhost:8000/v1. "
            f"Providers: {', '.join(PROVIDERS)}; local models: hf:ORG/MODEL or hf:FOLDER; "
            "for touchstone's pictures: pixel, truth, noisy:0.9,0.8."
        )
    if kind == "recorded":
        raise CrevalError(
            "recorded answers are replayed: creval replay BENCH --answers DIR --run RUN."
        )
    temperature = options.temperature
    if temperature is None:
        temperature = 0.0 if options.repeat == 1 else 1.0
    parameters = {"temperature": temperature, **options.parameters}
    if kind == LOCAL:
        from creval.judges.local import Local

        return Local(spec, rest, parameters=parameters, logprobs=options.logprobs)
    if kind not in PROVIDERS:
        raise unknown(options.flag.removeprefix("--"), kind, _KINDS)
    provider = PROVIDERS[kind]
    if at:
        own = replace(provider, key=options.key or OWN_KEY, several=True, longest=None)
        # A server of one's own is known by nothing but its model's name.
        provider = replace(own, logprobs=True, schema=True) if kind == "openai" else own
    elif options.key:
        provider = replace(provider, key=options.key)
    if options.logprobs and not provider.logprobs:
        raise CrevalError(f"--logprobs: {kind} gives no log-probabilities.")
    needed = (not at or bool(options.key)) and not options.keyless
    key = find_key(provider.key, f"{options.flag} {spec}", needed=needed)
    if provider.longest and not {"max_tokens", "max_completion_tokens"} & parameters.keys():
        parameters["max_tokens"] = provider.longest
    given = {"temperature"} if options.temperature is not None else set()
    optional = frozenset(parameters.keys() - options.parameters.keys() - given)

    from creval.judges.chat import Chat

    return Chat(
        spec,
        model,
        provider,
        url=url or provider.url,
        key=key,
        vision=vision_of(model, "" if at else kind),
        price=options.price or (None if at else price_of(model)),
        parameters=parameters,
        optional=optional,
        logprobs=options.logprobs,
        timeout=options.timeout,
        connections=options.concurrency,
    )


def find_key(variable: str, whose: str, *, needed: bool) -> str:
    """The key in an environment variable; empty where there is none and none is needed."""
    key = os.environ.get(variable, "").strip()
    if not key and needed:
        raise CrevalError(f"{whose}: put the key into the environment variable {variable}.")
    if not key.isascii() or not key.isprintable():
        raise CrevalError(f"the key in {variable} holds characters that no key has.")
    return key


def split_address(rest: str, flag: str = "--judge") -> tuple[str, str, str]:
    """`MODEL@URL` in its parts; the at sign is empty where there is no address."""
    match = re.search(r"@(?=https?://)", rest)
    if match is None:
        if _ADDRESS.search(rest):
            raise CrevalError(f"{rest}: an address begins with http:// or https://.")
        return rest.strip(), "", ""
    model, url = rest[: match.start()].strip(), rest[match.end() :].strip().rstrip("/")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise CrevalError(f"{model}: its address is not one ({error}).") from error
    if not host or parts.username or parts.password or parts.query or parts.fragment:
        raise CrevalError(
            f"{flag}: the address of {model} must be like http://host:8000/v1, without a user, "
            "a key or a query in it. A key belongs into an environment variable (--key-env)."
        )
    return model, "@", url.removesuffix("/chat/completions")
