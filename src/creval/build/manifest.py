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


def keep_manifest(
    system: str, writing: Writing[Any], prompts: Iterable[Prompt], shape: Mapping[str, Any]
) -> None:
    """Write down what is used; `shape` is what texts depend on besides models and prompts."""
    folder, settings = writing.folder, writing.settings
    fixed = {
        "system": system,
        "models": {role: judge.name for role, judge in writing.judges.items()},
        "prompts": sorted(prompt.version for prompt in prompts),
        "image_fit": settings.image_fit,
        "seed": settings.seed,
        **shape,
    }
    with Store(folder) as store, store.transaction():
        check_same(folder, store.manifest, fixed)
        more = {"retries": settings.retries, "limit": settings.limit}
        store.put_manifest({**versions(), **more, **fixed})


def check_same(folder: Path, held: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
    """Refuse to go on in a folder that was begun with something else."""
    if held and held.get("system") != fixed["system"]:
        raise CrevalError(f"{folder} holds something else already. Give another --out.")
    for name, value in fixed.items():
        if name in held and held[name] != value:
            raise CrevalError(
                f"{folder} was begun with another {name} ({held[name]!r}, not {value!r}). Give "
                "another --out, or the same again."
            )
