"""A builder builds missing items, reports why items are left out, and keeps its settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from creval.building.base import Builder
from creval.calls.settings import Settings
from creval.calls.text_generation import GenerationItem, GenerationResult, StageEstimate
from creval.calls.validated_text import InvalidReplyError, ValidatingSession
from creval.core.errors import CrevalError
from creval.prompts import Prompt
from tests.building.made import Model
from tests.serving import serving

POEM = Prompt("poem", "Write a poem on the {{name}}.\n\n{{reason}}")


class Poems(Builder[str]):
    """One poem for each name. Poems about rain are rejected."""

    benchmark = "poems"
    unit = "poem"

    def __init__(self, out: Path, url: str, *names: str, temperature: float = 0.5, **settings: Any) -> None:
        super().__init__(out, {"writer": f"openai:m@{url}/v1"}, Settings(**settings), [POEM], temperature=temperature)
        self.items = [GenerationItem(name) for name in names]

    def stages(self) -> list[StageEstimate]:
        return [StageEstimate("writer", 1, 20, 20, images=0)]

    async def make(self, session: ValidatingSession) -> str:
        def read(text: str) -> str:
            if "rain" in text:
                raise InvalidReplyError("it rains")
            return text

        return await session.generate_until_valid("writer", "poem", POEM, read, name=session.session.item.id)

    def save(self, result: GenerationResult[str]) -> None:
        (self.out / "poems.json").write_text(json.dumps(result.results))


def poet() -> Model:
    return Model(lambda _, text: "rain falls" if "storm" in text else "a poem")


def test_results_and_left_out_items_are_written(tmp_path: Path) -> None:
    model = poet()
    with serving(model.app()) as url:
        builder = Poems(tmp_path, url, "cat", "storm", retries=1)
        (expected,) = builder.estimate()
        result = builder.run()
    assert (builder.item_count, expected.calls, len(model.asked)) == (2, 2, 3)
    why = "poem: not accepted after 2 tries: it rains."
    assert (result.results, result.left_out) == ({"cat": "a poem"}, {"storm": why})
    assert json.loads((tmp_path / "poems.json").read_text()) == {"cat": "a poem"}
    record = json.loads((tmp_path / "build.json").read_text())
    assert (record["system"], record["temperature"], record["prompts"]) == ("poems", 0.5, [POEM.version])
    assert (record["left_out"], record["rejected"]) == ({"storm": why}, {"storm": ["poem: it rains."] * 2})


def test_a_second_start_pays_for_nothing_and_takes_the_same_settings_only(tmp_path: Path) -> None:
    model = poet()
    with serving(model.app()) as url:
        Poems(tmp_path, url, "cat").run()
        again = Poems(tmp_path, url, "cat").run()
        with pytest.raises(CrevalError, match="started with another temperature"):
            Poems(tmp_path, url, "cat", temperature=1.0)
    assert (again.results, again.progress.cached, len(model.asked)) == ({"cat": "a poem"}, 1, 1)


def test_unusable_inputs_are_left_out_and_progress_is_reported(tmp_path: Path) -> None:
    with serving(poet().app()) as url:
        builder = Poems(tmp_path, url, "cat")
        assert builder.warnings() == []
        builder.unusable, builder.already_done = {"dog": "it barks"}, 1
        assert builder.warnings() == ["1 poem already exists and will not be changed."]
        result = builder.run()
    assert result.left_out == {"dog": "it barks"}
    assert result.share_left_out == pytest.approx(1 / 3)
    builder.already_done = 1200
    assert builder.warnings() == ["1,200 poems already exist and will not be changed."]


def test_a_title_is_kept_with_the_benchmark(tmp_path: Path) -> None:
    with serving(poet().app()) as url:
        for title in ("Animals", ""):
            builder = Poems(tmp_path, url, "cat")
            builder.title = title
            builder.run()
    assert json.loads((tmp_path / "benchmark.json").read_text()) == {"name": "Animals"}
