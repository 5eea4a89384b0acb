"""Complex-Edit's pipeline: from drawn pictures to a benchmark that is read and judged."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.build.chains import complex_edit
from creval.build.chains.complex_edit_review import ComplexEditReview
from creval.build.chains.operations import CATEGORIES, OPERATIONS, counted
from creval.build.chains.scribe import NotAcceptedError, Scribe
from creval.build.review import ACCEPTED, DROPPED, OPEN
from creval.cli import app
from creval.core.errors import CrevalError
from creval.engine.writing import UnwrittenError
from creval.judges.fake import FakeServer
from creval.store import Store
from tests.serving import serving


def draw_pictures(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        Image.new("RGB", (48, 36), (number * 9 % 255, 90, 140)).save(folder / f"p{number}.png")
    return folder


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def creval(*arguments: object) -> Done:
    """A command run in this process, which takes a tenth of the time of another."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = int(app([str(part) for part in arguments], standalone_mode=False) or 0)
        except CrevalError as error:
            status = 2
            print(error, file=err)
    return Done(status, out.getvalue(), err.getvalue())


def rows(bench: Path) -> dict[str, Any]:
    return {
        path.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((bench / "built").glob("*.json"))
    }


class Script:
    """A model that says what a test wants of it; `said` is what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.said = list(texts), list[str]()

    async def ask(self, _role: str, stage: str, prompt: Any, **places: Any) -> str:
        self.said.append(f"{stage}: {prompt.fill(**places)}")
        if not self.texts[0]:
            raise UnwrittenError(f"{stage}: the model wrote nothing{self.texts.pop(0)}")
        return self.texts.pop(0)


def sequence(*words: str) -> str:
    return json.dumps([{"operation": "Change Color", "instruction": said} for said in words])


def write(*texts: str, steps: int = 2, retries: int = 1) -> tuple[dict[str, Any], list[str]]:
    script = Script(*texts)
    scribe = Scribe(script, retries)  # type: ignore[arg-type]
    edit = asyncio.run(complex_edit.write_chain(scribe, complex_edit.load_texts(), steps))
    return {"edit": edit, "rejected": scribe.rejected}, script.said


SHORT = '{"needed": "no"}'


@pytest.mark.parametrize("name", ["sequence", "simplify", "compound"])
def test_every_stage_is_shown_two_examples(name: str) -> None:
    text = getattr(complex_edit.load_texts(), name).text
    shown = text[text.index("Two examples of") :]
    assert shown.count("Thought: ") == 2
    assert "{{" not in shown[: shown.rindex("Thought: ")], "nothing is filled into an example"


def test_there_are_24_operations_in_9_categories() -> None:
    assert (len(OPERATIONS), len(CATEGORIES)) == (24, 9)
    assert sum(counted(["Add Text", "Add Text", "Paint"]).values()) == 2


def test_a_chain_of_two() -> None:
    long = "Make the door red, because a warm entrance says welcome to everybody."
    made, said = write(
        sequence(long, "Make the wall blue."),
        '{"needed": "yes", "instruction": "Make the door red."}',
        SHORT,
        "**Reasoning:** two things.\n**Instruction:** Make the door red and the wall blue.",
    )
    first, second = made["edit"]["sequence"]
    assert (first["before"], first["instruction"]) == (long, "Make the door red.")
    assert second["instruction"] == "Make the wall blue."
    assert made["edit"]["compound"] == [
        {"compound_instruction": "Make the door red.", "reasoning": ""},
        {
            "compound_instruction": "Make the door red and the wall blue.",
            "reasoning": "two things.",
        },
    ]
    assert made["rejected"] == []
    assert "1. Make the door red.\n2. Make the wall blue." in said[-1]
    assert all(name in said[0] for name in OPERATIONS)


def test_what_breaks_a_rule_is_asked_for_again_with_the_reason() -> None:
    made, said = write(
        sequence("Make the door red.", "Make Make Make Make"),
        sequence("Make the door red.", "Make the wall blue."),
        "It depends.",
        '{"needed": "yes", "instruction": "Make the door red, all of it, now."}',
        SHORT,
        '{"instruction": "1. Make the door red. 2. Make the wall blue."}',
        '{"instruction": "Make the door red and the wall blue."}',
    )
    assert "garbled text: something is repeated" in said[1]
    assert "Write another one." in said[1]
    assert "not accepted" not in said[0]
    assert made["rejected"] == [
        "sequence: edit 2: garbled text: something is repeated over and over.",
        "simplify: format: it cannot be read whether a shorter one is needed.",
        "simplify: simplification: it is not shorter.",
        "compound C2: list: it is a list of steps, not one instruction.",
    ]
    assert "not accepted after 2 tries" in made["edit"]["sequence"][0]["unsimplified"]
    assert made["edit"]["sequence"][0]["instruction"] == "Make the door red."


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["no", "no"], "count: 0 edits"),
        ([sequence("Make it red."), sequence("Make it red.")], "count: 1 edits"),
        ([sequence("Make it red.", "make it red.")] * 2, "edit 2: duplicate"),
        (
            [sequence("Make it red.", "Make it blue."), SHORT, SHORT]
            + ['{"instruction": "Make it red."}'] * 2,
            "nothing added",
        ),
    ],
)
def test_what_is_never_accepted_ends_a_picture(texts: list[str], reason: str) -> None:
    with pytest.raises(NotAcceptedError, match=reason):
        write(*texts)


def test_an_empty_reply_is_asked_for_again() -> None:
    made, _ = write("", sequence("Make it red."), "", SHORT, steps=1)
    assert made["rejected"] == [
        f"{stage}: the model wrote nothing" for stage in ("sequence", "simplify")
    ]
    with pytest.raises(UnwrittenError, match="wrote nothing"):
        write("", "", steps=1)


def test_words_to_be_written_are_not_lost() -> None:
    step = {"operation": "Add Text", "instruction": 'Write "TEA" on the cup.'}
    made, _ = write(
        json.dumps([step, {"operation": "Change Color", "instruction": "Make the cup red."}]),
        SHORT,
        SHORT,
        '{"instruction": "Make the cup red, with words on it."}',
        '{"instruction": "Make the cup red, with \\"TEA\\" on it."}',
    )
    assert made["rejected"] == ["compound C2: lost words: the words “TEA” are lost."]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of five pictures, one of which cannot be opened."""
    folder = tmp_path_factory.mktemp("built")
    images = draw_pictures(folder / "images", 5)
    (images / "broken.png").write_bytes(b"none")
    with serving(FakeServer(seed=4).app()) as url:
        done = creval(
            "build", "complex-edit", "--images", images, "--out", folder / "bench",
            "--writer", f"openai:m@{url}/v1", "--steps", 4, "--json",
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "broken.png is left out" in done.stderr
    told = json.loads(done.stdout)
    assert (told["made"], list(told["left_out"])) == (5, ["broken.png"])
    assert sum(sum(group.values()) for group in told["operations"].values()) == 20
    return folder / "bench"


def test_what_is_built_is_read_without_fault(built: Path) -> None:
    found = open_benchmark(built).dataset
    assert found.findings == ()
    assert len(found.samples) == 20
    assert found.made_by == {"writer": "m"}
    for sample in found.samples:
        assert sample.source is not None
        assert len(sample.steps) == int(sample.tags["complexity"][1:])
        assert all(step.kind in OPERATIONS for step in sample.steps)
        if sample.tags["complexity"] == "C1":
            assert sample.instruction == sample.steps[0].text
    assert (built / "operations.svg").read_text().startswith("<?xml")
    with Store(built) as store:
        held = store.manifest
    assert (held["system"], held["steps"], held["temperature"]) == ("complex-edit", 4, 1.15)
    assert len(held["prompts"]) == 3


def test_it_is_judged(built: Path, tmp_path: Path) -> None:
    edits = tmp_path / "Model"
    for sample in open_benchmark(built).dataset.samples[:4]:
        path = edits / sample.tags["complexity"] / f"{sample.id[-4:]}.png"
        path.parent.mkdir(parents=True)
        Image.new("RGB", (48, 36), "red").save(path)
    with serving(FakeServer().app()) as url:
        judge = f"openai:n@{url}/v1"
        done = creval("judge", built, "--edits", edits, "--judge", judge, "--run", tmp_path / "run")
    assert done.returncode == 0, done.stderr


def test_another_model_is_refused_and_a_row_that_is_there_stays(built: Path) -> None:
    images = built.parent / "images"
    command = ("build", "complex-edit", "--images", images, "--out", built, "--steps", 4)
    with serving(FakeServer().app()) as url:
        other = creval(*command, "--writer", f"openai:other@{url}/v1")
    assert other.returncode == 2
    assert "was begun with another models" in other.stderr
    same = creval("build", "complex-edit", "--images", images, "--out", images,
                  "--writer", "openai:m@http://127.0.0.1:1/v1")  # fmt: skip
    assert "is where the pictures are" in same.stderr


def test_a_review_drops_and_changes(built: Path) -> None:
    review = ComplexEditReview(built)
    assert list(review.groups()) == ["0001", "0002", "0003", "0004", "0005"]
    before = review.left()
    assert before == 5 * 8
    group = review.group("0001")
    assert group.picture is not None
    assert group.picture.is_file()
    assert [item.id for item in group.items][3:5] == ["atomic/4", "compound/1"]
    review.decide("0001", "atomic/1", ACCEPTED, {"instruction": "Add a  red kite."})
    review.decide("0001", "compound/4", DROPPED, {})
    again = ComplexEditReview(built)
    assert again.left() == before - 2
    items = {item.id: item for item in again.group("0001").items}
    assert items["compound/1"].fields[0].text == "Add a red kite."
    assert items["compound/4"].verdict == DROPPED
    names = [sample.id for sample in open_benchmark(built).dataset.samples]
    assert "built/C4/0001" not in names
    assert "built/C3/0001" in names
    review.decide("0001", "compound/4", OPEN, {})
    for number, broken in enumerate(["{", "[]", '{"image": "a", "edit": {"sequence": [1]}}']):
        (built / "built" / f"100{number}.json").write_text(broken)
    assert len(ComplexEditReview(built).groups()) == 5, "what is no row is left to `creval bench`"
    for number in range(3):
        (built / "built" / f"100{number}.json").unlink()
    for item, fields in [("atomic/9", {}), ("atomic/1", {"instruction": "x" * 50}),
                         ("atomic/1", {"operation": "Paint"}), ("nothing", {})]:  # fmt: skip
        with pytest.raises(CrevalError):
            review.decide("0001", item, ACCEPTED, fields)


def test_what_contains_changed_words_is_looked_at_again(built: Path) -> None:
    review = ComplexEditReview(built)
    for item in review.group("0002").items:
        review.decide("0002", item.id, ACCEPTED, {field.name: field.text for field in item.fields})
    assert {item.verdict for item in review.group("0002").items} == {ACCEPTED}
    review.decide("0002", "atomic/3", ACCEPTED, {"instruction": "Paint the moon green."})
    items = {item.id: item for item in review.group("0002").items}
    why = "atomic edit 3, which it contains, was changed afterwards"
    assert {name for name, item in items.items() if item.verdict == OPEN} == {
        "compound/3", "compound/4"
    }  # fmt: skip
    assert {item.notes for item in items.values()} == {(), (why,)}
    review.decide("0002", "compound/3", ACCEPTED, {})
    review.decide("0002", "compound/4", OPEN, {"instruction": "Paint the moon green, and more."})
    assert not any(item.notes for item in review.group("0002").items)
    review.decide("0002", "compound/1", ACCEPTED, {"instruction": "Paint the sun blue."})
    items = {item.id: item for item in review.group("0002").items}
    assert items["atomic/1"].fields[0].text == "Paint the sun blue."
    assert [name for name, item in items.items() if item.notes] == [
        "compound/2", "compound/3", "compound/4"
    ]  # fmt: skip


def test_killed_it_comes_to_the_same(tmp_path: Path) -> None:
    images = draw_pictures(tmp_path / "images", 12)
    server = FakeServer(seed=2, latency=0.01)
    with serving(server.app()) as url:
        command = [
            "build", "complex-edit", "--images", images, "--writer", f"openai:m@{url}/v1",
            "--steps", 3, "--concurrency", 4, "--out",
        ]  # fmt: skip
        whole = creval(*command, tmp_path / "whole")
        assert whole.returncode == 0, whole.stderr
        calls = server.stats["requests"]
        for goal in (15, 40):
            begun = server.stats["requests"]
            line = [sys.executable, "-m", "creval", *map(str, command), str(tmp_path / "bench")]
            with subprocess.Popen(line, stderr=subprocess.DEVNULL) as on:
                while on.poll() is None and server.stats["requests"] < begun + goal:
                    pass
                on.kill()
        done = creval(*command, tmp_path / "bench")
        assert done.returncode == 0, done.stderr
        assert server.stats["requests"] <= 2 * calls + 2 * 4, "only what was under way twice"
    assert rows(tmp_path / "bench") == rows(tmp_path / "whole")


class Hostile(FakeServer):
    """Writes noise, and declines what it is asked about one picture."""

    def answer(self, body: Any, asked: Any) -> dict[str, Any]:
        good = super().answer(body, asked)
        chance = random.Random(str(asked.questions))
        message = good["choices"][0]["message"]
        if chance.random() < 0.3:
            message["content"] = chance.choice(
                ['{"instruction": ' * 50, "\x1b[31m\u202e{}[]", "No" * 4000, "{{reason}} {{count}}"]
            )
        return good


def test_hostile_text_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    images = draw_pictures(tmp_path / "images", 4)
    os.rename(images / "p0.png", images / "p0 \x1b[31m&.png")  # noqa: PTH104
    with serving(Hostile().app()) as url:
        done = creval(
            "build", "complex-edit", "--images", images, "--out", tmp_path / "bench",
            "--writer", f"openai:m@{url}/v1", "--steps", 3, "--retries", 1,
        )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    if (tmp_path / "bench" / "built").is_dir():
        assert open_benchmark(tmp_path / "bench").dataset.findings == ()


def test_what_is_declined_is_left_out(tmp_path: Path) -> None:
    async def decline(_: web.Request) -> web.Response:
        message = {"role": "assistant", "content": None, "refusal": "I will not."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {}})

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", decline)
    images = draw_pictures(tmp_path / "images", 1)
    command = ("build", "complex-edit", "--images", images, "--out", tmp_path / "bench")
    with serving(app) as url:
        done = creval(*command, "--writer", f"openai:m@{url}/v1")
    assert done.returncode == 1
    assert "p0.png is left out: sequence: the model declined: I will not." in done.stderr
    other = ("--writer", "openai:m@http://127.0.0.1:1/v1", "--dry-run", "--json")
    assert "was begun with another models" in creval(*command, *other).stderr
    dry = creval(*command[:-1], tmp_path / "other", *other)
    told = json.loads(dry.stdout)
    calls = {made["role"]: made["calls"] for made in told["estimates"]}
    assert (told["pictures"], calls) == (1, {"writer": 1, "reviser": 15})


