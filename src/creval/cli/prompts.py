"""`creval prompts`: the prompts that are sent to models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import console, options

ICE_TEMPLATES = "ice_templates"


def prompts(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Print this prompt.", autocompletion=options.complete_names("prompts")),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Write copies to edit and use with --prompts.")] = None,
) -> None:
    """List, print or copy the prompts that are sent to models."""
    from creval.core.formatting import escape_control
    from creval.prompts import load_prompt

    if name == ICE_TEMPLATES:
        _output_templates(out)
        return
    own, packages = _package_prompts()
    texts = [load_prompt(found, own=own) for found in ([name] if name else packages)]
    if out is not None:
        for prompt in texts:
            _write_copy(Path(out) / f"{prompt.name}.md", prompt.text)
    elif name:
        print(texts[0].text, end="")
    else:
        for prompt in texts:
            places = " ".join(f"{{{{{place}}}}}" for place in sorted(prompt.placeholders))
            package = packages[prompt.name]
            print(escape_control(f"{prompt.version}  {places}" + (f"  ({package})" if package else "")))
        print(f"{ICE_TEMPLATES}  templates that models fill in, for --templates of `creval build ice`")


def _package_prompts() -> tuple[dict[str, str], dict[str, str]]:
    """Return the prompts of protocols from other packages, and the package of every prompt."""
    from creval import registry
    from creval.benchmarks import get_protocol

    own: dict[str, str] = {}
    packages = {name: registry.prompts.origin(name) for name in registry.prompts.names()}
    for name in registry.protocols.names():
        if origin := registry.protocols.origin(name):
            brought = get_protocol(name).prompts
            own |= brought
            packages |= dict.fromkeys(brought, origin)
    return own, packages


def _output_templates(out: str | None) -> None:
    """Print the templates of ICE-Bench's tasks, or write an editable copy."""
    from creval.building.ice.task_kits import TASK_KITS
    from creval.core.files import format_json

    text = format_json({task: kit.templates for task, kit in TASK_KITS.items()})
    if out is None:
        print(text, end="")
    else:
        _write_copy(Path(out) / f"{ICE_TEMPLATES}.json", text)


def _write_copy(path: Path, text: str) -> None:
    from creval.core.errors import CrevalError

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise CrevalError(f"{path} already exists.")
    path.write_text(text, encoding="utf-8")
    console.print_note(f"written: {path}")
