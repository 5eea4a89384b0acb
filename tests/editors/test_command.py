"""Tests of programs as editors: arguments, exit, and output."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.command import CommandEditor
from creval.providers.call_errors import CallError, ProviderUnusable
from tests.editors.asking import made

PROGRAM = """
import sys
from PIL import Image, ImageOps
source, words, output, seed = sys.argv[1:5]
print("words:", words, "seed:", seed)
if "fail" in words:
    sys.exit(3)
if "nothing" not in words:
    ImageOps.invert(Image.open(source).convert("RGB")).save(output)
"""


@pytest.fixture
def program(tmp_path: Path) -> CommandEditor:
    (tmp_path / "edit.py").write_text(PROGRAM)
    words = f"{sys.executable} {tmp_path}/edit.py {{source}} {{instruction}} {{output}} {{seed}}"
    return CommandEditor(f"command:{words}", words, EditorOptions(timeout=5.0))


def test_a_program_gets_arguments_unchanged(program: CommandEditor, source: Path) -> None:
    evil = "; rm -rf / $(touch x) `id` 'quoted' {seed} --flag\n"
    found = made(program, EditRequest("a", evil, source, seed=7))
    image = Image.open(io.BytesIO(found.content))
    assert image.getpixel((0, 0)) == (245, 55, 165)
    assert f"words: {evil}" in found.metadata["log"]
    assert "seed: 7" in found.metadata["log"]


@pytest.mark.parametrize(("words", "reason"), [("fail", "exit status 3"), ("nothing", "did not write")])
def test_a_program_without_output(program: CommandEditor, source: Path, words: str, reason: str) -> None:
    with pytest.raises(CallError, match=reason):
        made(program, EditRequest("a", words, source))


def test_a_program_that_hangs_is_ended(source: Path) -> None:
    words = f"{sys.executable} -c 'import time; time.sleep(60)' {{output}}"
    hanging = CommandEditor(f"command:{words}", words, EditorOptions(timeout=0.5))
    with pytest.raises(CallError, match=r"more than 0\.5 s"):
        made(hanging, EditRequest("a", "do", source))


def test_a_program_that_wants_a_source_does_not_support_what_has_none(program: CommandEditor, source: Path) -> None:
    with pytest.raises(CallError, match=r"the program needs a \{source\}") as caught:
        made(program, EditRequest("a", "go"))
    assert (caught.value.kind, caught.value.retryable) == ("unsupported", False)
    draws = CommandEditor("x", f"cp '{source}' {{output}}", EditorOptions())
    assert made(draws, EditRequest("a", "go")).content == source.read_bytes()


def test_an_argument_is_repeated_for_each_reference(tmp_path: Path, source: Path) -> None:
    copies = "import sys, shutil; print(sys.argv[1:-1]); shutil.copy(sys.argv[1], sys.argv[-1])"
    (tmp_path / "say.py").write_text(copies)
    words = f"{sys.executable} {tmp_path}/say.py {{source}} --ref={{references}} {{output}}"
    editor = CommandEditor("x", words, EditorOptions())
    assert editor.accepts("references")
    other = Path(shutil.copy(source, tmp_path / "b.png"))
    for references in ((), (source,), (source, other)):
        said = made(editor, EditRequest("a", "go", source, references=references)).metadata["log"]
        assert said == repr([str(source), *(f"--ref={path}" for path in references)])


def test_an_optional_argument_is_omitted_without_a_source(tmp_path: Path, source: Path) -> None:
    says = "import sys, shutil; print(sys.argv[1:-1]); shutil.copy(sys.argv[1], sys.argv[-1])"
    (tmp_path / "say.py").write_text(says)
    words = f"{sys.executable} {tmp_path}/say.py '{source}' --image={{source?}} {{output}}"
    editor = CommandEditor("x", words, EditorOptions())
    assert (editor.needs_source, editor.accepts("source")) == (False, True)
    assert made(editor, EditRequest("a", "go")).metadata["log"] == repr([str(source)])
    given = made(editor, EditRequest("a", "go", source)).metadata["log"]
    assert given == repr([str(source), f"--image={source}"])
    assert editor.unsupported_reason(EditRequest("a", "go", source, source)) == "the editor takes no mask"
    assert not CommandEditor("x", "prog {output}", EditorOptions()).accepts("source")


@pytest.mark.parametrize(
    "template", ["", "prog {output!r}", "prog {source}", "prog {output} {other}", "prog '{output}", "{output.x}"]
)
def test_a_template_must_be_one(template: str) -> None:
    with pytest.raises(CrevalError, match="command:"):
        CommandEditor("x", template, EditorOptions())


def test_a_program_that_is_not_there(source: Path) -> None:
    editor = CommandEditor("x", "no-such-program {output}", EditorOptions())
    with pytest.raises(ProviderUnusable, match="cannot be started"):
        made(editor, EditRequest("a", "do", source))


def shell(tmp_path: Path, script: str, timeout: float = 5.0) -> CommandEditor:
    """Return an editor that runs a shell script with the source, the output and the instruction."""
    (tmp_path / "edit.sh").write_text(script)
    words = f"sh {tmp_path}/edit.sh {{source}} {{output}} {{instruction}}"
    return CommandEditor("x", words, EditorOptions(timeout=timeout))


def is_over(process: Path) -> bool:
    """Return True if the process whose id is in a file ends."""
    for _ in range(100):
        try:
            stat = Path(f"/proc/{int(process.read_text())}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("ends", ["", "; wait", "; trap '' TERM; wait; wait"])
def test_child_processes_of_a_program_are_ended(tmp_path: Path, source: Path, ends: str) -> None:
    script = f'sleep 4321 & echo $! > "$3"; cp "$1" "$2"; echo done{ends}'
    editor, child = shell(tmp_path, script, 1.0 if ends else 30.0), tmp_path / "child"
    began = time.monotonic()
    if ends:
        with pytest.raises(CallError, match="more than 1 s"):
            made(editor, EditRequest("a", str(child), source))
    else:
        found = made(editor, EditRequest("a", str(child), source))
        assert found.content == source.read_bytes()
        assert found.metadata == {"log": "done"}
    assert time.monotonic() - began < 15, "the child process is not waited for"
    assert is_over(child)


@pytest.mark.parametrize("words", ["x" * 200_000, "nul \0", "half \ud800"])
def test_arguments_that_no_program_can_get(tmp_path: Path, source: Path, words: str) -> None:
    with pytest.raises(CallError, match="cannot be started") as caught:
        made(shell(tmp_path, ""), EditRequest("a", words, source))
    assert not caught.value.retryable
    assert len(str(caught.value)) < 200


def test_a_log_is_its_end(tmp_path: Path, source: Path) -> None:
    script = 'head -c 50000000 /dev/zero | tr "\\0" "é"; echo "the end"; cp "$1" "$2"'
    log = made(shell(tmp_path, script, 60.0), EditRequest("a", "do", source)).metadata["log"]
    assert len(log) == 4000
    assert log.endswith("the end")


def test_a_log_takes_no_space_on_the_disk(tmp_path: Path, source: Path) -> None:
    script = '[ -p /dev/stdout ] && echo a pipe; cp "$1" "$2"'
    assert made(shell(tmp_path, script), EditRequest("a", "do", source)).metadata["log"] == "a pipe"


def test_memory_is_bounded(tmp_path: Path, source: Path) -> None:
    """A program may print 200 MB and write 3 GB without using creval's memory."""
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    script = 'head -c 200000000 /dev/zero; truncate -s 3G "$2"'
    with pytest.raises(CallError, match="more than 64 MB"):
        made(shell(tmp_path, script, 60.0), EditRequest("a", "do", source))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < 50e6


