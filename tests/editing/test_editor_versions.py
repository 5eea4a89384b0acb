"""A folder of edits whose editor changes: versions are mixed only if the user says so."""

from __future__ import annotations

import errno
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.core.errors import CrevalError
from creval.editing.edit_run import EditRun, EditRunResult, StrategyOptions
from creval.editing.reused_edits import VERSIONS_KEY
from creval.editing.session import REPORTED_MODEL, EditSettings
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.judging.plan import select_samples
from creval.providers.call_errors import ProviderUnusable
from creval.store import RunWriter
from creval.store.code_versions import STOP_IF_CHANGED, ChangeChoice
from creval.touchstone.builder import build_touchstone
from tests.editing.test_session import make_image

KEEP, REDO = ChangeChoice(keep_old=True), ChangeChoice(redo=True)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("versions") / "bench"
    build_touchstone(folder, 5, 3)
    return folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_of(
    bench: Path, editor: Any, limit: int | None = None, choice: ChangeChoice | None = None, **more: Any
) -> EditRun:
    benchmark = open_benchmark(bench)
    samples = select_samples(benchmark, limit=limit)
    more = more if choice is None else {**more, "if_changed": choice}
    settings = EditSettings(concurrency=1, attempts=1)
    return EditRun(benchmark, samples, editor, Path("M"), StrategyOptions(), EditorOptions(), settings, **more)


def colours(result: EditRunResult | None = None) -> Counter[str]:
    """Count the images in the folder by their color, and check that the number is that of the result."""
    found: Counter[str] = Counter()
    names = {(255, 0, 0): "red", (0, 0, 255): "blue", (0, 128, 0): "green"}
    for path in Path("M").glob("*.png"):
        with Image.open(path) as image:
            found[next(name for pixel, name in names.items() if image.convert("RGB").getpixel((0, 0)) == pixel)] += 1
    if result is not None:
        assert sum(found.values()) == result.statuses["done"]
    return found


def write_function(colour: str) -> str:
    Path("painter.py").write_text("import brush\ndef paint(source, instruction): return brush.fill(source)\n")
    Path("brush.py").write_text(
        f"from PIL import Image\ndef fill(source): return Image.new('RGB', source.size, {colour!r})\n"
    )
    return "python:painter:paint"


def write_script(colour: str) -> str:
    Path("paint.py").write_text(
        f"import sys\nfrom PIL import Image\nImage.new('RGB', (8, 8), {colour!r}).save(sys.argv[1])\n"
    )
    return f"command:{sys.executable} paint.py {{output}}"


def write_weights(colour: str) -> str:
    """Return a program that does not change itself, but reads a file that is named in its arguments."""
    Path("weights.txt").write_text(colour)
    code = "import sys; from PIL import Image; Image.new('RGB', (8, 8), open(sys.argv[1][4:]).read()).save(sys.argv[2])"
    return f'command:{sys.executable} -c "{code}" --w=weights.txt {{output}}'


@pytest.mark.parametrize("write", [write_function, write_script, write_weights])
def test_a_changed_editor_is_asked_about(bench: Path, write: Any) -> None:
    editor = write("red")
    assert colours(run_of(bench, editor, limit=2).run()) == {"red": 2}
    write("blue")
    for begin in (EditRun.estimate, EditRun.run):
        with pytest.raises(CrevalError, match=r"created with another version of .*\.(py|txt) changed\. Use"):
            begin(run_of(bench, editor))
    assert colours() == {"red": 2}, "no image was changed"
    (expected,) = run_of(bench, editor, choice=KEEP).estimate()
    assert (expected.calls, expected.cached) == (3, 2)
    kept = run_of(bench, editor, choice=KEEP).run()
    assert colours(kept) == {"red": 2, "blue": 3}
    assert kept.progress.requests_sent == 3
    assert sorted(versions(kept).values()) == [2, 3], "each edit names its version"
    assert [note for note in kept.notes if "2 versions of the editor" in note]
    again = run_of(bench, editor).run()
    assert (again.progress.requests_sent, colours(again)) == (0, {"red": 2, "blue": 3}), "the choice is remembered"


def versions(result: EditRunResult) -> Counter[str]:
    return Counter(str(edit.metadata.get("editor_version")) for edit in result.strategy_result.edits.values())


def test_redo_makes_all_images_again(bench: Path) -> None:
    editor = write_function("red")
    run_of(bench, editor).run()
    write_function("blue")
    (expected,) = run_of(bench, editor, choice=REDO).estimate()
    assert (expected.calls, expected.cached) == (5, 0)
    part = run_of(bench, editor, limit=2, choice=REDO).run()
    assert colours(part) == {"blue": 2}, "no image of the old version is left"
    whole = run_of(bench, editor, choice=REDO).run()
    assert (whole.progress.requests_sent, colours(whole)) == (3, {"blue": 5}), (
        "images of the new version are not created again"
    )
    assert len(versions(whole)) == 1
    with RunWriter(Path("M")) as store:
        assert {Path(str(edit.image)).name for edit in store.edits.values()} <= {
            p.name for p in Path("M/.made").iterdir()
        }


