"""A test that hangs is interrupted; one that cannot be interrupted ends its worker."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests import conftest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("hang", [lambda: time.sleep(9), lambda: asyncio.run(asyncio.sleep(9)), threading.Event().wait])
def test_a_test_that_hangs_fails(hang: object, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(hang)
    monkeypatch.setattr(conftest, "TIME_LIMIT", 0.05)
    limited = conftest.pytest_runtest_call(request.node)
    next(limited)
    with pytest.raises(pytest.fail.Exception, match=r"it takes over 0\.05 s"):
        hang()
    limited.close()


def test_a_test_that_cannot_be_interrupted_is_named(tmp_path: Path) -> None:
    hanging = tmp_path / "test_hanging.py"
    hanging.write_text("import re\n\ndef test_match():\n    re.match('(a*)*b', 'a' * 40)\n")
    command = ["-m", "pytest", "-c", f"{ROOT}/pyproject.toml", "-p", "no:cacheprovider", "-n", "0", str(hanging)]
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, *command, "-o", "faulthandler_timeout=0.2"], capture_output=True, text=True, env=outside
    )
    assert done.returncode == 1
    assert "in test_match" in done.stderr
