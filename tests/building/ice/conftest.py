from __future__ import annotations

from collections.abc import Iterator

import pytest

from creval.testing.fake_chat_server import FakeServer
from tests.serving import serving


@pytest.fixture
def url() -> Iterator[str]:
    """A server that writes whatever is asked for."""
    with serving(FakeServer(seed=3).app()) as address:
        yield address
