from __future__ import annotations

from creval.building.ice.text_replies import (
    CAPTION_FORMAT,
    FILL_FORMAT,
    FilledTemplate,
    read_caption,
    read_filled_template,
)
from tests.building.reply_texts import json_of_schema


def test_replies_in_the_form_of_their_schemas() -> None:
    assert read_caption(json_of_schema(CAPTION_FORMAT.schema)) == "some caption"
    filled = json_of_schema(FILL_FORMAT.schema, unsuited=None)
    assert read_filled_template(filled) == FilledTemplate("some instruction")
    unsuited = json_of_schema(FILL_FORMAT.schema, instruction=None)
    assert read_filled_template(unsuited) == FilledTemplate("", "some unsuited")
