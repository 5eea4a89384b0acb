"""Limits on connections: their number (from the process's file limit), and the time of requests and responses."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Timeout for receiving a request, up to the end of its headers, in seconds."""
RESPONSE_SECONDS = 300.0
"""Timeout for building and sending a response, in seconds."""
_MOST_CONNECTIONS = 512
_OTHER_FILES = 100  # file descriptors for databases, images, libraries
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def max_connections() -> int:
    """Return the number of connections that the file limit of this process allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _MOST_CONNECTIONS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(8, min(_MOST_CONNECTIONS, limit - _OTHER_FILES))


class LimitedProtocol(H11Protocol):
    """HTTP connection that is closed if there are too many, or if a request or response times out."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            transport.abort()
        else:
            self._restart_timeout(REQUEST_SECONDS)

    def data_received(self, data: bytes) -> None:
        waiting = not self._is_answering()
        super().data_received(data)
        if waiting and self._is_answering():
            self._restart_timeout(RESPONSE_SECONDS)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # With pipelining, the next request may already be here.
        self._restart_timeout(RESPONSE_SECONDS if self._is_answering() else REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _restart_timeout(self, seconds: float) -> None:
        """Restart the timeout after which the connection is closed."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)


def is_lack_of_files(error: object) -> bool:
    """Return whether an error means that no file descriptor is left.

    The caller need not handle it: the event loop tries again by itself.
    """
    return isinstance(error, OSError) and error.errno in _OUT_OF_FILES
