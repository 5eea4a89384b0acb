"""The Python API, from a benchmark to tables, plots and files."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageOps

import creval
from creval.core.errors import CrevalError
from creval.judges.base import JudgeOptions
from creval.judges.judge_spec import open_judges
from creval.reporting.result import Result
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import FITTING, annotated
from tests.serving import serving


def mirror(image: Image.Image, instruction: str) -> Image.Image:
    assert instruction
    return ImageOps.mirror(image)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny benchmark with edits of three models, judged by `pixel`."""
    folder = tmp_path_factory.mktemp("api")
    creval.build_touchstone(folder / "bench", 6, edits=folder / "edits", editors=("faithful", "lazy"))
    done = creval.edit(folder / "bench", mirror, folder / "edits" / "mirror")
    assert done.frame()["status"].to_list() == ["done"] * 6
    judged = creval.judge(creval.open_benchmark(folder / "bench"), edits(folder), "pixel", folder / "run")
    assert judged.frame()["answers"].sum() == judged.value.expected_answers
    return folder


def edits(made: Path) -> list[Path]:
    return [made / "edits" / name for name in ("faithful", "lazy", "mirror")]


def test_every_function_is_documented_and_typed() -> None:
    functions = [getattr(creval, name) for name in creval.__all__ if name[0].islower()]
    assert len(functions) >= 25
    for function in functions:
        assert inspect.getdoc(function), function
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())


def test_scores_of_a_folder_and_of_an_open_run_are_the_same(made: Path) -> None:
    found = creval.score(made / "run")
    with creval.open_run(made / "run") as run:
        assert creval.score(run).frame().equals(found.frame())
        assert run.models, "a run that was open stays open"
    overall = found.frame("overall")
    followed = overall.filter(overall["metric"] == "IF").sort("value")["model"].to_list()
    assert followed[-1] == "faithful"
    assert found.to_markdown().startswith("|")
    assert "\\begin{tabular}" in found.to_latex()


def test_results_are_frozen_and_read_well(made: Path) -> None:
    found = creval.compare(made / "run", "faithful", "lazy")
    assert found.sentences[0].startswith("S of faithful is ")
    assert found.sentences[0] in " ".join(repr(found).split())
    assert "<table" in found._repr_html_()
    assert "<script" not in found._repr_html_()
    with pytest.raises(FrozenInstanceError):
        found.records = ()  # type: ignore[misc]
    overall = found.frame().filter(found.frame()["level"] == "overall")
    assert set(overall.columns) >= {"metric", "value", "low", "high", "decided"}


def test_every_analysis_gives_sentences_a_frame_and_html(made: Path) -> None:
    run = made / "run"
    creval.judge(made / "bench", edits(made)[:1], "truth", made / "again", creval.Settings(repeat=4))
    results: list[Result[Any]] = [
        creval.score(run),
        creval.items(run),
        creval.sensitivity(run, models=("faithful", "lazy")),
        creval.unchanged(run),
        creval.agree(made / "again"),
        creval.repeats(made / "again"),
        creval.estimate(made / "bench", edits(made), "truth", made / "new"),
    ]
    for found in results:
        assert found.sentences
        assert found.frame().height > 0
        assert "<table" in found._repr_html_()
        assert found.to_json()["sentences"]


def test_two_images_and_folders_of_edits_are_measured(made: Path) -> None:
    source = next((made / "bench" / "image").glob("*.png"))
    same = creval.measure("ssim", source, source)
    assert same.frame()["value"].to_list() == [1.0]
    folders = creval.measure(["ssim"], edits=edits(made), bench=made / "bench")
    assert set(folders.frame()["model"]) == {"faithful", "lazy", "mirror"}
    with pytest.raises(CrevalError, match="one or two images, or `edits` and `bench`"):
        creval.measure("ssim")


