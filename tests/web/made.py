"""Runs for tests of the viewer: one with fixed answers, and one of any benchmark with random answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from starlette.testclient import TestClient
from typing_extensions import Unpack

from creval.analysis.scoring_options import ViewOptions
from creval.benchmarks.creval.release import CATEGORY_BY_DIMENSION, LEVELS
from creval.core.benchmark import Benchmark
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.scales import get_scale
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import RunWriter
from creval.store.manifest import describe_run, level_entry
from creval.web.viewer.app import Viewer
from creval.web.viewer.live_snapshot import LiveSnapshot

QUESTIONS = (
    Question("IF/1", "IF", "Is the hat red?", "yes/no", "Yes", "Yes", 1.0, "Q1"),
    Question("VC/1", "VC", "Is it the same cat?", "yes/no", "Yes", "** Yes", 3.0, "Q1"),
    Question("VC/2", "VC", "Has the window gone?", "yes/no", "No", "No", 1.0, "Q2"),
    Question("VQ/1", "VQ", "Is the picture sharp?", "yes/no", "Yes", "Yes", 1.0, "Q1"),
)
DIMENSIONS = {"s1": "Surreal Fantasy", "s2": "Surreal Fantasy", "s3": "Commercial Design"}
# In the order of the questions: + right, - wrong, ? unanswered, blank not asked.
ANSWERS: Mapping[str, Mapping[str, str]] = {
    "alpha": {"s1": "++++", "s2": "+-++", "s3": "+?-+"},
    "beta": {"s1": "-++-", "s2": "+-++", "s3": "    "},
}


def image(path: Path, colour: tuple[int, int, int] = (200, 80, 80), side: int = 48) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (side, side), colour).save(path)
    return path


def write_run(folder: Path, answers: Mapping[str, Mapping[str, str]] = ANSWERS, judge: str = "someone") -> Path:
    """Write a run of three samples with fixed answers."""
    samples = [
        Sample(
            name,
            f"Put a red hat on the cat of {name}.",
            image(folder / f"{name}.png"),
            {"category": CATEGORY_BY_DIMENSION[dimension], "dimension": dimension},
        )
        for name, dimension in DIMENSIONS.items()
    ]
    run = folder / "run"
    with RunWriter(run) as store, store.transaction():
        levels = [level_entry(level) for level in LEVELS]
        names = {"benchmark": "creval", "protocol": "creval", "judge": judge, "levels": levels}
        store.put_manifest(names)
        store.put_samples([(sample, QUESTIONS) for sample in samples], {})
        for model in answers:
            paths = {name: folder / "edits" / f"{model}-{name}.png" for name in DIMENSIONS}
            store.put_edits(
                Edit(EditKey(model, name), image=image(path, (30, 90, 160))) for name, path in paths.items()
            )
    say(run, answers, judge)
    return run


def say(run: Path, answers: Mapping[str, Mapping[str, str]], judge: str = "someone") -> None:
    """Add answers to a run."""
    with RunWriter(run) as store, store.transaction():
        store.put_replies(
            (
                CallKey(judge, EditKey(model, sample), tuple(question.id for question in QUESTIONS)),
                Reply(VerdictStatus.ANSWERED, f"All about {sample}\nby {model}.", "here"),
                list(_verdicts(signs, model)),
            )
            for model, given in answers.items()
            for sample, signs in given.items()
            if signs.strip()
        )


def _verdicts(signs: str, model: str) -> Iterator[Verdict]:
    for question, sign in zip(QUESTIONS, signs, strict=True):
        if sign == "?":
            yield Verdict(question.id, VerdictStatus.MISSING)
        elif sign != " ":
            value = float((question.reference == "Yes") == (sign == "+"))
            said = "Yes" if value else "No"
            why = f"The fur of {model} looks {'smooth' if sign == '+' else 'ragged'}."
            yield Verdict(question.id, VerdictStatus.ANSWERED, value, said, why)


def write_answers(
    benchmark: Benchmark,
    run: Path,
    models: Sequence[str] = ("A", "B"),
    *,
    voices: Sequence[tuple[str, int]] = (("judge", 0),),
    draws: int = 1,
) -> Path:
    """Write a run of any benchmark with random answers and measurements."""
    chance = np.random.default_rng(5)
    samples = benchmark.dataset.samples
    shown = image(run.parent / "edit.png")
    with RunWriter(run) as store, store.transaction():
        store.put_manifest(describe_run(benchmark, voices[0][0]))
        store.put_samples([(s, list(benchmark.protocol.probes(s))) for s in samples], {})
        for sample in samples:
            keys = [EditKey(model, sample.id, draw) for model in models for draw in range(draws)]
            store.put_edits(Edit(key, EditStatus.DONE, shown) for key in keys)
            for key in keys:
                for judge, repeat in voices:
                    probes = list(benchmark.protocol.probes(sample))
                    ask = CallKey(judge, key, tuple(probe.id for probe in probes), repeat=repeat)
                    verdicts = [_by_chance(probe, chance) for probe in probes]
                    store.put_replies([(ask, Reply(VerdictStatus.ANSWERED, "so be it"), verdicts)])
    return run


def _by_chance(probe: Probe, chance: np.random.Generator) -> Verdict:
    if isinstance(probe, Measurement):
        return Verdict(probe.id, VerdictStatus.ANSWERED, float(chance.random()))
    choices = get_scale(probe.scale).choices
    at = int(chance.integers(len(choices)))
    return Verdict(probe.id, VerdictStatus.ANSWERED, float(at), str(choices[at]), "By chance.")


@contextmanager
def looking_at(run: Path, **scoring: Unpack[ViewOptions]) -> Iterator[TestClient]:
    """Yield a test client of the viewer of a run."""
    current = LiveSnapshot(run, scoring=scoring)
    try:
        yield TestClient(Viewer(current).app(), base_url="http://127.0.0.1:8000")
    finally:
        current.close()
