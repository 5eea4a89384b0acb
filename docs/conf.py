"""The site: Sphinx with MyST. `make docs` builds it, and fails on any warning."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]

import cli_pages  # noqa: E402

import creval  # noqa: E402

project = "creval"
author = "The creval developers"
copyright = "the creval developers"  # noqa: A001 (Sphinx names it so)
release = version = creval.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages have no pages here
suppress_warnings = ["misc.highlighting_failure"]  # shell sessions hold output of every kind

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
copybutton_prompt_text = "$ "

html_theme = "furo"
html_title = f"creval {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = True  # `creval docs --text` prints these
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_baseurl = ""
html_permalinks_icon = "#"


def setup(app: object) -> None:
    """Write the pages of the command line from the code before anything is read."""
    app.connect("builder-inited", lambda app: cli_pages.write(Path(app.srcdir) / "reference"))  # type: ignore[attr-defined]
