"""Renaming, deleting and labelling models of a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import creval as library
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.call import CallKey
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.judging.judge_run import judge
from creval.store import DATABASE, RunWriter, open_run
from creval.store.provenance import CallCosts, EditProvenance
from creval.testing.fake_chat_server import FakeServer
from tests.commands import creval
from tests.databases import edit_database
from tests.serving import serving


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def spec(server: FakeServer) -> Iterator[str]:
    with serving(server.app()) as url:
        yield f"openai:fake@{url}/v1"


@pytest.fixture
def edits(miniature: Path, tmp_path: Path) -> list[Path]:
    return [shutil.copytree(miniature / "edits" / name, tmp_path / name) for name in ("Careful", "Keeper")]


@pytest.fixture
def run(miniature: Path, tmp_path: Path, spec: str, edits: list[Path]) -> Path:
    judge(open_benchmark(miniature), edits, spec, tmp_path / "run", Settings(limit=4))
    return tmp_path / "run"


def digests_are_right(run: Path) -> bool:
    with edit_database(run / DATABASE) as database:
        rows = database.execute(
            "SELECT digest, judge, system, sample, draw, probes, asks.detail, repeat, variant FROM asks"
            " JOIN edits ON edits.id = edit JOIN voices ON voices.id = voice"
        ).fetchall()
    for digest, caller, model, sample, draw, probes, detail, repeat, variant in rows:
        more = json.loads(detail)
        parts = (tuple(json.loads(probes)), more.get("prompt", ""), tuple(more.get("images", ())))
        key = CallKey(caller, EditKey(model, sample, draw), *parts, more.get("parameters", {}), repeat, variant)
        if key.digest != digest:
            return False
    return bool(rows)


def test_a_renamed_model_keeps_its_score_and_is_not_asked_about_again(
    run: Path, miniature: Path, edits: list[Path], spec: str, server: FakeServer
) -> None:
    with open_run(run) as opened:
        before = score(opened, resamples=100).cell("Keeper", "S")
    done = creval("rename", run, "Keeper", "Keeper 2.1")
    said = " ".join(done.stdout.split())
    assert "with 4 edits. From now on, judge its folder as --edits 'Keeper 2.1=FOLDER'." in said, done.stderr
    with open_run(run) as opened:
        assert opened.models == ("Careful", "Keeper 2.1")
        assert score(opened, resamples=100).cell("Keeper 2.1", "S") == before
    assert digests_are_right(run)
    renamed = edits[1].rename(edits[1].with_name("Keeper 2.1"))
    asked = server.stats["requests"]
    again = judge(open_benchmark(miniature), [edits[0], renamed], spec, run, Settings(limit=4))
    assert (server.stats["requests"], again.unanswered) == (asked, 0)
    with open_run(run) as opened:
        assert opened.models == ("Careful", "Keeper 2.1")


def test_a_name_that_is_taken_unknown_or_empty_is_refused_and_nothing_changes(run: Path) -> None:
    before = (run / DATABASE).read_bytes()
    for old, new, sentence in (
        ("Keeper", "Careful", "already has a model 'Careful'"),
        ("Keper", "New", "did you mean 'Keeper'"),
        ("Keeper", "", "is not a valid name"),
        ("Keeper", "a\nb", "is not a valid name"),
        ("Keeper", "x" * 300, "is not a valid name"),
    ):
        with pytest.raises(CrevalError, match=sentence):
            library.rename(run, old, new)
    assert (run / DATABASE).read_bytes() == before
    assert creval("rename", run / "no", "a", "b").returncode == 2


def test_names_among_ancestors_and_in_the_manifest_change_too(run: Path) -> None:
    costs = {"calls": 1, "cost": None, "seconds": 1.0}
    maker = {"editor": "e", "strategy": "direct", "edits": 4, "editing": costs, "picking": costs, "planning": costs}
    with RunWriter(run) as store, store.transaction():
        first = next(key for key in store.edits if key.model == "Keeper")
        step = Edit(first._replace(draw=3), parents=(first._replace(draw=2),))
        store.put_edits([store.edits[first]._replace(parents=(first._replace(draw=1),), ancestors=(step,))])
        maker = EditProvenance("e", "direct", 1, CallCosts()).to_dict()
        told = {"best": "Keeper", "models": {"Keeper": {"place": 1}, "Careful": {}}, "reason": "Keeper leads"}
        store.put_manifest({"makers": {"Keeper": maker}, "stopping": told})
    library.rename(run, "Keeper", "New")
    with RunWriter(run) as store:
        found = store.edits[first._replace(model="New")]
        assert found.parents == (EditKey("New", first.sample, 1),)
        assert found.ancestors[0].key == EditKey("New", first.sample, 3)
        assert found.ancestors[0].parents == (EditKey("New", first.sample, 2),)
        assert store.manifest["makers"] == {"New": maker}
        assert store.manifest["stopping"]["best"] == "New"
        assert list(store.manifest["stopping"]["models"]) == ["New", "Careful"]


def test_a_removed_model_can_be_added_again(
    run: Path, miniature: Path, edits: list[Path], spec: str, server: FakeServer
) -> None:
    refused = creval("remove", run, "Keeper")
    assert (refused.returncode, "12 replies about 'Keeper'" in refused.stderr) == (2, True)
    assert creval("remove", run, "Keeper", "--yes").returncode == 0
    with edit_database(run / DATABASE) as database:
        counts = [database.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("edits", "asks", "replies")]
        lost = database.execute("SELECT count(*) FROM verdicts WHERE edit NOT IN (SELECT id FROM edits)").fetchone()
    assert (counts, lost) == ([4, 12, 12], (0,))
    with open_run(run) as opened:
        assert opened.models == ("Careful",)
    asked = server.stats["requests"]
    judge(open_benchmark(miniature), edits, spec, run, Settings(limit=4))
    assert server.stats["requests"] == asked + 12
    with open_run(run) as opened:
        assert opened.models == ("Careful", "Keeper")


def test_a_replayed_run_can_be_changed(miniature_run: Path, tmp_path: Path) -> None:
    run = shutil.copytree(miniature_run, tmp_path / "copy")
    with open_run(run) as opened:
        first, *others = opened.models
    library.rename(run, first, "Renamed")
    library.remove(run, others[0])
    with open_run(run) as opened:
        assert set(opened.models) == {"Renamed", *others[1:]}
        assert score(opened, resamples=100).models
    assert digests_are_right(run)


def test_a_folder_of_edits_is_not_a_run(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "edits") as store, store.transaction():
        store.put_manifest({"editor": "e", "protocol": "creval"})
        store.put_edits([Edit(EditKey("A", "s"))])
    with pytest.raises(CrevalError, match="is a folder of edits"):
        library.rename(tmp_path / "edits", "A", "B")
