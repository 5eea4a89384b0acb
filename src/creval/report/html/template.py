"""Pages are made from templates in which every text is escaped."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from creval.core.formatting import many, visible
from creval.report.output import Grid, Spot, spot

if TYPE_CHECKING:
    from jinja2 import Environment


_HERE = Path(__file__).parent
COLOURS = _HERE / "colours.css"
"""The colours of all pages, the viewer's too."""


@cache
def _environment() -> Environment:
    """The templates beside this file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    made.filters["many"] = many
    made.filters["over"] = over
    made.filters["spot"] = _marked
    return made


def rendered(template: str, images: str = "data:", **content: object) -> str:
    """A page in one file: its style and its script are inside, and nothing else may run."""
    colours, style, script = (
        path.read_text("utf-8") for path in (COLOURS, _HERE / "report.css", _HERE / "report.js")
    )
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return _environment().get_template(template).render(
        images=images, style=colours + style, script=script, digest=digest, **content
    )  # fmt: skip


def _harmless(value: object) -> object:
    """Control characters are shown, not obeyed; what is known to be HTML stays so."""
    if type(value) is str:
        return "\n".join(map(visible, value.split("\n")))
    return value


def _marked(cell: str | Spot) -> Spot:
    """A cell; places that a terminal marks by small numbers are marked by its class alone."""
    found = spot(cell)
    return found._replace(text=found.text.strip(" ¹²"), beside=found.beside.strip())


def over(grid: Grid) -> list[tuple[str, int]]:
    """What stands above several columns, and above how many; nothing where heads have one line."""
    found: list[tuple[str, int]] = []
    for head in grid.heads:
        first = head.split("\n")[0] if "\n" in head else ""
        if found and first and found[-1][0] == first:
            found[-1] = first, found[-1][1] + 1
        else:
            found.append((first, 1))
    return found if any(first for first, _ in found) else []
