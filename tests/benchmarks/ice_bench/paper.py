"""The numbers of ICE-Bench's paper (arXiv 2503.14482), and a run with its raw metrics.

`paper_raw.csv` contains the supplement's Tables 3 to 8, `paper_tables.csv` the paper's Tables 2
to 5, in which `-` is a dash.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.ice_bench.protocol import IceBench
from creval.benchmarks.ice_bench.release import LEVELS
from creval.benchmarks.ice_bench.tasks import TASKS, Task
from creval.core.benchmark import Benchmark, Dataset
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.sample import Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import RunWriter
from creval.store.manifest import describe_run

HERE = Path(__file__).parent


class Printed(NamedTuple):
    """A cell of the paper's Tables 2 to 5. None is a dash."""

    table: str
    tasks: str
    model: str
    dimension: str
    value: float | None


def raw_metrics() -> dict[tuple[str, int], dict[str, float]]:
    """Return the supplement's raw metrics by model and task."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    with (HERE / "paper_raw.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            of = found.setdefault((row["model"], int(row["task"])), {})
            of[row["metric"]] = float(row["value"])
    return found


def printed() -> list[Printed]:
    """Return all cells of the paper's Tables 2 to 5."""
    with (HERE / "paper_tables.csv").open(encoding="utf-8") as file:
        return [
            Printed(
                row["table"],
                row["tasks"],
                row["model"],
                row["dimension"],
                None if row["value"] == "-" else float(row["value"]),
            )
            for row in csv.DictReader(file)
        ]


def columns_of_tables() -> dict[str, list[int]]:
    """Return the paper's groups of columns, with the tasks that the paper assigns to each."""
    found = {}
    for cell in printed():
        numbers = re.findall(r"[0-9]+", cell.tasks.rpartition("(")[2])
        found[cell.tasks] = list(range(int(numbers[0]), int(numbers[-1]) + 1))
    return found


def write_run(folder: Path) -> Path:
    """Write a run with one sample per task, whose raw metrics are the supplement's.

    A model does not support the tasks for which it has no numbers.
    """
    raw = raw_metrics()

    def sample(task: Task) -> Sample:
        source = Path(f"{task.number}.png") if task.has_source else None
        return Sample(str(task.number), "", source, task.tags)

    samples = tuple(map(sample, TASKS.values()))
    protocol = IceBench()
    benchmark = Benchmark(Dataset("ice-bench", folder, samples, levels=LEVELS), protocol)
    with RunWriter(folder) as store, store.transaction():
        store.put_manifest(describe_run(benchmark, "the paper"))
        store.put_samples([(one, protocol.probes(one)) for one in samples], {})
        for model in sorted({model for model, _ in raw}):
            for one in samples:
                key = EditKey(model, one.id)
                given = raw.get((model, int(one.id)), {})
                ids = [probe.id for probe in protocol.probes(one)] if given else []
                values = {name: given[name.partition("/")[0]] for name in ids}
                done = EditStatus.DONE if values else EditStatus.UNSUPPORTED
                store.put_edits([Edit(key, done)])
                if values:
                    verdicts = [Verdict(name, VerdictStatus.ANSWERED, v) for name, v in values.items()]
                    ask = CallKey("the paper", key, tuple(values))
                    store.put_replies([(ask, Reply(VerdictStatus.ANSWERED), verdicts)])
    return folder
