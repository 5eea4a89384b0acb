from __future__ import annotations

from collections.abc import Iterator

import pytest

from creval.testing.fake_chat_server import FakeServer
from tests.serving import serving


@pytest.fixture
def url() -> Iterator[str]:
    """Return the address of a server that generates every requested text."""
    with serving(FakeServer(seed=3).app()) as address:
        yield address
