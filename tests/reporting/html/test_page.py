"""Tests of the HTML report."""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.judging.judge_run import judge
from creval.judging.replay_run import replay
from creval.reporting.html import report_page
from creval.reporting.html.gallery import most_divergent_samples
from creval.store import Run, RunWriter, open_run
from creval.testing.fake_chat_server import FakeServer
from creval.touchstone.builder import build_touchstone
from miniature import write_miniature
from tests.benchmarks.complex_edit.release_files import row, write_parquet
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.editing.made import Choosy, edited
from tests.serving import serving


class Reader(HTMLParser):
    """Parser that collects the open tags, the attributes and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.words: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names.update(name for name, _ in attrs)
        self.sources += [value or "" for name, value in attrs if name == "src"]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def test_scores_images_and_answers(small_run: Run) -> None:
    card = score(small_run, resamples=100)
    found = read(report_page(small_run, card, 100, samples_per_section=3))
    for model in card.models:
        value = card.cell(model, "S").value
        assert value is not None
        assert f"{value:.2f}" in found.text
    assert found.text.count("questions with answers and explanations") == 6
    assert found.tags.count("img") == 6, "the sources; recorded answers come without images of edits"
    assert found.tags.count("svg") == 4
    assert "not asked" not in found.text
    for words in (
        "Strengths and weaknesses",
        "Failed questions of weight 3",
        "edits of Careful 18 18 all",
        "recorded:answers",
    ):
        assert words in found.text
    assert "benchmark_folder" not in found.text


def test_images_are_embedded_or_linked(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "a #?%b", 4, 1, edits=tmp_path / "edits", editors=["lazy", "clumsy"])
    bench = open_benchmark(tmp_path / "a #?%b")
    edits = [tmp_path / "edits" / name for name in ("lazy", "clumsy")]
    judge(bench, edits, "truth", tmp_path / "run")
    broken = sorted(edits[0].glob("*.png"))
    broken[0].write_bytes(b"nothing")
    broken[1].unlink()
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=100)
        inside = read(report_page(run, card, 100))
        linked = read(report_page(run, card, 100, link=tmp_path / "out"))
    assert all(source.startswith("data:image/jpeg;base64,") for source in inside.sources)
    assert len(inside.sources) == 12 - 2
    assert f"cannot be opened: {broken[0].name}" in inside.text
    assert f"missing: {broken[1].name}" in inside.text
    assert "edits of lazy 4 1" in inside.text
    assert "../a%20%23%3F%25b/image/" in "".join(linked.sources)


def test_samples_are_of_different_groups(small_run: Run) -> None:
    chosen = most_divergent_samples(small_run, score(small_run, resamples=100))[:6]
    assert len({small_run.samples[name].tags["dimension"] for name in chosen}) == 6


def test_hostile_texts_are_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\x1b[31m\" onload='x' {{7*7}}"
    bench = write_miniature(tmp_path / "bench", samples=9)
    for path in [bench / "bench" / "instruction.json", *bench.rglob("questions_all/*/*.json")]:
        text = path.read_text()
        text = text.replace("Turn the", evil.replace('"', '\\"').replace("\x1b", "\\u001b"))
        path.write_text(text.replace("Is the ", "<img src=x onerror=alert(1)> Is the "))
    shutil.copytree(bench / "answers" / "IF" / "Keeper", bench / "answers" / "IF" / "<b>Keeper")
    replay(open_benchmark(bench), bench / "answers", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        text = report_page(run, score(run, resamples=100), 100)
    found = read(text)
    assert "b" not in found.tags
    assert found.tags.count("script") == 1, "only the page's own script"
    assert not {name for name in found.names if name.startswith("on")}
    assert all(source.startswith("data:image/jpeg") for source in found.sources)
    assert "\x1b" not in text
    assert "<script>alert(1)</script>\\x1b[31m\" onload='x' {{7*7}}" in found.text
    assert "<b>Keeper" in found.text
    assert "default-src 'none'" in text


def test_one_model_and_no_scores(tmp_path: Path) -> None:
    bench = write_miniature(tmp_path / "bench", samples=3, models={"Only": (0.8, 0.8, 0.8)})
    replay(open_benchmark(bench), bench / "answers", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        found = read(report_page(run, score(run, resamples=100), 100))
    assert "there is nothing to compare it with" in found.text
    for path in bench.rglob("answers/*/Only/*.json"):
        path.write_text("{}")
    replay(open_benchmark(bench), bench / "answers", tmp_path / "empty")
    with open_run(tmp_path / "empty") as run:
        found = read(report_page(run, score(run, resamples=100), 100))
    assert "No model has a value in S yet" in found.text
    assert "svg" not in found.tags


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("complex-edit", ("By complexity", "By delta", "IP: identity preservation")),
        ("complexbench-edit", ("By subset", "By edit type", "three-chain")),
    ],
)
def test_other_models(tmp_path: Path, model: str, words: tuple[str, ...]) -> None:
    folder = tmp_path / "bench"
    if model == "complex-edit":
        write_parquet(folder, test_real=[row(n) for n in range(3)])
    else:
        write_release(folder)
    benchmark = open_benchmark(folder)
    for name in ("A", "B"):
        for sample in benchmark.dataset.samples:
            path = tmp_path / name / f"{sample.id}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (20, 20), "red").save(path)
    with serving(FakeServer().app()) as url:
        spec = f"openai:some@{url}/v1"
        judge(benchmark, [tmp_path / "A", tmp_path / "B"], spec, tmp_path / "run", Settings())
    with open_run(tmp_path / "run") as run:
        found = read(report_page(run, score(run, resamples=100), 100, samples_per_section=2))
    for part in words:
        assert part in found.text
    assert "prompt" in found.text
    assert "No image file is missing." in found.text


@pytest.mark.slow
def test_the_released_answers(release_run: Path) -> None:
    """Five models without images of edits: the page is complete and lists the missing images."""
    with open_run(release_run) as run:
        text = report_page(run, score(run, resamples=100), 100)
    found = read(text)
    assert len(text) < 15e6
    for name in ("Bagel", "Flux1-Kontext-dev", "OmniGen2", "gpt-image-1"):
        assert f"edits of {name} 904 904 all" in found.text
    assert "source images 904" in found.text
    assert found.text.count("questions with answers and explanations") == 18
    with open_run(release_run) as run:
        some = score(run, resamples=100, subset="paper", models=("Bagel", "OmniGen2"))
        found = read(report_page(run, some, 100, samples_per_section=0))
    assert "edits of Bagel 874 874 all" in found.text
    assert "gpt-image-1" not in found.text


def test_edit_histories_and_costs(tmp_path: Path) -> None:
    """Steps, candidates, the picked candidate, plans, refusals, and costs."""
    bench = tmp_path / "bench"
    build_touchstone(bench, 3, 1)
    names = [sample.id for sample in open_benchmark(bench).dataset.samples]
    folders = [
        edited(bench, tmp_path / "once", Choosy(bench, "lazy", cost=0.5)),
        edited(bench, tmp_path / "steps", Choosy(bench, "lazy", cost=0.5), "sequential"),
        edited(bench, tmp_path / "best", Choosy(bench, "lazy", cost=0.5), "best-of:2"),
        edited(bench, tmp_path / "planned", Choosy(bench, "lazy"), "reasoned"),
        edited(bench, tmp_path / "prude", Choosy(bench, "clumsy", names)),
    ]
    with RunWriter(folders[3]) as store:
        (edit,) = [e for e in store.edits.values() if e.key.sample == names[0]]
        store.put_edits([edit._replace(metadata={**edit.metadata, "plan": "<script>alert(1)</script>"})])
    judge(open_benchmark(bench), folders, "truth", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        found = read(report_page(run, score(run, resamples=100), 100))
        steps = sum(len(sample.steps) for sample in run.samples.values())
    assert found.text.count("refused: content filter: not this") == 3
    assert "Missing edits" in found.text
    for name in ("steps", "best", "planned"):
        assert found.text.count(f"History of {name}'s edit") == 3
    assert "History of once's edit" not in found.text
    assert found.tags.count("img") == 3 * 5 + steps + 6
    assert found.text.count(", picked") == 3
    assert "<script>alert(1)</script>" in found.text
    assert "alert(1)" not in "".join(found.sources)
    assert "Cost per edit" in found.text
    assert "touchstone:lazy best-of:2 3 2 helpers 6 1.00 USD" in found.text
    assert "at 2 times the cost" in found.text


def test_a_page_without_provenance_has_no_costs(small_run: Run) -> None:
    assert "Cost per edit" not in report_page(small_run, score(small_run, resamples=100), 100)
