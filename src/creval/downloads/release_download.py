"""Download of a benchmark's official release into a folder, with a manifest that makes it repeatable."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError
from creval.core.files import is_file, read_json, write_json
from creval.core.formatting import format_bytes, pluralise
from creval.core.release_source import ReleaseSource
from creval.downloads.repositories import Listing, Repository, find_listing, open_repository
from creval.downloads.safe_paths import safe_target
from creval.downloads.transfer import RemoteFile, Transfer, UnreachableError, checksums
from creval.downloads.unpacking import UnpackedFile, file_sha256, unpack
from creval.store.lock import acquire_lock

MANIFEST = "creval-download.json"
_LOCK_FILE = ".creval-download.lock"
_CONNECTIONS = 8
_RESERVE_BYTES = 64 << 20  # left free on the disk


@dataclass(frozen=True)
class Download:
    """A release in a folder: its commit, and its files with sizes and checksums. `plan` describes the download."""

    source: ReleaseSource
    folder: Path
    revision: str
    commit: str
    plan: str
    files: tuple[UnpackedFile, ...] = ()


def download_release(
    source: ReleaseSource,
    folder: Path,
    *,
    revision: str | None = None,
    dry_run: bool = False,
    announce: Callable[[str], None] = lambda _: None,
    watch: Callable[[int, int | None, int], None] = lambda _received, _total, _files: None,
    repository: Repository | None = None,
) -> Download:
    """Download a release, or continue an interrupted download at the same commit.

    `announce` is called with a description of the download before it starts. `watch` is called with the numbers of
    received bytes, of all bytes (None if unknown) and of finished files. Raises `CrevalError`. If the server cannot be
    reached, its message says what to download by hand.
    """
    state = _read_state(folder, source, revision)
    if state is not None and state["complete"] and (found := _verify(source, folder, state)):
        return found
    job = _Job(source, folder, announce, watch, repository or open_repository(source))
    revisions = (state["commit"],) if state is not None else (revision,) if revision else source.revisions
    try:
        if dry_run:
            return _run(job.plan(revisions))
        with _locked(folder):
            return _run(job.run(revisions))
    except UnreachableError as error:
        raise UnreachableError(f"{error} {by_hand(source, folder)}") from error


def _run(coroutine: Coroutine[None, None, Download]) -> Download:
    """Run a coroutine. If this thread already runs an event loop, as in a notebook, use another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. The folder is created if needed, and removed if it is empty in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / _LOCK_FILE
    held = acquire_lock(lock)
    try:
        yield
    finally:
        held.close()
        with suppress(OSError):
            lock.unlink(missing_ok=True)
            folder.rmdir()


def by_hand(source: ReleaseSource, folder: Path) -> str:
    """Return a sentence that says what to download without creval, and where to put it."""
    return f"Without network, download {source.contents} from {source.address} elsewhere, and put it into {folder}."


