from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.core.images import EncodedImage
from creval.core.scales import get_scale
from creval.judges.base import Judge, JudgeOptions, JudgeRequest
from creval.judges.judge_spec import open_judges, panel_members
from creval.providers.call_errors import CallError

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080200000090"
    "7753de0000000c4944415408d763f8ffff3f0005fe02fea735819f0000000049454e44ae426082"
)
IMAGE = EncodedImage("digest", "image/png", PNG, 1, 1)


def ask(judge: Judge, scale: str = "1-5", form: str = "explained", repeats: tuple[int, ...] = (0,)) -> list[str]:
    labels = ["Q1"] if form == "bare" else ["Q1", "Q2"]
    questions = [f"Is it {label}?" for label in labels]
    request = JudgeRequest([IMAGE, IMAGE], "the text", get_scale(scale), labels, repeats, form, questions)

    async def talk() -> list[str]:
        await judge.open()
        try:
            return [completion.text for completion in (await judge.ask(request)).completions]
        finally:
            await judge.close()

    return asyncio.run(talk())


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_judges.py").write_text(
        "from creval.judges.base import Judge\n"
        "def best(questions, choices, source, edit, text, repeat):\n"
        "    assert source.size == edit.size == (1, 1) and text == 'the text'\n"
        "    return [choices[-1 - repeat]] * len(questions)\n"
        "async def explained(questions):\n"
        "    return [{'answer': 2, 'explanation': q} for q in questions]\n"
        "def one():\n"
        "    return 3\n"
        "def broken():\n"
        "    raise KeyError('hat')\n"
        "class Own(Judge):\n"
        "    async def ask(self, request):\n"
        "        raise NotImplementedError\n"
        "class Other:\n"
        "    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_judges", raising=False)
    return "own_judges"


def test_a_function_answers(module: str) -> None:
    (judge,) = open_judges(f"python:{module}:best", JudgeOptions())
    assert judge.name == "python:own_judges:best"
    replies = ask(judge, repeats=(0, 1))
    assert [json.loads(reply)["Q2"]["answer"] for reply in replies] == [5, 4]
    (judge,) = open_judges(f"python:{module}:explained", JudgeOptions())
    assert json.loads(ask(judge)[0])["Q2"] == {"answer": 2, "explanation": "Is it Q2?"}
    (judge,) = open_judges(f"python:{module}:one", JudgeOptions())
    assert ask(judge, form="bare") == ["3"]


def test_a_function_that_fails(module: str) -> None:
    (judge,) = open_judges(f"python:{module}:broken", JudgeOptions())
    with pytest.raises(CallError, match="KeyError: 'hat'"):
        ask(judge)
    (judge,) = open_judges(f"python:{module}:one", JudgeOptions())
    with pytest.raises(CallError, match="1 answers to 2 questions"):
        ask(judge)


def test_a_class_is_a_judge_or_refused(module: str) -> None:
    (judge,) = open_judges(f"python:{module}:Own", JudgeOptions())
    assert (judge.name, judge.model, judge.notes) == (f"python:{module}:Own", f"python:{module}:Own", [])
    with pytest.raises(CrevalError, match="is not a creval Judge"):
        open_judges(f"python:{module}:Other", JudgeOptions())


def test_a_program_answers(tmp_path: Path) -> None:
    program = tmp_path / "judge.py"
    program.write_text(
        "import json, sys\n"
        "prompt, source, edit, output = sys.argv[1:]\n"
        "assert open(source, 'rb').read() == open(edit, 'rb').read()\n"
        "answers = {'Q1': 5, 'Q2': len(open(prompt).read())}\n"
        "json.dump(answers, open(output, 'w'))\n"
    )
    spec = f"command:{sys.executable} {program} {{prompt}} {{source}} {{edit}} {{mask?}} {{output}}"
    assert panel_members(f"panel:{spec}+pixel") == [spec, "pixel"]
    (judge,) = open_judges(spec, JudgeOptions())
    assert json.loads(ask(judge)[0]) == {"Q1": 5, "Q2": 8}


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("true {prompt}", r"give a program with \{output\}"),
        ("true {seed} {output}", r"Available: \{prompt\} \{images\}"),
        ("true '{output}", "unclosed"),
    ],
)
def test_incomplete_templates_are_refused(template: str, error: str) -> None:
    with pytest.raises(CrevalError, match=error):
        open_judges(f"command:{template}", JudgeOptions())


def test_a_program_without_a_reply() -> None:
    (judge,) = open_judges(f"command:{sys.executable} -c pass {{output}}", JudgeOptions())
    with pytest.raises(CallError, match="wrote nothing"):
        ask(judge)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os, sys; os.mkfifo(sys.argv[1])", "it is a pipe, not a file"),
        ("import os, sys; os.symlink('/dev/zero', sys.argv[1])", "it is a device, not a file"),
        ("import sys; open(sys.argv[1], 'w').truncate(1 << 30)", "it is larger than 4 MB"),
        ("import sys; sys.exit('no')", "the program failed: exit status 1: no"),
        (
            "import os, sys\nwhile os.write(1, b'x' * 65536): os.close(1) if os.times()[0] > 0.3 else 0",
            "program failed",
        ),
    ],
)
def test_what_a_program_leaves_instead_of_a_reply(code: str, error: str) -> None:
    (judge,) = open_judges(f"command:{sys.executable} -c '{code.replace(chr(39), chr(34))}' {{output}}", JudgeOptions())
    with pytest.raises(CallError, match=error):
        ask(judge)
