"""`creval prompts`: the texts that are sent to models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import screen


def prompts(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this one.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write copies to change, for --prompts.")
    ] = None,
) -> None:
    """List, print or copy the texts that are sent to models."""
    from creval.core.errors import CrevalError
    from creval.prompts import load_prompt, prompt_names

    texts = [load_prompt(found) for found in ([name] if name else prompt_names())]
    if out is not None:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        for prompt in texts:
            path = folder / f"{prompt.name}.md"
            if path.exists():
                raise CrevalError(f"{path} is there already.")
            path.write_text(prompt.text, encoding="utf-8")
            screen.note(f"written: {path}")
    elif name:
        print(texts[0].text, end="")
    else:
        for prompt in texts:
            places = " ".join(f"{{{{{place}}}}}" for place in sorted(prompt.places))
            print(f"{prompt.version}  {places}")
