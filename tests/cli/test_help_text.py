from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from creval.cli import app
from tests.commands import creval


def command_names() -> Iterator[tuple[str, ...]]:
    """Yield the path of every group and command in the help."""
    groups: list[tuple[tuple[str, ...], Any]] = [((), get_command(app))]
    for path, group in groups:
        yield path
        for name, command in getattr(group, "commands", {}).items():
            if not command.hidden:
                groups.append(((*path, name), command))


@pytest.fixture(params=[80, 120])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def test_commands_are_grouped_by_purpose() -> None:
    shown = creval("--help").stdout
    panels = re.findall(r"^(\S.*):$", shown, re.M)
    assert panels == ["Start", "Run", "Understand", "Manage", "Look and share", "Build", "Extend", "Options"]
    assert re.search(r"^Build:\n  build .*\n  review ", shown, re.M)
    assert not re.search("gauge", shown), "old names are accepted, but not shown"


def test_all_commands_have_a_help() -> None:
    names = set(command_names())
    assert {(), ("judge",), ("build",), ("build", "creval"), ("cache", "prune"), ("init", "samples")} <= names
    assert len(names) >= 33


@pytest.mark.parametrize("path", list(command_names()), ids=lambda path: " ".join(path) or "creval")
def test_help_fits_the_width_without_cut_words(path: tuple[str, ...], width: int) -> None:
    shown = creval(*path, "--help").stdout
    assert max(map(len, shown.splitlines())) <= width
    assert not re.search(r"<(int|float|str|list)|RANGE|INTEGER|FLOAT|x>=|<=x", shown)
    said = " ".join(shown.split())
    groups: list[Any] = [get_command(app)]
    for name in path:
        groups.append(groups[-1].commands[name])
    command = groups[-1]
    described = [command, *(each for each in getattr(command, "commands", {}).values() if not each.hidden)]
    described += [param for param in command.params if not getattr(param, "hidden", False)]
    for each in described:
        assert " ".join((each.help or "").split()) in said
    for param in command.params:
        assert not param.metavar or param.metavar in said
        for flag in param.opts if param.param_type_name == "option" else ():
            assert re.search(rf"(?<!\S){re.escape(flag)}(?![\w-])", shown)


def test_ranges_and_arguments_are_words(width: int) -> None:
    shown = " ".join(creval("judge", "--help").stdout.split())
    assert "Usage: " in shown
    assert "judge [OPTIONS] BENCH [DIR]..." in shown
    assert "--concurrency NUMBER Concurrent calls. [default: 32; 1 to 4096]" in shown
    assert "[default: 1; 1 or more]" in shown
    assert width


@pytest.mark.parametrize(("typed", "found"), [("creval se", "sensitivity"), ("creval build ic", "ice")])
def test_a_shell_completes_commands(
    typed: str, found: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(os.environ, "_CREVAL_COMPLETE", "complete_bash")
    monkeypatch.setitem(os.environ, "COMP_WORDS", typed)
    monkeypatch.setitem(os.environ, "COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit) as done:
        app(prog_name="creval")
    assert not done.value.code
    assert capsys.readouterr().out.split() == [found]
