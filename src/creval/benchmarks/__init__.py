"""Published benchmarks, a package each: how a release is read, and its protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from creval import registry
from creval.core.benchmark import Benchmark, Dataset, DatasetIssue, Protocol
from creval.core.errors import CrevalError
from creval.core.filenames import invalid_filename_reason
from creval.core.files import gc_paused


def get_protocol(name: str) -> Protocol:
    """Return the protocol of this name: a registered one, or that of a registered benchmark."""
    if name not in registry.protocols:
        for own in map(registry.benchmarks.get, registry.benchmarks.names()):
            if getattr(own.protocol, "name", None) == name:
                return _create_protocol(name, own.protocol)
    protocol = _create_protocol(name, registry.protocols.get(name))
    if protocol.name != name:  # a run keeps the protocol's own name, and is scored by it
        raise CrevalError(f"the protocol {name!r} calls itself {protocol.name!r}: give it one name.")
    return protocol


def _create_protocol(name: str, factory: Callable[[], Protocol]) -> Protocol:
    try:
        protocol = factory()
    except Exception as error:  # code of another package
        raise CrevalError(f"the protocol {name!r} fails: {error!r}.") from error
    if not isinstance(protocol, Protocol):
        raise CrevalError(f"the protocol {name!r} is not a creval Protocol.")
    protocol.register_scales()
    return protocol


def _find_invalid_ids(dataset: Dataset) -> Iterator[DatasetIssue]:
    """The samples of which no picture can be made: it would not be found by its name."""
    for sample in dataset.samples:
        if reason := invalid_filename_reason(sample.id):
            note = f"it {reason}: creval edit leaves it out"
            yield DatasetIssue("id is no file name", sample.id[:200], note=note)


def open_benchmark(path: str | Path, protocol: str | Protocol | None = None) -> Benchmark:
    """Open the benchmark in a folder, with its own protocol or another, given by name or as an object.

    A protocol that is given as an object is registered for this session, so that its runs can be scored.
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
        raise CrevalError(f"{path} is a file. Give the folder of a benchmark, unpacked.")
    for model in map(registry.benchmarks.get, registry.benchmarks.names()):
        folder = model.recognise(path)
        if folder is not None:
            with gc_paused():
                own = get_protocol(protocol) if protocol else _create_protocol(model.name, model.protocol)
                dataset = model.load(folder)
                found = (*dataset.issues, *_find_invalid_ids(dataset))
                return Benchmark(replace(dataset, issues=found), own)
    raise CrevalError(
        f"{path} is not a benchmark that creval knows. A CREval release holds "
        "bench/instruction.json and bench/questions_all, Complex-Edit's Parquet files with the "
        "columns image and edit, ComplexBench-Edit's data/instructions, ICE-Bench's "
        "dataset/data.jsonl; `creval bench` lists the systems."
    )
