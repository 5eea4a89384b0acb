"""Pages of the documentation: fenced blocks, commands, headings and links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, its text, and the number of its first line."""

    language: str
    text: str
    line: int


class Command(NamedTuple):
    """A command in a console block, and the output that the page shows for it."""

    line: int
    text: str
    shown: str


def page_name(path: Path) -> str:
    """Return a page's name: `README`, `howto/judging`."""
    return path.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


def read_blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in _BLOCK.finditer(text)]


def python_blocks(page: str) -> list[str]:
    """Return the Python blocks of a page such as `howto/extending`."""
    return [block.text for block in read_blocks(ROOT / "docs" / f"{page}.md") if block.language == "python"]


def read_links(path: Path) -> list[str]:
    """Return the targets of the links of a page, outside fenced blocks."""
    return _LINK.findall(_without_blocks(path))


def read_anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = _HEADING.findall(_without_blocks(path))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _without_blocks(path: Path) -> str:
    return re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def read_commands(block: Block) -> list[Command]:
    """Return the commands of a console block.

    A line that begins with `$ ` is a command, followed by its output. Without any `$ `, each line is a command.
    """
    lines = block.text.splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    commands: list[Command] = []
    continued = False
    for number, line in enumerate(lines, block.line):
        if continued:
            last = commands.pop()
            joined = f"{last.text[:-1]} {line.strip()}" if last.text.endswith("\\") else f"{last.text}\n{line}"
            commands.append(last._replace(text=joined))
        elif line.startswith("$ ") or not prompted:
            commands.append(Command(number, line.removeprefix("$ "), ""))
        else:
            commands[-1] = commands[-1]._replace(shown=f"{commands[-1].shown}{line}\n")
            continue
        text = commands[-1].text
        continued = text.endswith("\\") or text.count('"') % 2 == 1
    return [command for command in commands if command.text.strip()]
