"""The systems. To add one is to add a file that ends in its `SYSTEM`, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from creval.benchmarks import (
    clip,
    complex_edit,
    complexbench_edit,
    creval_bench,
    ice_bench,
    viescore,
)
from creval.core.benchmark import Benchmark, Dataset, Finding, Protocol
from creval.core.errors import CrevalError, known_name
from creval.core.files import many_small_objects
from creval.core.names import unnameable

SYSTEMS = {
    system.name: system
    for system in (
        creval_bench.SYSTEM,
        complex_edit.SYSTEM,
        complexbench_edit.SYSTEM,
        ice_bench.SYSTEM,
    )
}
_ENTRIES = "creval.protocols"
# Protocols that can be put to any dataset, besides the systems' own.
PROTOCOLS: dict[str, Callable[[], Protocol]] = {
    **{system.name: system.protocol for system in SYSTEMS.values()},
    complex_edit.ComplexEditProbability.name: complex_edit.ComplexEditProbability,
    viescore.VIEScore.name: viescore.VIEScore,
    clip.ClipProtocol.name: clip.ClipProtocol,
    viescore.EditScore.name: viescore.EditScore,
}


def protocol_named(name: str) -> Protocol:
    """The protocol called `name`: one of creval's, or of a package that is installed."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]()
    from importlib.metadata import entry_points

    others = {found.name: found for found in entry_points(group=_ENTRIES)}
    found = others[known_name("protocol", name, [*PROTOCOLS, *others])]
    try:
        made = found.load()()
    except Exception as error:  # it is somebody else's code
        raise CrevalError(f"the protocol {name!r} ({found.value}) fails: {error!r}.") from error
    if not isinstance(made, Protocol):
        raise CrevalError(f"{found.value} is not a protocol.")
    return made


def _nameless(dataset: Dataset) -> Iterator[Finding]:
    """The samples of which no picture can be made: it would not be found by its name."""
    for sample in dataset.samples:
        if reason := unnameable(sample.id):
            note = f"it {reason}: creval edit leaves it out"
            yield Finding("id is no file name", sample.id[:200], note=note)


def open_benchmark(path: str | Path, protocol: str | None = None) -> Benchmark:
    """The benchmark in a folder, with its own protocol or another.

    An official release is recognised by its files.
    """
    if not str(path):
        raise CrevalError("give the folder of a benchmark.")
    path = Path(path)
    if not path.exists():
        raise CrevalError(f"{path} does not exist. Give the folder of a benchmark.")
    if not path.is_dir():
        raise CrevalError(f"{path} is a file. Give the folder of a benchmark, unpacked.")
    for system in SYSTEMS.values():
        folder = system.recognise(path)
        if folder is not None:
            with many_small_objects():
                own = protocol_named(protocol or system.name)
                dataset = system.load(folder)
                found = (*dataset.findings, *_nameless(dataset))
                return Benchmark(replace(dataset, findings=found), own)
    raise CrevalError(
        f"{path} is not a benchmark that creval knows. A CREval release holds "
        "bench/instruction.json and bench/questions_all, Complex-Edit's Parquet files with the "
        "columns image and edit, ComplexBench-Edit's data/instructions, ICE-Bench's "
        "dataset/data.jsonl; `creval bench` lists the systems."
    )
