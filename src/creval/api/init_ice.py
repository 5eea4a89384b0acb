"""Import images of public datasets for `build_ice`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from creval.building.ice.import_images import ImportedImages, import_images
from creval.core.errors import CrevalError
from creval.core.formatting import escape_control, pluralise
from creval.reporting.output import CommandOutput
from creval.reporting.result import Result

_MAX_SHOWN = 3


def init_ice(
    folder: str | Path,
    *,
    images: str | Path,
    layout: str,
    annotations: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Result[ImportedImages]:
    """Copy images of a dataset into a folder, with the masks and references that `build_ice` reads.

    `layout` is coco, dreambooth or viton-hd. `annotations` is COCO's file of instances, or VITON-HD's file of pairs.
    """
    if not str(folder):
        raise CrevalError("give the folder to write into.")
    given = Path(annotations) if annotations is not None else None
    found = import_images(Path(folder), Path(images), layout, given, limit=limit, seed=seed)
    sentences = [escape_control(f"{pluralise(found.total, 'set')} of images written into {folder}.")]
    for name, count in sorted(found.counts.items()):
        sentences.append(f"{count:,} for {name or 'any possible task without a mask'}.")
    if found.left_out:
        shown = [f"{name} ({why})" for name, why in list(found.left_out.items())[:_MAX_SHOWN]]
        more = ", ..." if len(found.left_out) > _MAX_SHOWN else ""
        sentences.append(escape_control(f"{len(found.left_out):,} left out: {', '.join(shown)}{more}."))
    sentences.append(f"Next: creval build ice --images {quote(str(folder))} --out BENCH --writer openai:gpt-4o")
    data = {"layout": layout, "sets": dict(found.counts), "left_out": dict(found.left_out)}
    records = [{"name": name, "reason": why} for name, why in found.left_out.items()]
    return Result(found, CommandOutput(sentences, [], data), records)