def test_redo_replaces_edits_of_an_older_version(bench: Path) -> None:
    editor = write_function("red")
    run_of(bench, editor, limit=3).run()
    write_function("blue")
    mixed = run_of(bench, editor, choice=KEEP).run()
    assert colours(mixed) == {"red": 3, "blue": 2}
    redone = run_of(bench, editor, choice=REDO).run()
    assert (redone.progress.requests_sent, colours(redone)) == (3, {"blue": 5})
    assert run_of(bench, editor).run().progress.requests_sent == 0


def test_a_folder_from_before_is_continued_and_its_version_recorded(bench: Path) -> None:
    editor = write_function("red")
    run_of(bench, editor, limit=2).run()
    with RunWriter(Path("M")) as store, store.transaction():
        store._connection.execute("DELETE FROM manifest WHERE key IN (?, 'draws')", (VERSIONS_KEY,))
    write_function("blue")
    more = run_of(bench, editor, limit=3).run()
    assert (more.progress.requests_sent, colours(more)) == (1, {"red": 2, "blue": 1})
    write_function("green")
    with pytest.raises(CrevalError, match=r"brush\.py changed"):
        run_of(bench, editor).run()


class Served(Editor):
    """A server that reports its model."""

    name = model = "server:m"
    price = 0.0

    def __init__(self, *models: str) -> None:
        self.notes, self.models, self.asked = [], list(models), 0

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del job, ticket
        model = self.models[min(self.asked, len(self.models) - 1)]
        self.asked += 1
        colour = "red" if model == "m-1" else "blue"
        return EditOutput(make_image(colour), metadata={"version": model, "fingerprint": f"fp{self.asked}"})


def test_another_model_at_the_server_stops_the_run(bench: Path) -> None:
    with pytest.raises(ProviderUnusable, match=r"answered by the model m-1, and now by m-2.*`keep_old`"):
        run_of(bench, Served("m-1", "m-1", "m-2")).run()
    assert len(list(Path("M/.made").iterdir())) == 2, "paid images are stored, including the last one"
    with pytest.raises(CrevalError, match=f"{REPORTED_MODEL} was m-1 and is m-2"):
        run_of(bench, Served("m-2")).run()
    kept = run_of(bench, Served("m-2"), choice=KEEP).run()
    assert (kept.progress.requests_sent, colours(kept)) == (2, {"red": 2, "blue": 3})
    assert "the images come from 2 models that the server reported: m-2 (3), m-1 (2)" in kept.notes
    assert any("3 versions that the server reported" in note for note in kept.notes), "fingerprints do not stop a run"
    assert run_of(bench, Served("m-2")).run().progress.requests_sent == 0


def test_moved_files_are_no_new_version(bench: Path, here: Path) -> None:
    """Neither the folder's name nor the files' times are part of the version."""
    editor = write_function("red")
    run_of(bench, editor).run()
    for name in ("painter.py", "brush.py"):
        Path(name).write_bytes(Path(name).read_bytes())
    assert run_of(bench, editor).run().progress.requests_sent == 0
    manifest = json.loads(json.dumps(dict(RunWriter(Path("M")).manifest)))
    assert str(here) not in json.dumps(manifest[VERSIONS_KEY])


def test_an_image_is_kept_once(bench: Path) -> None:
    run_of(bench, write_function("red")).run()
    placed = list(Path("M").glob("*.png"))
    stored = {path.stat().st_ino for path in Path("M/.made").iterdir()}
    assert len(placed) == 5
    assert {path.stat().st_ino for path in placed} <= stored


def test_images_are_copied_once_without_hard_links(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    editor = write_function("red")
    run_of(bench, editor).run()
    placed = {path: path.stat().st_ino for path in Path("M").glob("*.png")}
    assert len(placed) == 5
    assert run_of(bench, editor).run().progress.requests_sent == 0
    assert {path: path.stat().st_ino for path in Path("M").glob("*.png")} == placed


JUDGE = """
def judge(questions, repeat):
    return ["Yes" for _ in questions]
"""


@pytest.mark.parametrize("choice", [KEEP, REDO])
def test_a_changed_judge_that_picks_is_asked_about(bench: Path, choice: ChangeChoice) -> None:
    editor = write_function("red")
    Path("picker.py").write_text(JUDGE)
    options = StrategyOptions("best-of:2", judge="python:picker:judge")

    def pick(choice: ChangeChoice = STOP_IF_CHANGED) -> EditRunResult:
        one = open_benchmark(bench)
        samples = select_samples(one, limit=2)
        settings = EditSettings(concurrency=1, attempts=1)
        return EditRun(one, samples, editor, Path("M"), options, EditorOptions(), settings, if_changed=choice).run()

    assert pick().statuses == {"done": 2}
    Path("picker.py").write_text(JUDGE.replace("Yes", "No"))
    with pytest.raises(CrevalError, match=r"made with another version of python:picker:judge: picker\.py changed"):
        pick()
    assert pick(choice).statuses == {"done": 2}
    assert pick().progress.requests_sent == 0
