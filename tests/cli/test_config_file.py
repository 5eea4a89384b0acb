from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.main import get_command

from creval.cli import app
from creval.cli.config_file import read_config
from creval.core.errors import CrevalError
from tests.commands import creval

FILE = """\
price = [2.5, 10]
budget = 5

[default]
judge = "openai:gpt-4o"
concurrency = 9

[judge]
concurrency = 8
set = "top_p=0.1"
no-rubric = true

[build]
concurrency = 4

[build.ice]
concurrency = 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_most_specific_section_wins(folder: Path) -> None:
    (folder / "creval.toml").write_text(FILE)
    found = read_config(None, get_command(app))
    values = {
        (command, name): (one.value, one.source) for command, of in found.values.items() for name, one in of.items()
    }
    assert values["judge", "concurrency"] == (8, "creval.toml:9")
    assert values["calibrate", "concurrency"] == (9, "creval.toml:6")
    assert values["build creval", "concurrency"] == (4, "creval.toml:14")
    assert values["build ice", "concurrency"] == (2, "creval.toml:17")
    assert values["calibrate", "judge"] == ("openai:gpt-4o", "creval.toml:5")
    assert values["judge", "set_"] == (["top_p=0.1"], "creval.toml:10")
    assert values["judge", "no_rubric"] == (True, "creval.toml:11")
    assert values["judge", "price"] == ("2.5,10", "creval.toml:1")
    assert values["judge", "budget"] == ("5", "creval.toml:2")
    assert ("edit", "price") not in values, "a price of tokens is none of an image"
    assert found.default_map()["build"]["ice"]["concurrency"] == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("concurency = 3", "x.toml:1: there is no option 'concurency' for all commands; did you mean 'concurrency'?"),
        ("\n[judge]\nmargn = 3", "x.toml:3: there is no option 'margn' for [judge]; did you mean 'margin'?"),
        ("[judg]\nseed = 1", "x.toml:1: there is no command for [judg]; did you mean 'judge'?"),
        ("concurrency = '3'", "x.toml:1: 'concurrency' takes a number, not '3'."),
        ("[judge]\nconcurrency = 2.5", "x.toml:2: 'concurrency' "),
        ("concurrency = 0", "x.toml:1: 'concurrency' cannot be 0: "),
        ("dry_run = 1", "x.toml:1: 'dry_run' takes true or false, not 1."),
        ("concurrency = true", "x.toml:1: 'concurrency' takes a number, not True."),
        ("judge = 'pixel'\n[judge]\nseed = 1", "put keys for all commands into [default]."),
        ("seed =", "x.toml: Invalid value"),
        ("[judge]\nseed = 1979-05-27", "x.toml:2: 'seed' takes a number"),
    ],
)
def test_errors_in_a_file_are_reported(folder: Path, text: str, problem: str) -> None:
    (folder / "x.toml").write_text(text)
    done = creval("--config", "x.toml", "config")
    assert done.returncode == 2
    assert problem in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "api_key = 'x'",
        "[judge]\nopenai_api_key = 'x'",
        "key = 'x'",
        "judge = 'openai:m@http://me:word@host/v1'",
        "set = ['api_key=x']",
        "key_env = 'sk-abcdef'",
    ],
)
def test_secrets_are_refused(folder: Path, text: str) -> None:
    (folder / "creval.toml").write_text(text)
    with pytest.raises(CrevalError, match=r"creval\.toml:\d: keys and passwords .* variable such as OPENAI_API_KEY"):
        read_config(None, get_command(app))


def test_a_given_file_must_exist(folder: Path) -> None:
    assert read_config(None, get_command(app)).values == {}
    with pytest.raises(FileNotFoundError):
        read_config(str(folder / "none.toml"), get_command(app))


def test_config_shows_defaults_and_their_origin(folder: Path) -> None:
    assert "There is no creval.toml here" in creval("config").stdout
    (folder / "creval.toml").write_text(FILE)
    shown = {
        (row["command"], row["option"]): (row["value"], row["from"])
        for row in json.loads(creval("config", "judge", "--json").stdout)["options"]
    }
    assert shown["judge", "concurrency"] == (8, "creval.toml:9")
    assert shown["judge", "retries"] == (2, "default")
    assert {command for command, _ in shown} == {"judge"}
    every = creval("config").stdout
    assert "build ice" in every
    assert "retries" not in every, "only what a file says, unless a command is named"
    assert "did you mean 'judge'?" in creval("config", "juge").stderr


def test_the_command_line_overrides_the_file(folder: Path) -> None:
    (folder / "creval.toml").write_text("[build.touchstone]\nsamples = 3\nout = 'bench'\n")
    assert "\n3 samples" in "\n" + creval("build", "touchstone").stderr
    assert "\n2 samples" in "\n" + creval("build", "touchstone", "--samples", 2, "--out", "other").stderr
    (folder / "mine.toml").write_text("samples = 1")
    done = creval("build", "touchstone", "--out", "third", "--config", "mine.toml")
    assert "\n1 sample " in "\n" + done.stderr, "--config may stand anywhere"
