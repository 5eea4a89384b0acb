"""Help in plain text: commands grouped by purpose, complete descriptions, types as words."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

HELP_SETTINGS = {"max_content_width": 120}
_NO_BREAK = "\u2011"  # a hyphen at which text is not wrapped, so that options such as --no-blind are not split
_WORDS = (
    (re.compile(r"<(?:int|float)(?: range)?>|\b(?:INTEGER|FLOAT)(?: RANGE)?(?=$|\s)"), "NUMBER"),
    (re.compile(r"<str>|<list\[str\]>"), "TEXT"),
)
_RANGES = (
    (re.compile(r"\b([\d.]+)<=x<=([\d.]+)"), r"\1 to \2"),
    (re.compile(r"\bx>=([\d.]+)"), r"\1 or more"),
    (re.compile(r"\bx<=([\d.]+)"), r"at most \1"),
)


class HelpCommand(TyperCommand):
    """A command with plain-text help."""

    def get_help(self, ctx: Any) -> str:
        return super().get_help(ctx).replace(_NO_BREAK, "-")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _usage(self, ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_options(self, ctx, formatter)


class HelpGroup(TyperGroup):
    """A group of commands, each listed under its `rich_help_panel` with its complete description."""

    def get_help(self, ctx: Any) -> str:
        return super().get_help(ctx).replace(_NO_BREAK, "-")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {name: command for name, command in commands.items() if command is not None and not command.hidden}
        width = max(map(len, shown), default=0)  # the same in all panels
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in shown.items():
            panel = getattr(command, "rich_help_panel", None)
            rows = panels.setdefault(panel if isinstance(panel, str) else "Commands", [])
            text = " ".join((command.help or "").split("\n\n")[0].split())
            row = (f"{name:{width}}", text.replace("-", _NO_BREAK))
            rows.insert(0 if isinstance(command, TyperGroup) else len(rows), row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def _usage(command: TyperCommand, ctx: Any) -> list[str]:
    """Return the arguments of a usage line: `NAME` if required, otherwise `[NAME]`."""
    pieces = ["[OPTIONS]"]
    for param in command.get_params(ctx):
        if param.param_type_name == "argument":
            name = param.metavar or str(param.name).upper()
            bare = param.required or name.startswith("[")
            pieces.append(name if bare else f"[{name}]")
    return pieces


def _write_options(command: TyperCommand | TyperGroup, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is None:
            continue
        names, text = record
        if param.param_type_name == "argument":
            names = param.metavar or names
        for pattern, word in _WORDS:
            names = pattern.sub(word, names)
        for pattern, word in _RANGES:
            text = pattern.sub(word, text)
        sections[param.param_type_name].append((names, text.replace("-", _NO_BREAK)))
    for title, rows in zip(("Arguments", "Options"), sections.values(), strict=True):
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
