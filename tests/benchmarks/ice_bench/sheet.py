"""An independent computation of ICE-Bench's scores, as in a spreadsheet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import mean

import pytest

from creval.analysis.scoring import score
from creval.benchmarks.ice_bench.protocol import SCHEMA
from creval.benchmarks.ice_bench.tasks import GROUP_WEIGHTS, QA_METRIC, TASKS
from creval.core.edit_record import EditKey
from creval.store import Run


def rows_by_task(run: Run) -> dict[str, dict[int, list[dict[str, float]]]]:
    """Return the rows of each model and task, one per item."""
    answers: dict[EditKey, dict[str, float]] = defaultdict(dict)
    for given in run.answers():
        if given.value is not None:
            answers[given.edit][given.probe] = given.value
    found: dict[str, dict[int, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for edit, raw in answers.items():
        number = TASKS[run.samples[edit.sample].tags["task"]].number
        found[edit.model][number].append(sheet(number, raw))
    return found


def sheet(number: int, raw: Mapping[str, float]) -> dict[str, float]:
    """Return an item's row, computed directly from the paper's formulas."""
    row = {"AES": raw["aesthetic"] / 10, "IMG": raw["imaging"] / 100}
    if number == 27:
        row["PF"] = row["IMG"]
    elif number == 26:
        row["PF"] = raw["clip_cap"] / 0.5 + raw["colorfulness"]
    elif number <= 4 or 23 <= number <= 25:
        row["PF"] = raw["clip_cap"] / 0.5
    else:
        row["PF"] = (raw["clip_cap"] / 0.5 + raw[QA_METRIC]) / 2
        row["SRC"] = (raw["clip_src"] + 1 - raw["l1_src"]) / 2
    reference = {2: "face", 3: "style", 4: "subject", 28: "style", 29: "subject", 30: "subject", 31: "face"}
    if number in reference:
        if reference[number] not in raw:
            return row
        row["REF"] = raw[reference[number]]
    control = {23: "pose", 24: "canny", 25: "depth", 26: "grey"}
    if number in control:
        row["CTRL"] = 1 - raw[control[number]]
    if number == 27:
        row["CTRL"] = raw["ssim"]
    if number == 1:
        row["score"] = (row["AES"] + row["IMG"] + row["PF"]) / 3
    elif number <= 4:
        row["score"] = (row["AES"] + row["IMG"] + row["PF"] + row["REF"]) / 4
    elif number <= 22:
        row["score"] = 0.3 * (row["AES"] + row["IMG"] + row["PF"]) + 0.1 * row["SRC"]
    elif number <= 27:
        row["score"] = 0.3 * (row["AES"] + row["IMG"]) + 0.2 * (row["PF"] + row["CTRL"])
    else:
        row["score"] = 0.25 * (row["AES"] + row["IMG"]) + 0.2 * (row["PF"] + row["REF"]) + 0.1 * row["SRC"]
    return row


RANGES = {
    "overall": range(1, 32),
    "No-ref Image Creating": range(1, 2),
    "Ref Image Creating": range(2, 5),
    "No-ref Image Editing": range(5, 28),
    "Global Editing": range(5, 17),
    "Local Editing": range(17, 23),
    "Controllable Generation": range(23, 28),
    "Ref Image Editing": range(28, 32),
    "Subject Reference Editing": range(29, 31),
    **{task.name: range(task.number, task.number + 1) for task in TASKS.values()},
}


def compared(run: Run, able: Mapping[str, frozenset[int]], each: int) -> int:
    """Compare every cell of a run with the sheet, and return the number of cells with a value.

    `able` are the numbers of the tasks that each model supports.
    """
    card, rows = score(run, resamples=100), rows_by_task(run)
    groups = {task.number: task.group for task in TASKS.values()}
    found = 0
    for model, numbers in able.items():
        assert {n: len(of) for n, of in rows[model].items()} == dict.fromkeys(numbers, each)
        for group, tasks in RANGES.items():
            for column in SCHEMA.columns:
                # An unsupported task counts as zero in each of its dimensions.
                means = {
                    number: mean(row[column] for row in rows[model][number] if column in row)
                    if number in numbers
                    else 0.0
                    for number in tasks
                    if column in (*GROUP_WEIGHTS[groups[number]], "score")
                }
                wanted = None if numbers.isdisjoint(means) else mean(means.values())
                value = card.cell(model, column, group).value
                assert value == pytest.approx(wanted, abs=1e-12), (model, group, column)
                found += wanted is not None
    return found
