"""Formats in which models are asked to reply, as wording and as a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}


class ReplyFormat(str):
    """The wording that asks for a format, and the JSON schema of the format.

    The schema is sent if the server supports schemas. It is not part of the key under which a reply is cached.
    """

    schema: Schema

    def __new__(cls, text: str, schema: Schema) -> ReplyFormat:
        made = super().__new__(cls, text)
        made.schema = schema
        return made


def object_schema(**fields: Schema) -> Schema:
    """Return the schema of an object with exactly these fields, all required."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def list_schema(**fields: Schema) -> Schema:
    """Return the schema of a list of objects with exactly these fields, all required."""
    return {"type": "array", "items": object_schema(**fields)}


def choice_schema(names: Sequence[str]) -> Schema:
    """Return the schema of a text that must be one of these names."""
    return {**TEXT, "enum": list(names)}


YES_NO = choice_schema(("yes", "no"))
