"""Notes on a run from its manifest: the origin of the judge's prompts, and saved scoring options."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from creval.analysis.scoring_options import describe_choice
from creval.benchmarks import get_protocol
from creval.core.errors import CrevalError
from creval.core.formatting import escape_control
from creval.prompts import load_prompt


def manifest_sentences(manifest: Mapping[str, Any]) -> list[str]:
    """Return notes on a run's prompts and on its saved scoring options."""
    found = prompt_sentences(manifest.get("protocol", manifest["benchmark"]), manifest.get("prompts", {}))
    if choice := describe_choice(manifest):
        found.append(f"Scoring options saved with this run, used by default: {escape_control(choice)}.")
    return found


def prompt_sentences(protocol_name: str, versions: Collection[str]) -> list[str]:
    """Return notes on whether scores from these prompts can be compared with published scores.

    Empty if creval ships the authors' prompt, or if no judge was asked (as with recorded answers).
    """
    protocol = get_protocol(protocol_name)
    if not protocol.authors_prompt_differs or not versions:
        return []
    others = [version for version in versions if not _is_shipped(version, protocol.prompts)]
    if not others:
        return [
            "The judge was asked with creval's own prompt, not with the authors' prompt. A difference from a published "
            "score may come from the prompt alone. Compare only scores from the same prompt and judge."
        ]
    named = ", ".join(map(escape_control, sorted(others)))
    mixed = ", and with creval's own prompt" if len(others) < len(versions) else ""
    return [
        f"The judge was asked with a custom prompt ({named}){mixed}. If it is the authors' prompt, it does not explain "
        "a difference from a published score. Compare only scores from the same prompt and judge."
    ]


def _is_shipped(version: str, own: Mapping[str, str]) -> bool:
    """Return whether a prompt version is that of a prompt shipped with creval or with the protocol."""
    try:
        return load_prompt(version.partition("@")[0], own=own).version == version
    except CrevalError:
        return False