def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "complexedit_compound.md").write_text("Join: {{instructions}} {{format}}")
    assert complex_edit.load_texts(str(tmp_path)).compound.text.startswith("Join: ")
    (tmp_path / "complexedit_compound.md").write_text("Join. {{format}}")
    with pytest.raises(CrevalError, match=r"needs \{\{instructions\}\}"):
        complex_edit.load_texts(str(tmp_path))


def test_a_budget_stops_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    images = draw_pictures(tmp_path / "images", 6)
    server = FakeServer()
    with serving(server.app()) as url:
        command = (
            "build", "complex-edit", "--images", images, "--out", tmp_path / "bench", "--steps", 3,
            "--writer", f"openai:m@{url}/v1", "--price", "1,1", "--concurrency", 2, "--budget",
        )  # fmt: skip
        stopped = creval(*command, "0.012USD")
        assert (stopped.returncode, "the budget is reached" in stopped.stderr) == (1, True)
        calls = server.stats["requests"]
        assert 0 < calls < 30
        dry = creval(*command, "5USD", "--dry-run", "--json")
        left = json.loads(dry.stdout)["estimates"]
        assert sum(made["cached"] for made in left) > 0
        assert all(made["calls"] < 6 * (1 if made["role"] == "writer" else 5) for made in left)
        done = creval(*command, "5USD")
        assert "are answered already)" in done.stderr
        assert done.returncode == 0, done.stderr
    assert server.stats["requests"] <= 6 * 6 + 6, "nothing is paid twice"
    assert len(open_benchmark(tmp_path / "bench").dataset.samples) == 18