def test_plot_report_and_export_write_what_they_return(made: Path, tmp_path: Path) -> None:
    figure = creval.plot(made / "run", "forest", tmp_path / "forest.svg")
    assert figure.axes
    assert "<svg" in (tmp_path / "forest.svg").read_text()
    page = creval.report(made / "run", tmp_path / "report.html", samples=1)
    assert "faithful" in page.read_text(encoding="utf-8")
    assert all(path.is_file() for path in creval.export(made / "run", tmp_path / "export"))
    with pytest.raises(CrevalError, match=r"`out` .*ends in \.html"):
        creval.report(made / "run", tmp_path / "report.pdf")


def test_people_are_compared_with_a_run(made: Path, tmp_path: Path) -> None:
    names = [sample.id for sample in creval.open_benchmark(made / "bench").dataset.samples]
    rows = [
        f"{name},{model},{rater},{mark}"
        for name in names
        for model, mark in (("faithful", 5), ("lazy", 1))
        for rater in "ab"
    ]
    people = tmp_path / "people.csv"
    people.write_text("sample,model,rater,rating\n" + "\n".join(rows) + "\n")
    found = creval.align(made / "run", human=people, scale="1-5")
    assert found.frame().height > 0
    alone = creval.align(human=people, scale="1-5")
    assert {row["people"] for row in alone.records} == {"overall"}
    models = alone.to_json()["people"]["overall"]["models"]
    assert {name: cell["rating"] for name, cell in models.items()} == {"faithful": 5.0, "lazy": 1.0}
    with pytest.raises(CrevalError, match="`lower`"):
        creval.align(human=people, scale="1-5", lower=["x"])


def test_a_calibrated_judge_corrects_scores(made: Path, tmp_path: Path) -> None:
    found = creval.calibrate("truth", tmp_path / "rates.json", samples=6, variants=False)
    assert found is not None
    assert found.frame().filter(found.frame()["of"] == "all").height == 1
    assert len(creval.score(made / "run", correct=tmp_path / "rates.json").tables) > 1


def test_a_judge_that_is_an_object_is_calibrated(tmp_path: Path) -> None:
    judge = open_judges("truth", JudgeOptions())[0]
    found = creval.calibrate(judge, tmp_path / "rates.json", samples=6, repeat=1)
    assert found is not None
    assert found.to_json()["judge"] == "truth"
    assert found.to_json()["unanswered"] == 0


def test_weights_are_given_as_on_the_command_line(made: Path) -> None:
    given = creval.score(made / "run", weights="IF=1,VC=3").frame()
    assert given.equals(creval.score(made / "run", weights={"IF": 1.0, "VC": 3.0}).frame())


def test_benchmarks_are_built_of_images(tmp_path: Path) -> None:
    coco = annotated(tmp_path, FITTING[:1])
    images, settings = tmp_path / "images", creval.JudgeSettings(retries=4)
    with serving(FakeServer(seed=3).app()) as url:
        writer = f"openai:w@{url}/v1"
        built = {
            "complex-edit": creval.build_complex_edit(images, tmp_path / "chains", writer, steps=3, settings=settings),
            "complexbench-edit": creval.build_complexbench(
                images, tmp_path / "steps", writer, coco=coco, level="parallel", settings=settings
            ),
            "creval": creval.build_creval(images, tmp_path / "own", writer, settings=settings),
            "ice-bench": creval.build_ice(images, tmp_path / "tasks", writer, source_type="real", settings=settings),
        }
    for (name, found), folder in zip(built.items(), ("chains", "steps", "own", "tasks"), strict=True):
        assert not found.value.left_out, name
        assert found.sentences[0].endswith(f"for {tmp_path / folder}, 0 left out.")
        assert creval.open_benchmark(tmp_path / folder).name == name
    with pytest.raises(CrevalError, match="give either `coco` FILE or"):
        creval.build_complexbench(images, tmp_path / "none", "openai:w@http://127.0.0.1:1/v1")


def test_a_nested_function_cannot_be_an_editor(made: Path) -> None:
    with pytest.raises(CrevalError, match="top level of a module"):
        creval.edit(made / "bench", lambda image: image, made / "edits" / "other")
