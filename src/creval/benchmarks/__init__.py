"""Benchmarks: a package for each published benchmark and for your own samples, with its reader and protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from creval import registry
from creval.benchmarks.stored_captions import with_stored_captions
from creval.benchmarks.twin_inputs import with_twin_inputs
from creval.core.benchmark import Benchmark, Dataset, DatasetIssue, Protocol
from creval.core.errors import CrevalError
from creval.core.filenames import invalid_filename_reason
from creval.core.files import clean_text, gc_paused, read_json, write_json

TITLE_FILE = "benchmark.json"
"""The file with the name of a benchmark."""
_BUILD_RECORD = "build.json"
_MAX_TITLE = 100
_OWN_SAMPLES = "own-samples"


def get_protocol(name: str) -> Protocol:
    """Return the protocol with this name: a registered one, or that of a registered benchmark."""
    if name not in registry.protocols:
        for own in map(registry.benchmarks.get, registry.benchmarks.names()):
            if getattr(own.protocol, "name", None) == name:
                return _create_protocol(name, own.protocol)
    protocol = _create_protocol(name, registry.protocols.get(name))
    if protocol.name != name:  # a run stores protocol.name and is scored by it
        raise CrevalError(f"the protocol {name!r} has another `name`, {protocol.name!r}. Use the same name for both.")
    return protocol


def protocol_of_run(manifest: Mapping[str, Any]) -> Protocol:
    """Return the protocol of a run, adapted to the metrics of the run's questions."""
    return get_protocol(manifest["protocol"]).for_metrics(manifest.get("question_metrics", ()))


def _create_protocol(name: str, factory: Callable[[], Protocol]) -> Protocol:
    try:
        protocol = factory()
    except Exception as error:  # code of another package
        raise CrevalError(f"the protocol {name!r} cannot be created: {error!r}.") from error
    if not isinstance(protocol, Protocol):
        raise CrevalError(f"the protocol {name!r} is not a creval Protocol.")
    protocol.register_scales()
    return protocol


def _find_invalid_ids(dataset: Dataset) -> Iterator[DatasetIssue]:
    """Yield an issue for each sample whose id cannot be used as the file name of an edit."""
    for sample in dataset.samples:
        if reason := invalid_filename_reason(sample.id):
            note = f"it {reason}: creval edit leaves it out"
            yield DatasetIssue("id is not a file name", sample.id[:200], note=note)


def open_benchmark(path: str | Path, protocol: str | Protocol | None = None) -> Benchmark:
    """Open the benchmark in a folder.

    `protocol` is the name of a protocol or a `Protocol`. Without it, the benchmark's own protocol is used. A `Protocol`
    object is registered for this session, so that its runs can be scored.
    """
    if isinstance(protocol, Protocol):
        given = protocol
        if given.name not in registry.protocols or registry.protocols.origin(given.name) == registry.THIS_SESSION:
            registry.protocols.register(given.name, lambda: given)
        protocol = given.name
    if not str(path):
        raise CrevalError("give the folder of a benchmark.")
    path = Path(path)
    if not path.exists():
        raise CrevalError(f"{path} does not exist. Give the folder of a benchmark.")
    if not path.is_dir():
        raise CrevalError(f"{path} is a file. Give the folder of an unpacked benchmark.")
    # A table of samples may also be in the folder of another benchmark, so that format is tried last.
    names = sorted(registry.benchmarks.names(), key=lambda name: name == _OWN_SAMPLES)
    for model in map(registry.benchmarks.get, names):
        folder = model.recognise(path)
        if folder is not None:
            with gc_paused():
                own = get_protocol(protocol) if protocol else _create_protocol(model.name, model.protocol)
                dataset = with_twin_inputs(with_stored_captions(model.load(folder)))
                found = (*dataset.issues, *_find_invalid_ids(dataset))
                title = read_title(dataset.root) or dataset.title
                return Benchmark(replace(dataset, issues=found, title=title), own.for_metrics(dataset.metrics))
    raise CrevalError(
        f"{path} is not a benchmark that creval knows. creval reads CREval (bench/instruction.json and "
        "bench/questions_all), Complex-Edit (Parquet files with the columns image and edit), ComplexBench-Edit "
        "(data/instructions), ICE-Bench (dataset/data.jsonl) and your own samples (samples.csv or samples.jsonl). "
        "`creval bench` lists the formats. "
        "To create a folder from your own images, use `creval init samples`."
    )


def read_title(folder: Path) -> str:
    """Return the name stored in the benchmark's folder.

    Without a name, returns the folder's name if the benchmark was built by creval, and an empty string otherwise.
    """
    try:
        content = read_json(folder / TITLE_FILE) if (folder / TITLE_FILE).is_file() else {}
    except CrevalError:  # a file of another program
        content = {}
    title = " ".join(clean_text(content.get("name") if isinstance(content, dict) else "").split())[:_MAX_TITLE]
    return title or (folder.resolve().name if (folder / _BUILD_RECORD).is_file() else "")


def check_title(title: str) -> str:
    """Return the cleaned name of a benchmark. Raises `CrevalError` if it is too long."""
    title = " ".join(clean_text(title).split())
    if len(title) > _MAX_TITLE:
        raise CrevalError(f"`name` has {len(title)} characters; at most {_MAX_TITLE} are allowed.")
    return title


def write_title(folder: Path, title: str) -> None:
    """Store the name of a benchmark. An empty name changes nothing."""
    if title := check_title(title):
        write_json(folder / TITLE_FILE, {"name": title})
