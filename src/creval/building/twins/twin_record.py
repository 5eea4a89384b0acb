"""Records of twins: which images of a folder form pairs, and which samples of a benchmark were built from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from creval.benchmarks import open_benchmark
from creval.benchmarks.twin_inputs import REAL, SYNTHETIC, TWIN_FILE
from creval.core.errors import CrevalError
from creval.core.files import atomic_write, dig, read_json, replace_lone_surrogates
from creval.core.images import ImageError, file_digest

PAIR_FILE = "twins.json"


def read_pairs(folder: Path) -> dict[str, Any]:
    """Return the pairs recorded in a folder of twins, by name. {} if the folder has no record of pairs."""
    path = folder / PAIR_FILE
    content = read_json(path) if path.is_file() else {}
    pairs = dig(content, "pairs") if content else {}
    if not isinstance(pairs, dict):
        raise CrevalError(f"{path} does not have the form that creval build twins writes. Restore it or delete it.")
    return pairs


def record_twin_inputs(images: Path, benchmark: Path) -> int:
    """Record for each sample of a built benchmark whether its source is the real or the synthetic image of a pair.

    Return the number of these samples. Sources are recognised by their content. Without pairs in `images`, nothing is
    written.
    """
    pairs = read_pairs(images)
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, pair in pairs.items():
        for kind in (REAL, SYNTHETIC):
            kinds.setdefault(str(dig(pair, kind, "digest")), []).append((kind, name))
    if not kinds:
        return 0
    try:
        samples = open_benchmark(benchmark).dataset.samples
    except CrevalError:  # nothing was built
        return 0
    digests: dict[Path, str] = {}
    lines = []
    for sample in samples:
        if sample.source is None:
            continue
        if sample.source not in digests:
            try:
                digests[sample.source] = file_digest(sample.source)
            except ImageError:
                digests[sample.source] = ""
        if found := kinds.get(digests[sample.source]):
            # Equal captions give equal images. Most builders keep the pair's name in that of the source.
            input_, pair = next((one for one in found if one[1] in sample.source.stem), found[0])
            row = {"id": sample.id, "input": input_, "pair": pair}
            lines.append(replace_lone_surrogates(json.dumps(row, ensure_ascii=False)))
    if lines:
        atomic_write(benchmark / TWIN_FILE, "".join(f"{line}\n" for line in lines))
    return len(lines)
