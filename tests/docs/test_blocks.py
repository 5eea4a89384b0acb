"""Every console block and Python block of README and documentation, run page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import shared_data
from tests.docs.inputs import Inputs
from tests.docs.markdown import PAGES, Command, page_name, read_blocks, read_commands
from tests.docs.shell import Shell

_RUN_BY_ANOTHER_TEST = {"howto/extending": "tests/e2e/test_extending.py"}
_SLOW = ("benchmarks/touchstone", "concepts/statistics", "howto/people", "howto/plots", "start")
_PAGES_WITH_BLOCKS = [
    pytest.param(path, id=page_name(path), marks=pytest.mark.slow if page_name(path) in _SLOW else [])
    for path in PAGES
    if page_name(path) not in _RUN_BY_ANOTHER_TEST
    and any(block.language in ("console", "python") for block in read_blocks(path))
]


@pytest.mark.parametrize("path", _PAGES_WITH_BLOCKS)
def test_blocks_of_a_page(path: Path, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160" if page_name(path) == "howto/people" else "120")
    with Shell(page_name(path), tmp_path, inputs) as shell:
        for block in read_blocks(path):
            if block.language == "python":
                shell.python(block.text)
            elif block.language == "console":
                for command in read_commands(block):
                    _run(shell, command, path)


def _run(shell: Shell, command: Command, path: Path) -> None:
    place = f"{path.name}:{command.line}: {command.text}"
    try:
        output = shell.run(command.text, fast=not command.shown)
    except AssertionError as error:
        if str(error).startswith("needs ") and str(shared_data.SHARED) in str(error):
            pytest.skip(str(error))  # a script that reads released data, which is not on this machine
        raise AssertionError(f"{place}\n{error}") from error
    printed = [_words(shell.local_names(text)) for text in output]
    read = [0, 0]
    for line in command.shown.splitlines():
        for part in re.split(r"\.\.\.|…", line):
            words = _words(part)
            found = [_find(words, stream, start) for stream, start in zip(printed, read, strict=True)]
            at = next((at for at, end in enumerate(found) if end is not None), None)
            if at is None:
                raise AssertionError(f"{place}\nThe page shows: {part}\n{output.stdout}\n{output.stderr}")
            read[at] = found[at] or 0


def _words(text: str) -> list[str]:
    """Return the words of an output, without durations, free ports and the widths of rules."""
    text = re.sub(r"\bin \d+ s\b", "in N s", re.sub("─+", "─", text))
    return re.sub(r"http://127\.0\.0\.1:\d+/", "http://127.0.0.1:PORT/", text).split()


def _find(words: list[str], stream: list[str], start: int) -> int | None:
    """Return where the words end in a stream from `start` on, or None."""
    starts = range(start, len(stream) - len(words) + 1)
    return next((at + len(words) for at in starts if stream[at : at + len(words)] == words), None)