@pytest.mark.parametrize("script", ['ln -s "$1" "$2"', 'mkdir "$2"', 'mkfifo "$2"'])
def test_an_output_that_is_no_regular_file_is_no_image(tmp_path: Path, source: Path, script: str) -> None:
    with pytest.raises(CallError, match="no image: the output is not a regular file"):
        made(shell(tmp_path, script), EditRequest("a", "do", source))


def test_no_files_or_folders_remain(tmp_path: Path, source: Path) -> None:
    """Neither files nor folders remain, however the program ends."""
    scripts = {"cp": 'cp "$1" "$2"', "fail": "exit 3", "hang": "sleep 30"}
    folder = tmp_path / "temporary"
    folder.mkdir()
    opened = sorted(Path("/dev/fd").iterdir())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        for words, script in scripts.items():
            with contextlib.suppress(CallError):
                made(shell(tmp_path, script, 1.0), EditRequest("a", words, source))
    assert sorted(Path("/dev/fd").iterdir()) == opened
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("prog '{output}", "an unclosed quotation mark"),
        ("prog {output} \\", "a backslash at its end"),
        ("prog {output[a]}", "invalid placeholder"),
        ("prog {output} {other}", "invalid placeholder"),
    ],
)
def test_faulty_templates_are_errors(template: str, reason: str) -> None:
    with pytest.raises(CrevalError, match=reason):
        CommandEditor("x", template, EditorOptions())
