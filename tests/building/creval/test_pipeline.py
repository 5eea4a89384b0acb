"""Each image gets an instruction and questions. Texts that violate a rule are requested again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from creval.benchmarks import open_benchmark
from creval.building.creval.builder import CrevalBuilder, CrevalBuildOptions
from creval.building.creval.pipeline import QuestionCounts, SampleDraft, count_questions
from creval.building.creval.review import CrevalReview
from creval.calls.settings import Settings
from creval.calls.text_generation import GenerationResult
from creval.core.errors import CrevalError
from creval.store import RunWriter
from tests.building.made import TOLD, Model, drawn, questions, usual
from tests.serving import serving


def build(
    tmp_path: Path, model: Model, *, wish: CrevalBuildOptions | None = None, asker: str = "b", **more: Any
) -> GenerationResult[SampleDraft]:
    if not (tmp_path / "pictures").exists():
        drawn(tmp_path / "pictures", "cat")
    with serving(model.app()) as url:
        roles = {"writer": "openai:a@URL/v1", "asker": f"openai:{asker}@URL/v1", "checker": "openai:a@URL/v1"}
        roles = {role: spec.replace("URL", url) for role, spec in roles.items()}
        settings = Settings(concurrency=4, attempts=2, **more)
        building = CrevalBuilder(
            tmp_path / "pictures", tmp_path / "bench", roles, wish or CrevalBuildOptions(), settings
        )
        return building.run()


def counted(built: GenerationResult[SampleDraft]) -> QuestionCounts:
    return count_questions(built.results.values())


def asked(tmp_path: Path, metric: str, name: str = "cat") -> list[dict[str, Any]]:
    path = tmp_path / "bench" / "questions_all" / metric / f"{name}.json"
    return list(json.loads(path.read_text())["quality_check_questions"])


def record(tmp_path: Path) -> dict[str, Any]:
    return dict(json.loads((tmp_path / "bench" / "build.json").read_text()))


def test_an_image_becomes_a_sample(tmp_path: Path) -> None:
    model = Model()
    built = build(tmp_path, model)
    assert model.stages() == ["instruction", "IF", "VC", "blind", "VQ"]
    assert counted(built) == (Counter(IF=5, VC=5, VQ=5), 0, 0)
    benchmark = open_benchmark(tmp_path / "bench")
    (sample,) = benchmark.dataset.samples
    assert (sample.id, sample.instruction) == ("cat", TOLD)
    assert sample.source is not None
    assert sample.source.is_file()
    assert not benchmark.dataset.issues
    assert benchmark.dataset.authored_by == {"writer": "a", "asker": "b"}
    assert {question.weight for question in sample.questions if question.metric == "VC"} == {2.0}
    assert {question.weight for question in sample.questions if question.metric != "VC"} == {1.0}
    made = asked(tmp_path, "VC")[0]["made"]
    assert made["by"] == "openai:b"
    assert made["prompt"].startswith("creval_vc@")
    assert (made["try"], made["on_source"]) == (1, "Yes")
    with RunWriter(tmp_path / "bench") as store:
        manifest = store.manifest
    assert manifest["prompts"]["creval_if"].startswith("creval_if@")
    assert len(manifest["dimensions"]) == 1


def test_texts_that_break_a_rule_are_requested_again_with_the_reason(tmp_path: Path) -> None:
    def says(stage: str, text: str) -> str:
        if stage == "VC" and "asked again" not in text:
            good = [f"Is the VC part {word}?" for word in ("red", "blue", "tall", "old")]
            return questions("VC", *good, "Is the ear red and is the tail blue?")
        if stage == "VC":
            return questions("VC", "Is the VC part red?", "Is the ear of the cat red?", "Is it cold?")
        if stage == "instruction" and "asked again" not in text:
            return "I'm sorry, but I can't help with that."
        return usual(stage, text)

    model = Model(says)
    built = build(tmp_path, model)
    assert len(built.results) == 1
    again = [text for stage, text in model.asked if stage == "VC"][1]
    assert "Is the ear red and is the tail blue?: it asks for more than one fact" in again
    assert "only 4 good questions" in again
    assert "- Is the VC part red?" in again
    texts = [question["question"] for question in asked(tmp_path, "VC")]
    assert texts[-1] == "Is the ear of the cat red?", "one replacement for one question"
    assert len(texts) == 5
    assert asked(tmp_path, "VC")[-1]["made"]["try"] == 2
    rejected = record(tmp_path)["rejected"]["cat"]
    assert {one["rule"] for one in rejected} == {"declined", "one fact"}


def test_questions_that_overlap_other_metrics_are_refused(tmp_path: Path) -> None:
    def says(stage: str, text: str) -> str:
        if stage == "VQ" and "asked again" not in text:
            return questions("IF", weight=1)
        return usual(stage, text)

    model = Model(says)
    build(tmp_path, model)
    assert Counter(model.stages())["VQ"] == 2
    assert all("VQ part" in question["question"] for question in asked(tmp_path, "VQ"))
    assert "- Is the IF part red?" in next(text for stage, text in model.asked if stage == "VQ")


def test_too_few_good_questions_leave_an_image_out(tmp_path: Path) -> None:
    def says(stage: str, text: str) -> str:
        if stage == "VQ":
            return questions("VQ", "Is it red?", "Is it blue and is it red?")
        return usual(stage, text)

    model = Model(says)
    built = build(tmp_path, model, retries=1)
    assert Counter(model.stages())["VQ"] == 2
    assert built.left_out == {"cat": "VQ questions: there are only 1 good questions, and 5 are needed"}
    assert record(tmp_path)["left_out"] == built.left_out
    assert [one["rule"] for one in record(tmp_path)["rejected"]["cat"]] == ["one fact"] * 2
    assert built.share_left_out == 1.0


def flagging(words: str, better: str) -> Model:
    """A checker that gives wrong answers to some questions."""

    def says(stage: str, text: str) -> str:
        if stage == "IF" and "asked again" in text:
            return questions("IF", better)
        said = usual(stage, text)
        if stage == "blind":
            answers = json.loads(said)
            for line in text.splitlines():
                if line.startswith("Q") and words in line:
                    answers[line.split(":")[0]]["answer"] = "Yes"
            return json.dumps(answers)
        return said

    return Model(says)


def test_questions_already_true_of_the_source_are_replaced(tmp_path: Path) -> None:
    model = flagging("IF part red", "Is the IF part a lamp?")
    built = build(tmp_path, model)
    assert model.stages() == ["instruction", "IF", "VC", "blind", "IF", "blind", "VQ"]
    texts = [question["question"] for question in asked(tmp_path, "IF")]
    assert "Is the IF part red?" not in texts
    assert texts[-1] == "Is the IF part a lamp?"
    assert (len(texts), counted(built).flagged) == (5, 0)
    (rejected,) = record(tmp_path)["rejected"]["cat"]
    assert (rejected["rule"], rejected["text"]) == ("true before", "Is the IF part red?")


def test_flagged_questions_are_kept_if_too_few_remain(tmp_path: Path) -> None:
    model = flagging("IF part", "Is the IF part blue?")
    built = build(tmp_path, model)
    assert counted(built).flagged == 5
    assert all(question["made"]["flag"] == "true before" for question in asked(tmp_path, "IF"))
    assert all("flag" not in question["made"] for question in asked(tmp_path, "VC"))


def test_without_the_blind_check(tmp_path: Path) -> None:
    model = Model()
    build(tmp_path, model, wish=CrevalBuildOptions(blind=False))
    assert "blind" not in model.stages()


def test_a_checker_that_says_nothing_flags_nothing(tmp_path: Path) -> None:
    model = Model(lambda stage, text: "Hm." if stage == "blind" else usual(stage, text))
    built = build(tmp_path, model)
    assert (len(built.results), counted(built).unchecked) == (1, 10)
    assert asked(tmp_path, "IF")[0]["made"]["on_source"] == "unanswered"


def test_peoples_own_instructions(tmp_path: Path) -> None:
    drawn(tmp_path / "pictures", "cat", "dog")
    own = tmp_path / "own.csv"
    own.write_text(
        "image,instruction,dimension\ncat.png,Make the cat of jade,\ndog,Make the dog of jade,Material Transformation\n"
    )
    model = Model()
    build(tmp_path, model, wish=CrevalBuildOptions(instructions=own))
    assert Counter(model.stages())["instruction"] == 0
    assert Counter(model.stages())["dimension"] == 1
    cat, dog = open_benchmark(tmp_path / "bench").dataset.samples
    assert (cat.instruction, cat.tags["dimension"]) == ("Make the cat of jade", "Surreal Fantasy")
    assert dog.tags["dimension"] == "Material Transformation"


def test_peoples_own_instructions_are_sharpened(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"cat": "Make the cat of jade"}))
    model = Model()
    build(tmp_path, model, wish=CrevalBuildOptions(instructions=own, rewrite=True))
    assert "Make the cat of jade" in model.asked[0][1]
    (cat,) = open_benchmark(tmp_path / "bench").dataset.samples
    assert (cat.instruction, cat.tags["dimension"]) == (TOLD, "Surreal Fantasy")
    (entry,) = json.loads((tmp_path / "bench" / "instruction.json").read_text())
    assert entry["made"]["given"] == "Make the cat of jade"
    (item, *_) = CrevalReview(tmp_path / "bench").group("cat").items
    assert item.facts["given"] == "Make the cat of jade"
    with pytest.raises(CrevalError, match="`instructions`"):
        CrevalBuildOptions(rewrite=True)


def test_the_writer_can_choose_the_dimension(tmp_path: Path) -> None:
    def says(stage: str, text: str) -> str:
        if stage == "instruction" and "asked again" not in text:
            return json.dumps({"instruction": TOLD, "dimension": "Fun"})
        return usual(stage, text)

    model = Model(says)
    build(tmp_path, model, wish=CrevalBuildOptions("fitting"))
    assert "Commercial Design: " in model.asked[0][1]
    assert "its dimension is none of those named" in model.asked[1][1]
    (cat,) = open_benchmark(tmp_path / "bench").dataset.samples
    assert cat.tags["dimension"] == "Surreal Fantasy"
    with pytest.raises(CrevalError, match="did you mean 'Commercial Design'"):
        CrevalBuildOptions("Comercial Design")


def test_human_changes_are_not_overwritten(tmp_path: Path) -> None:
    drawn(tmp_path / "pictures", "cat", "dog", "emu")
    model = Model()
    roles = dict.fromkeys(("writer", "asker", "checker"), "openai:a@http://127.0.0.1:9/v1")
    with serving(model.app()) as url:
        roles = {role: f"openai:{role}@{url}/v1" for role in roles}

        def again(**more: Any) -> CrevalBuilder:
            settings = Settings(concurrency=4, attempts=2, **more)
            folders = tmp_path / "pictures", tmp_path / "bench"
            builder = CrevalBuilder(*folders, roles, CrevalBuildOptions(), settings)
            builder.run()
            return builder

        assert again(limit=2).item_count == 2
        bench = tmp_path / "bench"
        before = {path: path.read_bytes() for path in bench.rglob("*.json")}
        asked_for = len(model.asked)
        assert again(limit=2).user_edited == []
        assert len(model.asked) == asked_for
        assert before == {path: path.read_bytes() for path in bench.rglob("*.json")}
        changed = bench / "questions_all" / "IF" / "cat.json"
        changed.write_text(changed.read_text().replace("red?", "crimson?"))
        listed = bench / "instruction.json"
        entries = json.loads(listed.read_text())
        entries[1]["input_prompt"] = "My own words for the dog."
        listed.write_text(json.dumps(entries))
        (bench / "questions_all" / "VQ" / "dog.json").unlink()
        built = again()
        assert built.user_edited == ["questions_all/IF/cat.json", "the instruction of dog"]
        assert "crimson?" in changed.read_text()
        cat, dog, emu = open_benchmark(bench).dataset.samples
        assert (dog.instruction, emu.instruction) == ("My own words for the dog.", TOLD)
        assert not open_benchmark(bench).dataset.issues, "and the deleted file is restored"
        assert cat.id == "cat"


def test_another_model_is_another_benchmark(tmp_path: Path) -> None:
    model = Model()
    build(tmp_path, model)
    again = build(tmp_path, model)  # the same model at another address
    assert again.progress.requests_sent == 0
    with pytest.raises(CrevalError, match="started with another asker"):
        build(tmp_path, model, asker="c")


@pytest.mark.parametrize(
    ("fit", "temperature", "wrong"), [("512", None, "image_fit"), ("provider", 0.5, "temperature")]
)
def test_other_settings_do_not_pay_for_everything_again(
    tmp_path: Path, fit: str, temperature: float | None, wrong: str
) -> None:
    drawn(tmp_path / "pictures", "cat")
    model = Model()
    with serving(model.app()) as url:
        roles = dict.fromkeys(("writer", "asker", "checker"), f"openai:a@{url}/v1")
        where = (tmp_path / "pictures", tmp_path / "bench", roles, CrevalBuildOptions())
        CrevalBuilder(*where, Settings()).run()
        asked = len(model.asked)
        with pytest.raises(CrevalError, match=f"started with another {wrong}"):
            CrevalBuilder(*where, Settings(image_fit=fit), temperature=temperature).run()
    assert len(model.asked) == asked


def test_another_folder_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "instruction.json").write_text('[{"input_image": ["image/x.png"]}]')
    with pytest.raises(CrevalError, match="already contains another benchmark"):
        build(tmp_path, Model())


def test_the_authors_own_prompts(tmp_path: Path) -> None:
    own = tmp_path / "prompts"
    own.mkdir()
    (own / "creval_vq.md").write_text("Look at {Image-A}. Of the edit {Edit instructions} ask VQ.")

    def says(stage: str, text: str) -> str:
        # The authors' prompt does not ask for our reply format.
        is_theirs = text.startswith("Look at Image 1.")
        if is_theirs and "asked again" not in text:
            return questions("VQ", "Is it red?")
        return questions("VQ") if is_theirs else usual(stage, text)

    model = Model(says)
    assert build(tmp_path, model, prompts=str(own)).results
    first, second = (text for _, text in model.asked if text.startswith("Look"))
    assert first == f"Look at Image 1. Of the edit {TOLD} ask VQ."
    assert second.startswith(f"{first}\n\nYou are asked again")


def test_a_prompt_in_one_paragraph_is_sent_whole(tmp_path: Path) -> None:
    own = tmp_path / "prompts"
    own.mkdir()
    (own / "creval_if.md").write_text("By {{instruction}}, not {{taken}}{{faults}}: {{format}}")
    model = Model()
    assert build(tmp_path, model, prompts=str(own)).results
    (text,) = (text for stage, text in model.asked if stage == "IF")
    assert text.startswith(f"By {TOLD}, not : Think first")


def test_a_model_that_marks_its_own_work_gets_a_warning(tmp_path: Path) -> None:
    drawn(tmp_path / "pictures", "cat")
    roles = dict.fromkeys(("writer", "asker", "checker"), "openai:m@http://127.0.0.1:9/v1")
    building = CrevalBuilder(tmp_path / "pictures", tmp_path / "bench", roles, CrevalBuildOptions(), Settings())
    assert "warning: m writes both the instructions and their questions" in building.warnings()[0]
    writer, asker, checker = building.estimate()
    assert (writer.calls, asker.calls, checker.calls) == (1, 3, 1)
    assert not (tmp_path / "bench").exists()
