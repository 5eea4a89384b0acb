from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from creval.parsing.reply_format import TEXT, YES_NO, ReplyFormat, list_schema, object_schema
from creval.parsing.written_instructions import (
    WrittenInstruction,
    dimension_reply_format,
    instruction_reply_format,
    match_one_of,
    parse_instruction,
)
from creval.parsing.written_questions import WrittenQuestion, parse_questions, question_reply_format
from tests.building.reply_texts import json_of_schema

DIMENSIONS = ("Surreal Fantasy", "Identity")


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for inner in schema.values():
            yield from objects_in(inner)


def test_a_format_is_a_text_with_a_schema() -> None:
    form = ReplyFormat("Answer with JSON.", object_schema(caption=TEXT))
    assert form == "Answer with JSON."
    assert form.schema["required"] == ["caption"]
    assert pickle.loads(pickle.dumps(form.schema)) == form.schema


@pytest.mark.parametrize(
    "form",
    [
        question_reply_format("VC"),
        instruction_reply_format(DIMENSIONS),
        dimension_reply_format(DIMENSIONS),
        ReplyFormat("", object_schema(steps=list_schema(sound=YES_NO))),
    ],
)
def test_servers_that_are_strict_take_every_schema(form: ReplyFormat) -> None:
    """Strict servers require an object at the top level, all fields required, and no additional ones."""
    assert form.schema["type"] == "object"
    for each in objects_in(form.schema):
        assert each["required"] == list(each["properties"])
        assert each["additionalProperties"] is False


@pytest.mark.parametrize(("metric", "weight"), [("IF", 1.0), ("VC", 3.0)])
def test_questions_in_the_form_of_their_schema(metric: str, weight: float) -> None:
    said = json_of_schema(question_reply_format(metric).schema, question="Is it red?", thinking="Is it? {No}")
    assert parse_questions(said) == [WrittenQuestion("Is it red?", "No", weight, "some reason")]


def test_an_instruction_in_the_form_of_its_schema() -> None:
    said = json_of_schema(instruction_reply_format(DIMENSIONS).schema)
    assert parse_instruction(said) == WrittenInstruction("some instruction", "Identity", ("some attributes",))
    said = json_of_schema(instruction_reply_format().schema)
    assert parse_instruction(said) == WrittenInstruction("some instruction", "", ("some attributes",))


def test_a_dimension_in_the_form_of_its_schema() -> None:
    assert match_one_of(json_of_schema(dimension_reply_format(DIMENSIONS).schema), DIMENSIONS) == "Identity"
