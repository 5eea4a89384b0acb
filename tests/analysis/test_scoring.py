from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.scoring import build_score_table
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
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


def test_several_draws_are_averaged_and_their_questions_added_up(small_run: Run, tmp_path: Path) -> None:
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


def test_a_run_without_edits_gets_a_sentence(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
    with open_run(tmp_path) as run, pytest.raises(CrevalError, match="holds no edits"):
        build_score_table(run)
