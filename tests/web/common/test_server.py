"""The address on which the pages are served, and errors if it is not available."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.web.common.server import open_socket, server_url
from tests.web.made import write_run


def test_the_address_for_a_browser() -> None:
    with open_socket("127.0.0.1", 0) as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        assert server_url(listening) == f"http://127.0.0.1:{port}/"
        with pytest.raises(CrevalError, match=f"port {port}"):
            open_socket("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no such host", "", "x" * 300, "256.0.0.1"])
def test_unusable_addresses_are_errors(host: str) -> None:
    with pytest.raises(CrevalError):
        open_socket(host, 0)


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    def creval(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "creval", "view", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ})

    missing = creval(tmp_path / "none")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "does not exist. Give the folder of a run." in missing.stderr
    run = write_run(tmp_path)
    with open_socket("127.0.0.1", 0) as listening:
        taken = creval(run, "--port", listening.getsockname()[1])
    assert taken.returncode == 2
    assert "cannot listen on" in taken.stderr
