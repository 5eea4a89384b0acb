"""Import of public datasets: their images in the layout that `creval build ice` reads (`creval init ice`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from creval.building.creval.sources import safe_filename
from creval.building.ice.layouts import LAYOUTS
from creval.building.ice.layouts.base import ImportedSet
from creval.building.image_files import copy_image, release_suffix, sample_names, save_png, write_error_reason
from creval.core.errors import CrevalError, require_known
from creval.core.files import dig, read_json, replace_lone_surrogates, write_json
from creval.core.images import ImageError, open_mask, read_image_size

RECORD = "import.json"
_MAX_STEM_BYTES = 90


@dataclass(frozen=True)
class ImportedImages:
    """Result of an import: the number of sets by folder, and the reasons for what was left out."""

    folder: Path
    layout: str
    counts: Mapping[str, int]
    left_out: Mapping[str, str]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def import_images(
    folder: Path, images: Path, layout: str, annotations: Path | None = None, *, limit: int | None = None, seed: int = 0
) -> ImportedImages:
    """Copy the images of a dataset into a folder, as sets of an image, its mask and its references.

    `limit` is a number of sets to choose at random. A set that exists in the folder is overwritten. `import.json`
    records the origin of each set.
    """
    require_known("layout", layout, LAYOUTS)
    if not images.is_dir():
        raise CrevalError(f"`images` {images} is not a folder.")
    if images.resolve().is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(images.resolve()):
        raise CrevalError(f"{folder} must not be inside {images}.")
    if folder.exists() and not folder.is_dir():
        raise CrevalError(f"{folder} is a file. Give a folder.")
    found = LAYOUTS[layout](images, annotations)
    sets = {one.stem: one for one in found.sets}
    importer = _Importer(folder, images, dict(found.left_out))
    for stem in sample_names(sorted(sets), limit, seed):
        importer.add(sets[stem])
    if not importer.written:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(importer.left_out.items())[:3])
        raise CrevalError(f"{images} has no usable images in the layout {layout!r} ({reasons or 'it is empty'}).")
    importer.write_record(layout)
    return ImportedImages(folder, layout, importer.counts, importer.left_out)


@dataclass
class _Importer:
    """Writer of sets into a folder."""

    folder: Path
    images: Path
    left_out: dict[str, str]
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, one: ImportedSet) -> None:
        """Write the files of a set. If one of them cannot be written, the others are deleted."""
        stem = safe_filename(one.stem, _MAX_STEM_BYTES)
        home = self.folder / one.folder
        paths: list[Path] = []
        try:
            home.mkdir(parents=True, exist_ok=True)
            if one.image is not None:
                size = read_image_size(one.image)
                paths.append(home / f"{stem}{release_suffix(one.image)}")
                copy_image(one.image, paths[-1])
                if one.mask is not None:
                    paths.append(home / f"{stem}_mask.png")
                    save_png(open_mask(one.mask) if isinstance(one.mask, Path) else one.mask(size), paths[-1])
            for number, reference in enumerate(one.references, 1):
                read_image_size(reference)
                paths.append(home / f"{stem}_ref{number}{release_suffix(reference)}")
                copy_image(reference, paths[-1])
        except (ImageError, OSError) as error:
            self.left_out[one.stem] = str(write_error_reason(error)).rstrip(".")
            for path in paths:
                path.unlink(missing_ok=True)
            return
        self.counts[one.folder] = self.counts.get(one.folder, 0) + 1
        sources = {
            "image": self._relative(one.image),
            "references": [self._relative(path) for path in one.references],
            "mask": self._relative(one.mask) if isinstance(one.mask, Path) else "",
            "origin": one.origin,
        }
        name = f"{one.folder}/{stem}".removeprefix("/")
        self.written[name] = {key: value for key, value in sources.items() if value}

    def _relative(self, path: Path | None) -> str:
        return replace_lone_surrogates(Path(os.path.relpath(path, self.images)).as_posix()) if path else ""

    def write_record(self, layout: str) -> None:
        """Write `import.json` with the origin of all sets in the folder, including those of earlier imports."""
        path = self.folder / RECORD
        before = read_json(path) if path.is_file() else {}
        sets, left_out = (
            dict(of) if isinstance(of := dig(before, name), dict) else {} for name in ("sets", "left_out")
        )
        sets |= {name: {"layout": layout, **one} for name, one in self.written.items()}
        write_json(
            path, {"sets": dict(sorted(sets.items())), "left_out": dict(sorted((left_out | self.left_out).items()))}
        )
