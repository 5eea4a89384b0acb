"""Commands in a process of their own, which tests interrupt or kill.

The processes are forked from one that has imported creval. That takes a tenth of the time of a start of Python.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        "creval.cli",
        "creval.judging.judge_run",
        "creval.providers.http",
        *(f"creval.building.{name}.builder" for name in ("creval", "complex_edit", "complexbench", "ice")),
    ]
)


class Running:
    """A running command."""

    def __init__(self, *arguments: object) -> None:
        with NamedTemporaryFile(prefix="creval-test-", delete=False) as log:
            self._log = Path(log.name)
        given = (list(map(str, arguments)), str(Path.cwd()), dict(os.environ), log.name)
        self._process = _FORKING.Process(target=_run, args=given)
        self._process.start()

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def wait_while(self, condition: Callable[[], bool]) -> None:
        """Wait while a condition holds and the command runs."""
        while condition() and self.is_running:
            time.sleep(0.002)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._log.unlink()

    def interrupt(self) -> None:
        """Send the signal of Ctrl-C."""
        os.kill(self._process.pid or 0, signal.SIGINT)

    def end(self, timeout: float = 60.0) -> tuple[int | None, str]:
        """Wait for the end of the command; return its status and what it wrote to standard error."""
        self._process.join(timeout)
        assert not self.is_running, "it hangs"
        said = self._log.read_text("utf-8")
        self._log.unlink()
        return self._process.exitcode, said


def _run(arguments: list[str], folder: str, environment: Mapping[str, str], log: str) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in ((0, os.devnull), (1, os.devnull), (2, log)):
        file = os.open(name, os.O_RDWR)
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    from creval.cli import main

    sys.argv = ["creval", *arguments]
    main()
