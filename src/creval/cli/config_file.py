"""Defaults for options, read from `creval.toml`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from creval.core.errors import CrevalError, nearest_name
from creval.core.files import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG_FILE = "creval.toml"
COMMON = "default"  # section for all commands, like keys before the first section
_HIDDEN_OPTIONS = {"help", "version", "config", "install_completion", "show_completion"}
_SECRET_NAME = re.compile(r"(?:^|_)(?:api_?key|key|token|secret|password|credentials?)s?$")
_SECRET_VALUE = re.compile(r"^(?:sk-|Bearer )|\b(?:api[-_]?key|secret|password)=|://[^/@\s]+:[^/@\s]+@", re.I)


@dataclass(frozen=True)
class ConfigValue:
    """A default from a config file: its value as the option takes it, and its section and line."""

    value: Any
    section: str
    source: str


@dataclass(frozen=True)
class Config:
    """Defaults by command (`judge`, `build creval`) and parameter."""

    path: Path | None = None
    values: Mapping[str, Mapping[str, ConfigValue]] = field(default_factory=dict)

    def default_map(self) -> dict[str, Any]:
        """Return the defaults in typer's format, nested by groups of commands."""
        found: dict[str, Any] = {}
        for command, values in self.values.items():
            inner = found
            for name in command.split():
                inner = inner.setdefault(name, {})
            inner.update({name: one.value for name, one in values.items()})
        return found


def command_options(root: Any) -> dict[str, dict[str, Any]]:
    """Return the options of every command, except hidden ones, by their name in a config file."""
    found: dict[str, dict[str, Any]] = {}
    groups = [("", root)]
    for path, group in groups:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                groups.append((f"{path}{name} ", command))
            elif not command.hidden:
                options = {_key(param): param for param in command.params if param.param_type_name == "option"}
                found[path + name] = {key: param for key, param in options.items() if key not in _HIDDEN_OPTIONS}
    return found


def read_config(given: str | None, root: Any) -> Config:
    """Read the given file, or `creval.toml` in the working directory if there is one."""
    path = Path(given or CONFIG_FILE)
    if given is None and not path.is_file():
        return Config()
    try:
        text = read_text(path)
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = ""
        if "overwrite" in str(error):
            hint = f" A name cannot be a key and a section: put keys for all commands into [{COMMON}]."
        raise CrevalError(f"{path}: {error}.{hint}") from error
    except UnicodeDecodeError as error:
        raise CrevalError(f"{path} is not text in UTF-8.") from error
    return Config(path, _Reader(path, text, root).read(data))


class _Reader:
    """Reader that checks the content of a config file against the existing options."""

    def __init__(self, path: Path, text: str, root: Any) -> None:
        self._path, self._commands, self._context = path, command_options(root), typer.Context(root)
        self._lines = dict(_find_lines(text))

    def read(self, data: Mapping[str, Any]) -> dict[str, dict[str, ConfigValue]]:
        found: dict[str, dict[str, ConfigValue]] = {command: {} for command in self._commands}
        # More specific sections are read later, and override earlier values.
        for section, keys in sorted(self._sections(data), key=lambda pair: len(pair[0])):
            commands = [name for name in self._commands if tuple(name.split())[: len(section)] == section]
            for key, value in keys.items():
                self._set(found, commands, section, key, value)
        return {command: values for command, values in found.items() if values}

    def _sections(self, data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        names = {tuple(name.split()[:depth]) for name in self._commands for depth in (1, 2)}
        pending: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), data)]
        for path, table in pending:
            yield path, {key: value for key, value in table.items() if not isinstance(value, dict)}
            for key, value in table.items():
                if not isinstance(value, dict):
                    continue
                section = () if (path, key) == ((), COMMON) else (*path, key)
                if section and section not in names:
                    known = sorted(".".join(name) for name in names)
                    self._refuse(path, key, f"there is no command for [{'.'.join(section)}]", key, known)
                pending.append((section, value))

    def _set(
        self,
        found: dict[str, dict[str, ConfigValue]],
        commands: list[str],
        section: tuple[str, ...],
        key: str,
        value: Any,
    ) -> None:
        name = key.replace("-", "_")
        where = f"[{'.'.join(section)}]" if section else "all commands"
        options = {command: self._commands[command][name] for command in commands if name in self._commands[command]}
        texts = value if isinstance(value, list) else [value]
        if (not options and _SECRET_NAME.search(name)) or any(_SECRET_VALUE.search(str(text)) for text in texts):
            raise CrevalError(
                f"{self._source(section, key)}: keys and passwords do not belong in this file. Set an environment "
                "variable such as OPENAI_API_KEY, and name another one with `key_env`."
            )
        if not options:
            known = sorted({known for command in commands for known in self._commands[command]})
            self._refuse(section, key, f"there is no option {key!r} for {where}", name, known)
        reasons = []
        for command, option in options.items():
            try:
                taken = _convert(option, value, self._context)
            except ValueError as error:
                reasons.append(str(error))
                continue
            found[command][str(option.name)] = ConfigValue(taken, where, self._source(section, key))
        # A key for several commands may be valid for only some: `price` is per token or per image.
        if len(reasons) == len(options):
            raise CrevalError(f"{self._source(section, key)}: {key!r} {reasons[0]}.")

    def _source(self, section: tuple[str, ...], key: str) -> str:
        common = 0 if section else self._lines.get((COMMON, key), 0)
        line = common or self._lines.get((*section, key)) or self._lines.get(("", *section, key))
        return f"{self._path}:{line}" if line else str(self._path)

    def _refuse(self, section: tuple[str, ...], key: str, problem: str, name: str, known: list[str]) -> None:
        near = nearest_name(name, known)
        hint = f"; did you mean {near!r}?" if near else ". `creval config COMMAND` lists a command's options."
        raise CrevalError(f"{self._source(section, key)}: {problem}{hint}")


def _key(param: Any) -> str:
    """Return the name of a parameter in a config file, such as `set` for `set_`."""
    return str(param.name).rstrip("_")


def _convert(option: Any, value: Any, context: typer.Context) -> Any:
    """Convert a TOML value for an option. Raises a ValueError that names the valid values."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"takes true or false, not {value!r}")
        return value
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts):
        raise ValueError(f"takes {option.metavar or 'a number'}, not {value!r}")
    if option.multiple:
        return [str(part) for part in parts]
    given = ",".join(map(str, value)) if isinstance(value, list) else value
    number = _is_number(option, context)
    if number != isinstance(given, int | float):
        if number:
            raise ValueError(f"takes a number, not {value!r}")
        given = str(given)
    try:
        taken = option.process_value(context, given)
    except typer.BadParameter as error:
        raise ValueError(f"cannot be {value!r}: {error.message.rstrip('.')}") from error
    if number and taken != given:
        raise ValueError(f"takes a whole number, not {value!r}")
    return given


def _is_number(option: Any, context: typer.Context) -> bool:
    try:
        option.process_value(context, "text")
    except typer.BadParameter:
        return True
    return False


def _find_lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the path and the line number of each key that begins a line."""
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*\[([^\[\]]+)\]", line):
            section = tuple(part.strip(" \"'") for part in match[1].split("."))
            yield ("", *section), number  # different from a key of the same name
        elif match := re.match(r"([\w.\"' -]+)=", line.strip()):
            yield (*section, *(part.strip(" \"'") for part in match[1].split("."))), number