class _Job:
    """One download."""

    def __init__(
        self,
        source: ReleaseSource,
        folder: Path,
        announce: Callable[[str], None],
        watch: Callable[[int, int | None, int], None],
        repository: Repository,
    ) -> None:
        self._source, self._folder = source, folder
        self._announce, self._watch, self._repository = announce, watch, repository
        self._received = self._finished = 0
        self._total: int | None = None

    async def plan(self, revisions: tuple[str, ...]) -> Download:
        """Return a `Download` that describes what would be downloaded, without files."""
        async with self._repository.open() as transfer:
            listing = await find_listing(self._repository, self._source, transfer, revisions)
        return self._download(listing, ())

    async def run(self, revisions: tuple[str, ...]) -> Download:
        """Download, unpack and record everything."""
        async with self._repository.open() as transfer:
            listing = await find_listing(self._repository, self._source, transfer, revisions)
            targets = [self._target(file, listing) for file in listing.files]
            self._announce(self._plan(listing))
            self._check_space(listing)
            self._write_state(listing, (), complete=False)
            fetched = await self._fetch_all(transfer, listing, targets)
        files: list[UnpackedFile] = []
        for remote, target, got in zip(listing.files, targets, fetched, strict=True):
            files += [got] if not self._is_archive(remote, listing) else self._unpack(target, remote, listing)
        missing = set(self._source.sha256) - {self._remote_path(file.path) for file in files}
        if missing:
            raise CrevalError(f"{self._source.address} lacks {', '.join(sorted(missing))} at {listing.commit}.")
        self._write_state(listing, files, complete=True)
        for remote, target in zip(listing.files, targets, strict=True):
            if self._is_archive(remote, listing):
                target.unlink()
        return self._download(listing, files)

    def _download(self, listing: Listing, files: Any) -> Download:
        return Download(self._source, self._folder, listing.revision, listing.commit, self._plan(listing), tuple(files))

    def _plan(self, listing: Listing) -> str:
        sizes = [file.size for file in listing.files]
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        size = "of unknown size" if self._total is None else f"({format_bytes(self._total)})"
        what = "an archive" if listing.archive else pluralise(len(sizes), "file")
        return f"{what} {size} from {self._source.address} at {listing.commit}, license {self._license(listing)}"

    def _license(self, listing: Listing) -> str:
        return listing.license or self._source.license

    def _check_space(self, listing: Listing) -> None:
        there = sum(
            target.stat().st_size
            for file in listing.files
            for target in [self._target(file, listing)]
            if is_file(target)
        )
        free = shutil.disk_usage(self._folder).free
        if self._total is not None and self._total - there + _RESERVE_BYTES > free:
            raise CrevalError(
                f"{self._folder} has {format_bytes(free)} free, and the release needs {format_bytes(self._total)}."
            )

    def _target(self, file: RemoteFile, listing: Listing) -> Path:
        path = file.path if listing.archive else self._source.local_path(file.path)
        return safe_target(self._folder, f"{path}")

    def _is_archive(self, file: RemoteFile, listing: Listing) -> bool:
        return listing.archive or self._source.is_archive(file.path)

    def _remote_path(self, path: str) -> str:
        """Return the path that a file in the folder has in the repository."""
        for old, new in self._source.moved.items():
            if path.startswith(f"{new}/"):
                return f"{old}/{path[len(new) + 1 :]}"
        return path

    async def _fetch_all(self, transfer: Transfer, listing: Listing, targets: list[Path]) -> list[UnpackedFile]:
        """Download several files at a time. The first error stops all downloads; received parts stay on disk."""
        found: dict[int, UnpackedFile] = {}
        waiting = iter(list(enumerate(zip(listing.files, targets, strict=True))))

        async def work() -> None:
            for place, (file, target) in waiting:
                found[place] = await self._fetch(transfer, file, target)
                self._finished += 1
                self._count(0)

        workers = [asyncio.ensure_future(work()) for _ in range(_CONNECTIONS)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [found[place] for place in range(len(targets))]

    async def _fetch(self, transfer: Transfer, file: RemoteFile, target: Path) -> UnpackedFile:
        if is_file(target):
            sha256 = await asyncio.to_thread(_matching_digest, file, target)
            self._count(target.stat().st_size)
        else:
            sha256 = await transfer.fetch(file, target, self._count)
        path = target.relative_to(self._folder).as_posix()
        return UnpackedFile(path, target.stat().st_size, sha256)

    def _count(self, received: int) -> None:
        self._received += received
        self._watch(self._received, self._total, self._finished)

    def _unpack(self, archive: Path, remote: RemoteFile, listing: Listing) -> list[UnpackedFile]:
        """Unpack an archive, and compare its files with known checksums."""
        inside = "" if listing.archive else remote.path.rpartition("/")[0]

        def place(name: str) -> str | None:
            if listing.archive:  # in a folder REPOSITORY-COMMIT
                return self._source.local_path(name.partition("/")[2])
            return f"{inside}/{name}" if inside else name

        files = list(unpack(archive, self._folder, place))
        for file in files:
            known = self._source.sha256.get(self._remote_path(file.path))
            if known not in (None, file.sha256):
                (self._folder / file.path).unlink()
                raise CrevalError(
                    f"{file.path} from {self._source.address} has a wrong checksum: {file.sha256}, not {known}. It "
                    "was deleted."
                )
        if not files:
            raise CrevalError(f"{self._source.address} has no {' or '.join(self._source.files)} at {listing.commit}.")
        return files

    def _write_state(self, listing: Listing, files: Any, *, complete: bool) -> None:
        write_json(
            self._folder / MANIFEST,
            {
                "source": self._source.address,
                "revision": listing.revision,
                "commit": listing.commit,
                "license": self._license(listing),
                "complete": complete,
                "files": [file._asdict() for file in files],
            },
        )


def _matching_digest(file: RemoteFile, target: Path) -> str:
    """Return the SHA-256 of an existing file. Raises `CrevalError` if its content differs from the file to download."""
    sha256, git_sha1 = checksums(target)
    if (
        file.sha256 not in ("", sha256)
        or file.git_sha1 not in ("", git_sha1)
        or file.size not in (None, target.stat().st_size)
    ):
        raise CrevalError(f"{target} exists with different content. Move it, or give another `out`.")
    return sha256


def _read_state(folder: Path, source: ReleaseSource, revision: str | None) -> dict[str, Any] | None:
    """Return the manifest of an earlier download into the folder, or None."""
    path = folder / MANIFEST
    if not is_file(path):
        return None
    state = read_json(path)
    if not isinstance(state, dict) or not isinstance(state.get("commit"), str) or "complete" not in state:
        raise CrevalError(f"{path} is not a manifest of a download. Delete it, or give another `out`.")
    if state.get("source") != source.address:
        raise CrevalError(f"{folder} contains a download of {state.get('source')}. Give another `out`.")
    if revision not in (None, state["commit"], state.get("revision")):
        raise CrevalError(f"{folder} contains the commit {state['commit']}. Give another `out` for {revision}.")
    return state


def _verify(source: ReleaseSource, folder: Path, state: dict[str, Any]) -> Download | None:
    """Check the files of a finished download. Return None if one is missing, so that it is downloaded again."""
    try:
        files = [UnpackedFile(str(of["path"]), int(of["size"]), str(of["sha256"])) for of in state["files"]]
    except (KeyError, TypeError, ValueError) as error:
        raise CrevalError(f"{folder / MANIFEST} is damaged. Delete it, or give another `out`.") from error
    for file in files:
        target = safe_target(folder, file.path)
        if not is_file(target):
            return None
        if target.stat().st_size != file.size or file_sha256(target) != file.sha256:
            raise CrevalError(f"{target} was changed since it was downloaded. Move it, or give another `out`.")
    plan = f"{pluralise(len(files), 'file')}, complete since an earlier download"
    return Download(source, folder, str(state.get("revision")), state["commit"], plan, tuple(files))
