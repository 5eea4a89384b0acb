"""CREval's first two stages for any images: an instruction, then questions about it.

For each image one model writes an instruction, and another one writes the questions of three metrics, with one prompt
for each metric. Texts that violate a rule are requested again with the reasons. A checking model answers the IF and VC
questions about the source image alone. If its answer shows that a question cannot measure the edit, the question is
replaced.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, METRICS, MIN_QUESTIONS
from creval.building.creval.dimensions import describe_all_dimensions, describe_dimension
from creval.building.creval.examples import SHIPPED_EXAMPLES, ExampleSet, format_examples
from creval.building.creval.question_set import (
    KeptQuestion,
    QuestionSet,
    explain_unreadable,
    format_bullets,
    format_retry_request,
    summarise_violations,
)
from creval.building.creval.rules import RuleViolation, find_given_violations, find_instruction_violations
from creval.building.creval.sources import SourceImage
from creval.calls.reading import read_text
from creval.calls.text_generation import GenerationFailedError, StageEstimate
from creval.calls.validated_text import InvalidReplyError, ValidatingSession
from creval.core.probe import Question
from creval.core.scales import get_scale
from creval.parsing.judge_replies import parse_reply
from creval.parsing.reply_format import ReplyFormat
from creval.parsing.text_checks import is_refusal
from creval.parsing.written_instructions import (
    dimension_reply_format,
    instruction_reply_format,
    match_one_of,
    parse_instruction,
)
from creval.parsing.written_questions import question_reply_format
from creval.prompts import Prompt, load_prompt

_PROMPTS = ("instruction", "rewrite", "dimension", "if", "vc", "vq", "blind")
FITTING = "fitting"
UNANSWERED = "unanswered"
"""Stored with a question if a second model gave no clear answer about the source."""
_CHOOSE = "the one of these that suits best; choose it."
_YES_NO = get_scale("yes/no")
_FLAG_VIOLATIONS = {
    "IF": RuleViolation("true before", "it is so already before the edit, as a second model sees it", ""),
    "VC": RuleViolation("false before", "it is not so before the edit, as a second model sees it", ""),
}


@dataclass
class SampleDraft:
    """A new sample: its instruction, dimension, provenance and questions."""

    instruction: str
    dimension: str
    provenance: Mapping[str, object]
    questions: dict[str, list[KeptQuestion]] = field(default_factory=dict)


class QuestionCounts(NamedTuple):
    """Numbers of questions: by metric, flagged, and not answered by the checking model."""

    by_metric: Counter[str]
    flagged: int
    unchecked: int


def count_questions(drafts: Iterable[SampleDraft]) -> QuestionCounts:
    """Count the questions of drafts."""
    questions = [(metric, one) for draft in drafts for metric in METRICS for one in draft.questions[metric]]
    return QuestionCounts(
        Counter(metric for metric, _ in questions),
        sum("flag" in one.provenance for _, one in questions),
        sum(one.provenance.get("on_source") == UNANSWERED for _, one in questions),
    )


def load_creval_prompts(folder: str | Path | None) -> dict[str, Prompt]:
    """Return the prompts of all stages.

    A prompt without the placeholder `faults` (why a text is requested again) gets it.
    """
    found = {name: load_prompt(f"creval_{name}", folder) for name in _PROMPTS}
    for name, prompt in found.items():
        if "faults" not in prompt.placeholders and name != "blind":
            found[name] = prompt._replace(text=f"{prompt.text.rstrip()}\n\n{{{{faults}}}}")
    return found


def estimate_creval_stages(
    prompts: Mapping[str, Prompt],
    *,
    given_share: float,
    rewrite: bool,
    blind: bool,
    classified_share: float,
    extra_words: int = 0,
) -> list[StageEstimate]:
    """Return the estimated calls for one image.

    - `given_share`: share of images that have an instruction.
    - `classified_share`: share of these instructions whose dimension is known.
    - `extra_words`: by how many words the examples are longer than the shipped ones.
    """
    words = {name: len(prompt.text.split()) + 60 for name, prompt in prompts.items()}
    written = 1.15 if rewrite else 1.15 * (1 - given_share)
    prompt = "rewrite" if rewrite and given_share else "instruction"
    found = [StageEstimate("writer", written, words[prompt] + 150 + extra_words, 150)]
    if given_share and not rewrite and classified_share < 1:
        found.append(StageEstimate("writer", given_share * (1 - classified_share), words["dimension"] + 200, 20))
    found += [StageEstimate("asker", 1.25, words[metric.lower()] + 100, 900) for metric in METRICS]
    if blind:
        found.append(StageEstimate("checker", 1.3, words["blind"] + 250, 500))
    return found


class CrevalSession(ValidatingSession):
    """Session that sends a failed request again under the same attempt number, and then gives up.

    A resumed build runs all pipelines again from the stored replies. A failed call has no stored reply, so it must not
    change the attempt numbers of later requests.
    """

    async def generate(self, *call: Any, reason: str = "", **places: Any) -> str:
        try:
            return await super().generate(*call, faults=reason, **places)
        except GenerationFailedError:
            if not self.retries:
                raise
        try:
            return await super().generate(*call, faults=reason, **places)
        except GenerationFailedError as error:
            raise GenerationFailedError(str(error)) from error  # errors with a cause are not retried


@dataclass
class SampleWriter:
    """Writer of an instruction and of the questions of all metrics for one image.

    - `models`: model names by role, for the provenance.
    - `rejected`: rejected texts, in the form of `build.json`.
    """

    session: CrevalSession
    prompts: Mapping[str, Prompt]
    models: Mapping[str, str]
    source: SourceImage
    rewrite: bool = False
    blind: bool = True
    examples: ExampleSet = SHIPPED_EXAMPLES
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._question_sets = {metric: QuestionSet(metric) for metric in METRICS}

    async def write(self) -> SampleDraft:
        draft = await self._write_instruction()
        attempts = self.session.retries + 1
        for metric in ("IF", "VC"):
            await self._write_questions(metric, draft.instruction, attempts)
        if self.blind:
            await self._check_blind(draft.instruction)
        await self._write_questions("VQ", draft.instruction, attempts)
        draft.questions = {metric: question_set.questions for metric, question_set in self._question_sets.items()}
        return draft

    def _reject(self, stage: str, attempt: object, violations: Iterable[RuleViolation]) -> None:
        self.rejected += [
            {"stage": stage, "try": attempt, "rule": rule, "why": message, "text": text}
            for rule, message, text in violations
        ]

    async def _write_instruction(self) -> SampleDraft:
        """Return the draft with its instruction: the given one, a rewritten one, or a new one."""
        given, dimension = self.source.given_instruction, self.source.dimension
        if given and not self.rewrite:
            if violations := find_given_violations(given):
                raise GenerationFailedError(f"the given instruction is invalid: {violations[0].message}")
            return SampleDraft(given, dimension or await self._classify_dimension(given), {"by": "given"})
        prompt = self.prompts["rewrite" if given else "instruction"]
        kind = describe_dimension(dimension) if dimension else f"{_CHOOSE}\n{describe_all_dimensions()}"
        attempt = 0

        def read(reply: str) -> SampleDraft:
            nonlocal attempt
            attempt += 1
            written = None if is_refusal(reply) else parse_instruction(reply)
            violations = find_instruction_violations(written, given) if written else explain_unreadable(reply)
            if written is not None and not violations:
                if named := dimension or match_one_of(written.dimension, CLASS_DIMENSIONS):
                    facts = self._build_provenance("writer", prompt, reply, attempt)
                    return SampleDraft(written.text, named, facts | ({"given": given} if given else {}))
                violations = [RuleViolation("dimension", "its dimension is none of those named", written.text)]
            self._reject("instruction", attempt, violations)
            raise InvalidReplyError(summarise_violations(violations), format_retry_request(violations))

        return await self.session.generate_until_valid(
            "writer",
            "instruction",
            prompt,
            read,
            instruction=given,
            dimension=kind,
            examples=format_examples(self.examples, dimension),
            format=instruction_reply_format(() if dimension else CLASS_DIMENSIONS, bool(given)),
        )

    async def _classify_dimension(self, instruction: str) -> str:
        """Return the dimension of an instruction, as classified by the writer."""

        def read(reply: str) -> str:
            if name := match_one_of(reply, CLASS_DIMENSIONS):
                return name
            violation = RuleViolation("dimension", "that names none of the dimensions, or more than one", reply[:200])
            raise InvalidReplyError(summarise_violations([violation]), format_retry_request([violation]))

        return await self.session.generate_until_valid(
            "writer",
            "dimension",
            self.prompts["dimension"],
            read,
            instruction=instruction,
            dimension=describe_all_dimensions(),
            format=dimension_reply_format(CLASS_DIMENSIONS),
        )

    async def _write_questions(
        self,
        metric: str,
        instruction: str,
        attempts: int,
        violations: Sequence[RuleViolation] = (),
        minimum: int = MIN_QUESTIONS,
    ) -> None:
        """Ask for a metric's questions until all are valid, in at most `attempts` attempts.

        Raises `GenerationFailedError` if there are fewer than `minimum` questions in the end.
        """
        question_set, prompt = self._question_sets[metric], self.prompts[metric.lower()]
        taken = [text for other in self._question_sets.values() if other is not question_set for text in other.texts]
        removed = [violation.text for violation in violations if violation.text]
        for _ in range(attempts):
            try:
                reply = await self.session.generate(
                    "asker",
                    f"{metric} questions",
                    prompt,
                    question_set.attempts,
                    instruction=instruction,
                    taken=format_bullets(taken),
                    reason=format_retry_request(violations, question_set.texts),
                    format=question_reply_format(metric),
                )
            except GenerationFailedError:
                if len(question_set.questions) < minimum:
                    raise
                return
            question_set.attempts += 1
            facts = self._build_provenance("asker", prompt, reply, question_set.attempts)
            max_new = None
            if question_set.questions and violations:
                # Models that are asked to replace a few questions write as many as in the first reply.
                to_replace = len({violation.text for violation in violations if violation.text})
                max_new = max(to_replace, MIN_QUESTIONS - len(question_set.questions))
            add = partial(question_set.add_reply, reply, instruction, [*taken, *removed], facts, max_new)
            violations = await read_text(reply, add)
            self._reject(f"{metric} question", question_set.attempts, (one for one in violations if one.text))
            if len(question_set.questions) < MIN_QUESTIONS:
                few = f"there are only {len(question_set.questions)} good questions, and {MIN_QUESTIONS} are needed"
                violations = [*violations, RuleViolation("count", few, "")]
            if not violations:
                return
        if len(question_set.questions) < minimum:
            raise GenerationFailedError(f"{metric} questions: {summarise_violations(violations)}")

    async def _check_blind(self, instruction: str) -> None:
        """Let the checking model answer the questions about the source image alone.

        A question is flagged if its answer shows that it cannot measure the edit. Replacements are requested once.
        Flagged questions are dropped, or kept with their flag if there would be too few questions without them.
        """
        flagged = await self._find_flagged(dict.fromkeys(_FLAG_VIOLATIONS, 0), 0)
        first_new = {}
        for metric, flag in _FLAG_VIOLATIONS.items():
            question_set, early = self._question_sets[metric], flagged[metric]
            question_set.questions = [question for question in question_set.questions if question not in early]
            first_new[metric] = len(question_set.questions)
            if early:
                violations = [flag._replace(text=question.text) for question in early]
                await self._write_questions(metric, instruction, 1, violations, MIN_QUESTIONS - len(early))
        flagged_again = await self._find_flagged(first_new, 1)
        for metric, flag in _FLAG_VIOLATIONS.items():
            question_set, late = self._question_sets[metric], flagged_again[metric]
            question_set.questions = [question for question in question_set.questions if question not in late]
            missing = max(0, MIN_QUESTIONS - len(question_set.questions))
            both = flagged[metric] + late
            question_set.questions += [question.with_provenance(flag=flag.rule) for question in both[:missing]]
            for question in both[missing:]:
                self._reject(f"{metric} question", question.provenance["try"], [flag._replace(text=question.text)])

    async def _find_flagged(self, first: Mapping[str, int], attempt: int) -> dict[str, list[KeptQuestion]]:
        """Return the questions, by metric, whose answer about the source shows that they cannot measure the edit.

        Only questions from the index `first[metric]` on are asked. The answers are stored in the questions' provenance.
        """
        found: dict[str, list[KeptQuestion]] = {metric: [] for metric in first}
        questions = {metric: self._question_sets[metric].questions for metric in first}
        places = [(metric, at) for metric, start in first.items() for at in range(start, len(questions[metric]))]
        if not places:
            return found
        asked = [Question(f"Q{n}", metric, questions[metric][at].text) for n, (metric, at) in enumerate(places, 1)]
        labels = [question.id for question in asked]
        lines = "\n".join(f"{question.id}: {question.text}" for question in asked)
        try:
            reply_format = ReplyFormat(_YES_NO.reply_format(labels), _YES_NO.json_schema(labels))
            reply = await self.session.generate(
                "checker", "blind", self.prompts["blind"], attempt, questions=lines, format=reply_format
            )
        except GenerationFailedError:  # the check is optional: questions are kept without it
            reply = ""
        verdicts = await read_text(reply, partial(parse_reply, reply, asked, labels))
        for verdict, (metric, at) in zip(verdicts, places, strict=True):
            answer = None if verdict.value is None else _YES_NO.choices[int(verdict.value)]
            question = questions[metric][at] = questions[metric][at].with_provenance(on_source=answer or UNANSWERED)
            # Before the edit, the expected answer must be wrong for an IF question and right for a VC question.
            if answer is not None and (answer == question.answer) != (metric == "VC"):
                found[metric].append(question)
        return found

    def _build_provenance(self, role: str, prompt: Prompt, reply: str, attempt: int) -> dict[str, object]:
        digest = hashlib.blake2b(reply.encode("utf-8", "replace"), digest_size=8).hexdigest()
        return {"by": self.models[role], "prompt": prompt.version, "reply": digest, "try": attempt}
