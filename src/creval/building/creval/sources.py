"""Source images of a benchmark, and users' instructions for them."""

from __future__ import annotations

import csv
import hashlib
import io
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from creval.benchmarks.creval.release import CLASS_DIMENSIONS
from creval.building.creval.dimensions import class_dimension
from creval.building.image_files import list_image_names
from creval.core.errors import CrevalError, require_known
from creval.core.files import coerce_text, is_json_lines, read_json, read_json_lines, read_text, replace_lone_surrogates

# Includes invisible characters and those that change the writing direction.
_UNSAFE_CHARACTERS = re.compile(
    r"[\x00-\x1f\x7f-\x9f<>:\"/\\|?*\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff"
    r"\ufeff\ufffd]+"
)
_MAX_ID_BYTES = 120  # an id plus a suffix is a file name, and some file systems allow 143 bytes


class SourceImage(NamedTuple):
    """A source image: sample id, file, name in the benchmark, and the user's instruction and dimension, if any."""

    id: str
    path: Path
    name: str
    given_instruction: str = ""
    dimension: str = ""


def find_source_images(folder: Path, out: Path, known_ids: Mapping[str, str] | None = None) -> list[SourceImage]:
    """Return the images in a folder, sorted by id.

    An id is the stem of the file name. If several stems are equal, the ids include the suffixes. Images in `known_ids`,
    by relative path, keep their ids.
    """
    names = list_image_names(folder, out)
    stems = {name: safe_filename(PurePosixPath(name).with_suffix("")) for name in names}
    known_ids = {path: name for path, name in (known_ids or {}).items() if safe_filename(name) == name}
    reserved = {name.casefold() for name in known_ids.values()}
    often = Counter(stem.casefold() for stem in stems.values())
    found: dict[str, SourceImage] = {}
    for name, stem in stems.items():
        ending = PurePosixPath(name).suffix.lower()
        identity = known_ids.get(replace_lone_surrogates(name), "")
        if not identity or identity.casefold() in found:
            unique = often[stem.casefold()] == 1 and stem.casefold() not in reserved
            identity = stem if unique else f"{stem}-{ending[1:]}"
            while identity.casefold() in found or identity.casefold() in reserved:
                identity += "-2"
        found[identity.casefold()] = SourceImage(identity, folder / name, identity + ending)
    return sorted(found.values())


def safe_filename(path: str | PurePosixPath, max_bytes: int = _MAX_ID_BYTES) -> str:
    """Return a path as a file name that is valid on every system and has at most `max_bytes` bytes."""
    whole = replace_lone_surrogates(str(path))
    name = _UNSAFE_CHARACTERS.sub("_", whole).strip(" .") or "_"
    if len(name.encode()) <= max_bytes:
        return name
    begin = name.encode()[: max_bytes - 20].decode("utf-8", "ignore").rstrip(" .")
    return f"{begin}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


class GivenInstruction(NamedTuple):
    """A user's instruction, and its dimension if it is given."""

    text: str
    dimension: str = ""


def read_given_instructions(path: Path) -> dict[str, GivenInstruction]:
    """Read users' instructions by image.

    Accepted files:

    - CSV with the columns image, instruction and optionally dimension
    - JSON or JSONL with a list of such objects
    - a JSON object from image to instruction
    - the `instruction.json` of a release
    """
    found: dict[str, GivenInstruction] = {}
    for number, row in enumerate(read_table_rows(path, "image", "instruction"), 1):
        image, text, dimension = _parse_row(row)
        if not image or not text:
            raise CrevalError(f"{path}, row {number}: the row needs an image and an instruction.")
        if image in found and found[image].text != text:
            raise CrevalError(f"{path}, row {number}: {image} already has another instruction.")
        if dimension:
            require_known("dimension", dimension, CLASS_DIMENSIONS)
        found[image] = GivenInstruction(text, dimension)
    return found


def _parse_row(row: Mapping[str, Any]) -> tuple[str, str, str]:
    image = row.get("image", row.get("input_image"))
    image = image[0] if isinstance(image, list) and image else image
    text = coerce_text(row.get("instruction", row.get("input_prompt")))
    dimension = coerce_text(row.get("dimension")).strip() or class_dimension(row.get("class_id"))
    return coerce_text(image).strip().replace("\\", "/"), " ".join(text.split()), dimension


def read_table_rows(path: Path, *required_columns: str) -> list[Mapping[str, Any]]:
    """Read the rows of a table in CSV, JSON or JSONL. `required_columns` are checked in CSV."""
    if path.suffix.lower() == ".json":
        return _read_json_rows(path, required_columns)
    if is_json_lines(path):
        return [entry for _, entry in read_json_lines(path)]
    return _read_csv_rows(path, required_columns)


def _read_json_rows(path: Path, required_columns: Sequence[str]) -> list[Mapping[str, Any]]:
    content = read_json(path)
    if isinstance(content, dict):
        content = [
            {"image": image, **(entry if isinstance(entry, dict) else {"instruction": entry})}
            for image, entry in content.items()
        ]
    if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
        raise CrevalError(f"{path} must be a list of objects with {' and '.join(required_columns)}.")
    return content


def _read_csv_rows(path: Path, required_columns: Sequence[str]) -> list[Mapping[str, Any]]:
    try:
        text = read_text(path, "utf-8-sig")
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CrevalError(f"{path} is not UTF-8: {error}.") from error
    try:
        first = text.partition("\n")[0]
        delimiter = max(",;\t", key=first.count)  # spreadsheets in some locales write semicolons
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        headers = [header.strip().casefold() for header in rows.fieldnames or ()]
        if not set(required_columns) <= set(headers):
            columns = "the column" if len(required_columns) == 1 else "the columns"
            raise CrevalError(f"{path} needs {columns} {' and '.join(required_columns)}.")
        rows.fieldnames = headers
        return list(rows)
    except csv.Error as error:
        raise CrevalError(f"{path} is not valid CSV: {error}.") from error


def attach_instructions(
    sources: Sequence[SourceImage], instructions: Mapping[str, GivenInstruction]
) -> tuple[list[SourceImage], list[str]]:
    """Return the images with their given instructions, and the names in `instructions` that match no single image."""
    by_name: dict[str, list[int]] = {}
    for at, source in enumerate(sources):
        for name in {source.path.as_posix(), source.path.name, source.path.stem, source.id}:
            by_name.setdefault(name, []).append(at)
    found, unknown = list(sources), []
    for image, given in instructions.items():
        # A release names its images with their folder.
        matches = by_name.get(image) or by_name.get(PurePosixPath(image).name, [])
        if len(matches) == 1:
            at = matches[0]
            found[at] = found[at]._replace(given_instruction=given.text, dimension=given.dimension)
        else:
            unknown.append(image)
    return found, unknown


def assign_balanced_dimensions(ids: Iterable[str], assigned: Mapping[str, str], seed: int) -> dict[str, str]:
    """Return a dimension for each image, distributed as evenly as possible. Assigned dimensions are kept."""
    rng = random.Random(seed)  # noqa: S311
    found = dict(assigned)
    used = Counter(dict.fromkeys(CLASS_DIMENSIONS, 0))
    used.update(found.values())
    unassigned = sorted(set(ids) - found.keys())
    rng.shuffle(unassigned)
    for identity in unassigned:
        least = min(used[name] for name in CLASS_DIMENSIONS)
        found[identity] = rng.choice([name for name in CLASS_DIMENSIONS if used[name] == least])
        used[found[identity]] += 1
    return found
