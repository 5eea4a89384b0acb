"""The pictures that a benchmark is made of, and instructions that people bring for them."""

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

from creval.benchmarks.creval.release import CLASSES
from creval.building.images import picture_names
from creval.core.errors import CrevalError, known_name
from creval.core.files import clean_text, read_json, text_of

# Also what nobody would see, and what turns the direction of writing.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f<>:\"/\\|?*\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff"
    r"\ufeff\ufffd]+"
)
_LONGEST = 120  # bytes of an id: with an ending it is a file's name, and some systems allow 143


class Source(NamedTuple):
    """A picture: the sample's id, its file, its name in the benchmark, and what came with it."""

    id: str
    path: Path
    name: str
    given: str = ""
    dimension: str = ""


def find_pictures(folder: Path, out: Path, known: Mapping[str, str] | None = None) -> list[Source]:
    """The pictures in a folder, by name. Ids are their stems; of two that are alike, each has its
    ending too. Those that are `known`, by their paths from there, keep the ids that they have."""
    names = picture_names(folder, out)
    stems = {name: safe_name(PurePosixPath(name).with_suffix("")) for name in names}
    known = {path: name for path, name in (known or {}).items() if safe_name(name) == name}
    held = {name.casefold() for name in known.values()}
    often = Counter(stem.casefold() for stem in stems.values())
    found: dict[str, Source] = {}
    for name, stem in stems.items():
        ending = PurePosixPath(name).suffix.lower()
        identity = known.get(clean_text(name), "")
        if not identity or identity.casefold() in found:
            alone = often[stem.casefold()] == 1 and stem.casefold() not in held
            identity = stem if alone else f"{stem}-{ending[1:]}"
            while identity.casefold() in found or identity.casefold() in held:
                identity += "-2"
        found[identity.casefold()] = Source(identity, folder / name, identity + ending)
    return sorted(found.values())


def safe_name(path: str | PurePosixPath, longest: int = _LONGEST) -> str:
    """A path as a name that every system can hold, of so many bytes at most."""
    whole = clean_text(str(path))
    name = _UNSAFE.sub("_", whole).strip(" .") or "_"
    if len(name.encode()) <= longest:
        return name
    begin = name.encode()[: longest - 20].decode("utf-8", "ignore").rstrip(" .")
    return f"{begin}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


class Given(NamedTuple):
    """An instruction that somebody brought, and its dimension if it was named."""

    text: str
    dimension: str = ""


def read_given(path: Path) -> dict[str, Given]:
    """People's own instructions by picture: a CSV file with the columns image, instruction and, if
    known, dimension; the same as a list in JSON, an object from picture to instruction, or the
    `instruction.json` of a release."""
    found: dict[str, Given] = {}
    for number, row in enumerate(read_rows(path, "image", "instruction"), 1):
        image, text, dimension = _row(row)
        if not image or not text:
            raise CrevalError(f"{path}, row {number}: it needs an image and an instruction.")
        if image in found and found[image].text != text:
            raise CrevalError(f"{path}, row {number}: {image} has an instruction already.")
        if dimension:
            known_name("dimension", dimension, CLASSES)
        found[image] = Given(text, dimension)
    return found


def _row(row: Mapping[str, Any]) -> tuple[str, str, str]:
    image = row.get("image", row.get("input_image"))
    image = image[0] if isinstance(image, list) and image else image
    text = text_of(row.get("instruction", row.get("input_prompt")))
    dimension = text_of(row.get("dimension")).strip()
    number = row.get("class_id")
    if not dimension and isinstance(number, int) and 1 <= number <= len(CLASSES):
        dimension = CLASSES[number - 1]
    return text_of(image).strip().replace("\\", "/"), " ".join(text.split()), dimension


def read_rows(path: Path, *needed: str) -> list[Mapping[str, Any]]:
    """The rows of a table in CSV, which needs these columns, or in JSON."""
    if path.suffix.lower() == ".json":
        return _json_rows(path, needed)
    return _csv_rows(path, needed)


def _json_rows(path: Path, needed: Sequence[str]) -> list[Mapping[str, Any]]:
    content = read_json(path)
    if isinstance(content, dict):
        content = [
            {"image": image, **(entry if isinstance(entry, dict) else {"instruction": entry})}
            for image, entry in content.items()
        ]
    if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
        raise CrevalError(f"{path} should hold a list of objects with {' and '.join(needed)}.")
    return content


def _csv_rows(path: Path, needed: Sequence[str]) -> list[Mapping[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CrevalError(f"{path} is not UTF-8: {error}.") from error
    try:
        first = text.partition("\n")[0]
        parted = max(",;\t", key=first.count)  # spreadsheets of some countries write semicolons
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=parted)
        heads = [head.strip().casefold() for head in rows.fieldnames or ()]
        if not set(needed) <= set(heads):
            columns = "the column" if len(needed) == 1 else "the columns"
            raise CrevalError(f"{path} needs {columns} {' and '.join(needed)}.")
        rows.fieldnames = heads
        return list(rows)
    except csv.Error as error:
        raise CrevalError(f"{path} is not valid CSV: {error}.") from error


def with_given(
    sources: Sequence[Source], given: Mapping[str, Given]
) -> tuple[list[Source], list[str]]:
    """The pictures with what was brought for them, and the names for which there is none."""
    by_name: dict[str, list[int]] = {}
    for at, source in enumerate(sources):
        for name in {source.path.as_posix(), source.path.name, source.path.stem, source.id}:
            by_name.setdefault(name, []).append(at)
    found, unknown = list(sources), []
    for image, told in given.items():
        # A release names its pictures with their folder.
        places = by_name.get(image) or by_name.get(PurePosixPath(image).name, [])
        if len(places) == 1:
            at = places[0]
            found[at] = found[at]._replace(given=told.text, dimension=told.dimension)
        else:
            unknown.append(image)
    return found, unknown


def balanced(ids: Iterable[str], held: Mapping[str, str], seed: int) -> dict[str, str]:
    """A dimension for each picture, all as often as can be. What has one keeps it."""
    chance = random.Random(seed)  # noqa: S311
    found = dict(held)
    used = Counter(dict.fromkeys(CLASSES, 0))
    used.update(found.values())
    fresh = sorted(set(ids) - found.keys())
    chance.shuffle(fresh)
    for identity in fresh:
        least = min(used[name] for name in CLASSES)
        found[identity] = chance.choice([name for name in CLASSES if used[name] == least])
        used[found[identity]] += 1
    return found
