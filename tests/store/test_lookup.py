"""A run from near."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.edit import Edit, EditKey
from creval.store import Store
from creval.store.lookup import CloseUp
from tests.web.made import picture, say, write_run


def test_a_samples_edits_and_answers(tmp_path: Path) -> None:
    with CloseUp(write_run(tmp_path)) as run:
        assert [edit.key for edit in run.made("s1")] == [
            EditKey("alpha", "s1"), EditKey("beta", "s1"),
        ]  # fmt: skip
        assert run.picture(EditKey("beta", "s1")) == tmp_path / "edits" / "beta-s1.png"
        assert run.picture(EditKey("beta", "s1", 1)) is None
        heard = run.heard(["s1"], ["VC/2", "IF/1"])
        assert [(one.edit.system, one.probe, one.said) for one in heard] == [
            ("alpha", "IF/1", "Yes"), ("alpha", "VC/2", "No"),
            ("beta", "IF/1", "No"), ("beta", "VC/2", "No"),
        ]  # fmt: skip
        assert len(run.heard(["s1", "s3"])) == 12
        found = run.reply(heard[0].reply or 0)
        assert found is not None
        assert found.reply.text == "All about s1\nby alpha."
        assert found.probes == ("IF/1", "VC/1", "VC/2", "VQ/1")
        assert run.reply(10_000) is None


@pytest.mark.parametrize("given", ["edits/alpha-s1.png", "../here/edits/alpha-s1.png"])
def test_a_picture_is_found_from_wherever_one_looks(tmp_path: Path, given: str) -> None:
    folder = tmp_path / "here"
    run = write_run(folder)
    outside = picture(tmp_path / "outside.png")
    with Store(run) as store, store.transaction():
        store.put_manifest({"edits_folders": [str(folder / "edits")]})
        store.put_edits(
            [
                Edit(EditKey("alpha", "s1"), image=Path(given)),
                Edit(EditKey("beta", "s1"), image=Path("edits/../../outside.png")),
            ]
        )
    with CloseUp(run) as opened:
        assert opened.picture(EditKey("alpha", "s1")) == folder / "edits" / "alpha-s1.png"
        assert opened.made("s1")[0].image == folder / "edits" / "alpha-s1.png"
        assert opened.picture(EditKey("beta", "s1")) != outside


def test_what_is_looked_up_goes_by_an_index(tmp_path: Path) -> None:
    with CloseUp(write_run(tmp_path)) as run:
        plan = run._connection.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM edits CROSS JOIN verdicts ON edit = edits.id"
            " WHERE sample IN ('s1')"
        ).fetchall()
    assert "USING INDEX verdicts_once" in plan[1][3]


def test_what_has_come_since(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    with CloseUp(folder) as run:
        before, count = run.version(), run.count()
        texts = list(run.explanations())
        assert run.version() == before
        say(folder, {"beta": {"s3": "++++"}, "alpha": {"s3": "++-+"}})
        assert run.version() != before
        assert run.count() == count + 4
        row, reply = max(t.row for t in texts), max(t.reply for t in texts)
        fresh = list(run.explanations(row, reply))
        assert len(fresh) == 5, "four are new, and one that was unanswered is answered"
        assert {one.status for one in run.rows([t.row for t in fresh]).values()} == {"answered"}
