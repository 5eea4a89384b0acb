"""Speed of replay and scoring of recorded answers, compared with only reading and parsing the same files.

Uses the released answers of five models if available, otherwise generated ones. Each round measures all variants one
after the other. The result is the median of the rounds' ratios, so that a busy moment of the machine does not matter.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import shared_data
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.judging.replay_run import replay
from creval.store import open_run
from miniature import write_miniature

ROUNDS = 9


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        bench = shared_data.creval_release()
        if bench is None:
            bench = write_miniature(Path(scratch) / "made", samples=900)
            answers = bench / "answers"
        else:
            answers = bench / "answer_gpt"
        runs = iter(range(1000))

        def folder() -> str:
            return str(Path(scratch) / f"run-{next(runs)}")

        measured = {
            "read and parse": lambda: read_and_parse(bench, answers),
            "one process": lambda: one_process(bench, answers, folder()),
            "two commands": lambda: two_commands(bench, answers, folder()),
        }
        seconds: dict[str, list[float]] = {name: [] for name in measured}
        read_and_parse(bench, answers)  # so that the files are in memory in every round
        for _ in range(ROUNDS):
            for name, work in measured.items():
                seconds[name].append(timed(work))
    base = statistics.median(seconds["read and parse"])
    print(f"replay and score, medians of {ROUNDS} rounds; reading and parsing takes {base:.2f} s")
    for name, most in (("one process", 4), ("two commands", 6)):
        both = zip(seconds[name], seconds["read and parse"], strict=True)
        ratios = sorted(taken / read for taken, read in both)
        took = statistics.median(seconds[name])
        print(
            f"  {name}: {statistics.median(ratios):.2f} times that, at most {most} wanted "
            f"({took:.2f} s; rounds {ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"  peak memory of a command: {peak:.0f} MB")


def timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def read_and_parse(bench: Path, answers: Path) -> None:
    for root in (bench / "bench", answers):
        for folder, _, names in os.walk(root):
            for name in names:
                if name.endswith(".json"):
                    with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123
                        json.loads(file.read())


def one_process(bench: Path, answers: Path, run: str) -> None:
    replay(open_benchmark(bench), answers, run)
    with open_run(run) as opened:
        score(opened)


def two_commands(bench: Path, answers: Path, run: str) -> None:
    creval = [sys.executable, "-m", "creval"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    replayed = [*creval, "replay", str(bench), "--answers", str(answers), "--run", run]
    subprocess.run(replayed, check=True, **quiet)  # type: ignore[call-overload]
    subprocess.run([*creval, "score", run], check=True, **quiet)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
