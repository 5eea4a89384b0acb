"""Damaged databases: commands either give a result, or end with an error that describes the damage."""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import creval
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus, FileStamp
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.verdict import VerdictStatus
from creval.store import DATABASE, RunWriter, open_run, read_stored_metrics, read_stored_texts
from creval.store.edit_folders import read_folder_metadata
from creval.store.provenance import CallCosts, EditProvenance, read_call_costs
from creval.store.stored_shapes import CLOSED, shape_error
from creval.web.viewer.live_snapshot import LiveSnapshot
from tests.commands import wrong
from tests.stats.written import write
from tests.store.mutations import damage

pytestmark = pytest.mark.attack

SAMPLES = {"s1": "Surreal Fantasy", "s2": "Surreal Fantasy", "s3": "Commercial Design"}
REFUSED = EditStatus.REFUSED


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the databases of a run, a folder of edits and a built benchmark."""
    folder = tmp_path_factory.mktemp("stores")
    maker = EditProvenance("openai:e", "best-of:2", 3, CallCosts(3, 0.2, 5.0), judge="openai:j").to_dict()
    answers = {"A": {"s1": "++-?", "s2": "+-+-", "s3": "++++"}, "B": {"s1": "--++", "s2": REFUSED, "s3": "+--+"}}
    facts = {"makers": {"A": maker}, "settings": {"ask": "metric"}, "prompts": {"p@1": "Ask."}, "problems": 0}
    write(folder / "run", answers, SAMPLES, repeats=2, manifest={**facts, "repeat": 2, "edits_folders": ["edits/A"]})
    manifest = {"benchmark": "creval", "protocol": "creval", "judge": "", "editor": "e", "strategy": "direct"}
    with RunWriter(folder / "edits") as store, store.transaction():
        store.put_manifest({**manifest, "editor_facts": {"model": "e"}, "system": "A"})
        stamp = FileStamp("d1", 12, 34)
        first = Edit(
            EditKey("A", "s1", 1), image=Path(".made/a.png"), metadata={"seed": 1}, judged_files={"edit": stamp}
        )
        chosen = Edit(EditKey("A", "s1"), image=Path("s1.png"), parents=(first.key,), ancestors=(first,))
        store.put_edits([first, chosen, Edit(EditKey("A", "s2"), REFUSED, reason="content filter")])
        put_reply(store, "e", chosen.key, '{"file": ".made/a.png"}')
    with RunWriter(folder / "built") as store, store.transaction():
        store.put_manifest({"system": "creval", "models": {"writer": "w"}, "prompts": ["plan@1"], "seed": 0})
        store.put_edits([Edit(EditKey("writer", "cat"))])
        put_reply(store, "w", EditKey("writer", "cat"), "Make it blue.")
    return folder


def put_reply(store: RunWriter, caller: str, key: EditKey, text: str) -> None:
    call = CallKey(caller, key, ("plan",), "plan@1", ("d1",), {"seed": 1})
    store.put_replies([(call, Reply(VerdictStatus.ANSWERED, text, "call", 0, 900, 10, 0.01, 1.5), ())])


def read_for_writing(folder: Path) -> None:
    """Read everything that commands read when they continue a folder."""
    with RunWriter(folder) as store:
        for name in ("manifest", "edits", "models", "sample_ids", "total_cost", "voices"):
            getattr(store, name)
        for judge in ("j", "e", "w"):
            store.answered_questions(judge, max_attempts=3)
        store.reply_texts()
        store.measurement_details()


ON_RUNS: list[Callable[[Path], object]] = [
    lambda run: creval.score(run, ["overall", "category", "dimension"], resamples=10),
    read_for_writing,
    lambda run: creval.items(run),
    lambda run: creval.compare(run, "A", "B", resamples=10),
    lambda run: LiveSnapshot(run).close(),
    lambda run: creval.agree(run, resamples=10),
    lambda run: read_stored_metrics(run),
]
PAGES: list[Callable[[Path], object]] = [
    lambda run: creval.report(run, run / "report.html", samples=1, resamples=10),
    lambda run: creval.export(run, run / "export", resamples=10),
]
ON_OTHERS: list[Callable[[Path], object]] = [
    read_for_writing,
    read_stored_texts,
    read_call_costs,
    lambda folder: read_folder_metadata(folder, "A", [Sample(name, "do") for name in SAMPLES]),
]


def check(folder: Path, how: str, commands: list[Callable[[Path], object]]) -> None:
    for number, command in enumerate(commands):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                command(folder)
            except CrevalError as error:
                assert len(str(error)) > 20  # noqa: PT017
            except Exception as error:
                raise AssertionError(f"{how}: command {number} of {folder.name} raises {error!r}") from error


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_damage_ends_in_a_sentence(first: int, stores: Path, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        kind = ("run", "run", "run", "edits", "built")[seed % 5]
        folder = tmp_path / f"{kind}{seed}"
        shutil.copytree(stores / kind, folder)
        how = damage(folder / DATABASE, seed)
        check(folder, how, [ON_RUNS[0], ON_RUNS[1 + seed % (len(ON_RUNS) - 1)]] if kind == "run" else ON_OTHERS)


@pytest.mark.slow
def test_damage_ends_in_a_sentence_in_reports_and_exports(stores: Path, tmp_path: Path) -> None:
    for seed in range(100, 105):
        folder = tmp_path / f"run{seed}"
        shutil.copytree(stores / "run", folder)
        check(folder, damage(folder / DATABASE, seed), PAGES)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE verdicts SET value = 'none' WHERE rowid = 1", "in a row of verdicts, value has the type text"),
        ("UPDATE samples SET tags = '[1]' WHERE id = 's1'", "in a row of samples, tags is list"),
        ("UPDATE samples SET detail = '{' WHERE id = 's1'", "in a row of samples, detail is not JSON"),
        ("UPDATE probes SET detail = '{\"new\": 1}' WHERE id = 'IF/1'", "detail has the unknown field 'new'"),
        ("DELETE FROM samples WHERE id = 's1'", "a row of probes refers to a sample that does not exist"),
        ("DELETE FROM edits WHERE sample = 's1'", "a row of asks refers to an edit that does not exist"),
        ("UPDATE edits SET sample = CAST(x'ff' AS TEXT) WHERE id = 1", "UTF-8"),
        ("UPDATE manifest SET value = '7' WHERE key = 'protocol'", "its manifest/protocol is int"),
        ("UPDATE manifest SET value = 'creval' WHERE key = 'judge'", "its manifest is not JSON"),
        ("DELETE FROM manifest WHERE key = 'judge'", "its manifest lacks judge"),
        ("INSERT INTO manifest VALUES ('editor_versions', '[{}]')", "its manifest/editor_versions/0 lacks version"),
        ("INSERT INTO manifest VALUES ('editor_facts', '[]')", "its manifest/editor_facts is list"),
        ("INSERT INTO manifest VALUES ('title', json_quote(hex(zeroblob(600000))))", "title has 1,200,000 characters"),
        ("INSERT INTO manifest VALUES ('draws', '\"2\"')", "its manifest/draws is str"),
        ("INSERT INTO manifest VALUES ('code_versions', '{\"j\": 1}')", "its manifest/code_versions/j is int"),
    ],
)
def test_damage_is_reported(statement: str, said: str, stores: Path, tmp_path: Path) -> None:
    shutil.copytree(stores / "run", tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE)) as made, made:
        made.execute(statement)
    with pytest.raises(CrevalError, match=rf"creval\.db is damaged: .*{said}.*\. Restore it from a backup"):
        creval.score(tmp_path / "run", resamples=10)


@pytest.mark.parametrize("command", [("compare", "A", "B"), ("items",), ("sensitivity",), ("repeats",), ("agree",)])
def test_damage_ends_every_analysis_on_the_command_line_in_a_sentence(
    command: tuple[str, ...], stores: Path, tmp_path: Path
) -> None:
    shutil.copytree(stores / "run", tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE)) as made, made:
        made.execute("UPDATE probes SET sample = 'no' WHERE sample = 's1'")
    name, *more = command
    assert "creval.db is damaged: a row of probes refers to a sample" in wrong(name, tmp_path / "run", *more)


def test_an_error_that_damage_does_not_explain_stays_what_it_is(stores: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_run(stores / "run"):
        _ = 1 / 0
    with pytest.raises(KeyError), RunWriter(stores / "edits"):
        raise KeyError("a")


def test_questions_of_ones_own_are_no_damage(tmp_path: Path) -> None:
    """Runs on users' samples have metrics from the manifest, and no protocol of their own."""
    with RunWriter(tmp_path) as store, store.transaction():
        question = Question("Kept/1", "Kept", "Is the dog there?", "yes/no", "Yes", "Yes")
        store.put_samples([(Sample("s1", "do"), [question])], {})
        store.put_manifest({"benchmark": "own", "protocol": "questions", "judge": "j", "question_metrics": ["Kept"]})
    with pytest.raises(ZeroDivisionError), open_run(tmp_path):
        _ = 1 / 0
    with RunWriter(tmp_path) as store, store.transaction():
        store.put_manifest({"question_metrics": ["Followed"]})
    with pytest.raises(CrevalError, match="a row of probes has the unknown metric 'Kept'"), open_run(tmp_path):
        _ = 1 / 0


