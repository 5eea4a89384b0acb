"""CREval's first two stages for anyone's images: an instruction, then questions on it.

For each image one model writes an instruction, another writes questions in three metrics, each by a prompt of its own.
What breaks a rule is asked for again, with the reasons. A second model answers IF and VC questions on the source alone:
what it finds true too early, or false already, goes.
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
from creval.building.creval.dimensions import describe_all_dimensions, describe_dimension, format_dimension_examples
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
"""What stands with a question where a second model, asked about the source, said neither."""
_CHOOSE = "the one of these that suits best; choose it."
_YES_NO = get_scale("yes/no")
_FLAG_VIOLATIONS = {
    "IF": RuleViolation("true before", "it is so already before the edit, as a second model sees it", ""),
    "VC": RuleViolation("false before", "it is not so before the edit, as a second model sees it", ""),
}


@dataclass
class SampleDraft:
    """All that was made of an image."""

    instruction: str
    dimension: str
    provenance: Mapping[str, object]
    questions: dict[str, list[KeptQuestion]] = field(default_factory=dict)


class QuestionCounts(NamedTuple):
    """Questions of some samples. `unchecked` are those of which a second model said nothing."""

    by_metric: Counter[str]
    flagged: int
    unchecked: int


def count_questions(drafts: Iterable[SampleDraft]) -> QuestionCounts:
    """Count what was made."""
    asked = [(metric, one) for draft in drafts for metric in METRICS for one in draft.questions[metric]]
    return QuestionCounts(
        Counter(metric for metric, _ in asked),
        sum("flag" in one.provenance for _, one in asked),
        sum(one.provenance.get("on_source") == UNANSWERED for _, one in asked),
    )


def load_creval_prompts(folder: str | Path | None) -> dict[str, Prompt]:
    """Load the prompts of all stages, with a place in each for reasons to ask again."""
    found = {name: load_prompt(f"creval_{name}", folder) for name in _PROMPTS}
    for name, prompt in found.items():
        if "faults" not in prompt.placeholders and name != "blind":
            found[name] = prompt._replace(text=f"{prompt.text.rstrip()}\n\n{{{{faults}}}}")
    return found


def estimate_creval_stages(
    prompts: Mapping[str, Prompt], *, given_share: float, rewrite: bool, blind: bool, classified_share: float
) -> list[StageEstimate]:
    """Guess what each image takes. `given_share` is the share of images that have an instruction, `classified_share` of
    those the share whose dimension is known."""
    words = {name: len(prompt.text.split()) + 60 for name, prompt in prompts.items()}
    written = 1.15 if rewrite else 1.15 * (1 - given_share)
    told = "rewrite" if rewrite and given_share else "instruction"
    found = [StageEstimate("writer", written, words[told] + 150, 150)]
    if given_share and not rewrite and classified_share < 1:
        found.append(StageEstimate("writer", given_share * (1 - classified_share), words["dimension"] + 200, 20))
    found += [StageEstimate("asker", 1.25, words[metric.lower()] + 100, 900) for metric in METRICS]
    if blind:
        found.append(StageEstimate("checker", 1.3, words["blind"] + 250, 500))
    return found


class CrevalSession(ValidatingSession):
    """Session whose replies are found again by every later start.

    All pipelines run again then, so a reply that did not come, and is not stored, must not move the attempt on: the
    same attempt is made once more, and then the image is left out.
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
            raise GenerationFailedError(str(error)) from error  # the cause keeps it from being retried


