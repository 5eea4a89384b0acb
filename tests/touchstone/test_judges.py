"""The judges `truth`, `noisy` and `pixel`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.core.images import EncodedImage, encode_image, open_image
from creval.core.scales import get_scale
from creval.judges.base import JudgeOptions, JudgeRequest
from creval.judges.judge_spec import open_judges, panel_members
from creval.judging.judge_run import judge
from creval.store import open_run
from creval.touchstone.builder import build_touchstone
from creval.touchstone.files import read_scene, read_touchstone_samples
from creval.touchstone.simulated_edits import SIMULATED_EDITORS

YES_NO = get_scale("yes/no")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine samples with the edits of six editors. Read-only."""
    folder = tmp_path_factory.mktemp("touchstone")
    build_touchstone(folder / "bench", 9, 5, edits=folder / "edits")
    return folder


def folders(drawn: Path) -> list[Path]:
    return [drawn / "edits" / editor for editor in SIMULATED_EDITORS]


def answers(spec: str, images: list[EncodedImage], *questions: str, repeats: int = 1) -> list[Any]:
    """Return the answers of a judge, per completion."""

    async def ask() -> list[Any]:
        (found,) = open_judges(spec, JudgeOptions())
        labels = [f"Q{at}" for at, _ in enumerate(questions, 1)]
        await found.open()
        try:
            request = JudgeRequest(images, "", YES_NO, labels, range(repeats), "explained", list(questions))
            answer = await found.ask(request)
        finally:
            await found.close()
        assert (answer.tokens_in, answer.tokens_out, answer.cost) == (0, 0, 0.0)
        return [[entry["answer"] for entry in json.loads(choice.text).values()] for choice in answer.completions]

    return asyncio.run(ask())


def test_scores_with_the_truth_are_those_of_the_graphs(drawn: Path, tmp_path: Path) -> None:
    done = judge(open_benchmark(drawn), folders(drawn), "truth", tmp_path)
    assert done.unanswered == 0
    card = score(open_run(tmp_path), resamples=20)
    for editor in SIMULATED_EDITORS:
        expected = dict.fromkeys(("IF", "VC", "VQ"), 0.0)
        for sample in read_touchstone_samples(drawn / "bench"):
            content = (drawn / "edits" / editor / f"{sample.id}.png").read_bytes()
            scene = read_scene(content)
            assert scene is not None
            for metric, asked in sample.questions.items():
                right = [a.check.answer(sample.source, scene) == a.answer for a in asked]
                weights = [entry.weight for entry in asked]
                credit = sum(w for w, good in zip(weights, right, strict=True) if good)
                expected[metric] += 100 * credit / sum(weights) / 9
        for metric, value in expected.items():
            assert card.cell(editor, metric).value == pytest.approx(value)


def test_pixel_sees_what_the_truth_says_and_asks_each_image_once(drawn: Path, tmp_path: Path) -> None:
    some = [drawn / "edits" / editor for editor in ("faithful", "lazy")]
    settings = Settings(limit=3, batch_by="question")
    judge(open_benchmark(drawn), some, "pixel", tmp_path / "pixel", settings)
    judge(open_benchmark(drawn), some, "truth", tmp_path / "truth", settings)
    pixel, truth = (
        {(a.edit, a.probe): a.value for a in open_run(tmp_path / name).answers()} for name in ("pixel", "truth")
    )
    assert pixel.keys() == truth.keys()
    agreed = sum(pixel[key] == truth[key] for key in truth) / len(truth)
    assert agreed > 0.97


def test_pixel_sees_nothing_but_pixels(drawn: Path, tmp_path: Path) -> None:
    name = "t0001.png"
    paths = [drawn / "bench" / "image" / name, drawn / "edits" / "faithful" / name]
    bare = [tmp_path / f"{at}.png" for at in range(2)]
    for path, copy in zip(paths, bare, strict=True):
        open_image(path).save(copy)
        assert read_scene(copy.read_bytes()) is None
    questions = [asked.check.text for asked in read_touchstone_samples(drawn / "bench")[0].questions["IF"]]
    as_drawn = answers("pixel", [encode_image(path) for path in paths], *questions)
    assert as_drawn == answers("pixel", [encode_image(path) for path in bare], *questions)
    silent = answers("truth", [encode_image(path) for path in bare], *questions)
    assert silent == [["not applicable"] * len(questions)]


def test_the_pixel_judge_does_not_guess(drawn: Path, miniature: Path) -> None:
    ours = [encode_image(drawn / "bench" / "image" / "t0001.png")] * 2
    others = [encode_image(miniature / "bench" / "image" / "mini_001.png")] * 2
    known = "Is the picture disturbed by noise?"
    assert answers("pixel", ours, known, "Is the cat happy?") == [["No", "not applicable"]]
    assert answers("pixel", others, known) == [["not applicable"]]
    assert YES_NO.parse_answer("not applicable")[1] is None


def test_noise_has_the_given_rates_and_is_reproducible(drawn: Path) -> None:
    images = [encode_image(drawn / "bench" / "image" / "t0001.png")] * 2
    source = read_scene(images[0].content)
    assert source is not None
    true, false = (
        f"Is the main subject of the edited image a {kind}?"
        for kind in (source.kind, "cat" if source.kind != "cat" else "owl")
    )
    said = answers("noisy:0.9,0.6", images, true, false, repeats=2000)
    yes = sum(first == "Yes" for first, _ in said) / 2000
    no = sum(second == "No" for _, second in said) / 2000
    assert yes == pytest.approx(0.9, abs=0.03)
    assert no == pytest.approx(0.6, abs=0.04)
    assert said == answers("noisy:0.9,0.6", images, true, false, repeats=2000)
    assert answers("noisy:1,1", images, true, false) == [["Yes", "No"]]
    assert answers("noisy:0,0", images, true, false) == [["No", "Yes"]]


def test_another_seed_is_wrong_elsewhere(drawn: Path, tmp_path: Path) -> None:
    found: list[list[float | None]] = []
    for seed in (1, 1, 2):
        run = tmp_path / str(len(found))
        settings = Settings(parameters={"seed": seed})
        judge(open_benchmark(drawn), [drawn / "edits" / "lazy"], "noisy:0.7,0.7", run, settings)
        found.append([answer.value for answer in open_run(run).answers()])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("noisy:0.9", "give sensitivity and specificity"),
        ("noisy:1.2,0.5", "each from 0 to 1"),
        ("noisy:", "such as noisy:0.9,0.8"),
        ("pixel:x", "takes no arguments after its name"),
        ("truth:", "takes no arguments after its name"),
        ("truthful:x", "did you mean 'truth'"),
    ],
)
def test_wrong_names(spec: str, said: str) -> None:
    with pytest.raises(CrevalError, match=said):
        open_judges(spec, JudgeOptions())


def test_settings_that_they_do_not_have() -> None:
    with pytest.raises(CrevalError, match="pixel has no parameters"):
        open_judges("pixel", JudgeOptions(parameters={"top_p": 1}))
    for seed in ("x", True):
        with pytest.raises(CrevalError, match=f"seed={seed}"):
            open_judges("noisy:1,1", JudgeOptions(parameters={"seed": seed}))
    assert panel_members("panel:pixel+noisy:0.9,0.9+truth") == ["pixel", "noisy:0.9,0.9", "truth"]


def test_other_scales_are_refused(drawn: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(drawn, "viescore")
    with pytest.raises(CrevalError, match="answers only yes/no questions"):
        judge(benchmark, [drawn / "edits" / "lazy"], "truth", tmp_path)
