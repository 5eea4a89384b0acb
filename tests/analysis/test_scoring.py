from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.scoring import _MetricsWithValues, build_score_table
from creval.benchmarks.creval.protocol import SCHEMA
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.core.schema import Score
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import Run, RunWriter, open_run


def test_sample_scores_are_those_of_the_answer_files(small_run: Run, miniature: Path) -> None:
    table = build_score_table(small_run)
    for s, model in enumerate(table.models):
        for n, sample in enumerate(table.samples):
            for m, metric in enumerate(("IF", "VC", "VQ")):
                path = miniature / "answers" / metric / model / f"{sample}.json"
                expected = 100 * json.loads(path.read_text())["final_score"]
                assert table.values[s, n, m] == pytest.approx(expected, abs=1e-9)


def test_models_can_be_chosen(small_run: Run) -> None:
    assert build_score_table(small_run, models=("Keeper",)).models == ("Keeper",)
    with pytest.raises(CrevalError, match="did you mean 'Keeper'"):
        build_score_table(small_run, models=("keeper",))


def test_draws_are_averaged_and_their_questions_added(small_run: Run, tmp_path: Path) -> None:
    samples = [(s, small_run.probes[s.id]) for s in small_run.samples.values()]
    with RunWriter(tmp_path) as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
        store.put_samples(samples, {})
        for draw, values in ((1, (1.0, 1.0)), (2, (1.0, 0.0)), (3, (None, None))):
            key = EditKey("A", "mini_001", draw)
            store.put_edits([Edit(key)])
            verdicts = [
                Verdict(f"IF/{n}", VerdictStatus.ANSWERED if v is not None else VerdictStatus.MISSING, v)
                for n, v in enumerate(values, 1)
            ]
            store.put_replies([(CallKey("j", key, ("IF/1", "IF/2")), Reply(VerdictStatus.ANSWERED), verdicts)])
    with open_run(tmp_path) as run:
        table = build_score_table(run)
    assert table.values[0, 0, 0] == 75
    assert np.isnan(table.values[0, 0, 1])
    assert (table.scored[0, 0, 0], table.total[0, 0, 0]) == (4, 15)
    assert table.unanswered == {"A": 2}


def test_a_run_without_edits_is_refused(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
    with open_run(tmp_path) as run, pytest.raises(CrevalError, match="has no edits"):
        build_score_table(run)


def test_a_metric_counts_if_its_group_or_else_the_run_has_values() -> None:
    levels = (replace(SCHEMA.levels[0], mean_of="dimension"), *SCHEMA.levels[1:])
    known = _MetricsWithValues(replace(SCHEMA, levels=levels))
    first, second = (Sample(name, "do", tags={"dimension": name}) for name in ("a", "b"))
    known.add(first, {"IF": Score(50.0, 1, 1), "VC": Score(None, 0, 1), "VQ": Score(None, 0, 0)})
    assert [known.has(first, name) for name in ("IF", "VC", "VQ")] == [True, False, False]
    assert [known.has(second, name) for name in ("IF", "VC", "VQ")] == [True, False, False], "as elsewhere in the run"
    assert [known.has(one, "VQ", default=True) for one in (first, second)] == [True, True], "it was never asked"
    assert known.has(first, "VC", default=True) is False, "it was asked for, without a value"
    known.add(second, {"IF": Score(None, 0, 1)})
    assert known.has(second, "IF") is False, "its own group comes first"
    known.add(second, {"IF": Score(0.0, 1, 1)})
    assert known.has(second, "IF") is True
