"""Reading a reply in chunks, with a limit on its compressed and decompressed size."""

from __future__ import annotations

import zlib
from typing import Any

import aiohttp

from creval.providers.call_errors import CallError


class _Decoder:
    """Incremental decompression of a reply, up to a number of bytes."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._left_in = self._left_out = max_bytes
        self._max_bytes = max_bytes
        self._zlib: Any = None
        self._compressed = encoding.strip().casefold() not in ("", "identity")
        if self._compressed and encoding.strip().casefold() not in ("gzip", "x-gzip", "deflate"):
            raise CallError("unreadable reply", "its compression is not supported", retryable=False)

    def decode(self, chunk: bytes) -> bytes:
        """Return the decompressed content of a chunk. Raises `CallError` if the limit is exceeded."""
        self._left_in -= len(chunk)
        content = self._decompress(chunk) if self._compressed else chunk
        self._left_out -= len(content)
        if min(self._left_in, self._left_out) < 0:
            raise CallError("reply too long", f"more than {self._max_bytes >> 20} MB", retryable=False)
        return content

    def _decompress(self, chunk: bytes) -> bytes:
        found = bytearray()
        try:
            while chunk and len(found) <= self._left_out:
                if self._zlib is None or self._zlib.eof:
                    # Some servers send `deflate` without its zlib header.
                    self._zlib = zlib.decompressobj(47 if chunk[0] & 15 == 8 or chunk[0] == 31 else -15)
                found += self._zlib.decompress(chunk, self._left_out + 1 - len(found))
                chunk = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
        except zlib.error:
            raise CallError("unreadable reply", "its compressed data is damaged", billed=True) from None
        return bytes(found)

    def finish(self) -> None:
        """Raise `CallError` if the compressed data is incomplete."""
        if self._zlib is not None and not self._zlib.eof:
            raise CallError("cut-off reply", "its compressed data is incomplete", billed=True)


async def read_content(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Return a reply's content. Raises `CallError` if it exceeds `max_bytes`, compressed or decompressed."""
    decoder, content = _Decoder(response.headers.get("Content-Encoding", ""), max_bytes), bytearray()
    async for chunk in response.content.iter_any():
        content += decoder.decode(chunk)
    decoder.finish()
    return bytes(content)
