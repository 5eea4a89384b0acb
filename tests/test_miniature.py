from __future__ import annotations

from pathlib import Path

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.core.images import open_image
from creval.judging.replay_run import replay
from creval.store import open_run
from miniature import MODELS, write_miniature


def test_it_is_a_release_without_fault(miniature: Path) -> None:
    dataset = open_benchmark(miniature).dataset
    assert dataset.issues == ()
    assert {len(sample.questions) for sample in dataset.samples} == {15}
    assert all(open_image(s.source).mode == "RGB" for s in dataset.samples if s.source)


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_miniature(tmp_path / name, samples=2, seed=4)
    files = sorted(path for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) == 2 + 2 * 3 + 2 * 3 + 2 * 3 * 3 + 1
    for path in files:
        other = tmp_path / "b" / path.relative_to(tmp_path / "a")
        assert path.read_bytes() == other.read_bytes()


def test_scores_find_the_skills_again(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=90)
    replay(open_benchmark(tmp_path), tmp_path / "answers", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=500)
    for model, skills in MODELS.items():
        for metric, skill in zip(("IF", "VC", "VQ"), skills, strict=True):
            cell = card.cell(model, metric)
            assert cell.low is not None
            assert cell.high is not None
            assert cell.low - 2 < 100 * skill < cell.high + 2
