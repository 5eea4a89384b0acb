"""Sentences and hostile texts for tests of reply parsers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from creval.testing.fake_chains import RECORD_FORMATS

WORD = st.sampled_from(["make", "the", "left", "lamp", "much", "taller", "and", "3", "than", "café's"])
PLAIN = st.lists(WORD, min_size=3, max_size=12).map(lambda words: f"{' '.join(words)}.")
some = settings(max_examples=25)
form = pytest.mark.parametrize("form", RECORD_FORMATS)
hostile_piece = pytest.mark.parametrize("piece", ["[", "{", '{"a":', "*", " ", "1. (", "“", '"instruction":"'])
HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet="{}[]\"'“”:：,，*_\n`1.（(yesno instruction old", max_size=300),
    st.lists(
        st.sampled_from(
            [
                "instruction",
                "needed",
                "operation",
                "Add Text",
                '"',
                ":",
                "：",
                "{",
                "}",
                "[",
                "]",
                "\n",
                "**",
                "1. ",
                "yes",
                "no",
                "scene",
                "conflict",
                "reference",
                "(because ",
                ")",
            ]
        ),
        max_size=40,
    ).map("".join),
)


def invented_words(text: str, read: Iterable[str]) -> list[str]:
    """Return the parsed words that the text does not contain."""
    if "\\" in text:
        return []  # JSON escapes change the letters
    known = " ".join(text.encode("utf-8", "replace").decode().split())
    allowed = known.replace("true", "true yes").replace("false", "false no")
    return [word for words in read for word in re.findall(r"\w+", words) if word not in allowed]


def json_of_schema(schema: Mapping[str, Any], **values: object) -> str:
    """Return JSON that follows a schema. Fields have the given values, else their last choice, else a few words."""

    def fill(name: str, part: Mapping[str, Any]) -> object:
        if name in values:
            return values[name]
        if "enum" in part:
            return part["enum"][-1]
        if part["type"] == "array":
            return [fill(name, part["items"])]
        if part["type"] == "object":
            return {inner: fill(inner, of) for inner, of in part["properties"].items()}
        return 1 if part["type"] == "integer" else f"some {name}"

    return json.dumps(fill("", schema))
