"""Images are requested once, stored byte for byte, and reused on resume."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.core.edit_record import EditKey, EditStatus
from creval.editing.session import STORED_IMAGES, EditorSession, EditSettings
from creval.editors.base import Editor, EditOutput, EditRequest, PendingTask
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.store import RunWriter


def make_image(colour: str, kind: str = "PNG") -> bytes:
    sent = io.BytesIO()
    Image.new("RGB", (32, 24), colour).save(sent, kind)
    return sent.getvalue()


class Scripted(Editor):
    """An editor whose instructions are names of outcomes."""

    name = model = "scripted"
    price = 0.5

    def __init__(self) -> None:
        self.notes = []
        self.asked: list[str] = []
        self.tickets: list[str | None] = []

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        self.asked.append(job.instruction)
        self.tickets.append(ticket.task_id)
        if job.instruction == "refuse":
            raise CallError("content filter", "not that", retryable=False)
        if job.instruction == "cannot":
            raise CallError("unsupported", "it takes no mask", retryable=False)
        if job.instruction == "broken once" and self.asked.count(job.instruction) == 1:
            return EditOutput(b"<html>")
        if job.instruction == "always broken":
            return EditOutput(make_image("red")[:60])
        if job.instruction == "poll":
            await ticket.save("task-1")
            raise ProviderUnusable("killed while it waits")
        if job.instruction == "black":
            return EditOutput(make_image("black"))
        if job.instruction == "jpeg":
            return EditOutput(make_image("blue", "JPEG"), metadata={"revised": "blue"})
        if job.instruction == "same" and job.source is not None:
            return EditOutput(job.source.read_bytes())
        return EditOutput(make_image("green"), cost=0.25)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.png"
    path.write_bytes(make_image("white"))
    return path


def jobs(source: Path, *words: str) -> dict[EditKey, EditRequest]:
    return {EditKey("M", word): EditRequest(word, word, source) for word in words}


def test_returned_images_are_stored_unchanged(tmp_path: Path, source: Path) -> None:
    editor = Scripted()
    editing = EditorSession(editor, tmp_path / "M", EditSettings(attempts=2))
    words = ("go", "refuse", "cannot", "broken once", "always broken", "black", "jpeg", "same")
    found = {key.sample: edit for key, edit in editing.edit_all(jobs(source, *words)).items()}
    image = found["go"].image
    assert image is not None
    assert image.read_bytes() == make_image("green")
    assert image.parent == tmp_path / "M" / STORED_IMAGES
    assert found["jpeg"].metadata == {"size": [32, 24], "revised": "blue"}
    assert found["jpeg"].image.suffix == ".jpg"  # type: ignore[union-attr]
    assert found["same"].metadata["same_as_source"] is True
    assert found["broken once"].status is EditStatus.DONE
    states = {name: (edit.status, edit.reason) for name, edit in found.items()}
    assert states["refuse"] == (EditStatus.REFUSED, "content filter: not that")
    assert states["cannot"] == (EditStatus.UNSUPPORTED, "unsupported: it takes no mask")
    assert states["black"][0] is EditStatus.REFUSED
    assert "all black" in states["black"][1]
    assert states["always broken"][0] is EditStatus.FAILED
    assert "no image" in states["always broken"][1]
    assert editor.asked.count("always broken") == 2


def test_unsupported_samples_do_not_stop_a_session(tmp_path: Path, source: Path) -> None:
    editing = EditorSession(Scripted(), tmp_path / "M", EditSettings(concurrency=1))
    wanted = {EditKey("M", f"{n}"): EditRequest(f"{n}", "cannot", source) for n in range(20)}
    found = editing.edit_all(wanted | jobs(source, "go"))
    states = [edit.status for edit in found.values()]
    assert states == [EditStatus.UNSUPPORTED] * 20 + [EditStatus.DONE]
    assert editing.progress.cost == 0.25


def test_how_each_request_ended_and_what_it_cost_is_stored(tmp_path: Path, source: Path) -> None:
    """A broken image is billed in both attempts, at the editor's price of 0.5. Other images report their own cost."""
    words = ("go", "refuse", "cannot", "always broken", "black")
    EditorSession(Scripted(), tmp_path / "M", EditSettings(attempts=2)).edit_all(jobs(source, *words))
    with RunWriter(tmp_path / "M") as store:
        rows = store._connection.execute(
            "SELECT sample, replies.status, cost FROM replies JOIN asks ON asks.id = ask JOIN edits ON edits.id = edit"
        ).fetchall()
        assert store.total_cost == 0.25 + 1.0 + 0.5
    assert {sample: (status, cost) for sample, status, cost in rows} == {
        "go": ("answered", 0.25),
        "refuse": ("refused", None),
        "cannot": ("failed", None),
        "always broken": ("failed", 1.0),
        "black": ("refused", 0.5),
    }


