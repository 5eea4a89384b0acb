"""Connections to the pages: few enough for the files that a process may open, and none that is half used for long."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Seconds in which a request has to come, up to the end of its head."""
RESPONSE_SECONDS = 300.0
"""Seconds in which a response has to be made and taken."""
_MOST_CONNECTIONS = 512
_OTHER_FILES = 100  # databases, images, libraries
_LACK_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def max_connections() -> int:
    """Return how many connections this process can hold besides its files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _MOST_CONNECTIONS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(8, min(_MOST_CONNECTIONS, limit - _OTHER_FILES))


class LimitedProtocol(H11Protocol):
    """A connection that is closed if there are too many, or if a request or a response takes too long."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            transport.abort()
        else:
            self._expect_within(REQUEST_SECONDS)

    def data_received(self, data: bytes) -> None:
        waiting = not self._is_answering()
        super().data_received(data)
        if waiting and self._is_answering():
            self._expect_within(RESPONSE_SECONDS)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # The next request may have come already.
        self._expect_within(RESPONSE_SECONDS if self._is_answering() else REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_within(self, seconds: float) -> None:
        """Close the connection if nothing more has happened by then."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)


def is_lack_of_files(error: object) -> bool:
    """Return whether the system has no more files for connections. An event loop then tries again by itself."""
    return isinstance(error, OSError) and error.errno in _LACK_OF_FILES
