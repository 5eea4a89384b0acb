"""Checks before the first call of a run: what cannot be judged, and what to be warned of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from creval.calls.settings import JudgeSettings
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.files import is_file
from creval.core.probe import Question
from creval.core.scales import get_scale
from creval.judges.base import Judge
from creval.judges.judge_spec import judge_identity
from creval.judging.plan import Plan
from creval.judging.requests import PLACEHOLDERS
from creval.metrics.base import require_used_slots
from creval.prompts import Prompt
from creval.store import RunWriter
from creval.store.edit_folders import FoundEdits
from creval.store.manifest import require_same, require_same_run


def check_inputs(plan: Plan, judges: Sequence[Judge], prompts: Mapping[str, Prompt]) -> None:
    """Refuse a plan that cannot be carried out with these judges and prompts."""
    benchmark, settings, questions = plan.benchmark, plan.settings, _all_questions(plan)
    settings.check_prices(judges)
    _check_prompts(questions, prompts, show_instruction=settings.show_instruction)
    measured = any(plan.measurements.values())
    there = [edit for edit in plan.all_edits() if edit.status is EditStatus.DONE]
    if not judges and any(plan.questions[edit.key.sample] for edit in there):
        raise CrevalError("give `judge` SPEC, such as `judge` openai:gpt-4o.")
    if not questions and not measured:
        raise CrevalError(
            f"the protocol {benchmark.protocol.name!r} has nothing to ask about the "
            f"chosen samples of {benchmark.title!r}. Give another `protocol`, such as viescore or creval."
        )
    if settings.stopping_rule is not None:
        from creval.judging.stopping_monitor import require_decidable

        require_decidable(plan)
    if settings.logprobs and any(len(get_scale(scale).choices) > 10 for scale in {q.scale for q in questions}):
        raise CrevalError("`logprobs`: on this scale an answer takes more than one token.")
    if settings.metric_models:
        require_used_slots(settings.metric_models, benchmark.image_metrics)
    if not there:
        why = next((edit.reason for edit in plan.all_edits() if edit.reason), "")
        told = f" ({why})" if why else ""
        raise CrevalError(f"none of the chosen samples has an edited picture{told}.")
    sources = [sample.source for sample in plan.samples if sample.source is not None]
    lost = [source for source in sources if not is_file(source)]
    needed = measured or any("source" in question.shows for question in questions)
    if needed and lost and len(lost) == len(sources):
        raise CrevalError(f"the source pictures are not there: {lost[0]} does not exist.")


def _all_questions(plan: Plan) -> list[Question]:
    return [question for several in plan.questions.values() for question in several]


def _check_prompts(questions: Iterable[Question], prompts: Mapping[str, Prompt], *, show_instruction: bool) -> None:
    """Refuse a prompt that mentions what the judge is not shown, or lacks what it is shown."""
    hiding = {question.prompt for question in questions if "instruction" not in question.shows}
    for name, prompt in prompts.items():
        if "questions" not in prompt.placeholders or prompt.placeholders - PLACEHOLDERS:
            known = ", ".join(f"{{{{{place}}}}}" for place in sorted(PLACEHOLDERS))
            raise CrevalError(f"the prompt {prompt.name!r} needs {{{{questions}}}}, and may have {known}.")
        has = "instruction" in prompt.placeholders
        if show_instruction and not has:
            raise CrevalError(f"`show_instruction`: {prompt.name}.md has no place {{{{instruction}}}}.")
        if has and name in hiding and not prompt.is_optional("instruction"):
            raise CrevalError(
                f"{prompt.name}.md tells the instruction among other things, and it is not "
                "shown: add `show_instruction`, or take it out of that text."
            )


def judging_warnings(plan: Plan, found_edits: FoundEdits, judge_spec: str, judges: Sequence[Judge]) -> list[str]:
    """Return what speaks against these judges."""
    notes = []
    dataset = plan.benchmark.dataset
    for role, maker in dataset.authored_by.items():
        for judge in judges:
            if maker.casefold() in judge.model.casefold():
                did = {"writer": "wrote this benchmark's instructions"}.get(role, "made this benchmark's questions")
                notes.append(f"warning: {judge.model} also {did}; a judge may favour its own work.")
    for model, made in found_edits.provenance.items():
        if made.judge and judge_identity(made.judge) == judge_identity(judge_spec):
            notes.append(
                f"warning: {judge_spec} also picked {model}'s edits among their candidates; a "
                "judge favours what it has picked."
            )
    voices = len(judges) * plan.settings.repeat
    if voices % 2 == 0 and any(question.scale == "yes/no" for question in _all_questions(plan)):
        notes.append(
            f"warning: {voices} answers to a yes/no question can tie, and a tie is no answer; "
            "what is left is easier than what was asked. An odd number cannot tie."
        )
    return notes


def file_warnings(plan: Plan) -> list[str]:
    """Return how many problems the benchmark's files have, if any."""
    dataset = plan.benchmark.dataset
    count = sum(not finding.is_repaired for finding in dataset.issues)
    return [f"{count} problems in the benchmark's files: creval bench {quote(str(dataset.root))}"] if count else []


def require_same_judging(
    store: RunWriter, manifest: Mapping[str, object], prompts: Iterable[Prompt], settings: JudgeSettings | None
) -> None:
    """Refuse to go on with other prompts, settings (None: nothing is asked) or questions, once there are replies."""
    if not store.models:
        return
    folder, held = store.folder, store.manifest
    require_same_run(store, manifest)
    require_same(
        {version.partition("@")[0]: version for version in held.get("prompts", {})},
        {prompt.name: prompt.version for prompt in prompts},
        lambda name, *_: f"{folder} was asked in another prompt ({name}). Give another `run`.",
    )
    then = held.get("settings")
    if then and settings is not None:
        hint = " (if not given it is 0, and 1 with `repeat`)" if settings.temperature is None else ""
        now = settings.answer_affecting()
        require_same(
            {name: then.get(name) for name in now},
            now,
            lambda name, before, value: (
                f"{folder} was asked with `{'batch_by' if name == 'ask' else name}` {before}, now it is {value}"
                f"{hint if name == 'temperature' else ''}. Go on with the same, or give another `run`."
            ),
        )
    require_same(
        {"questions_digest": held.get("questions_digest")},
        {"questions_digest": manifest["questions_digest"]},
        lambda *_: f"{folder} was asked other questions: the benchmark has changed since. Give another `run`.",
    )
