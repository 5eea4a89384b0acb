from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from creval.core.concurrency import parallel_map, usable_cpu_count
from creval.core.errors import CrevalError


def squared(number: int) -> int:
    return number * number


def killed(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_results_come_in_the_order_of_jobs() -> None:
    for count in (0, 3, 20):
        assert list(parallel_map(squared, range(count))) == [n * n for n in range(count)]
    assert usable_cpu_count() >= 1


def test_a_process_that_was_killed_gets_a_sentence() -> None:
    with pytest.raises(CrevalError, match="Run the command again"):
        list(parallel_map(killed, range(20)))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.attack
def test_none_is_left_when_the_one_that_started_them_is_killed() -> None:
    script = (
        "import time\nfrom creval.core.concurrency import spawn_process_pool\n"
        "if __name__ == '__main__':\n"
        "    pool = spawn_process_pool(1)\n"
        "    print(pool.submit(__import__('os').getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        worker = int(one.stdout.readline())
        os.kill(worker, 0)
        one.kill()
    for _ in range(100):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the worker is still running")
