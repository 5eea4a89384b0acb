"""Data frames as Parquet and CSV files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

_FORMULA = r"^'*[=+\-@\t\r]"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_CONTROL = r"[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x{9F}]"


def write_frames(
    frames: Iterable[polars.DataFrame], folder: Path, name: str, watch: Callable[[int], None] | None = None
) -> None:
    """Write the frames, concatenated, as `NAME.parquet` and `NAME.csv`. Only one is in memory at a time."""
    import polars

    parts: list[Path] = []
    with (folder / f"{name}.csv").open("wb") as out:
        for frame in frames:
            sanitise_frame(frame).write_csv(out, include_header=not parts)
            parts.append(folder / f".{name}-{len(parts)}.parquet")
            frame.write_parquet(parts[-1])
            if watch is not None:
                watch(len(frame))
    whole = folder / f"{name}.parquet"
    if len(parts) == 1:
        parts[0].rename(whole)
        return
    polars.scan_parquet(parts).sink_parquet(whole)
    for part in parts:
        part.unlink()


def sanitise_frame(frame: polars.DataFrame) -> polars.DataFrame:
    """Make texts safe for spreadsheets and terminals.

    A text that starts with = + - @ (after any apostrophes) and is not a number gets an apostrophe in front. Control
    characters become U+FFFD.
    """
    import polars

    texts = [name for name, kind in frame.schema.items() if kind == polars.String]
    changed = []
    for name in texts:
        text = polars.col(name).str.replace_all(_CONTROL, "\ufffd")
        formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
        quoted = polars.concat_str([polars.lit("'"), text])
        changed.append(polars.when(formula).then(quoted).otherwise(text).alias(name))
    return frame.with_columns(changed)
