"""Transfer of files: redirects with checked addresses, resumption, limits on sizes, checksums, retries."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from creval.core.errors import CrevalError
from creval.core.formatting import format_bytes
from creval.providers.call_errors import CallError
from creval.providers.http import FORBIDDEN_ADDRESS, HttpEndpoint
from creval.providers.openai_wire import parse_error_body
from creval.providers.proxies import find_proxy
from creval.providers.public_addresses import is_local_host, is_public, resolve
from creval.providers.reply_body import read_content

MAX_FILE_BYTES = 50 << 30
"""The largest file that is downloaded."""
MAX_UNSIZED_BYTES = 2 << 30
"""The largest file whose size the server does not state before."""
PAUSE = 1.0
"""Seconds before the second attempt. Each further pause is twice as long."""
_MAX_JSON_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 18
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 5
_ATTEMPTS = 5
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)


class UnreachableError(CrevalError):
    """The server cannot be reached."""


class MissingError(CrevalError):
    """A file or a repository does not exist."""


class RemoteFile(NamedTuple):
    """A file to download: its path in the repository, address, size if known, and checksum if known.

    `git_sha1` is the SHA-1 that Git gives a file. The Hugging Face hub states it for small files.
    """

    path: str
    address: URL
    size: int | None = None
    sha256: str = ""
    git_sha1: str = ""


class Transfer:
    """Requests to one server, and to the addresses to which it redirects. The API key is sent only to the server."""

    def __init__(self, base: URL, *, key: str = "", key_env: str = "", connections: int = 8) -> None:
        self.base = base
        self._endpoint = HttpEndpoint(base.host or "", "", str(base), key, key_env, timeout=60)
        self._connections = connections
        self._direct: aiohttp.ClientSession | None = None
        self._proxied: aiohttp.ClientSession | None = None
        self._is_public = True

    async def __aenter__(self) -> Transfer:
        local = find_proxy(self.base) is None and await is_local_host(self.base.host or "")
        self._is_public = not local
        # A public server must not redirect into the local network.
        self._direct = self._endpoint.open_session({}, self._connections, public=None if local else True)
        self._proxied = self._endpoint.open_session({}, self._connections)
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in (self._direct, self._proxied):
            if session is not None:
                await session.close()

    async def read_json(self, address: URL, headers: dict[str, str] | None = None) -> tuple[Any, URL | None]:
        """Return the JSON at an address, and the address of the next page if there is one."""
        content, response = await self._retry(lambda: self._read(address, headers or {}))
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            raise CrevalError(f"{self.base.host} sent no JSON for {address.path}.") from None
        following = response.links.get("next")
        target = URL(str(following["url"])) if following else None
        if target is not None and target.origin() != self.base.origin():
            raise CrevalError(f"{self.base.host} names another server for the next page of a list.")
        return found, target

    async def _read(self, address: URL, headers: dict[str, str]) -> tuple[bytes, aiohttp.ClientResponse]:
        async with self._open(address, headers) as response:
            return await read_content(response, _MAX_JSON_BYTES), response

    async def fetch(self, file: RemoteFile, target: Path, count: Callable[[int], None]) -> str:
        """Download a file, continuing an interrupted download, and return its SHA-256.

        `count` is called with the number of newly received bytes. The number is negative if bytes have to be downloaded
        again. Raises `CrevalError` if the file does not have the expected checksum or size.
        """
        part = target.with_name(f".{target.name}.part")
        target.parent.mkdir(parents=True, exist_ok=True)
        for last in (False, True):
            resumed = part.exists()
            if resumed:
                count(part.stat().st_size)
            await self._retry(lambda: self._receive(file, part, count))
            sha256, git_sha1 = await asyncio.to_thread(checksums, part)
            if file.sha256 in ("", sha256) and file.git_sha1 in ("", git_sha1):
                part.replace(target)
                return sha256
            count(-part.stat().st_size)
            part.unlink()
            if last or not resumed:  # otherwise the first part may be of another version
                break
        wanted = file.sha256 or file.git_sha1
        raise CrevalError(
            f"{file.path} from {self.base.host} has a wrong checksum (expected: {wanted}). It was deleted."
        )

    async def _receive(self, file: RemoteFile, part: Path, count: Callable[[int], None]) -> None:
        start = part.stat().st_size if part.exists() else 0
        if file.size is not None and start == file.size and part.exists():
            return
        if file.size is not None and start > file.size:
            count(-start)
            part.unlink()
            start = 0
        limit = MAX_UNSIZED_BYTES if file.size is None else file.size
        headers = {"Range": f"bytes={start}-"} if start else {}
        async with self._open(file.address, headers) as response:
            if response.status == 416:
                count(-start)
                part.unlink()
                raise CallError("cut-off reply", "the server does not continue the file")
            if start and not _continues(response, start):
                count(-start)
                start = 0
            with _open_part(part, append=start > 0) as write:
                async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                    start += len(chunk)
                    count(len(chunk))
                    if start > limit:
                        part.unlink()
                        raise CrevalError(
                            f"{file.path} from {self.base.host} is larger than {format_bytes(limit)}. It was deleted."
                        )
                    write(chunk)
        if file.size is not None and start < file.size:
            raise CallError("cut-off reply", f"{start:,} of {file.size:,} bytes")

    @asynccontextmanager
    async def _open(self, address: URL, headers: dict[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield a successful response, following redirects. Raises `CallError` or `CrevalError`."""
        for _ in range(_MAX_REDIRECTS + 1):
            session, options = await self._session(address)
            sent = dict(headers)
            if self._endpoint.key and address.origin() == self.base.origin():
                sent["Authorization"] = f"Bearer {self._endpoint.key}"
            with self._endpoint.connection_errors(address, 60):
                async with session.get(
                    address, headers=sent, allow_redirects=False, timeout=_TIMEOUT, **options
                ) as response:
                    if response.status not in _REDIRECTS:
                        await self._check_status(response, address)
                        yield response
                        return
                    target = response.headers.get("Location", "")
            address = self._redirected(address, target)
        raise CrevalError(f"{self.base.host} redirects more than {_MAX_REDIRECTS} times.")

    async def _session(self, address: URL) -> tuple[aiohttp.ClientSession, dict[str, Any]]:
        if self._direct is None or self._proxied is None:
            raise RuntimeError("open the transfer first")
        proxy = find_proxy(address)
        if proxy is None:
            return self._direct, {}
        # The proxy resolves names itself, so this check is based on this machine's name resolution.
        if self._is_public and not all(map(is_public, await resolve(address.host or ""))):
            raise CallError(FORBIDDEN_ADDRESS, f"{address.host} is in the local network", retryable=False)
        return self._proxied, {"proxy": proxy}

    def _redirected(self, address: URL, target: str) -> URL:
        try:
            found = address.join(URL(target))
        except ValueError:
            found = URL()
        if not target or found.scheme not in ("http", "https") or found.user or found.password:
            raise CrevalError(f"{address.host} redirects to an invalid address.")
        if address.scheme == "https" and found.scheme != "https":
            raise CrevalError(f"{address.host} redirects to an address without encryption (http).")
        return found

    async def _check_status(self, response: aiohttp.ClientResponse, address: URL) -> None:
        if response.status in (200, 206, 416):
            return
        if response.status == 404:
            raise MissingError(f"{address.host} has no {address.path}.")
        content = await read_content(response, 1 << 16)
        error = parse_error_body(content)
        if response.status in (401, 403) and self._endpoint.key_env and not self._endpoint.key:
            reason = self._endpoint.redact_line(error.message) or f"HTTP {response.status}"
            raise CrevalError(
                f"{address.host} gives no access to {address.path} ({reason}). If the page of the repository has "
                f"conditions, accept them there, and set the environment variable {self._endpoint.key_env} to a token."
            )
        found = self._endpoint.classify_error(response.status, error, response.headers)
        raise found or CallError(f"HTTP {response.status}", self._endpoint.redact_line(error.message), retryable=False)

    async def _retry(self, call: Callable[[], Any]) -> Any:
        """Repeat a call until it succeeds or may not be retried. Raises `UnreachableError` or another `CrevalError`."""
        pause = PAUSE
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await call()
            except CallError as error:
                unreachable = error.kind == "no connection"
                if not error.retryable or attempt == _ATTEMPTS or (unreachable and attempt > 1):
                    if unreachable:
                        raise UnreachableError(f"{self.base.host} cannot be reached ({error.reason}).") from error
                    raise CrevalError(f"{self.base.host}: {error}.") from error
                await asyncio.sleep(error.retry_after or pause)
                pause *= 2
        raise AssertionError


def _continues(response: aiohttp.ClientResponse, start: int) -> bool:
    """Return True if a response begins where the part on disk ends."""
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")


@contextmanager
def _open_part(part: Path, *, append: bool) -> Iterator[Callable[[bytes], object]]:
    """Yield a function that writes to a file. A disk error becomes a `CrevalError`, which is not retried."""
    try:
        out = part.open("ab" if append else "wb")
    except OSError as error:
        raise CrevalError(f"{part} cannot be written: {error.strerror or error}.") from error

    def write(chunk: bytes) -> None:
        try:
            out.write(chunk)
        except OSError as error:
            raise CrevalError(f"{part} cannot be written: {error.strerror or error}.") from error

    with out:
        yield write


def checksums(path: Path) -> tuple[str, str]:
    """Return a file's SHA-256 and the SHA-1 that Git gives it, in hexadecimal."""
    sha256 = hashlib.sha256()
    git = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            sha256.update(chunk)
            git.update(chunk)
    return sha256.hexdigest(), git.hexdigest()
