"""Pages are made from templates in which every text is escaped."""

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
"""The colours of all pages, the viewer's too."""


def make_environment(loader: BaseLoader, finalize: Callable[[object], object]) -> Environment:
    """Templates in which every text is escaped and every name is known."""
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
    """The templates beside this file."""
    from jinja2 import FileSystemLoader

    made = make_environment(FileSystemLoader(_TEMPLATE_FOLDER), _escape_control)
    made.filters |= {"many": pluralise, "over": column_groups, "spot": _html_cell}
    return made


def render_page(template: str, images: str = "data:", **content: object) -> str:
    """A page in one file: its style and its script are inside, and nothing else may run."""
    colours, style, script = (
        path.read_text("utf-8") for path in (COLOURS, _TEMPLATE_FOLDER / "report.css", _TEMPLATE_FOLDER / "report.js")
    )
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return render_part(template, images=images, style=colours + style, script=script, digest=digest, **content)


def render_part(template: str, **content: object) -> str:
    """Return a part of a page, for a page that is not ours."""
    return _environment().get_template(template).render(**content)


def _escape_control(value: object) -> object:
    """Control characters are shown, not obeyed; what is known to be HTML stays so."""
    if type(value) is str:
        return "\n".join(map(escape_control, value.split("\n")))
    return value


def _html_cell(cell: str | TableCell) -> TableCell:
    """A cell; places that a terminal marks by small numbers are marked by its class alone."""
    found = as_table_cell(cell)
    return found._replace(text=found.text.strip(" ¹²"), beside=found.beside.strip())


def column_groups(table: OutputTable) -> list[tuple[str, int]]:
    """What stands above several columns, and above how many; nothing where heads have one line."""
    found: list[tuple[str, int]] = []
    for head in table.headers:
        first = head.split("\n")[0] if "\n" in head else ""
        if found and first and found[-1][0] == first:
            found[-1] = first, found[-1][1] + 1
        else:
            found.append((first, 1))
    return found if any(first for first, _ in found) else []
