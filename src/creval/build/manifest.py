"""What a benchmark's folder keeps about how it was made, and that it stays one thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError
from creval.engine.manifest import versions
from creval.engine.writing import Writing
from creval.prompts import Prompt
from creval.store import Store

Fixed = Mapping[str, Any]
"""What texts depend on, which stays the same in a folder."""


def fixed_by(system: str, writing: Writing[Any], prompts: Iterable[Prompt], **shape: Any) -> Fixed:
    """Models, prompts and settings, and what else shapes the texts of a system."""
    return {
        "system": system,
        "models": {role: judge.name for role, judge in writing.judges.items()},
        "prompts": sorted(prompt.version for prompt in prompts),
        "image_fit": writing.settings.image_fit,
        "seed": writing.settings.seed,
        **shape,
    }


def keep_manifest(writing: Writing[Any], fixed: Fixed) -> None:
    """Write down what is used."""
    settings = writing.settings
    with Store(writing.folder) as store, store.transaction():
        check_same(writing.folder, store.manifest, fixed)
        more = {"retries": settings.retries, "limit": settings.limit}
        store.put_manifest({**versions(), **more, **fixed})


def check_same(folder: Path, held: Mapping[str, Any], fixed: Fixed) -> None:
    """Refuse to go on in a folder that was begun with something else."""
    if held and held.get("system") != fixed["system"]:
        raise CrevalError(f"{folder} holds something else already. Give another --out.")
    for name, value in fixed.items():
        if name in held and held[name] != value:
            raise CrevalError(
                f"{folder} was begun with another {name} ({held[name]!r}, not {value!r}). Give "
                "another --out, or the same again."
            )
