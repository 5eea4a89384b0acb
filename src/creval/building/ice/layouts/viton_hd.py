"""VITON-HD: photographs of people and of garments, and a list of pairs. They become items for virtual try-on.

Layout: `image/PERSON.jpg`, `cloth/GARMENT.jpg`, the region to change as `agnostic-mask/PERSON_mask.png` or as labels in
`image-parse-v3/PERSON.png`, and `test_pairs.txt` with a person and a garment per line, in this folder or the one above.
The labels of garments on the upper body are 5, 6 and 7. Without `test_pairs.txt`, each person gets the garment of the
same name.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from creval.building.ice.layouts.base import ImportedSet, ImportedSets, MakeMask
from creval.building.image_files import find_image_names
from creval.core.errors import CrevalError
from creval.core.files import read_text
from creval.core.images import ImageError, open_label_map

_MASK_FOLDER, _LABEL_FOLDERS = "agnostic-mask", ("image-parse-v3", "image-parse")
_UPPER_BODY = (5, 6, 7)


def read_viton_hd(folder: Path, annotations: Path | None) -> ImportedSets:
    """Return a set for each pair of a person and a garment. `annotations` is the file of pairs."""
    root = next(
        (one for one in (folder, folder / "test") if (one / "image").is_dir() and (one / "cloth").is_dir()), None
    )
    if root is None:
        raise CrevalError(f"{folder} must contain the folders `image` and `cloth`, as VITON-HD does.")
    people, garments = (
        {Path(name).stem: root / kind / name for name in find_image_names(root / kind)} for kind in ("image", "cloth")
    )
    sets, left_out = list[ImportedSet](), dict[str, str]()
    for person, garment in _read_pairs(root, annotations) or [(name, name) for name in sorted(people)]:
        name = f"{person} {garment}"
        if person not in people or garment not in garments:
            left_out[name] = f"no image of the {'garment' if person in people else 'person'}"
        elif (mask := _find_mask(root, person)) is None:
            left_out[name] = f"no mask in {_MASK_FOLDER} and no labels in {_LABEL_FOLDERS[0]}"
        else:
            stem = person if person == garment else f"{person}-{garment}"
            images = people[person], mask, (garments[garment],)
            sets.append(ImportedSet(stem, "Virtual Try On", *images, origin=f"garment {garment}"))
    return ImportedSets(sets, left_out)


def _read_pairs(root: Path, given: Path | None) -> list[tuple[str, str]]:
    """Return the pairs of a person and a garment, without suffixes. [] if there is no file of pairs."""
    places = [given] if given else [above / f"{root.name}_pairs.txt" for above in (root, root.parent)]
    path = next((place for place in places if place.is_file() or given), None)
    if path is None:
        return []
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CrevalError(f"{path} cannot be read: {error}.") from error
    pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(lines, 1):
        names = line.split()
        if names and len(names) != 2:
            raise CrevalError(f"{path}, line {number}: a person and a garment are needed, not {line[:80]!r}.")
        if names:
            pairs[Path(names[0]).stem, Path(names[1]).stem] = None
    return list(pairs)


def _find_mask(root: Path, person: str) -> Path | MakeMask | None:
    mask = root / _MASK_FOLDER / f"{person}_mask.png"
    if mask.is_file():
        return mask
    labels = next((path for folder in _LABEL_FOLDERS if (path := root / folder / f"{person}.png").is_file()), None)
    return partial(_mask_of_garments, labels) if labels else None


def _mask_of_garments(labels: Path, size: tuple[int, int]) -> Image.Image:
    """Return a mask of the garments on the upper body, from the labels of a person's photograph."""
    found = open_label_map(labels)
    mask = Image.fromarray(np.isin(found, _UPPER_BODY).astype(np.uint8) * 255)
    if mask.size != size:
        raise ImageError(f"its label image is {mask.width} x {mask.height}, but the image is {size[0]} x {size[1]}")
    return mask
