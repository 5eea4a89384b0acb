from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from creval.analysis.scoring import score
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.scales import NamedChoice, scales
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import Run, RunWriter, open_run


def test_folders_that_are_no_runs_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="does not exist"):
        open_run(tmp_path / "absent")
    with pytest.raises(CrevalError, match=r"is not a run: it contains no creval\.db"):
        open_run(tmp_path)


def test_a_moved_run_is_read(miniature_run: Path, tmp_path: Path) -> None:
    moved = tmp_path / "a b & ü?#%.d"
    shutil.copytree(miniature_run, moved)
    with open_run(moved) as run:
        assert run.models == ("Careful", "Follower", "Keeper")


def test_samples_and_probes_keep_the_benchmarks_order(small_run: Run) -> None:
    assert list(small_run.samples) == [f"mini_{n:03d}" for n in range(1, 19)]
    assert [probe.id for probe in small_run.probes["mini_001"]][:6] == ["IF/1", "IF/2", "IF/3", "IF/4", "IF/5", "VC/1"]


def test_an_unknown_subset_is_named(small_run: Run) -> None:
    with pytest.raises(CrevalError, match="no subset 'paper'"):
        small_run.sample_ids("paper")


def test_three_lines_give_a_frame(miniature: Path, tmp_path: Path) -> None:
    import creval

    bench = creval.open_benchmark(miniature)
    creval.replay(bench, miniature / "answers", tmp_path)
    frame = score(creval.open_run(tmp_path)).frame("overall")
    assert frame.columns == ["level", "group", "model", "metric", "value", "low", "high", "scored", "total"]
    assert frame.shape == (3 * 4, 9)
    assert frame.filter(model="Careful", metric="S")["total"].item() == 18 * 15


def test_a_question_that_no_voice_answered_is_no_tie(tmp_path: Path) -> None:
    key = EditKey("A", "s")
    question = Question("Q1", "IF", "Is it?", "yes/no", "Yes", "Yes", 1.0, "Q1")
    with RunWriter(tmp_path) as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "x", "levels": []})
        store.put_samples([(Sample("s", "do"), [question])], {})
        store.put_edits([Edit(key)])
        store.put_replies(
            (CallKey("x", key, ("Q1",), repeat=n), Reply(VerdictStatus.MISSING), [Verdict("Q1", VerdictStatus.MISSING)])
            for n in range(2)
        )
    with open_run(tmp_path) as run:
        assert run.count_ties({"A"}, {"s"}) == 0


@pytest.mark.parametrize(
    ("answers", "logprobs", "ties"),
    [((0.0, 1.0), False, 1), ((0.0, 0.0), False, 0), ((0.0, 0.4), False, 0), ((0.0, 1.0), True, 0)],
)
@pytest.mark.parametrize("scale", ["yes/no", "names"])
def test_ties_are_counted_on_every_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: str, answers: tuple[float, ...], logprobs: bool, ties: int
) -> None:
    monkeypatch.setitem(scales._registered, "names", NamedChoice("names", ("A", "B")))
    key = EditKey("A", "s")
    question = Question("Q1", "IF", "Which?", scale)
    with RunWriter(tmp_path) as store, store.transaction():
        settings = {"logprobs": logprobs}
        store.put_manifest({"protocol": "creval", "judge": "x", "levels": [], "settings": settings})
        store.put_samples([(Sample("s", "do"), [question])], {})
        store.put_edits([Edit(key)])
        store.put_replies(
            (
                CallKey("x", key, ("Q1",), repeat=n),
                Reply(VerdictStatus.ANSWERED),
                [Verdict("Q1", VerdictStatus.ANSWERED, value)],
            )
            for n, value in enumerate(answers)
        )
    with open_run(tmp_path) as run:
        unanswered = [value for _, values in run.values_by_edit() for value in values.values()].count(None)
        assert run.count_ties({"A"}, {"s"}) == unanswered
        if scale == "yes/no":
            assert unanswered == ties
        assert run.count_ties({"B"}, {"s"}) == run.count_ties({"A"}, {"t"}) == 0
