"""The systems. To add one is to add a file that ends in its `SYSTEM`, and a line here."""

from __future__ import annotations

from pathlib import Path

from creval.benchmarks import creval_bench
from creval.core.benchmark import Benchmark, Protocol
from creval.core.errors import CrevalError, known_name
from creval.core.files import many_small_objects

SYSTEMS = {system.name: system for system in (creval_bench.SYSTEM,)}


def protocol_named(name: str) -> Protocol:
    """The protocol called `name`."""
    return SYSTEMS[known_name("protocol", name, SYSTEMS)].protocol()


def open_benchmark(path: str | Path) -> Benchmark:
    """The benchmark in a folder: an official release is recognised by its files."""
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
                return Benchmark(system.load(folder), system.protocol())
    raise CrevalError(
        f"{path} is not a benchmark that creval knows. A CREval release holds "
        "bench/instruction.json and bench/questions_all; `creval bench` lists the systems."
    )
