"""What a run's manifest says about its numbers: whose prompt the judge was asked with, and the saved choice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from creval.analysis.scoring_options import describe_choice
from creval.benchmarks import get_protocol
from creval.core.errors import CrevalError
from creval.core.formatting import escape_control
from creval.prompts import load_prompt


def manifest_sentences(manifest: Mapping[str, Any]) -> list[str]:
    """Return what to know about a run's numbers besides the samples and the judge."""
    found = prompt_sentences(manifest.get("protocol", manifest["benchmark"]), manifest.get("prompts", {}))
    if choice := describe_choice(manifest):
        found.append(f"Saved with this run, and used where nothing else is given: {escape_control(choice)}.")
    return found


def prompt_sentences(protocol_name: str, versions: Collection[str]) -> list[str]:
    """Return what the prompts of these versions mean for setting a score beside a published one.

    Nothing where the authors' words are the shipped ones, and where nothing was asked here, as in recorded answers.
    """
    protocol = get_protocol(protocol_name)
    if not protocol.authors_prompt_differs or not versions:
        return []
    others = [version for version in versions if not _is_shipped(version, protocol.prompts)]
    if not others:
        return [
            "The judge is asked with creval's own prompt, not with the authors': a difference to a published score may "
            "come from the prompt alone. Compare only scores of the same prompt and judge."
        ]
    named = ", ".join(map(escape_control, sorted(others)))
    mixed = ", and with creval's own" if len(others) < len(versions) else ""
    return [
        f"The judge is asked with another prompt than creval's own ({named}){mixed}: if it is the authors', the prompt "
        "is no reason for a difference to a published score. Compare only scores of the same prompt and judge."
    ]


def _is_shipped(version: str, own: Mapping[str, str]) -> bool:
    """Return whether a prompt's version is that of a text that comes with creval or with the protocol."""
    try:
        return load_prompt(version.partition("@")[0], own=own).version == version
    except CrevalError:
        return False
