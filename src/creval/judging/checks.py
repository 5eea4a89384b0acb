"""Checks and warnings before the first call of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from creval.calls.settings import JudgeSettings
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.files import is_file
from creval.core.probe import Question
from creval.core.rehearsal import has_rehearsal
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
from creval.store.provenance import read_provenance


def check_inputs(plan: Plan, judges: Sequence[Judge], prompts: Mapping[str, Prompt]) -> None:
    """Raise an error if the plan cannot be run with these judges and prompts."""
    benchmark, settings, questions = plan.benchmark, plan.settings, _all_questions(plan)
    settings.check_prices(judges)
    _check_prompts(questions, prompts, show_instruction=settings.show_instruction)
    measured = any(plan.measurements.values())
    there = [edit for edit in plan.all_edits() if edit.status is EditStatus.DONE]
    if not judges and any(plan.questions[edit.key.sample] for edit in there):
        raise CrevalError("give `judge` SPEC, such as `judge` openai:gpt-4o.")
    if not questions and not measured:
        raise CrevalError(
            f"the protocol {benchmark.protocol.name!r} has no questions about the "
            f"selected samples of {benchmark.title!r}. Give another `protocol`, such as viescore or creval."
        )
    if settings.stopping_rule is not None:
        from creval.judging.stopping_monitor import require_decidable

        require_decidable(plan)
    if settings.logprobs and any(len(get_scale(scale).choices) > 10 for scale in {q.scale for q in questions}):
        raise CrevalError(
            "`logprobs` needs answers of one token. Answers on a scale of this protocol can be longer. "
            "Remove `logprobs`."
        )
    if settings.metric_models:
        require_used_slots(settings.metric_models, benchmark.image_metrics)
    if not there:
        why = next((edit.reason for edit in plan.all_edits() if edit.reason), "")
        reason = f" ({why})" if why else ""
        raise CrevalError(f"none of the selected samples has an edited image{reason}.")
    sources = [sample.source for sample in plan.samples if sample.source is not None]
    lost = [source for source in sources if not is_file(source)]
    needed = measured or any("source" in question.shows for question in questions)
    if needed and lost and len(lost) == len(sources):
        raise CrevalError(f"the source images are missing: {lost[0]} does not exist.")


def _all_questions(plan: Plan) -> list[Question]:
    return [question for several in plan.questions.values() for question in several]


def _check_prompts(questions: Iterable[Question], prompts: Mapping[str, Prompt], *, show_instruction: bool) -> None:
    """Raise an error if a prompt lacks a placeholder, or would show an instruction that the judge must not see."""
    hiding = {question.prompt for question in questions if "instruction" not in question.shows}
    for name, prompt in prompts.items():
        if "questions" not in prompt.placeholders or prompt.placeholders - PLACEHOLDERS:
            known = ", ".join(f"{{{{{place}}}}}" for place in sorted(PLACEHOLDERS))
            raise CrevalError(f"the prompt {prompt.name!r} needs {{{{questions}}}}, and may have {known}.")
        has = "instruction" in prompt.placeholders
        if show_instruction and not has:
            raise CrevalError(f"`show_instruction`: {prompt.name}.md has no placeholder {{{{instruction}}}}.")
        if has and name in hiding and not prompt.is_optional("instruction"):
            raise CrevalError(
                f"the prompt {prompt.name!r} has {{{{instruction}}}} in a paragraph with other text, so it cannot be "
                "left out. Add `show_instruction`, or put {{instruction}} in its own paragraph."
            )


def judging_warnings(plan: Plan, found_edits: FoundEdits, judge_spec: str, judges: Sequence[Judge]) -> list[str]:
    """Return warnings about conflicts of interest of these judges, and about answers that can tie."""
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
                "judge favours edits that it has picked."
            )
    voices = len(judges) * plan.settings.repeat
    if voices % 2 == 0 and any(question.scale == "yes/no" for question in _all_questions(plan)):
        notes.append(
            f"warning: {voices} answers to a yes/no question can tie, and a tie counts as unanswered; "
            "the questions that remain are easier on average. Use an odd number of answers."
        )
    return notes


def file_warnings(plan: Plan) -> list[str]:
    """Return a note with the number of problems in the benchmark's files, if any."""
    dataset = plan.benchmark.dataset
    count = sum(not finding.is_repaired for finding in dataset.issues)
    command = f"creval bench {quote(str(dataset.root))}"
    return [f"{count} problems in the benchmark's files. `{command}` lists them."] if count else []


def require_no_mixed_rehearsal(store: RunWriter, found: FoundEdits) -> None:
    """Refuse to store rehearsed edits and edits of real models in the same run."""
    stored = read_provenance(store.manifest)
    rehearsed = {
        model in provenance and has_rehearsal(provenance[model].editor)
        for models, provenance in ((store.models, stored), (found.models, found.provenance))
        for model in models
    }
    if len(rehearsed) > 1:
        raise CrevalError(
            f"{store.folder}: rehearsed edits and those of real models need separate runs. Give another `run`."
        )


def require_same_judging(
    store: RunWriter, manifest: Mapping[str, object], prompts: Iterable[Prompt], settings: JudgeSettings | None
) -> None:
    """Refuse to resume a run whose replies were made with other prompts, settings or questions.

    `settings` is None if no judge is asked.
    """
    if not store.models:
        return
    folder, held = store.folder, store.manifest
    require_same_run(store, manifest)
    then = held.get("settings")
    if then and settings is not None:
        hint = " (the default is 0, or 1 with `repeat`)" if settings.temperature is None else ""
        now = settings.answer_affecting()
        require_same(
            {name: then.get(name) for name in now},
            now,
            lambda name, before, value: (
                f"{folder} was judged with `{'batch_by' if name == 'ask' else name}` {before}, now it is {value}"
                f"{hint if name == 'temperature' else ''}. Use the same value, or give another `run`."
            ),
        )
    require_same(
        {version.partition("@")[0]: version for version in held.get("prompts", {})},
        {prompt.name: prompt.version for prompt in prompts},
        lambda name, *_: f"{folder} was judged with another version of the prompt {name}. Give another `run`.",
    )
    require_same(
        {"questions_digest": held.get("questions_digest")},
        {"questions_digest": manifest["questions_digest"]},
        lambda *_: f"{folder} was judged with other questions: the benchmark has changed since. Give another `run`.",
    )
