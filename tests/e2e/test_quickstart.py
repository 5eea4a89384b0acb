"""Test that runs the notebook in examples/ in a new kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # warnings from the kernel's libraries
def test_the_quickstart_runs_and_shows_tables(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), "the notebook is stored without outputs"
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    for call in ("edit(", "estimate(", "judge(", "score(", "compare("):
        cell = next(cell for cell in cells if f"creval.{call}" in cell.source)
        assert any("<table" in html for html in shown(cell, "text/html")), cell.source
    (plot,) = (cell for cell in cells if "creval.plot(" in cell.source)
    assert shown(plot, "image/png")
    (report,) = (cell for cell in cells if "creval.report(" in cell.source)
    assert "report.html" in shown(report, "text/plain")[0]
    assert not any(output.output_type == "error" for cell in cells for output in cell.outputs)


def shown(cell: Any, kind: str) -> list[str]:
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]
