"""An edit's ancestors, from the folder of edits to the run that judges it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.editors.base import EditOutput, EditRequest, PendingTask
from creval.judging.judge_run import judge
from creval.providers.call_errors import CallError
from creval.providers.pricing import Price
from creval.store import RunWriter, open_run
from creval.store.edit_folders import find_edits, read_folder_metadata
from creval.store.lineage import with_ancestors
from creval.store.lookup import RunLookup
from creval.store.provenance import CallCosts, read_provenance
from creval.touchstone.builder import build_touchstone
from tests.editing.made import Choosy, edited


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("way") / "bench"
    build_touchstone(folder, 3, 3)
    return folder


def judged(bench: Path, folder: Path, run: Path, name: str = "M") -> dict[str, Edit]:
    """Judge a folder of edits; return the run's stored edits by sample."""
    judge(open_benchmark(bench), [f"{name}={folder}"], "truth", run)
    with RunLookup(run) as opened:
        found = {name: edit for name in opened.samples for edit in opened.edits_of(name)}
    assert len(found) == 3, "one edit per sample"
    return found


def test_steps(bench: Path, tmp_path: Path) -> None:
    made = edited(bench, tmp_path / "steps", Choosy(bench, "faithful"), "sequential")
    for name, edit in judged(bench, made, tmp_path / "run", "Other").items():
        sample = {s.id: s for s in open_benchmark(bench).dataset.samples}[name]
        keys = [EditKey("Other", f"{name}#{at}") for at in range(1, len(sample.steps))]
        assert keys
        assert [one.key for one in edit.ancestors] == keys
        assert edit.parents == tuple(keys[-1:])
        words = [one.metadata["instruction"] for one in (*edit.ancestors, edit)]
        assert words == [step.text for step in sample.steps]
        assert all(one.image is not None and one.image.is_file() for one in edit.ancestors)


def test_candidates_at_each_step(bench: Path, tmp_path: Path) -> None:
    editor = Choosy(bench, "clumsy")
    made = edited(bench, tmp_path / "M", editor, "sequential+best-of:3")
    for name, edit in judged(bench, made, tmp_path / "run").items():
        parts = list(dict.fromkeys(one.key.sample for one in edit.ancestors))
        assert len(parts) > 1
        assert parts == [*(f"{name}#{at}" for at in range(1, len(parts))), name]
        for part in parts:
            three = [one for one in edit.ancestors if one.key.sample == part]
            assert [one.key.draw for one in three] == [1, 2, 3]
            (picked,) = [one for one in three if "picked_from" in one.metadata]
            assert len(picked.metadata["scores"]) == 3
        assert edit.metadata["picked_from"] == 3


def test_a_plan(bench: Path, tmp_path: Path) -> None:
    made = edited(bench, tmp_path / "M", Choosy(bench, "lazy"), "reasoned")
    for name, edit in judged(bench, made, tmp_path / "run").items():
        assert edit.metadata["plan"] == f"A plan for {name}."
        assert edit.ancestors == ()


class Tired(Choosy):
    """An editor that refuses every input other than a source."""

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        if job.source is not None and job.source.parent.name == ".made":
            raise CallError("content filter", "no more", retryable=False)
        return await super().edit(job, ticket)


@pytest.mark.parametrize("strategy", ["sequential", "sequential+best-of:2"])
def test_a_refused_edit_has_its_earlier_steps(bench: Path, tmp_path: Path, strategy: str) -> None:
    made = edited(bench, tmp_path / "M", Tired(bench, "faithful"), strategy)
    found = find_edits([made], open_benchmark(bench).dataset.samples).edits
    assert len(found) == 3
    for edit in found:
        assert edit.status is EditStatus.REFUSED
        assert edit.reason.endswith("content filter: no more")
        names = [one.key.sample.removeprefix(edit.key.sample) for one in edit.ancestors]
        assert list(dict.fromkeys(names)) == ["#1", "#2"]
        assert edit.ancestors[0].image is not None
        assert edit.ancestors[-1].status is EditStatus.REFUSED


def test_a_folder_that_was_moved(bench: Path, tmp_path: Path) -> None:
    made = edited(bench, tmp_path / "M", Choosy(bench, "faithful"), "best-of:2")
    shutil.move(made, tmp_path / "elsewhere")
    found = judged(bench, tmp_path / "elsewhere", tmp_path / "run")
    images = [one.image for edit in found.values() for one in edit.ancestors]
    assert len(images) == 6
    assert all(path is not None and path.is_relative_to(tmp_path / "elsewhere") for path in images)


