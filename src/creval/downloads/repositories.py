"""Listings of repositories: datasets on the Hugging Face hub, and archives of GitHub repositories."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from yarl import URL

from creval.core.errors import CrevalError
from creval.core.formatting import escape_control
from creval.core.release_source import GITHUB, ReleaseSource
from creval.downloads.transfer import MAX_FILE_BYTES, MissingError, RemoteFile, Transfer
from creval.providers.addresses import read_api_key

HUB_TOKEN = "HF_TOKEN"  # noqa: S105 (the name of an environment variable)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = {"sha256": re.compile(r"[0-9a-f]{64}"), "git_sha1": _COMMIT}
_MAX_FILES, _MAX_PAGES = 200_000, 2_000
_GITHUB_API, _GITHUB = URL("https://api.github.com"), URL("https://github.com")


class Listing(NamedTuple):
    """The files of a release at a commit, with the license that the server states.

    `archive` is True if the listed file is an archive of the whole repository.
    """

    revision: str
    commit: str
    files: tuple[RemoteFile, ...]
    license: str = ""
    archive: bool = False


class Repository(Protocol):
    """A repository with a release on a server."""

    def open(self) -> Transfer:
        """Return a transfer from the repository's server."""

    async def list_files(self, transfer: Transfer, revision: str) -> Listing:
        """Return the needed files at a revision. Raises `MissingError` if the revision does not exist."""


class HubDataset:
    """A dataset on the Hugging Face hub, or on the mirror in the environment variable HF_ENDPOINT."""

    def __init__(self, source: ReleaseSource) -> None:
        self._source = source
        address = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"
        self._base = URL(address)
        if self._base.scheme not in ("http", "https") or not self._base.host or self._base.user:
            raise CrevalError("the environment variable HF_ENDPOINT is not a valid address. Give https://HOST.")

    def open(self) -> Transfer:
        key = read_api_key(HUB_TOKEN, self._base.host or "", required=False)
        return Transfer(self._base, key=key, key_env=HUB_TOKEN)

    async def list_files(self, transfer: Transfer, revision: str) -> Listing:
        api = f"{self._base}/api/datasets/{self._source.repository}"
        about, _ = await transfer.read_json(URL(f"{api}/revision/{quote(revision, safe='')}", encoded=True))
        commit = about.get("sha") if isinstance(about, dict) else None
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise CrevalError(f"{self._base.host} does not state the commit of {self._source.repository}.")
        following: URL | None = URL(f"{api}/tree/{commit}?recursive=true", encoded=True)
        files: list[RemoteFile] = []
        for _ in range(_MAX_PAGES):
            if following is None:
                break
            entries, following = await transfer.read_json(following)
            files += self._parse(entries, commit)
            if len(files) > _MAX_FILES:
                raise CrevalError(f"{self._source.repository} has more than {_MAX_FILES:,} files.")
        card = about.get("cardData")
        license_ = card.get("license") if isinstance(card, dict) else None
        stated = escape_control(license_)[:100] if isinstance(license_, str) else ""
        return Listing(revision, commit, tuple(files), stated)

    def _parse(self, entries: Any, commit: str) -> list[RemoteFile]:
        found = []
        for entry in entries if isinstance(entries, list) else ():
            path, size = (entry.get(name) for name in ("path", "size")) if isinstance(entry, dict) else (None, None)
            if not isinstance(path, str) or entry.get("type") != "file" or self._source.local_path(path) is None:
                continue
            if not isinstance(size, int) or not 0 <= size <= MAX_FILE_BYTES:
                raise CrevalError(f"{self._base.host} states no valid size for {path[:200]!r}.")
            large = entry.get("lfs")
            sums = {"sha256": large.get("oid")} if isinstance(large, dict) else {"git_sha1": entry.get("oid")}
            stated = {n: v for n, v in sums.items() if isinstance(v, str) and _DIGEST[n].fullmatch(v)}
            if known := self._source.sha256.get(path):
                stated["sha256"] = known
            place = f"{self._base}/datasets/{self._source.repository}/resolve/{commit}/{quote(path)}"
            found.append(RemoteFile(path, URL(place, encoded=True), size, **stated))
        return found


class GithubRepository:
    """A repository on GitHub. It is downloaded as the archive of a commit."""

    def __init__(self, source: ReleaseSource, *, api: URL = _GITHUB_API, site: URL = _GITHUB) -> None:
        self._source, self._api, self._site = source, api, site

    def open(self) -> Transfer:
        return Transfer(self._site)

    async def list_files(self, transfer: Transfer, revision: str) -> Listing:
        del transfer
        commit = revision if _COMMIT.fullmatch(revision) else await self._resolve(revision)
        address = self._site / f"{self._source.repository}/archive/{commit}.zip"
        return Listing(revision, commit, (RemoteFile(f"{commit}.zip", address),), archive=True)

    async def _resolve(self, revision: str) -> str:
        async with Transfer(self._api) as transfer:
            place = f"{self._api}/repos/{self._source.repository}/commits/{quote(revision, safe='')}"
            about, _ = await transfer.read_json(URL(place, encoded=True))
        commit = about.get("sha") if isinstance(about, dict) else None
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise CrevalError(f"{self._api.host} does not state the commit of {self._source.repository}.")
        return commit


def open_repository(source: ReleaseSource) -> Repository:
    """Return the repository of a release."""
    return GithubRepository(source) if source.kind == GITHUB else HubDataset(source)


async def find_listing(
    repository: Repository, source: ReleaseSource, transfer: Transfer, revisions: tuple[str, ...]
) -> Listing:
    """Return the listing of the first revision that has the files. Raises `MissingError` if none has them."""
    for revision in revisions:
        try:
            found = await repository.list_files(transfer, revision)
        except MissingError:
            continue
        if found.files:
            return found
    tried = " or ".join(revisions)
    raise MissingError(f"{source.address} has no {' or '.join(source.files)} at revision {tried}.")
