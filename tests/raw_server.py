"""A server in a separate thread that sends arbitrary bytes, for replies that no library would send."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress

Script = Callable[[bytes], AsyncGenerator[bytes, None]]
"""Function from a request's head to the parts of the reply."""


class RawServer:
    """The server's address, and the heads of all received requests."""

    def __init__(self) -> None:
        self.url, self.requests = "", list[bytes]()


@contextmanager
def raw_server(script: Script) -> Iterator[RawServer]:
    """Serve a script on loopback."""
    loop, ready, made = asyncio.new_event_loop(), threading.Event(), RawServer()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            made.requests.append(await reader.readuntil(b"\r\n\r\n"))
            length = re.search(rb"(?i)content-length: ([0-9]+)", made.requests[-1])
            await reader.readexactly(int(length[1]) if length else 0)
            async with aclosing(script(made.requests[-1])) as pieces:
                async for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
        writer.close()

    async def start() -> asyncio.Server:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        loop.call_soon(ready.set)
        return server

    def run() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(start())
        loop.run_forever()
        server.close()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def reply(body: bytes, *headers: str, status: str = "200 OK", length: object = None) -> Script:
    """Return a script that sends a complete reply with these headers, and optionally a wrong length."""

    async def send(_: bytes) -> AsyncGenerator[bytes, None]:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]
        yield "\r\n".join(lines).encode("latin-1") + body

    return send
