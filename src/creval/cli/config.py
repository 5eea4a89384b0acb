"""`creval config`: the defaults of options and their origin."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from creval.cli import console, options
from creval.cli.config_file import CONFIG_FILE, Config, command_options


def config(
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]", help="Show all options of a command: judge, build creval ..."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the defaults of options and where they come from."""
    from creval.core.errors import require_known
    from creval.reporting.output import CommandOutput, OutputTable

    root = context.find_root()
    held = root.obj if isinstance(root.obj, Config) else Config()
    known = command_options(root.command)
    chosen = [require_known("command", " ".join(command), known)] if command else list(known)
    found: list[dict[str, Any]] = []
    for name in chosen:
        values = held.values.get(name, {})
        for key, option in known[name].items():
            one = values.get(option.name)
            if one is not None:
                found.append({"command": name, "option": key, "value": one.value, "from": one.source})
            elif command:
                found.append({"command": name, "option": key, "value": option.default, "from": "default"})
    file = str(held.path) if held.path else None
    rows = [[str(row["command"]), str(row["option"]), _format(row["value"]), str(row["from"])] for row in found]
    sentence = f"Defaults from {file}." if file else f"There is no {CONFIG_FILE} here: creval's own defaults are used."
    tables = [OutputTable(["command", "option", "value", "from"], rows, text_columns=4)] if rows else []
    console.print_output(CommandOutput((sentence,), tables, {"file": file, "options": found}), json)


def _format(value: Any) -> str:
    from creval.core.formatting import escape_control

    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape_control(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