def test_images_elsewhere_are_not_shown(bench: Path, tmp_path: Path) -> None:
    """An untrusted folder may name any file of this machine."""
    made = edited(bench, tmp_path / "M", Choosy(bench, "faithful"), "best-of:2")
    secret = tmp_path / "private" / "me.png"
    secret.parent.mkdir()
    shutil.copyfile(next(made.glob("*.png")), secret)
    (made / ".made" / "link.png").symlink_to(secret)
    with RunWriter(made) as store:
        some = [edit for edit in store.edits.values() if edit.key.draw]
        for edit, named in zip(some, (secret, made / "../private/me.png", made / ".made/link.png"), strict=False):
            store.put_edits([edit._replace(image=named)])
    for edit in judged(bench, made, tmp_path / "run").values():
        assert len(edit.ancestors) == 2
        for one in edit.ancestors:
            assert one.image is None or one.image.resolve().parent == (made / ".made").resolve()


def test_ways_that_go_in_circles_end(tmp_path: Path) -> None:
    one, two = EditKey("M", "a", 1), EditKey("M", "b")
    edits = {
        one: Edit(one, image=Path("x/1.png"), parents=(two,)),
        two: Edit(two, image=Path("x/2.png"), parents=(one, EditKey("M", "gone"))),
    }
    edit = Edit(EditKey("M", "c"), parents=(one,))
    assert [e.key for e in with_ancestors(edit, edits, tmp_path, "M").ancestors] == [two, one]


def test_provenance_and_cost_of_edits(bench: Path, tmp_path: Path) -> None:
    """Three samples, each the best of two images at 0.05 dollars per image; the judge costs nothing."""
    made = edited(bench, tmp_path / "M", Choosy(bench, "faithful", cost=0.05), "best-of:2")
    other = edited(bench, tmp_path / "N", Choosy(bench, "lazy"))
    plain = tmp_path / "P"
    shutil.copytree(made, plain, ignore=lambda *_: [".made", ".judged", "creval.db"])
    judge(open_benchmark(bench), [made, other, plain], "truth", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        found = read_provenance(run.manifest)
    assert list(found) == ["M", "N"]
    maker = found["M"]
    assert (maker.editor, maker.strategy, maker.edits) == ("touchstone:faithful", "best-of:2", 3)
    assert maker.editing.calls == 6
    assert maker.editing.cost == pytest.approx(0.3)
    assert maker.picking.calls == 18, "three metrics of six candidates"
    assert maker.cost_per_edit == pytest.approx(0.1)
    assert maker.seconds_per_edit is not None
    assert maker.seconds_per_edit > 0
    assert found["N"].cost_per_edit is None, "the cost is unknown"
    assert found["N"].editing.calls == 3


def test_models_judged_later_are_added(bench: Path, tmp_path: Path) -> None:
    for name in ("M", "N"):
        made = edited(bench, tmp_path / name, Choosy(bench, "lazy"))
        judge(open_benchmark(bench), [made], "truth", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        assert sorted(read_provenance(run.manifest)) == ["M", "N"]


def test_edits_from_other_folders_have_no_provenance(bench: Path, tmp_path: Path) -> None:
    """A folder that contains a run, or a database of another kind, is still a folder of images."""
    made = edited(bench, tmp_path / "M", Choosy(bench, "lazy"))
    samples = open_benchmark(bench).dataset.samples
    (made / "creval.db").write_bytes(b"SQLite format 3\0 but not quite")
    assert read_folder_metadata(made, "M", samples).edits == {}
    assert find_edits([made], samples).provenance == {}


def test_bills_add_up() -> None:
    known, free, unknown = CallCosts(2, 0.5, 3.0), CallCosts(), CallCosts(1, None, 2.0)
    assert known + free == known
    assert known + unknown == CallCosts(3, None, 5.0)


def test_price_of_a_judge_that_picks(bench: Path, tmp_path: Path) -> None:
    """If a judge's price is unknown, the total cost is unknown."""
    made = edited(bench, tmp_path / "M", Choosy(bench, "lazy", cost=0.1), "best-of:2", price=Price(1.0, 1.0))
    run = next((made / ".judged").glob("*/run"))
    samples = open_benchmark(bench).dataset.samples
    maker = read_folder_metadata(made, "M", samples).provenance
    assert maker is not None
    assert maker.cost_per_edit == pytest.approx(0.2)
    with RunWriter(run) as store, store.transaction():
        store._connection.execute("UPDATE replies SET cost = NULL WHERE id = 1")
    maker = read_folder_metadata(made, "M", samples).provenance
    assert maker is not None
    assert maker.cost_per_edit is None
    assert maker.editing.cost == pytest.approx(0.6)
