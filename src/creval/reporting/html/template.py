"""Rendering of HTML templates with automatic escaping."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from creval.core.formatting import escape_control, pluralise
from creval.reporting.output import OutputTable, TableCell, as_table_cell

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

_TEMPLATE_FOLDER = Path(__file__).parent
COLOURS = _TEMPLATE_FOLDER / "colours.css"
"""The colours of all pages, including the viewer's."""


def make_environment(loader: BaseLoader, finalize: Callable[[object], object]) -> Environment:
    """Return a template environment that escapes every text and rejects undefined names."""
    from jinja2 import Environment, StrictUndefined

    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )


@cache
def _environment() -> Environment:
    """Return the environment of the templates in this folder."""
    from jinja2 import FileSystemLoader

    made = make_environment(FileSystemLoader(_TEMPLATE_FOLDER), _escape_control)
    made.filters |= {"many": pluralise, "over": column_groups, "spot": _html_cell}
    return made


def render_page(template: str, images: str = "data:", **content: object) -> str:
    """Return a self-contained page. Its style and script are embedded, and no other script may run."""
    colours, style, script = (
        path.read_text("utf-8") for path in (COLOURS, _TEMPLATE_FOLDER / "report.css", _TEMPLATE_FOLDER / "report.js")
    )
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return render_part(template, images=images, style=colours + style, script=script, digest=digest, **content)


def render_part(template: str, **content: object) -> str:
    """Return a part of a page, to be embedded in another page."""
    return _environment().get_template(template).render(**content)


def _escape_control(value: object) -> object:
    """Make control characters visible. Text already marked as HTML is not changed."""
    if type(value) is str:
        return "\n".join(map(escape_control, value.split("\n")))
    return value


def _html_cell(cell: str | TableCell) -> TableCell:
    """Return a cell without the superscripts of the terminal, because CSS classes mark best and second best."""
    found = as_table_cell(cell)
    return found._replace(text=found.text.strip(" ¹²"), beside=found.beside.strip())


def column_groups(table: OutputTable) -> list[tuple[str, int]]:
    """Return the upper line of a two-line table header.

    Each entry is a name with the number of columns below it. Empty if the header has one line.
    """
    found: list[tuple[str, int]] = []
    for head in table.headers:
        first = head.split("\n")[0] if "\n" in head else ""
        if found and first and found[-1][0] == first:
            found[-1] = first, found[-1][1] + 1
        else:
            found.append((first, 1))
    return found if any(first for first, _ in found) else []
