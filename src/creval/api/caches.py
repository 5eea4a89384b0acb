"""The caches that all runs share: replies of judges, and files derived from other files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from creval.core.cache import cache_folder
from creval.core.errors import CrevalError
from creval.core.formatting import escape_control, format_bytes, format_money, pluralise
from creval.judges.judge_spec import judge_identity
from creval.reporting.output import CommandOutput, OutputTable
from creval.reporting.result import Result
from creval.store.answer_cache import AnswerCache, JudgeShare


def cache() -> Result[Sequence[JudgeShare]]:
    """Show the location and size of the answer cache, the answers of each judge, and the other cache folders."""
    store = AnswerCache()
    shares = store.list_judges()
    folder, size = cache_folder(), _file_size(store.path)
    others = {path.name: _folder_size(path) for path in _subfolders(folder) if path != store.path.parent}
    answers = sum(share.answers for share in shares)
    summary = [f"{pluralise(answers, 'answer')} in {store.path}, {format_bytes(size)}."]
    if not shares:
        summary = [f"No answers are cached yet. They will be stored in {store.path}."]
    rows = [
        [
            escape_control(share.judge),
            f"{share.answers:,}",
            format_bytes(share.size),
            "unknown" if share.cost is None else format_money(share.cost),
            _day(share.oldest),
            _day(share.newest),
        ]
        for share in shares
    ]
    heads = ["judge", "answers", "bytes", "original cost", "oldest", "newest"]
    tables = [OutputTable(heads, rows)] if rows else []
    if others:
        grid = [[escape_control(name), format_bytes(taken)] for name, taken in others.items()]
        tables.append(OutputTable(["derived files (recreated when needed)", "bytes"], grid))
    records = [share._asdict() for share in shares]
    data = {"folder": str(folder), "file": str(store.path), "bytes": size, "judges": records, "folders": others}
    return Result(shares, CommandOutput(list(map(escape_control, summary)), tables, data), records)


def prune_cache(
    *, older_than: float | None = None, max_bytes: float | None = None, judge: str | None = None
) -> Result[int]:
    """Delete cached answers and return how many were deleted.

    Deletes answers older than `older_than` seconds, then the oldest answers until the file has at most `max_bytes`.
    With `judge`, only answers of this judge are deleted. With `judge` alone, all its answers are deleted.
    """
    if older_than is None and max_bytes is None and judge is None:
        raise CrevalError("give what to delete: `older_than` 30d, `to` 1GB or `judge` openai:gpt-4o.")
    store = AnswerCache()
    known = [share.judge for share in store.list_judges()]
    named = None if judge is None else judge_identity(judge)
    if named is not None and named not in known:
        others = f"only of {', '.join(known)}" if known else "nor of any other judge"
        raise CrevalError(f"the cache has no answers of {named!r}, {others}.")
    deleted = store.prune(older_than=older_than, max_bytes=max_bytes, judge=named)
    size = _file_size(store.path)
    summary = f"{pluralise(deleted, 'answer')} deleted; the file now takes {format_bytes(size)}."
    return Result(deleted, CommandOutput([summary], [], {"deleted": deleted, "bytes": size}))


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().date().isoformat()


def _subfolders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _file_size(path: Path) -> int:
    beside = (path, path.with_name(f"{path.name}-wal"))
    return sum(one.stat().st_size for one in beside if one.is_file())


def _folder_size(folder: Path) -> int:
    found = (Path(inner, name) for inner, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_size for path in found)
