"""Forms of replies that models are asked for, in words and as a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}


class ReplyFormat(str):
    """The words that ask for a form of reply, and the JSON schema of this form.

    The schema goes with a request if the server takes one. It is no part of what a reply is cached under.
    """

    schema: Schema

    def __new__(cls, text: str, schema: Schema) -> ReplyFormat:
        made = super().__new__(cls, text)
        made.schema = schema
        return made


def object_schema(**fields: Schema) -> Schema:
    """Return the schema of an object with these fields, all required, and no other."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def list_schema(**fields: Schema) -> Schema:
    """Return the schema of a list of such objects."""
    return {"type": "array", "items": object_schema(**fields)}


def choice_schema(names: Sequence[str]) -> Schema:
    """Return the schema of a text that is one of these."""
    return {**TEXT, "enum": list(names)}


YES_NO = choice_schema(("yes", "no"))
