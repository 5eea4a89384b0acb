"""Looking at every edit of a run once: did it change anything?"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from creval.core.concurrency import usable_cpu_count
from creval.core.edit_record import Edit, EditStatus
from creval.core.errors import CrevalError
from creval.core.images import ImageError, open_image
from creval.metrics.change_detection import ImageChange, measure_change, recompression_noise
from creval.store import RunWriter, open_run

METADATA_KEY = "change"
"""Among an edit's facts: what was found, and of which files."""
_BATCH_SIZE = 64  # edits kept in one commit


def scan_for_changes(run: str | Path, on_progress: Callable[[int, int], None] | None = None) -> int:
    """Measure the edits of a run that were not, and keep that with them; returns how many edits
    have no picture, or no source, that could be looked at."""
    with open_run(run) as opened:
        sources = {name: sample.source for name, sample in opened.samples.items()}
    with RunWriter(run) as store:
        edits = [edit for edit in store.edits.values() if edit.status is EditStatus.DONE]
        there = [edit for edit in edits if _existing_files(edit, sources.get(edit.key.sample))]
        if not there:
            raise CrevalError(f"the pictures of {run} are not there any more, or it was replayed without them.")
        state = {
            edit.key: _file_signatures(*_existing_files(edit, sources[edit.key.sample]))  # type: ignore[misc]
            for edit in there
        }
        wanted = [e for e in there if e.metadata.get(METADATA_KEY, {}).get("files") != state[e.key]]
        # The edits of one source follow each other: what it tolerates is measured once.
        wanted.sort(key=lambda edit: (edit.key.sample, edit.key))
        done = 0
        with ThreadPoolExecutor(usable_cpu_count()) as pool:
            for start in range(0, len(wanted), _BATCH_SIZE):
                some = wanted[start : start + _BATCH_SIZE]
                found = pool.map(lambda edit: _measure_change(edit, sources[edit.key.sample]), some)
                kept = []
                for edit, fact in zip(some, found, strict=True):
                    fact["files"] = state[edit.key]
                    kept.append(edit._replace(metadata={**edit.metadata, METADATA_KEY: fact}))
                    done += 1
                    if on_progress is not None:
                        on_progress(done, len(wanted))
                with store.transaction():
                    store.put_edits(kept)
    return len(edits) - len(there)


def _existing_files(edit: Edit, source: Path | None) -> tuple[Path, Path] | None:
    if edit.image is None or source is None or not (edit.image.is_file() and source.is_file()):
        return None
    return source, edit.image


def _file_signatures(source: Path, image: Path) -> list[list[int]]:
    """By which a file is known again."""
    return [[path.stat().st_size, path.stat().st_mtime_ns] for path in (source, image)]


def _measure_change(edit: Edit, source: Path | None) -> dict[str, object]:
    if source is None or edit.image is None:
        return {}
    try:
        found = measure_change(open_image(source), open_image(edit.image))
        noise = _source_noise(source)
    except ImageError as error:
        return {"broken": str(error)}
    return {**found._asdict(), "unchanged": found.is_within(noise)}


@lru_cache(maxsize=16)
def _source_noise(source: Path) -> ImageChange:
    return recompression_noise(open_image(source))
