"""Storage of plans: changed images, other folders, questions without text."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.judging import persist
from creval.judging.estimate import estimate_judge_costs
from creval.judging.judge_run import JudgeRun, judge
from creval.judging.summary import JudgeSummary
from creval.store import DATABASE, open_run
from creval.testing.fake_chat_server import FakeServer
from tests.judging.test_judge_run import ask, spec_of, verdicts


def test_a_changed_edit_is_judged_again(miniature: Path, tmp_path: Path) -> None:
    def again(spec: str) -> JudgeSummary:
        settings = Settings(limit=2)
        return judge(open_benchmark(miniature), [edits], spec, tmp_path / "run", settings)

    server = FakeServer()
    edits = tmp_path / "Mine"
    edits.mkdir()
    for path in (miniature / "edits" / "Keeper").iterdir():
        (edits / path.name).write_bytes(path.read_bytes())
    with spec_of(server) as spec:
        again(spec)
        first = next(iter(verdicts(tmp_path / "run")))[0]
        path = edits / f"{first.sample}.png"
        path.touch()
        assert again(spec).progress.requests_sent == 0, "another date, but the same picture"
        Image.new("RGB", (64, 64), "red").save(path)
        judging = JudgeRun(open_benchmark(miniature), [edits], spec, tmp_path / "run", Settings(limit=2))
        (made,) = estimate_judge_costs(judging, judging.read_answered())
        assert (made.calls, made.cached) == (3, 3), "the estimate knows"
        done = again(spec)
        assert done.progress.requests_sent == 3
        assert "have changed since" in done.notes[0]


def test_an_edit_replaced_by_one_of_the_same_size_and_time_is_detected(miniature: Path, tmp_path: Path) -> None:
    edits = tmp_path / "Mine"
    shutil.copytree(miniature / "edits" / "Keeper", edits)
    for number, path in enumerate(sorted(edits.iterdir())):  # all of the same size
        Image.new("RGB", (64, 64), (number, 0, 0)).save(path.with_suffix(".bmp"))
        path.unlink()
    server = FakeServer()
    with spec_of(server) as spec:

        def again() -> int:
            settings = Settings(limit=2)
            return judge(open_benchmark(miniature), [edits], spec, tmp_path / "run", settings).progress.requests_sent

        again()
        first = next(iter(verdicts(tmp_path / "run")))[0]
        path = edits / f"{first.sample}.bmp"
        before = path.stat()
        new = tmp_path / "new.bmp"
        Image.new("RGB", (64, 64), (0, 0, 255)).save(new)
        os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
        new.replace(path)
        after = path.stat()
        assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        assert again() == 3, "another inode"
        path.write_bytes(path.read_bytes()[:-1] + b"\7")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert again() == 3, "the inode has changed"
        path.chmod(0o640)
        assert again() == 0, "the content has not"


def test_stamps_of_older_versions_match_and_are_completed(
    miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(spec: str) -> int:
        settings = Settings(limit=2)
        edits = [miniature / "edits" / "Keeper"]
        return judge(open_benchmark(miniature), edits, spec, tmp_path / "run", settings).progress.requests_sent

    def seen() -> list[list[object]]:
        with closing(sqlite3.connect(tmp_path / "run" / DATABASE)) as database:
            details = [json.loads(detail) for (detail,) in database.execute("SELECT detail FROM edits")]
        return [stamp for detail in details for stamp in detail.get("seen", {}).values()]

    with spec_of(FakeServer()) as spec:
        again(spec)
        with closing(sqlite3.connect(tmp_path / "run" / DATABASE)) as database, database:
            for key, text in database.execute("SELECT rowid, detail FROM edits").fetchall():
                detail = json.loads(text)
                detail["seen"] = {name: stamp[:3] for name, stamp in detail.get("seen", {}).items()}
                database.execute("UPDATE edits SET detail = ? WHERE rowid = ?", (json.dumps(detail), key))
        assert {len(stamp) for stamp in seen()} == {3}
        monkeypatch.setattr(persist, "file_digest", lambda _: pytest.fail("no file is read again"))
        assert again(spec) == 0
        assert {len(stamp) for stamp in seen()} == {5}
        assert again(spec) == 0


def test_another_folder_under_the_same_name_is_refused(miniature: Path, tmp_path: Path) -> None:
    def named(spec: str, folder: Path) -> JudgeSummary:
        given = [f"M={folder}"]
        return judge(open_benchmark(miniature), given, spec, tmp_path / "run", Settings(limit=2))

    with spec_of(FakeServer()) as spec:
        named(spec, miniature / "edits" / "Keeper")
        with pytest.raises(CrevalError, match="has different images"):
            named(spec, miniature / "edits" / "Careful")
        moved = tmp_path / "moved"
        moved.mkdir()
        for path in (miniature / "edits" / "Keeper").iterdir():
            (moved / path.name).write_bytes(path.read_bytes())
        assert named(spec, moved).progress.requests_sent == 0, "equal images in another folder are not judged again"


def test_questions_without_text_are_not_asked_and_have_a_status(miniature: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    shutil.copytree(miniature, bench)
    for path in (bench / "bench" / "questions_all" / "IF").iterdir():
        content = json.loads(path.read_text())
        content["quality_check_questions"][0]["question"] = " "
        path.write_text(json.dumps(content))
    server = FakeServer()
    with spec_of(server) as spec:
        for _ in range(2):
            done = judge(open_benchmark(bench), [bench / "edits" / "Keeper"], spec, tmp_path / "run", Settings(limit=2))
            assert done.statuses == {"Keeper": {"answered": 28, "unaskable": 2}}
    assert server.stats["requests"] == 6


def test_edits_of_a_run_that_never_started_are_deleted(miniature: Path, tmp_path: Path) -> None:
    with pytest.raises(CrevalError):
        ask(miniature, tmp_path / "run", "openai:m@http://127.0.0.1:9/v1")
    with spec_of(FakeServer()) as spec:
        given = [miniature / "edits" / "Follower"]
        judge(open_benchmark(miniature), given, spec, tmp_path / "run", Settings(limit=1))
    with open_run(tmp_path / "run") as run:
        assert run.models == ("Follower",)