def test_stored_images_are_not_paid_again(tmp_path: Path, source: Path) -> None:
    first = Scripted()
    EditorSession(first, tmp_path / "M", EditSettings()).edit_all(jobs(source, "a", "refuse"))
    second = Scripted()
    editing = EditorSession(second, tmp_path / "M", EditSettings())
    found = editing.edit_all(jobs(source, "a", "b", "refuse"))
    assert sorted(second.asked) == ["b", "refuse"], "refused requests are sent again"
    assert editing.progress.cached == 1
    assert len(found) == 3
    source.write_bytes(make_image("pink"))
    third = Scripted()
    EditorSession(third, tmp_path / "M", EditSettings()).edit_all(jobs(source, "a"))
    assert third.asked == ["a"], "another source is another request"
    for path in (tmp_path / "M" / STORED_IMAGES).iterdir():
        path.unlink()
    fourth = Scripted()
    EditorSession(fourth, tmp_path / "M", EditSettings()).edit_all(jobs(source, "a"))
    assert fourth.asked == ["a"], "a deleted image is created again"


@pytest.mark.parametrize("note", ["{", "[1]", "{}", '{"file": 7}', '{"file": ".made/' + "a" * 300 + '.png"}'])
def test_an_image_is_made_again_if_its_note_is_damaged(note: str, tmp_path: Path, source: Path) -> None:
    editor = Scripted()
    EditorSession(editor, tmp_path / "M", EditSettings()).edit_all(jobs(source, "go"))
    with RunWriter(tmp_path / "M") as store, store.transaction():
        store.execute("UPDATE replies SET text = ?", (note,))
    (found,) = EditorSession(editor, tmp_path / "M", EditSettings()).edit_all(jobs(source, "go")).values()
    assert found.status is EditStatus.DONE
    assert len(editor.asked) == 2


def test_a_task_that_runs_elsewhere_is_found_again(tmp_path: Path, source: Path) -> None:
    with pytest.raises(ProviderUnusable, match="killed"):
        EditorSession(Scripted(), tmp_path / "M", EditSettings()).edit_all(jobs(source, "poll"))
    again = Scripted()
    with pytest.raises(ProviderUnusable, match="killed"):
        EditorSession(again, tmp_path / "M", EditSettings()).edit_all(jobs(source, "poll"))
    assert again.tickets == ["task-1"]


def test_a_budget_ends_it(tmp_path: Path, source: Path) -> None:
    editing = EditorSession(Scripted(), tmp_path / "M", EditSettings(budget=1.2, concurrency=1))
    found = editing.edit_all(jobs(source, *(f"w{n}" for n in range(20))))
    assert editing.stopped == "budget"
    assert 2 <= len(found) <= 4
    assert editing.progress.cost <= 1.2


def test_an_unreadable_source_is_reported(tmp_path: Path) -> None:
    editing = EditorSession(Scripted(), tmp_path / "M", EditSettings())
    (edit,) = editing.edit_all(jobs(tmp_path / "nowhere.png", "a")).values()
    assert edit.status is EditStatus.IMPOSSIBLE
    assert "nowhere.png" in edit.reason


def test_a_paid_image_is_on_the_disk_before_its_row(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, replace, put = os.fsync, Path.replace, RunWriter.put_replies

    def fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        names = {(tmp_path / name).stat().st_ino: name for name in ("A", f"A/{STORED_IMAGES}")}
        events.append(f"sync {names.get(status.st_ino, 'file')}")
        sync(descriptor)

    def rename(path: Path, target: Path) -> Path:
        events.append("rename")
        return replace(path, target)

    def put_replies(store: RunWriter, replies: Any) -> None:
        events.append("row")
        put(store, replies)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", rename)
    monkeypatch.setattr(RunWriter, "put_replies", put_replies)
    EditorSession(Scripted(), tmp_path / "A", EditSettings()).edit_all(jobs(source, "green"))
    assert events == ["sync file", "rename", f"sync A/{STORED_IMAGES}", "sync A", "row"]
