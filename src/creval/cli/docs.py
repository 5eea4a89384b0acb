"""`creval docs`: the documentation, offline, in a browser or in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

# `make docs` builds the site here. It is part of an installed creval; a checkout also has the sources.
_SITE = Path(__file__).parents[1] / "site"
_CHECKOUT = Path(__file__).parents[3] / "docs"


class Page(NamedTuple):
    """A page of the documentation: its text, and its file on the site."""

    topic: str
    text: Path
    html: Path

    @property
    def title(self) -> str:
        """The page's first heading."""
        lines = self.text.read_text(encoding="utf-8").splitlines()
        return next((line.lstrip("# ") for line in lines if line.startswith("# ")), self.topic)


def find_pages() -> dict[str, Page]:
    """Return the pages by topic, such as `judging`. The built site is preferred to the sources of a checkout."""
    sources = _SITE / "_sources"
    root, suffix = (sources, ".md.txt") if sources.is_dir() else (_CHECKOUT, ".md")
    pages = {}
    for path in sorted(root.rglob(f"*{suffix}")):
        name = path.relative_to(root).as_posix().removesuffix(suffix)
        folder, _, stem = name.removesuffix("/index").casefold().rpartition("/")
        topic = f"editors/{stem}" if folder.endswith("editors") else stem
        pages[topic] = Page(topic, path, _SITE / f"{name}.html")
    return pages


def docs(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOPIC]", help="Page to open, such as judging.", autocompletion=lambda: list(find_pages())
        ),
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print the page, or the list of topics, in the terminal.")
    ] = False,
) -> None:
    """Open the documentation offline: in a browser, or in the terminal with --text."""
    from creval.core.errors import CrevalError, require_known

    pages = find_pages()
    if not pages:
        raise CrevalError("this installation has no documentation. Install creval from a wheel, or run `make docs`.")
    if topic is not None:
        require_known("topic", topic, pages)
    if text:
        _print_topics(pages) if topic is None else _print_page(pages[topic])
        return
    page = pages[topic or "index"]
    if not page.html.is_file():
        raise CrevalError(
            "the HTML pages are not built in this checkout. Run `make docs`, or use `text` to read in the terminal."
        )
    import webbrowser

    print(page.html.as_uri())
    webbrowser.open(page.html.as_uri())


def _print_topics(pages: dict[str, Page]) -> None:
    width = max(map(len, pages))
    for name, page in sorted(pages.items()):
        if name != "index":
            print(f"{name:{width}}  {page.title}")


def _print_page(page: Page) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(page.text.read_text(encoding="utf-8"), hyperlinks=False))
