"""What a benchmark's folder keeps about how it was made."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from creval import __version__
from creval.core.errors import CrevalError
from creval.engine.settings import Settings
from creval.engine.writing import Writing
from creval.prompts import Prompt
from creval.store import Store


def keep_manifest(
    folder: Path,
    system: str,
    writing: Writing[Any],
    prompts: Iterable[Prompt],
    settings: Settings,
    shape: Mapping[str, Any],
) -> None:
    """Write down what was used; refuse to go on in a folder that was begun with something else.

    `shape` is what texts depend on besides models and prompts.
    """
    fixed = {
        "system": system,
        "models": {role: judge.name for role, judge in writing.judges.items()},
        "prompts": sorted(prompt.version for prompt in prompts),
        "image_fit": settings.image_fit,
        "seed": settings.seed,
        **shape,
    }
    with Store(folder) as store:
        held = store.manifest
        for name, value in fixed.items():
            if name in held and held[name] != value:
                raise CrevalError(
                    f"{folder} was begun with the {name} {held[name]!r}, not {value!r}. Give "
                    "another --out, or the same again."
                )
        with store.transaction():
            store.put_manifest({
                "date": datetime.now(timezone.utc).date().isoformat(),
                "creval": __version__,
                "python": platform.python_version(),
                "retries": settings.retries,
                "limit": settings.limit,
                **fixed,
            })  # fmt: skip
