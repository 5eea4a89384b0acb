"""Conversion of human ratings and judges' VIEScores of editing models from their authors' files to CSV.

python perf/viescore_people.py OUT     writes ratings-TASK.csv and scores-TASK.csv
"""

from __future__ import annotations

import csv
import json
import math
import random
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

import shared_data

TASKS = ("Text-Guided_IE", "Mask-Guided_IE", "Subject-Driven_IE")
JUDGES = ("gpt4o", "gemini", "llava")
RATINGS = "rater,sample,model,metric,rating,scale"
SCORES = "sample,model,metric,score,source"
_RATING = re.compile(r"\[\s*(0|0\.5|1)\s*,\s*(0|0\.5|1)\s*\]")


def ratings(folder: Path, task: str) -> Iterator[tuple[str, str, str, str, float, str]]:
    """Yield rater, sample, model, metric, rating and scale, for SC, PQ and O = sqrt(SC * PQ)."""
    for path in sorted((folder / "human" / task).glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                sample = row.pop("uid")
                for model, cell in row.items():
                    match = _RATING.fullmatch((cell or "").strip())
                    if match:
                        sc, pq = float(match[1]), float(match[2])
                        said = {"SC": sc, "PQ": pq, "O": math.sqrt(sc * pq)}
                        for metric, value in said.items():
                            yield path.stem, sample, model, metric, value, "0-1"


def scores(folder: Path, task: str, judge: str) -> Iterator[tuple[str, str, str, float]]:
    """Yield sample, model, metric and score of a judge, for SC, PQ and O. The lowest of two numbers counts."""
    for path in sorted((folder / "answers" / f"{judge}_0shot" / task).iterdir()):
        both = [json.loads((path / f"{name}.json").read_text("utf-8")) for name in ("SC", "PQ")]
        for sample in sorted(both[0].keys() & both[1].keys()):
            sc, pq = (_lowest(answers[sample]["score"]) for answers in both)
            for metric, value in {"SC": sc, "PQ": pq, "O": math.sqrt(sc * pq)}.items():
                yield sample, path.name, metric, value


def _lowest(score: float | list[float]) -> float:
    return float(min(score) if isinstance(score, list) else score)


def _write(path: Path, head: str, rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head.split(","), *rows])


def write(out: Path) -> None:
    """Write the files of each task. The metric of a judge's O is the judge's name."""
    folder = shared_data.viescore_editing()
    if folder is None:
        sys.exit(f"needs viescore-editing.tar.xz in {shared_data.SHARED / 'data'}")
    out.mkdir(parents=True, exist_ok=True)
    for task in TASKS:
        judged = [
            (sample, model, judge, value, _image(sample, task))
            for judge in JUDGES
            for sample, model, metric, value in scores(folder, task, judge)
            if metric == "O"
        ]
        _write(out / f"scores-{task}.csv", SCORES, judged)
        said = [row for row in ratings(folder, task) if row[3] == "O"]
        samples = sorted({row[1] for row in said})
        random.Random(0).shuffle(samples)
        for name, share in (("ratings", 1), ("quarter", 4), ("tenth", 10)):
            some = set(samples[: len(samples) // share])
            rows = [(*row[:3], "overall", *row[4:]) for row in said if row[1] in some]
            _write(out / f"{name}-{task}.csv", RATINGS, rows)
        parts = [row for row in scores(folder, task, "gpt4o") if row[2] != "O"]
        rows_of_parts = [(*row, _image(row[0], task)) for row in parts]
        _write(out / f"parts-scores-{task}.csv", SCORES, rows_of_parts)
        every = [(*row[:3], row[3].replace("O", "overall"), *row[4:]) for row in ratings(folder, task)]
        _write(out / f"parts-{task}.csv", RATINGS, every)
        _write(out / f"choices-{task}.csv", "rater,sample,first,second,choice", _choices(said))


def _image(sample: str, task: str) -> str:
    """`sample_100081_3.jpg` is the third edit of one image. Subject-driven samples have an image each."""
    return sample if task == "Subject-Driven_IE" else sample.rpartition("_")[0]


def _choices(said: Iterable[tuple[str, str, str, str, float, str]]) -> Iterator[tuple[str, str, str, str, str]]:
    rated: dict[tuple[str, str], dict[str, float]] = {}
    for rater, sample, model, _, value, _ in said:
        rated.setdefault((rater, sample), {})[model] = value
    for (rater, sample), values in rated.items():
        for first, second in combinations(values, 2):
            gap = values[first] - values[second]
            yield rater, sample, first, second, first if gap > 0 else second if gap else "tie"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
