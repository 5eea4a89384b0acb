"""Tests of custom protocols: by name, as an object, and with custom scales and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from creval import registry
from creval.benchmarks import get_protocol, open_benchmark
from creval.core.benchmark import Protocol
from creval.core.errors import CrevalError
from creval.core.probe import Probe, Question
from creval.core.sample import Sample
from creval.core.scales import AnswerScale, NamedChoice, WholeNumber, get_scale
from creval.core.schema import OVERALL, Metric, Score, ScoreSchema
from creval.prompts import load_prompt
from miniature import write_miniature


class Own(Protocol):
    name = "own-protocol"
    schema = ScoreSchema((Metric("m", "m"),), None, (OVERALL,))
    prompts = {"own_text": "{{questions}}"}  # noqa: RUF012
    scales: Sequence[AnswerScale] = (NamedChoice("own-scale", ("bad", "good")), WholeNumber(0, 10))

    def probes(self, sample: Sample) -> Sequence[Probe]:  # noqa: ARG002
        return [Question("m", "m", "Is it?", "own-scale")]

    def score(
        self,
        sample: Sample,  # noqa: ARG002
        probes: Sequence[Probe],
        values: Mapping[str, float | None],
        *,
        strict: bool = False,  # noqa: ARG002
    ) -> Mapping[str, Score]:
        return self.single_probe_scores(probes, values)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    registry.protocols._registered.pop("own-protocol", None)
    registry.protocols._registered.pop("other-name", None)
    registry.scales._registered.pop("own-scale", None)


def test_a_protocol_has_its_own_scales(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="no answer scale 'own-scale'"):
        get_scale("own-scale")
    own = Own()
    assert open_benchmark(write_miniature(tmp_path / "bench", samples=2), own).protocol is own
    assert get_scale("own-scale").choices == ("bad", "good")
    assert get_protocol("own-protocol") is own


def test_a_protocol_has_one_name() -> None:
    registry.register_protocol("other-name")(Own)
    with pytest.raises(CrevalError, match="'other-name' has another `name`, 'own-protocol'"):
        get_protocol("other-name")


def test_a_scale_does_not_replace_a_shipped_one() -> None:
    own = Own()
    own.scales = (NamedChoice("0-10", ("bad", "good")),)
    with pytest.raises(CrevalError, match="creval already has a built-in answer scale '0-10'"):
        own.register_scales()


def test_a_protocol_has_its_own_prompts(tmp_path: Path) -> None:
    assert load_prompt("own_text", own=Own.prompts).text == "{{questions}}"
    assert load_prompt("judge", own=Own.prompts).text == registry.prompts.get("judge")
    (tmp_path / "own_text.md").write_text("Now: {{questions}}")
    assert load_prompt("own_text", tmp_path, Own.prompts).text == "Now: {{questions}}"
    (tmp_path / "own_text.md").write_text("Now: {{question}}")
    with pytest.raises(CrevalError, match=r"'own_text' has no placeholder {{question}}\. Its placeholders are {{quest"):
        load_prompt("own_text", tmp_path, Own.prompts)
    with pytest.raises(CrevalError, match="no prompt 'own_txt'; did you mean 'own_text'"):
        load_prompt("own_txt", own=Own.prompts)
