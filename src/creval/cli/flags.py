"""Translation of field names in library messages into command-line options."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

# Options whose name differs from their field.
_RENAMED = {
    "batch_by": "--ask",
    "metric_models": "--metric-model",
    "parameters": "--set",
    "settings": "--set",
    "stopping_rule": "--until-decided",
}
# Old spellings of options, which are still accepted.
_OLD_SPELLINGS = {"--gauge": "--metric-model"}
_FIELD = re.compile(r"`([a-z][a-z_]*)`")


def with_flags(text: str) -> str:
    """Return a message in which each `field` that is an option is written as the option.

    >>> with_flags("`batch_by` must be question.")
    '--ask must be question.'
    """
    return _FIELD.sub(lambda match: _flag(match[1]) or match[0], text)


def _flag(field: str) -> str:
    return _RENAMED.get(field) or (f"--{field.replace('_', '-')}" if field in _option_names() else "")


def current_spelling(arguments: list[str]) -> list[str]:
    """Return a command's arguments with old spellings of options replaced and --config moved to the front."""
    first, replaced = list[str](), list[str]()
    rest = iter(arguments)
    for argument in rest:
        flag, equals, value = argument.partition("=")
        if flag == "--config":
            first += [argument] if equals else [argument, *islice(rest, 1)]
        else:
            replaced.append(f"{_OLD_SPELLINGS.get(flag, flag)}{equals}{value}")
    return first + replaced


@lru_cache(maxsize=1)
def _option_names() -> frozenset[str]:
    """Return the names of the parameters of all commands."""
    from typer.main import get_command

    from creval.cli import app

    names, groups = set[str](), [get_command(app)]
    for command in groups:
        names.update(str(param.name) for param in command.params)
        groups.extend(getattr(command, "commands", {}).values())
    return frozenset(names)
