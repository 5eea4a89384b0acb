"""A shell for the documentation's commands. Fake servers stand in for the providers."""

from __future__ import annotations

import functools
import os
import re
import shlex
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unittest import mock

import typer.main

from creval.cli import app
from creval.providers.catalog import CHAT_PROVIDERS
from creval.testing.fake_chat_server import FakeServer
from tests.commands import creval, working_folder
from tests.docs.markdown import ROOT
from tests.editors.asking import PATHS
from tests.editors.servers import BFL, DashScope, Google, OpenAI, Provider, Seedream
from tests.serving import serving

_EDITORS: dict[str, type[Provider]] = {
    "bfl": BFL,
    "dashscope": DashScope,
    "google": Google,
    "openai": OpenAI,
    "seedream": Seedream,
}
_KEYS = ("ANTHROPIC_API_KEY", "ARK_API_KEY", "BFL_API_KEY", "DASHSCOPE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY")
_EDITOR = re.compile(rf"(?P<option>--editor )(?P<name>{'|'.join(_EDITORS)}):(?P<model>[^\s@]+)(?:@\S+)?")
_LOCAL_JUDGE = re.compile(r"openai:([^\s@]+)@http://localhost:8000/v1")
# What needs files from the hub: only its options are parsed.
NEEDS_HUB = re.compile(
    r"^get \S+ --out|diffusers:|python:\w+_editor:edit|tools/run_inference"
    r"|--protocol clip\b|--metrics AES,IMG|--metric-model"
    r"|measure (aesthetic|clip_\w+|face|imaging|pose|style|subject|text)\b"
)


