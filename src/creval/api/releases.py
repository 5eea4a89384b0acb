"""Official releases of the benchmarks: their addresses, and their download."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from creval import registry
from creval.core.benchmark import BenchmarkFormat
from creval.core.errors import CrevalError, require_known
from creval.core.formatting import format_bytes
from creval.core.progress_line import ProgressLine
from creval.reporting.output import CommandOutput, OutputTable, Row
from creval.reporting.result import Result


def get(
    benchmark: str | None = None,
    out: str | Path | None = None,
    *,
    revision: str | None = None,
    dry_run: bool = False,
    announce: Callable[[str], None] = lambda _: None,
) -> Result[Path | None]:
    """Download the official release of a benchmark into the folder `out`, or list all releases.

    `value` of the result is the folder. A repeated call continues an interrupted download. `revision` is a commit or a
    branch; a branch is resolved to a commit, which `creval-download.json` in the folder records. With `dry_run`, only
    the size is shown. `announce` is called with the size before the download starts.
    """
    known = _formats()
    if benchmark is None:
        if out is not None or revision is not None or dry_run:
            raise CrevalError("`out`, `revision` and `dry_run` are for one benchmark: give its name.")
        return _list_releases(known)
    found = known[require_known("benchmark with a release", benchmark.casefold(), known)]
    if out is None:
        raise CrevalError(f"give the folder for the release of {found.name} (`out`).")
    return _download(found, Path(out), revision, dry_run, announce)


def _formats() -> dict[str, BenchmarkFormat]:
    formats = {name: registry.benchmarks.get(name) for name in registry.benchmarks.names()}
    return {name: of for name, of in formats.items() if of.release is not None}


def _list_releases(known: dict[str, BenchmarkFormat]) -> Result[Path | None]:
    places: list[Row] = []
    layouts: list[Row] = []
    records, notes = [], ["A branch is resolved to a commit, and the size is stated, before a download starts."]
    for name, of in known.items():
        if (source := of.release) is None:
            continue
        places.append([name, source.address, source.size, source.license])
        layouts.append([name, " or ".join(source.revisions), source.layout])
        if source.also:
            notes.append(f"{name}, not downloaded: {source.also}.")
        records.append(
            {
                "benchmark": name,
                "kind": source.kind,
                "address": source.address,
                "revisions": list(source.revisions),
                "files": list(source.files),
                "size": source.size,
                "license": source.license,
                "layout": source.layout,
                "contents": source.contents,
                "also": source.also,
            }
        )
    tables = [
        OutputTable(["benchmark", "address", "size", "license"], places, text_columns=4),
        OutputTable(["benchmark", "revision", "layout that creval reads"], layouts, text_columns=3),
    ]
    output = CommandOutput([], tables, {"releases": records}, notes)
    return Result(None, output, records)


def _download(
    found: BenchmarkFormat, folder: Path, revision: str | None, dry_run: bool, announce: Callable[[str], None]
) -> Result[Path | None]:
    from creval.downloads.release_download import MANIFEST, download_release

    if (source := found.release) is None:
        raise CrevalError(f"creval knows no address to download {found.name} from.")
    with ProgressLine() as line:

        def watch(received: int, total: int | None, files: int) -> None:
            if line.due():
                of = f" of {format_bytes(total)}" if total is not None else ""
                line.show(f"{format_bytes(received)}{of}, {files:,} files")

        done = download_release(source, folder, revision=revision, dry_run=dry_run, announce=announce, watch=watch)
    size = sum(file.size for file in done.files)
    data = {
        "benchmark": found.name,
        "folder": str(folder),
        "address": source.address,
        "revision": done.revision,
        "commit": done.commit,
        "license": source.license,
        "files": len(done.files),
        "bytes": size,
    }
    records = [file._asdict() for file in done.files]
    notes = [f"Not downloaded: {source.also}."] if source.also else []
    if dry_run:
        return Result(None, CommandOutput([f"{found.name}: {done.plan}."], [], data, notes), records)
    what = f"{len(done.files):,} files ({format_bytes(size)}) of commit {done.commit}"
    sentences = [f"{found.name}: {what} are in {folder}. {MANIFEST} lists them."]
    if found.recognise(folder) is None:
        notes.append(f"creval does not recognise {folder} yet. It reads {source.layout}.")
    return Result(folder, CommandOutput(sentences, [], data, notes), records)
