"""Plots as files and as SVG elements of an HTML page."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creval.core.errors import CrevalError
from creval.reporting.plots.canvas import BACKGROUND, FOREGROUND, TITLE_HEIGHT, caption, figure_texts, plot_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
_METADATA = {
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": "creval", "Producer": None},
}
_STYLE_RULES = re.compile(r"\s*<defs>\s*<style[^>]*>.*?</style>\s*</defs>", re.DOTALL)
_VIEW_BOX = re.compile(r'(viewBox="0 )0( [0-9.]+ )([0-9.]+)')
_TAG = re.compile(r"<[^!?][^>]*>")
_HASHED_ID = re.compile(r'(id="|href="#|url\(#)([a-zA-Z][0-9a-f]{10})(?=["\)])')
_FONTS = re.compile(r"(font(?:-family)?: [^;\"]*?)'DejaVu Sans'[^;\"]*")


def check_suffix(path: str | Path, field: str = "out") -> None:
    """Raise an error if the file's suffix is not supported."""
    if Path(path).suffix.casefold() not in SUFFIXES:
        raise CrevalError(f"`{field}` {path}: give a file that ends in .svg, .png or .pdf.")


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a plot as SVG, PNG or PDF, depending on the suffix. Equal plots give equal bytes."""
    check_suffix(path)
    path = Path(path)
    suffix = path.suffix.casefold()
    content = _render(figure, suffix)
    if suffix == ".svg":
        head, root, rest = _split_root(_number_ids(content.decode("utf-8")))
        root, inside = _add_title(root, "creval", *figure_texts(figure))
        content = f"{head}{root}{inside}{rest}".encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def figure_svg(figure: Figure, title: str = "", description: str = "") -> str:
    """Return a plot as an SVG element for a page, without title and caption.

    It adapts to the page's width, text colour (`currentColor`) and background (`--paper`). Its ids are unique.
    """
    with _without_words(figure) as (head, foot):
        text = _number_ids(_render(figure, ".svg", transparent=True).decode("utf-8"))
    _, root, rest = _split_root(text)
    own = figure_texts(figure)
    title, description = title or own[0], description or own[1]
    digest = hashlib.blake2b(f"{title}\0{rest}".encode(), digest_size=5).hexdigest()
    prefix = f"plot-{digest}"
    rest = _STYLE_RULES.sub("", rest, count=1)
    rest = _map_tags(rest, lambda tag: _adapt_tag(tag, prefix))
    wide = re.search(r'width="([0-9.]+)pt"', root)
    root = re.sub(r' (?:width|height|version)="[^"]*"', "", root)
    root = _VIEW_BOX.sub(lambda view: _crop_view(view, head, foot), root)
    most = f' style="width: 100%; max-width: {wide[1]}pt; height: auto"' if wide else ""
    root = root[:-1] + f'{most} stroke-linejoin="round" stroke-linecap="butt">'
    root, inside = _add_title(root, prefix, title, description)
    return f"{root}{inside}{rest}".strip()


def _crop_view(view: re.Match[str], head: float, foot: float) -> str:
    """Return a view box from which these shares of its height are cut off at the top and at the bottom."""
    height = float(view[3])
    return f"{view[1]}{height * head:.6g}{view[2]}{height * (1 - head - foot):.6g}"


@contextmanager
def _without_words(figure: Figure) -> Iterator[tuple[float, float]]:
    """Context manager that hides a figure's title and caption.

    It yields which shares of the figure's height become empty above and below.
    """
    hidden: list[Any] = []
    head = foot = 0.0
    if figure.subfigs:
        height = figure.get_size_inches()[1]
        title: Any = getattr(figure.subfigs[0], "_suptitle", None)
        if title is not None:
            hidden.append(title)
            head = TITLE_HEIGHT / height
        if caption(figure):
            hidden.append(figure.subfigs[-1])
            foot = hidden[-1].bbox.height / figure.bbox.height
    for part in hidden:
        part.set_visible(False)
    try:
        yield head, foot
    finally:
        for part in hidden:
            part.set_visible(True)


def _adapt_tag(tag: str, prefix: str) -> str:
    """Return a tag with prefixed ids, and with the colours and fonts of the page."""
    tag = re.sub(r'(\sid="|href="#|url\(#)', rf"\1{prefix}-", tag)
    tag = tag.replace(FOREGROUND, "currentColor").replace(BACKGROUND, "var(--paper, Canvas)")
    return _FONTS.sub(r"\1sans-serif", tag)


def _render(figure: Figure, suffix: str, *, transparent: bool = False) -> bytes:
    sent = io.BytesIO()
    with plot_style():
        figure.savefig(sent, format=suffix[1:], dpi=200, metadata=_METADATA[suffix], transparent=transparent)
    return sent.getvalue()


def _number_ids(text: str) -> str:
    """Replace matplotlib's random ids by numbers in order of appearance."""
    order: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return match[1] + order.setdefault(match[2], f"{match[2][0]}{len(order)}")

    return _map_tags(text, lambda tag: _HASHED_ID.sub(number, tag))


def _map_tags(text: str, change: Callable[[str], str]) -> str:
    """Apply `change` to the tags of an SVG, and leave its texts unchanged."""
    return _TAG.sub(lambda match: change(match[0]), text)


def _split_root(text: str) -> tuple[str, str, str]:
    """Split an SVG into the text before the root tag, the root tag, and the rest."""
    start = text.index("<svg")
    end = text.index(">", start) + 1
    return text[:start], text[start:end], text[end:]


def _add_title(root: str, prefix: str, title: str, description: str) -> tuple[str, str]:
    """Return the root tag and its title and description elements for screen readers."""
    ids = f"{prefix}-title {prefix}-desc"
    root = f'{root[:-1]} role="img" aria-labelledby="{ids}">'
    return root, (
        f'\n<title id="{prefix}-title">{escape(title)}</title>\n<desc id="{prefix}-desc">{escape(description)}</desc>'
    )
