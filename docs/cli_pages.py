"""The reference of the command line, written from the commands themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HEAD = """# Command line

Every command has `--help`. Defaults of options can be set in `creval.toml`: [configuration](configuration.md).
"""


def write(folder: Path) -> None:
    """Write `cli.md` into `folder`."""
    folder.mkdir(exist_ok=True)
    text = page()
    path = folder / "cli.md"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def page() -> str:
    """Return the page: a section for each group of commands, and the whole help of each."""
    import typer.main

    from creval.cli import app

    root: Any = typer.main.get_command(app)
    panels: dict[str, list[str]] = {}
    for name, command in root.commands.items():
        if not command.hidden:
            panels.setdefault(str(command.rich_help_panel), []).extend(_sections(name, command))
    parts = [HEAD]
    for panel, sections in panels.items():
        parts += [f"## {panel}\n", *sections]
    return "\n".join(parts)


def _sections(name: str, command: Any, path: str = "creval") -> list[str]:
    import typer

    context = typer.Context(command, info_name=f"{path} {name}", max_content_width=80, terminal_width=80)
    helped = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    sections = [f"### creval {name}\n" if path == "creval" else f"#### {path} {name}\n", f"```text\n{helped}\n```\n"]
    for child, sub in sorted(getattr(command, "commands", {}).items()):
        sections += _sections(child, sub, f"{path} {name}")
    return sections
