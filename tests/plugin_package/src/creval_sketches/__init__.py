"""A benchmark of sketches, and a protocol with a prompt and scales of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from creval.core.benchmark import BenchmarkFormat, Dataset, Protocol
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.scales import NamedChoice
from creval.core.schema import OVERALL, Metric, Score, ScoreSchema

NOTE = "A text that no protocol here uses."
TRAFFIC_LIGHT = NamedChoice("traffic-light", ("red", "yellow", "green"))


class Tidiness(Protocol):
    """How tidy an edit is, from 1 to 5, whether it is better than its source, and its brightness."""

    name = "tidiness"
    prompt = "tidiness"
    prompts = {"tidiness": "{{images}}\n\nLook for stray lines.\n\n{{questions}}\n\n{{format}}"}  # noqa: RUF012
    scales = (NamedChoice("change", ("worse", "same", "better")),)
    schema = ScoreSchema(
        (
            Metric("tidy", "how tidy it is, in percent"),
            Metric("better", "edits that are better, in percent"),
            Metric("bright", "mean brightness", 0.0, 1.0),
        ),
        None,
        (OVERALL,),
    )

    def probes(self, sample: Sample) -> Sequence[Probe]:
        return [
            Question("tidy", "tidy", f"How tidy is it after {sample.instruction!r}?", "1-5", group="tidy"),
            Question("better", "better", "Is it better than before?", "change", reference="better", group="better"),
            Measurement("brightness", "bright", "brightness"),
        ]

    def score(
        self,
        sample: Sample,  # noqa: ARG002
        probes: Sequence[Probe],
        values: Mapping[str, float | None],
        *,
        strict: bool = False,  # noqa: ARG002
    ) -> Mapping[str, Score]:
        found = {}
        for probe in probes:
            value = values.get(probe.id)
            if isinstance(probe, Question):
                credit = self.credit(probe, value)
                value = None if credit is None else 100 * credit
            found[probe.metric] = Score(value, int(value is not None), 1)
        return found


def _recognise(path: Path) -> Path | None:
    return path if (path / "sketches.json").is_file() else None


def _load(folder: Path) -> Dataset:
    rows = json.loads((folder / "sketches.json").read_text(encoding="utf-8"))
    samples = tuple(Sample(row["id"], row["instruction"], folder / row["image"]) for row in rows)
    return Dataset("sketches", folder, samples)


SKETCHES = BenchmarkFormat("sketches", "sketches to be tidied up", _recognise, _load, Tidiness)