def test_damage_is_found_where_models_have_labels(stores: Path, tmp_path: Path) -> None:
    shutil.copytree(stores / "run", tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE)) as made, made:
        made.execute("INSERT INTO manifest VALUES ('labels', '{\"A\": \"Model A\"}')")
        made.execute("UPDATE edits SET system = x'ff' WHERE id = 1")
    with (
        pytest.raises(CrevalError, match="in a row of edits, system has the type blob"),
        open_run(tmp_path / "run", labels=True),
    ):
        raise TypeError


def test_edits_of_a_damaged_folder_are_not_taken_for_edits_without_history(stores: Path, tmp_path: Path) -> None:
    """Without the check, a refused edit would count as absent, and its costs as zero."""
    shutil.copytree(stores / "edits", tmp_path / "edits")
    samples = [Sample(name, "do") for name in SAMPLES]
    known = read_folder_metadata(tmp_path / "edits", "A", samples)
    assert known.edits["s2"].status is REFUSED
    with closing(sqlite3.connect(tmp_path / "edits" / DATABASE)) as made, made:
        made.execute("UPDATE edits SET status = 'gone' WHERE sample = 's2'")
    with pytest.raises(CrevalError, match="a row of edits has the unknown status 'gone'"):
        read_folder_metadata(tmp_path / "edits", "A", samples)


def test_shapes() -> None:
    shape = {"a!": int, "b": [str], "c": (float, None), "d": {str: [int]}}
    assert shape_error({"a": 1, "b": ["x"], "c": None, "d": {"y": [1]}, "more": 5}, shape, "it") == ""
    assert shape_error({}, shape, "it") == "it lacks a"
    assert shape_error({"a": True}, shape, "it") == "it/a is bool"
    assert shape_error({"a": 1, "b": ["x", 2]}, shape, "it") == "it/b/1 is int"
    assert shape_error({"a": 1, "c": float("nan")}, shape, "it") == "it/c is float"
    assert shape_error({"a": 1, "d": {"y": [None]}}, shape, "it") == "it/d/y/0 is NoneType"
    assert shape_error({"a": 1, "b": ["\ud800"]}, shape, "it") == "it/b/0 is not text"
    assert shape_error([], shape, "it") == "it is list"
    assert shape_error({"a": 1, "z": 2}, {CLOSED: True, "a!": int}, "it") == "it has the unknown field 'z'"
    assert shape_error({"a": 1}, {CLOSED: True, "a!": int}, "it") == ""
