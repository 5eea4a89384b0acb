"""Writes are atomic, and only one process writes at a time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus, FileStamp
from creval.core.errors import CrevalError
from creval.core.probe import Measurement, Question
from creval.core.sample import InstructionStep, Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import DATABASE, RunWriter, open_run
from creval.store.lock import StoreBusy, StoreNotWritableError

KEY = EditKey("A", "s")
SAMPLE = Sample(
    "s",
    "make it red",
    Path("image/s.png"),
    {"category": "Stylization"},
    steps=(InstructionStep("red", "color", (), ((0, 0, 5, 5),)), InstructionStep("larger", "size", (0,))),
    mask=Path("mask.png"),
    references=(Path("r.png"),),
    captions={"source": "a cat"},
    derived_from="cats/1.jpg",
)
PROBES = (
    Question("IF/1", "IF", "Is it red?", "yes/no", "Yes", "** Yes", 2.0, "Q1", "", ("edit",), 1),
    Measurement("L1", "L1", "pixels", {"mask": True}),
)


def fill(store: RunWriter) -> None:
    with store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
        store.put_samples([(SAMPLE, PROBES)], {"paper": ["s"]})
        store.put_edits([Edit(KEY, EditStatus.DONE, Path("A/s.png"), metadata={"seed": 1})])
        ask = CallKey("j", KEY, ("IF/1",), "prompt", ("d1",), {"temperature": 0})
        reply = Reply(VerdictStatus.ANSWERED, "Yes.", "call", 0, 900, 10, 0.01, 1.5)
        store.put_replies([(ask, reply, [Verdict("IF/1", VerdictStatus.ANSWERED, 1.0, "Yes", "it is")])])


def test_everything_is_read_back_unchanged(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
    with open_run(tmp_path) as run:
        assert run.samples == {"s": SAMPLE}
        assert run.probes == {"s": PROBES}
        assert run.subsets == {"paper": {"s"}}
        assert run.models == ("A",)
        assert list(run.values_by_edit()) == [(KEY, {"IF/1": 1.0})]
        (answer,) = run.answers("A", "s")
        assert (answer.raw_answer, answer.explanation, answer.status) == ("Yes", "it is", "answered")
        assert run.count_statuses() == {"A": {"answered": 1}}


def test_the_command_line_of_sqlite_reads_it(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
    connection = sqlite3.connect(tmp_path / DATABASE)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    row = connection.execute("SELECT system, sample, metric, question, answer FROM answers").fetchone()
    assert row == ("A", "s", "IF", "Is it red?", "Yes")
    row = connection.execute("SELECT text, tokens_in, cost FROM replies").fetchone()
    assert row == ("Yes.", 900, 0.01)
    detail = connection.execute("SELECT json_extract(detail, '$.prompt') FROM asks").fetchone()
    assert detail == ("prompt",)
    connection.close()


def test_answers_are_final_and_open_questions_can_be_answered(tmp_path: Path) -> None:
    def put(status: VerdictStatus, value: float | None) -> None:
        with RunWriter(tmp_path) as store, store.transaction():
            verdict = Verdict("IF/1", status, value, "so")
            store.put_replies([(CallKey("j", KEY, ("IF/1",), repeat=1), Reply(status), [verdict])])

    def value() -> float | None:
        with open_run(tmp_path) as run:
            return list(run.answers())[-1].value

    with RunWriter(tmp_path) as store:
        fill(store)
    put(VerdictStatus.MISSING, None)
    assert value() is None
    put(VerdictStatus.ANSWERED, 0.0)
    assert value() == 0.0
    put(VerdictStatus.FAILED, None)
    put(VerdictStatus.ANSWERED, 1.0)
    assert value() == 0.0


def test_answers_and_costs_of_a_judge(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        with store.transaction():
            ask = CallKey("other", KEY, ("IF/1",))
            verdict = Verdict("IF/1", VerdictStatus.MISSING)
            store.put_replies([(ask, Reply(VerdictStatus.ANSWERED, "?", cost=0.25), [verdict])])
        assert store.answered_questions("j") == {KEY: {(0, "IF/1")}}
        assert store.answered_questions("other") == {}
        assert store.total_cost == pytest.approx(0.26)  # `fill` spent a cent
        store.delete_verdicts([KEY])
        assert store.answered_questions("j") == {}
        assert store.total_cost == pytest.approx(0.26), "replies stay, because they were paid for"


def test_edits_are_read_back_unchanged(tmp_path: Path) -> None:
    seen = {"edit": FileStamp("abc", 12, 34)}
    edit = Edit(KEY, EditStatus.DONE, Path("a.png"), "", (EditKey("A", "s", 1),), {"plan": 1}, seen)
    with RunWriter(tmp_path) as store, store.transaction():
        store.put_edits([edit])
    with RunWriter(tmp_path) as store:
        assert store.edits == {KEY: edit}


def test_several_voices_are_kept_and_reduced_when_read(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        with store.transaction():
            for repeat, value in ((1, 0.0), (2, 0.0)):
                verdict = Verdict("IF/1", VerdictStatus.ANSWERED, value, "No")
                ask = CallKey("j", KEY, ("IF/1",), repeat=repeat)
                store.put_replies([(ask, Reply(VerdictStatus.ANSWERED, "No"), [verdict])])
            swapped = CallKey("j", KEY, ("IF/1",), variant="swapped")
            verdict = Verdict("IF/1", VerdictStatus.ANSWERED, 1.0, "Yes")
            store.put_replies([(swapped, Reply(VerdictStatus.ANSWERED, "Yes"), [verdict])])
    with open_run(tmp_path) as run:
        assert list(run.values_by_edit()) == [(KEY, {"IF/1": 0.0})], "two of three answers are no"
        assert len(list(run.answers())) == 3


def test_a_failed_transaction_is_rolled_back(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        bad: list[tuple[CallKey, Reply, list[Verdict]]] = [
            (CallKey("j", EditKey("unknown", "s"), ()), Reply(VerdictStatus.ANSWERED), [])
        ]
        for scope in (store.transaction, store.bulk):
            with pytest.raises(KeyError), scope():
                _overwrite(store, bad)
        assert store.manifest["judge"] == "j"


def _overwrite(store: RunWriter, replies: list[tuple[CallKey, Reply, list[Verdict]]]) -> None:
    store.put_manifest({"judge": "other"})
    store.put_replies(replies)


def test_invalid_text_is_stored_as_far_as_possible(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        with store.transaction():
            verdict = Verdict("IF/1", VerdictStatus.UNREADABLE, None, "\ud800 well", "nul \x00")
            ask = CallKey("j", KEY, ("IF/1",), repeat=1)
            store.put_replies([(ask, Reply(VerdictStatus.ANSWERED, "\udfff"), [verdict])])
    with open_run(tmp_path) as run:
        (_, answer) = run.answers()
        assert (answer.raw_answer, answer.explanation) == ("? well", "nul \x00")


def test_forgetting_is_by_judge_and_model(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        with store.transaction():
            store.delete_answers("other", ["A"])
            store.delete_answers("j", ["B"])
    with open_run(tmp_path) as run:
        assert len(list(run.answers())) == 1
    with RunWriter(tmp_path) as store, store.transaction():
        store.delete_answers("j", ["A"])
    with open_run(tmp_path) as run:
        assert list(run.answers()) == []


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        with pytest.raises(StoreBusy, match="another creval process is writing"):
            RunWriter(tmp_path)
        with open_run(tmp_path) as run:
            assert run.models == ("A",)
    RunWriter(tmp_path).close()


def test_two_writers_without_a_working_lock_do_not_mix_their_rows(tmp_path: Path) -> None:
    def put(store: RunWriter, judge: str) -> None:
        with store.transaction():
            verdict = Verdict("IF/1", VerdictStatus.ANSWERED, 0.0, judge)
            store.put_replies([(CallKey(judge, KEY, ("IF/1",)), Reply(VerdictStatus.ANSWERED, judge), [verdict])])

    with RunWriter(tmp_path) as first:
        fill(first)
        (tmp_path / "creval.lock").unlink()  # as on a file system without locks
        with RunWriter(tmp_path) as second:
            put(first, "one")
            for _ in range(2):
                with pytest.raises(StoreBusy, match="another process is writing to"):
                    put(second, "two")
            put(first, "three")
    with open_run(tmp_path) as run:
        assert [(row.judge, row.raw_answer) for row in run.answers()] == [("j", "Yes"), ("one",) * 2, ("three",) * 2]
    with RunWriter(tmp_path) as store:
        assert {"one", "three"} <= set(store.reply_texts().values())


def test_a_number_that_is_taken_is_never_written_over(tmp_path: Path) -> None:
    other = Edit(EditKey("B", "s"))
    for table in ("edits", "asks", "replies"):
        folder = tmp_path / table
        with RunWriter(folder) as store:
            fill(store)
            store._last_ids[table] = 0  # as if another process had added rows
            verdict = Verdict("IF/1", VerdictStatus.ANSWERED, 0.0)
            with pytest.raises(sqlite3.IntegrityError, match=f"{table}.id"), store.transaction():
                _put(store, other.key, (CallKey("j", other.key, ("IF/1",)), Reply(VerdictStatus.ANSWERED), [verdict]))
        with open_run(folder) as run:
            assert [(row.edit, row.value) for row in run.answers()] == [(KEY, 1.0)]


@pytest.mark.attack
def test_killed_in_the_middle_nothing_is_half_there(tmp_path: Path) -> None:
    """Write so much that it reaches the disk before the end; then open the run for reading first."""
    with RunWriter(tmp_path) as store:
        fill(store)
    script = textwrap.dedent(
        """
        import os, sys
        from creval.store import RunWriter
        store = RunWriter(sys.argv[1])
        scope = store.bulk() if sys.argv[2] == "bulk" else store.transaction()
        scope.__enter__()
        store.delete_answers("j", ["A"])
        for n in range(9):
            store.put_manifest({"judge": "x", f"k{n}": "x" * 10_000_000})
        os.kill(os.getpid(), 9)
        """
    )
    for scope in ("bulk", "transaction"):
        subprocess.run([sys.executable, "-c", script, str(tmp_path), scope], check=False)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) > 10_000_000
        with open_run(tmp_path) as run:
            assert len(list(run.answers())) == 1
            assert run.manifest["judge"] == "j"
        with RunWriter(tmp_path) as store:
            assert store.manifest["judge"] == "j"


def test_after_a_failure_the_same_answers_can_be_written_again(tmp_path: Path) -> None:
    key = EditKey("B", "s")
    verdict = Verdict("IF/1", VerdictStatus.ANSWERED, 0.0)
    good = (CallKey("other", key, ("IF/1",)), Reply(VerdictStatus.ANSWERED), [verdict])
    bad = (CallKey("other", EditKey("unknown", "s"), ()), Reply(VerdictStatus.ANSWERED), [verdict])
    with RunWriter(tmp_path) as store:
        fill(store)
        with pytest.raises(KeyError), store.transaction():
            _put(store, key, good, bad)
        with store.transaction():
            _put(store, key, good)
    with open_run(tmp_path) as run:
        assert dict(run.values_by_edit()) == {KEY: {"IF/1": 1.0}, key: {"IF/1": 0.0}}


def _put(store: RunWriter, key: EditKey, *replies: tuple[CallKey, Reply, list[Verdict]]) -> None:
    store.put_edits([Edit(key)])
    for reply in replies:
        store.put_replies([reply])


def test_writing_continues_during_reads(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        verdicts = [Verdict(f"IF/{n}", VerdictStatus.ANSWERED, 1.0) for n in (1, 2)]
        with store.transaction():
            store.put_replies([(CallKey("j", KEY, ("IF/1", "IF/2")), Reply(VerdictStatus.ANSWERED), verdicts)])
    with open_run(tmp_path) as run:
        reading = run.answers()
        next(reading)
        with RunWriter(tmp_path) as store, store.bulk():
            store.put_manifest({"judge": "new"})
            store.delete_answers("j", ["A"])
        assert len(list(reading)) == 1, "an open read still sees the old state"
    with open_run(tmp_path) as run:
        assert run.manifest["judge"] == "new"


def test_a_bulk_of_text_that_is_no_text_is_written_once(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store:
        fill(store)
        verdicts = [Verdict(f"IF/{n}", VerdictStatus.ANSWERED, 1.0, "Yes", "so") for n in range(1, 9)]
        verdicts[5] = verdicts[5]._replace(explanation="nice \ud83d")
        with store.bulk():
            store.delete_answers("j", ["A"])
            store.put_replies([(CallKey("j", KEY, ("IF/1",)), Reply(VerdictStatus.ANSWERED), verdicts)])
    with open_run(tmp_path) as run:
        assert [answer.explanation for answer in run.answers()][4:7] == ["so", "nice ?", "so"]


def test_a_store_that_cannot_be_opened_lets_its_lock_go(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"no database at all" * 100)
    for _ in range(2):
        with pytest.raises(CrevalError, match="is not a run"):
            RunWriter(tmp_path)


def test_a_run_that_never_got_anything_says_so(tmp_path: Path) -> None:
    RunWriter(tmp_path).close()
    with pytest.raises(CrevalError, match="is an empty run"):
        open_run(tmp_path)


def test_folders_that_cannot_be_written_get_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CrevalError, match="Give a folder for the run"):
        RunWriter(tmp_path / "file")
    with pytest.raises(CrevalError, match="cannot be written"):
        RunWriter(tmp_path / "file" / "run")


def test_an_unwritable_disk_is_reported_with_the_folder(tmp_path: Path) -> None:
    def write() -> None:
        with RunWriter(tmp_path / "run") as store:
            store.execute("PRAGMA query_only = ON")
            with store.transaction():
                store.put_manifest({"judge": "j"})

    with pytest.raises(StoreNotWritableError, match=r"run cannot be written \(attempt to write a readonly database\)"):
        write()
