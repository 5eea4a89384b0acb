"""Users' example instructions: accepted files, validation, and what the writer sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.building.creval.builder import CrevalBuilder, CrevalBuildOptions
from creval.building.creval.dimensions import DIMENSIONS
from creval.building.creval.examples import SHIPPED_EXAMPLES, format_examples, read_examples
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from tests.building.made import Model, drawn
from tests.serving import serving

OWN = "Turn the kettle into a hot-air balloon with a copper basket, red ropes and a white flag."
OTHER = "Give the kettle four brass legs, a velvet saddle, silver reins and a green feather on its lid."


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.csv", f'dimension,instruction\nSurreal Fantasy,"{OWN}"\nSurreal Fantasy,"{OTHER}"\n'),
        ("own.json", json.dumps({"Surreal Fantasy": [OWN, OTHER]})),
        ("list.json", json.dumps([{"dimension": "Surreal Fantasy", "instruction": one} for one in (OWN, OTHER)])),
        ("own.jsonl", "".join(f'{{"dimension": "Surreal Fantasy", "instruction": "{one}"}}\n' for one in (OWN, OTHER))),
    ],
)
def test_every_form_gives_the_same_examples(tmp_path: Path, name: str, text: str) -> None:
    found = read_examples(written(tmp_path, name, text))
    assert format_examples(found, "Surreal Fantasy") == f"- {OWN}\n- {OTHER}"
    same = read_examples(written(tmp_path, "same.json", json.dumps({"Surreal Fantasy": [OWN, OTHER, OWN]})))
    assert found.version == same.version
    assert found.version != SHIPPED_EXAMPLES.version


def test_a_folder_has_a_text_file_for_each_dimension(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "Surreal Fantasy.txt").write_text(f"{OWN}\n\n{OTHER}\n")
    (folder / "notes.json").write_text("{}")
    same = written(tmp_path, "same.json", json.dumps({"Surreal Fantasy": [OWN, OTHER]}))
    assert read_examples(folder) == read_examples(same)
    (folder / "Fantasy.md").write_text(OWN)
    with pytest.raises(CrevalError, match=r"own, Fantasy\.md, line 1: .*'Fantasy'"):
        read_examples(folder)


def test_other_dimensions_keep_the_shipped_examples(tmp_path: Path) -> None:
    found = read_examples(written(tmp_path, "own.json", json.dumps({"Surreal Fantasy": [OWN]})))
    assert found.by_dimension["Commercial Design"] == DIMENSIONS["Commercial Design"].examples
    one_each = format_examples(found).splitlines()
    assert len(one_each) == 9
    assert f"- {OWN}" in one_each


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"Surreal Fantasie": [OWN]}, "Surreal Fantasie 1: .*Surreal Fantasy"),
        ({"Surreal Fantasy": [OWN, "Crop it."]}, "Surreal Fantasy 2: the example breaks a rule"),
        ({"Surreal Fantasy": ["word " * 70]}, "the example breaks a rule"),
        ({"Surreal Fantasy": OWN}, "must be a list of instructions"),
        ({"Surreal Fantasy": [OWN.replace("red", f"c{n}") for n in range(21)]}, "has 21 examples"),
        ({}, "contains no examples"),
    ],
)
def test_unusable_examples_are_refused_with_their_place(tmp_path: Path, content: object, reason: str) -> None:
    with pytest.raises(CrevalError, match=reason):
        read_examples(written(tmp_path, "own.json", json.dumps(content)))


def test_the_writer_sees_them_and_the_folder_keeps_them(tmp_path: Path) -> None:
    model, images = Model(), drawn(tmp_path / "pictures", "cat")
    own = written(tmp_path, "own.json", json.dumps({"Surreal Fantasy": [OWN]}))
    with serving(model.app()) as url:
        roles = dict.fromkeys(("writer", "asker", "checker"), f"openai:a@{url}/v1")

        def begin(examples: Path | None) -> CrevalBuilder:
            wish = CrevalBuildOptions("Surreal Fantasy", examples=examples)
            return CrevalBuilder(images, tmp_path / "bench", roles, wish, Settings())

        begin(own).run()
        stage, request = model.asked[0]
        assert stage == "instruction"
        assert OWN in request
        assert DIMENSIONS["Surreal Fantasy"].examples[0] not in request
        with pytest.raises(CrevalError, match="started with other examples"):
            begin(None)
        assert begin(own).run().progress.requests_sent == 0


def test_longer_examples_raise_the_estimate(tmp_path: Path) -> None:
    images = drawn(tmp_path / "pictures", "cat")
    own = [f"{OWN[:-1]} and {number} small bells." for number in range(20)]
    path = written(tmp_path, "own.json", json.dumps(dict.fromkeys(DIMENSIONS, own)))
    roles = dict.fromkeys(("writer", "asker", "checker"), "openai:a@http://127.0.0.1:9/v1")
    costs = [
        sum(
            cost.tokens_in
            for cost in CrevalBuilder(
                images, tmp_path / "bench", roles, CrevalBuildOptions(examples=examples), Settings(), dry_run=True
            ).estimate()
        )
        for examples in (None, path)
    ]
    assert costs[1] > costs[0] + 200
