from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from creval.core import temporary
from creval.core.files import atomic_write
from creval.core.temporary import temporary_folder, temporary_path

KILLED = """
import os, sys
from pathlib import Path
from creval.core.files import atomic_path
from creval.core.temporary import temporary_folder
folder = Path(sys.argv[1])
with atomic_path(folder / "page.html") as new, temporary_folder(folder) as work, temporary_folder() as elsewhere:
    for place in (new, work / "half.txt", elsewhere / "half.txt"):
        place.write_text("half")
    print(elsewhere, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def _not_cleaned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_cleaned", set())


@pytest.mark.attack
def test_files_of_a_killed_process_are_removed_by_the_next(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    elsewhere = Path(killed.stdout.strip())
    assert len(list(tmp_path.iterdir())) == 2
    assert elsewhere.is_dir()
    atomic_write(tmp_path / "page.html", "whole")
    with temporary_folder():
        assert not elsewhere.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_files_of_running_processes_are_kept(tmp_path: Path) -> None:
    mine = temporary_path(tmp_path)
    names = {
        mine.name: "of this process",
        mine.name.replace(str(os.getpid()), str(os.getppid())): "of another running process",
        f".creval-tmp-00000000-{2**22 + 1}-0": "of another machine",
        ".creval-tmp-notes.txt": "a name of the user's",
        "creval-results": "a name of the user's",
    }
    for name in names:
        (tmp_path / name).write_text(names[name])
    old = tmp_path / ".creval-tmp-00000000-1-1"
    old.write_text("of another machine, of last week")
    os.utime(old, (time.time() - 7 * 86_400,) * 2)
    temporary._cleaned.clear()
    temporary_path(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_a_link_in_their_place_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    name = temporary_path(tmp_path).name.replace(str(os.getpid()), ended.stdout.decode().strip())
    (tmp_path / name).symlink_to(tmp_path / "mine")
    temporary._cleaned.clear()
    temporary_path(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine" / "thesis.tex").exists()
