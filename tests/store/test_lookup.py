"""Lookup of single rows in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.edit_record import Edit, EditKey
from creval.store import RunWriter
from creval.store.lookup import RunLookup
from tests.web.made import image, say, write_run


def test_a_samples_edits_and_answers(tmp_path: Path) -> None:
    with RunLookup(write_run(tmp_path)) as run:
        assert [edit.key for edit in run.edits_of("s1")] == [EditKey("alpha", "s1"), EditKey("beta", "s1")]
        assert run.image_path(EditKey("beta", "s1")) == tmp_path / "edits" / "beta-s1.png"
        assert run.image_path(EditKey("beta", "s1", 1)) is None
        heard = run.verdicts_for(["s1"], ["VC/2", "IF/1"])
        assert [(one.edit.model, one.probe, one.raw_answer) for one in heard] == [
            ("alpha", "IF/1", "Yes"),
            ("alpha", "VC/2", "No"),
            ("beta", "IF/1", "No"),
            ("beta", "VC/2", "No"),
        ]
        assert len(run.verdicts_for(["s1", "s3"])) == 12
        found = run.find_call(heard[0].reply_id or 0)
        assert found is not None
        assert found.reply.text == "All about s1\nby alpha."
        assert found.probes == ("IF/1", "VC/1", "VC/2", "VQ/1")
        assert run.find_call(10_000) is None


@pytest.mark.parametrize("given", ["edits/alpha-s1.png", "../here/edits/alpha-s1.png"])
def test_an_image_is_found_from_any_working_directory(tmp_path: Path, given: str) -> None:
    folder = tmp_path / "here"
    run = write_run(folder)
    outside = image(tmp_path / "outside.png")
    with RunWriter(run) as store, store.transaction():
        store.put_manifest({"edits_folders": [str(folder / "edits")]})
        store.put_edits(
            [
                Edit(EditKey("alpha", "s1"), image=Path(given)),
                Edit(EditKey("beta", "s1"), image=Path("edits/../../outside.png")),
            ]
        )
    with RunLookup(run) as opened:
        assert opened.image_path(EditKey("alpha", "s1")) == folder / "edits" / "alpha-s1.png"
        assert opened.edits_of("s1")[0].image == folder / "edits" / "alpha-s1.png"
        assert opened.image_path(EditKey("beta", "s1")) != outside


def test_lookups_use_an_index(tmp_path: Path) -> None:
    with RunLookup(write_run(tmp_path)) as run:
        plan = run._connection.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM edits CROSS JOIN verdicts ON edit = edits.id WHERE sample IN ('s1')"
        ).fetchall()
    assert "USING INDEX verdicts_once" in plan[1][3]


def test_new_answers_are_noticed(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    with RunLookup(folder) as run:
        before, count = run.data_version(), run.count_verdicts()
        texts = list(run.explanations())
        assert run.data_version() == before
        say(folder, {"beta": {"s3": "++++"}, "alpha": {"s3": "++-+"}})
        assert run.data_version() != before
        assert run.count_verdicts() == count + 4
        row, reply = max(t.row_id for t in texts), max(t.reply_id for t in texts)
        fresh = list(run.explanations(row, reply))
        assert len(fresh) == 5, "four new ones, and one that was unanswered before"
        assert {one.status for one in run.verdicts_by_row([t.row_id for t in fresh]).values()} == {"answered"}
