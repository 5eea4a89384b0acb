"""Matching of models' names with published ones, and selection of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.core.published_numbers import Publication, PublishedModel, PublishedTable, PublishedValue, read_publication

MODELS = {
    "FLUX.1 Kontext [dev]": PublishedModel("open", ("flux-kontext-dev",)),
    "Qwen-Image-Edit": PublishedModel("open", ("Qwen-Image-Edit-2509",)),
    "Bagel": PublishedModel("open"),
    "Bagel (think)": PublishedModel("open"),
    "ACE": PublishedModel(),
    "ACE++": PublishedModel(),
    "OmniGen": PublishedModel(),
}
VALUES = (
    PublishedValue("Table 2", "Bagel", "J", "", "", "overall", "overall", "IF", "78.30"),
    PublishedValue("Table S1", "Bagel", "J", "", "", "overall", "overall", "VC", "53.69"),
    PublishedValue("Table S1", "Average", "J", "", "", "overall", "overall", "VC", "60.00"),
)
TABLES = {name: PublishedTable("scores", "section 1", None, True) for name in ("Table 2", "Table S1")}
PAPER = Publication("x", "A et al. 2025", "2501.00001", TABLES, MODELS, (), VALUES)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("Flux1-Kontext-dev", "FLUX.1 Kontext [dev]"),
        ("black-forest-labs/FLUX.1-Kontext-dev", "FLUX.1 Kontext [dev]"),
        ("flux kontext dev", "FLUX.1 Kontext [dev]"),
        ("FLUX.1 Kontext [pro]", None),
        ("qwen-image-edit_output_edit-2509", "Qwen-Image-Edit"),
        ("QwenImageEdit", "Qwen-Image-Edit"),
        ("Qwen-Image-Edit-2511", None),
        ("bagel", "Bagel"),
        ("Bagel_think", "Bagel (think)"),
        ("bagel-results", "Bagel"),
        ("Bagel+sequential", None),
        ("ace", "ACE"),
        ("ACE++", "ACE++"),
        ("OmniGen2", None),
        ("omni-gen", "OmniGen"),
        ("", None),
        ("模型", None),
        ("output", None),
    ],
)
def test_a_name_is_found_however_it_is_written(name: str, published: str | None) -> None:
    assert PAPER.find_model(name) == published


def test_a_label_counts_if_the_name_says_nothing() -> None:
    assert PAPER.find_model("run-7", "Bagel (think)") == "Bagel (think)"


def test_selection_by_table_model_and_metric() -> None:
    assert [value.text for value in PAPER.select(["2"])] == ["78.30"]
    assert [value.text for value in PAPER.select(["table s1"], ["bagel"])] == ["53.69"]
    assert [value.text for value in PAPER.select(models=["average"])] == ["60.00"]
    assert [value.text for value in PAPER.select(metrics=["vc"])] == ["53.69", "60.00"]


@pytest.mark.parametrize("kind", ["table", "model", "metric"])
def test_an_unknown_name_is_an_error(kind: str) -> None:
    with pytest.raises(CrevalError, match=f"there is no published {kind} 'x'"):
        PAPER.select(**{f"{kind}s": ["x"]})


def test_unreadable_numbers_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "published.json").write_text('{"paper": "x"}')
    with pytest.raises(CrevalError, match=r"the published numbers in .* cannot be read"):
        read_publication("x", tmp_path / "published.json")
