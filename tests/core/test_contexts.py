"""Contexts that threads share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from creval.core.concurrency import SharedContext, stdout_to_stderr


def test_the_first_enters_and_the_last_leaves() -> None:
    seen: list[str] = []

    @contextmanager
    def made() -> Iterator[None]:
        seen.append("in")
        yield
        seen.append("out")

    shared = SharedContext(made)
    for _ in range(2):
        shared.__enter__()
        with shared:
            assert seen == ["in"]
        assert seen == ["in"], "the first one has not left yet"
        shared.__exit__()
        assert seen == ["in", "out"]
        seen.clear()


def test_a_context_that_fails_to_open_is_not_entered() -> None:
    tries: list[int] = []

    @contextmanager
    def made() -> Iterator[None]:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        yield

    shared = SharedContext(made)
    with pytest.raises(OSError, match="not yet"), shared:
        pass
    with shared:
        assert len(tries) == 2


def test_redirected_output_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with stdout_to_stderr:
        print("downloading")
    print("result")
    sys.stdout.flush()
    assert capsys.readouterr() == ("result\n", "downloading\n")