class Output(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str


class FileProvider(Protocol):
    """Makes the files that a command reads, and the edits of a benchmark that it judges."""

    def provide(self, shell: Shell, word: str) -> None: ...

    def provide_edits(self, shell: Shell, bench: str, folder: str) -> None: ...

    def provide_demo(self, shell: Shell) -> None: ...


class Shell:
    """A shell in `folder` for the commands of one page."""

    def __init__(self, page: str, folder: Path, inputs: FileProvider) -> None:
        self.page, self.folder, self._inputs = page, folder, inputs
        self._variables: dict[str, str] = {}
        self._ports: dict[str, str] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Shell:
        stack = self._stack
        judge = stack.enter_context(serving(FakeServer().app())) + "/v1"
        providers = {name: _at(judge, provider) for name, provider in CHAT_PROVIDERS.items()}
        stack.enter_context(mock.patch.dict(CHAT_PROVIDERS, providers))
        stack.enter_context(mock.patch.dict(os.environ, dict.fromkeys(_KEYS, "key")))
        stack.enter_context(mock.patch("creval.web.common.server.run_server", _close_server))
        stack.enter_context(mock.patch("webbrowser.open", return_value=True))
        stack.enter_context(mock.patch("typer.main.get_command", _get_command))  # building it takes longer than parsing
        for module in ("builder", "calibration_trials"):  # starting processes takes longer than drawing
            stack.enter_context(mock.patch(f"creval.touchstone.{module}.parallel_map", map))
        self._judge = judge
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, command: str, *, fast: bool = False) -> Output:
        """Run a command. One that this shell does not know raises `AssertionError`.

        If `fast`, numbers may differ: fewer resamples are drawn, and fewer samples.
        """
        if found := re.fullmatch(r"creval fake-server --port (\d+)( --latency \d+)? &", command):
            self._serve(found[1])
            return Output("", "")
        if found := re.fullmatch(r"([A-Z]+)=(\S+)", command):
            self._variables[found[1]] = found[2]
            return Output("", "")
        words = shlex.split(self._substitute(command), comments=True)
        match words:
            case ["export", *settings]:
                assert all(setting.partition("=")[0] in _KEYS for setting in settings), command
                return Output("", "")
            case ["pip", "install", *what]:
                _check_requirements(what)
                return Output("", "")
            case ["make", target]:
                assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), command
                return Output("", "")
            case ["creval", *arguments]:
                return self._creval([*arguments, *_faster_options(arguments)] if fast else arguments)
            case ["sqlite3", database, statement]:
                with sqlite3.connect(self.folder / database) as connection:
                    rows = connection.execute(statement).fetchall()
                connection.close()
                return Output("\n".join("|".join(map(str, row)) for row in rows), "")
            case ["python", script, *arguments]:
                return self._process([sys.executable, str(ROOT / script), *arguments])
            case ["cat" | "mkdir", *_]:
                return self._process(["bash", "-euc", command])
            case ["hf", "auth", "login"] | ["pre-commit", "install"]:
                return Output("", "")
        raise AssertionError(f"the tests of the documentation do not know this command: {command}")

    def python(self, code: str) -> None:
        """Run a block of Python. One that begins with a file's name is written there instead."""
        if found := re.match(r"# (\w+\.py)\n", code):
            (self.folder / found[1]).write_text(code, encoding="utf-8")
            return
        for word in re.findall(r'"([\w./-]+)"', code):
            self._inputs.provide(self, word)
        with working_folder(self.folder):
            exec(compile(code, "<documentation>", "exec"), {"__name__": "documentation"})

    def local_names(self, output: str) -> str:
        """Return an output with paths relative to the folder, and with the ports that the page shows."""
        output = output.replace(f"{self.folder}/", "")
        for shown, port in self._ports.items():
            output = output.replace(f":{port}", f":{shown}")
        return output

    def _serve(self, port: str) -> None:
        url = self._stack.enter_context(serving(FakeServer(marked=True).app()))
        self._ports[port] = url.rpartition(":")[2]

    def _substitute(self, command: str) -> str:
        for name, value in self._variables.items():
            command = re.sub(rf"\${name}\b", value, command)
        for shown, port in self._ports.items():
            command = command.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{port}")
        command = _LOCAL_JUDGE.sub(rf"openai:\1@{self._judge}", command)
        return _EDITOR.sub(self._local_editor, command)

    def _local_editor(self, found: re.Match[str]) -> str:
        provider = _EDITORS[found["name"]]()
        provider.base = self._stack.enter_context(serving(provider.app()))
        return f"{found['option']}{found['name']}:{found['model']}@{provider.base}{PATHS[found['name']]}"

    def _creval(self, arguments: list[str]) -> Output:
        into = None
        if ">" in arguments:
            at = arguments.index(">")
            into = self.folder / arguments[at + 1]
            arguments = arguments[:at]
        if arguments[0] == "demo":
            self._inputs.provide_demo(self)
            return Output("", "")
        if NEEDS_HUB.search(" ".join(arguments)):
            _parse(arguments)
            return Output("", "")
        self._make_inputs(arguments)
        with working_folder(self.folder):
            matches = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in arguments]
        arguments = [name for names in matches for name in names]
        done = creval(*arguments, cwd=self.folder)
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        if into:
            into.write_text(done.stdout, encoding="utf-8")
        return Output(done.stdout, done.stderr)

    def _make_inputs(self, arguments: list[str]) -> None:
        """Make the files that a command reads. Words behind `--out` and `--run` are written by it."""
        option = ""
        for word in arguments[1:]:
            if word.startswith("--"):
                option = word
            elif option == "--edits":
                self._inputs.provide(self, word)
                self._inputs.provide_edits(self, arguments[1], word)
            elif option not in ("--out", "--run"):
                for part in word.removeprefix("command:").removeprefix("folder:").split():
                    self._inputs.provide(self, part.removeprefix("./"))

    def _process(self, arguments: list[str]) -> Output:
        done = subprocess.run(arguments, cwd=self.folder, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        return Output(done.stdout, done.stderr)


def _close_server(_: object, listening: socket.socket, ready: Callable[[], None]) -> None:
    listening.close()
    ready()


def _at(url: str, provider: Any) -> Any:
    return provider if provider.is_rehearsal else type(provider)(**{**vars(provider), "url": url})


def _faster_options(arguments: list[str]) -> list[str]:
    """Return options with which a command takes less time."""
    if arguments[0] == "calibrate":
        return ["--samples", "6", "--no-variants"]
    if arguments[0].startswith("-"):
        return []
    options = {option for parameter in _find_command(arguments[0]).params for option in parameter.opts}
    return ["--resamples", "100"] if "--resamples" in options and "--resamples" not in arguments else []


_get_command = functools.cache(typer.main.get_command)


def _find_command(name: str) -> Any:
    root: Any = _get_command(app)
    return root.get_command(root.make_context("creval", [name, "--help"], resilient_parsing=True), name)


def _parse(arguments: list[str]) -> None:
    """Parse a command's options without running it."""
    name, *rest = arguments
    _find_command(name).make_context(name, rest)


def _check_requirements(what: list[str]) -> None:
    extras = set(metadata("creval").get_all("Provides-Extra", []))
    for requirement in what:
        if found := re.fullmatch(r"creval\[(.*)\]", requirement):
            assert set(found[1].split(",")) <= extras, requirement
        else:
            assert requirement == "creval" or requirement.startswith("git+https://github.com/"), requirement