@dataclass
class SampleWriter:
    """Writes an instruction for an image, and questions in every metric.

    `models` are named in the provenance, by role. `rejected` is all that was not good enough, as `build.json` keeps it.
    """

    session: CrevalSession
    prompts: Mapping[str, Prompt]
    models: Mapping[str, str]
    source: SourceImage
    rewrite: bool = False
    blind: bool = True
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
        draft.questions = {metric: sheet.questions for metric, sheet in self._question_sets.items()}
        return draft

    def _reject(self, stage: str, attempt: object, violations: Iterable[RuleViolation]) -> None:
        self.rejected += [
            {"stage": stage, "try": attempt, "rule": rule, "why": message, "text": text}
            for rule, message, text in violations
        ]

    async def _write_instruction(self) -> SampleDraft:
        """Return the instruction: as it was given, sharpened, or new."""
        given, dimension = self.source.given_instruction, self.source.dimension
        if given and not self.rewrite:
            if faults := find_given_violations(given):
                raise GenerationFailedError(f"the given instruction: {faults[0].message}")
            return SampleDraft(given, dimension or await self._classify_dimension(given), {"by": "given"})
        prompt = self.prompts["rewrite" if given else "instruction"]
        kind = describe_dimension(dimension) if dimension else f"{_CHOOSE}\n{describe_all_dimensions()}"
        shown = format_dimension_examples([dimension]) if dimension else format_dimension_examples(CLASS_DIMENSIONS, 1)
        attempt = 0

        def read(reply: str) -> SampleDraft:
            nonlocal attempt
            attempt += 1
            written = None if is_refusal(reply) else parse_instruction(reply)
            faults = find_instruction_violations(written, given) if written else explain_unreadable(reply)
            if written is not None and not faults:
                if named := dimension or match_one_of(written.dimension, CLASS_DIMENSIONS):
                    facts = self._build_provenance("writer", prompt, reply, attempt)
                    return SampleDraft(written.text, named, facts | ({"given": given} if given else {}))
                faults = [RuleViolation("dimension", "its dimension is none of those named", written.text)]
            self._reject("instruction", attempt, faults)
            raise InvalidReplyError(summarise_violations(faults), format_retry_request(faults))

        return await self.session.generate_until_valid(
            "writer",
            "instruction",
            prompt,
            read,
            instruction=given,
            dimension=kind,
            examples=shown,
            format=instruction_reply_format(() if dimension else CLASS_DIMENSIONS, bool(given)),
        )

    async def _classify_dimension(self, instruction: str) -> str:
        """Return the dimension of an instruction that came without."""

        def read(reply: str) -> str:
            if name := match_one_of(reply, CLASS_DIMENSIONS):
                return name
            fault = RuleViolation("dimension", "that names none of the dimensions, or more than one", reply[:200])
            raise InvalidReplyError(summarise_violations([fault]), format_retry_request([fault]))

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
        """Ask for a metric's questions until nothing is wrong with them, or as often as is allowed. With fewer than
        `minimum` there is no sample."""
        sheet, prompt = self._question_sets[metric], self.prompts[metric.lower()]
        taken = [text for other in self._question_sets.values() if other is not sheet for text in other.texts]
        gone = [fault.text for fault in violations if fault.text]
        for _ in range(attempts):
            try:
                reply = await self.session.generate(
                    "asker",
                    f"{metric} questions",
                    prompt,
                    sheet.attempts,
                    instruction=instruction,
                    taken=format_bullets(taken),
                    reason=format_retry_request(violations, sheet.texts),
                    format=question_reply_format(metric),
                )
            except GenerationFailedError:
                if len(sheet.questions) < minimum:
                    raise
                return
            sheet.attempts += 1
            facts = self._build_provenance("asker", prompt, reply, sheet.attempts)
            room = None
            if sheet.questions and violations:
                # Asked for others in the place of some, models write as many as at first.
                wanted = len({fault.text for fault in violations if fault.text})
                room = max(wanted, MIN_QUESTIONS - len(sheet.questions))
            add = partial(sheet.add_reply, reply, instruction, [*taken, *gone], facts, room)
            violations = await read_text(reply, add)
            self._reject(f"{metric} question", sheet.attempts, (fault for fault in violations if fault.text))
            if len(sheet.questions) < MIN_QUESTIONS:
                few = f"there are only {len(sheet.questions)} good questions, and {MIN_QUESTIONS} are needed"
                violations = [*violations, RuleViolation("count", few, "")]
            if not violations:
                return
        if len(sheet.questions) < minimum:
            raise GenerationFailedError(f"{metric} questions: {summarise_violations(violations)}")

    async def _check_blind(self, instruction: str) -> None:
        """Ask a second model about the source alone. What it flags is asked for once more; where there are enough
        without it is dropped, and otherwise kept with its flag."""
        flagged = await self._find_flagged(dict.fromkeys(_FLAG_VIOLATIONS, 0), 0)
        begun = {}
        for metric, flag in _FLAG_VIOLATIONS.items():
            sheet, mine = self._question_sets[metric], flagged[metric]
            sheet.questions = [asked for asked in sheet.questions if asked not in mine]
            begun[metric] = len(sheet.questions)
            if mine:
                faults = [flag._replace(text=asked.text) for asked in mine]
                await self._write_questions(metric, instruction, 1, faults, MIN_QUESTIONS - len(mine))
        again = await self._find_flagged(begun, 1)
        for metric, flag in _FLAG_VIOLATIONS.items():
            sheet, late = self._question_sets[metric], again[metric]
            sheet.questions = [asked for asked in sheet.questions if asked not in late]
            missing = max(0, MIN_QUESTIONS - len(sheet.questions))
            both = flagged[metric] + late
            sheet.questions += [asked.with_provenance(flag=flag.rule) for asked in both[:missing]]
            for asked in both[missing:]:
                self._reject(f"{metric} question", asked.provenance["try"], [flag._replace(text=asked.text)])

    async def _find_flagged(self, first: Mapping[str, int], attempt: int) -> dict[str, list[KeptQuestion]]:
        """Return the questions, from the `first` of each metric on, with the wrong answer on the source. What is
        answered is noted with each."""
        found: dict[str, list[KeptQuestion]] = {metric: [] for metric in first}
        sheets = {metric: self._question_sets[metric].questions for metric in first}
        places = [(metric, at) for metric, start in first.items() for at in range(start, len(sheets[metric]))]
        if not places:
            return found
        asked = [Question(f"Q{n}", metric, sheets[metric][at].text) for n, (metric, at) in enumerate(places, 1)]
        labels = [question.id for question in asked]
        lines = "\n".join(f"{question.id}: {question.text}" for question in asked)
        try:
            form = ReplyFormat(_YES_NO.reply_format(labels), _YES_NO.json_schema(labels))
            reply = await self.session.generate(
                "checker", "blind", self.prompts["blind"], attempt, questions=lines, format=form
            )
        except GenerationFailedError:  # a question without a second opinion is still a question
            reply = ""
        verdicts = await read_text(reply, partial(parse_reply, reply, asked, labels))
        for verdict, (metric, at) in zip(verdicts, places, strict=True):
            said = None if verdict.value is None else _YES_NO.choices[int(verdict.value)]
            question = sheets[metric][at] = sheets[metric][at].with_provenance(on_source=said or UNANSWERED)
            # An IF question is to be wrong before the edit, and a VC question right.
            if said is not None and (said == question.answer) != (metric == "VC"):
                found[metric].append(question)
        return found

    def _build_provenance(self, role: str, prompt: Prompt, reply: str, attempt: int) -> dict[str, object]:
        digest = hashlib.blake2b(reply.encode("utf-8", "replace"), digest_size=8).hexdigest()
        return {"by": self.models[role], "prompt": prompt.version, "reply": digest, "try": attempt}
