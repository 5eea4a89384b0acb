"""Complex-Edit's 24 atomic operations in 9 categories (arXiv 2504.13143, section 2.1 and appendix B)."""

from __future__ import annotations

import re
from collections.abc import Mapping

CATEGORIES: Mapping[str, Mapping[str, str]] = {
    "Object Manipulation and Transformation": {
        "Add an Object": "something new comes into the picture",
        "Remove an Object": "something that is there goes",
        "Replace an Object": "something else takes a thing's place",
        "Move an Object": "a thing goes to another place",
        "Resize an Object": "a thing becomes larger or smaller",
        "Rotate an Object": "a thing is turned by an angle",
        "Duplicate an Object": "a second one of a thing appears",
    },
    "Color and Tone Adjustments": {
        "Change Color": "a thing gets another colour, which is named",
        "Apply Filter/Weather": "a colour filter or a kind of weather, everywhere or in a part",
    },
    "Texture and Material Adjustments": {"Change Texture": "a thing's surface looks as if it were of another material"},
    "Background and Environment": {"Change Background": "another scene or colour lies behind what is in front"},
    "Lighting and Shadows": {"Adjust Lighting": "other light, on everything or on one thing"},
    "Text and Symbols": {
        "Add Text": "lettering is put in; its words are given in quotation marks",
        "Remove Text": "lettering that is there goes",
        "Change Text Properties": "lettering gets another font, colour, size or place",
    },
    "Composition and Cropping": {
        "Crop Image": "outer parts of the picture are cut off",
        "Reframe Composition": "what is in the middle, or how things are arranged, changes",
        "Zoom In/Out": "the view comes closer or goes further away",
    },
    "Pose and Expression": {
        "Change Pose": "a body or a thing takes another stance",
        "Change Facial Expression": "a face shows another feeling",
    },
    "Special Effects": {
        "Add Special Effects": "a glow, a motion blur, a lens flare or the like appears",
        "Remove Special Effects": "an effect that is there goes",
        "Add Particles": "dust, sparks, petals or the like fill the air",
        "Remove Particles": "particles that are there go",
    },
}
"""Operations by category, with a short description of each (written for creval, not from the paper)."""

CATEGORY_OF = {name: group for group, names in CATEGORIES.items() for name in names}
OPERATIONS = tuple(CATEGORY_OF)
_ARTICLES = re.compile(r"\b(?:an?|the)\b|[\W_]+")


def match_operation(written_name: str) -> str | None:
    """Return the operation that a reply names, or None. Case, articles, markup and a leading category are ignored.

    >>> match_operation("**add object**"), match_operation("Text and Symbols: Add Text")
    ('Add an Object', 'Add Text')
    """
    last = re.split(r"[:：>]| - ", written_name)[-1]
    return _SPELLINGS.get(_normalise_name(written_name)) or _SPELLINGS.get(_normalise_name(last))


def _normalise_name(name: str) -> str:
    return _ARTICLES.sub("", name.casefold())


_SPELLINGS = {_normalise_name(name): name for name in OPERATIONS}


def describe_operations() -> str:
    """Return all operations with their descriptions, as a list for a prompt."""
    lines = []
    for group, names in CATEGORIES.items():
        lines.append(f"{group}:")
        lines += [f"- {name}: {does}" for name, does in names.items()]
    return "\n".join(lines)
