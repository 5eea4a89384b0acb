"""CREval's first two stages for anyone's pictures: an instruction, then questions on it.

For each picture one model writes an instruction, another writes questions in three metrics, each by
a prompt of its own. What breaks a rule is asked for again, with the reasons. A second model answers
IF and VC questions on the source alone: what it finds true too early, or false already, goes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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

PROMPTS = (
    "creval_instruction",
    "creval_rewrite",
    "creval_dimension",
    "creval_if",
    "creval_vc",
    "creval_vq",
    "creval_blind",
)
FITTING = "fitting"
UNANSWERED = "unanswered"
"""What stands with a question where a second model, asked about the source, said neither."""
_CHOOSE = "the one of these that suits best; choose it."
_YES_NO = get_scale("yes/no")
_FLAG_VIOLATIONS = {
    "IF": RuleViolation("true before", "it is so already before the edit, as a second model sees it", ""),
    "VC": RuleViolation("false before", "it is not so before the edit, as a second model sees it", ""),
}


@dataclass(frozen=True)
class Rejection:
    """What was written and is not kept: at which stage, in which try, and why."""

    stage: str
    attempt: int
    violation: RuleViolation


@dataclass
class SampleDraft:
    """All that was made of a picture."""

    instruction: str
    dimension: str
    provenance: Mapping[str, object]
    rejections: list[Rejection]
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
    """The texts for all stages; in each is a place for reasons to ask again."""
    found = {name: load_prompt(name, folder) for name in PROMPTS}
    for name, prompt in found.items():
        if "faults" not in prompt.placeholders and name != "creval_blind":
            found[name] = prompt._replace(text=f"{prompt.text.rstrip()}\n\n{{{{faults}}}}")
    return found


def estimate_creval_stages(
    prompts: Mapping[str, Prompt], *, given_share: float, rewrite: bool, blind: bool, classified_share: float
) -> list[StageEstimate]:
    """What the making takes for each picture, as a guess. `given_share` is the share of pictures that
    have an instruction, `classified_share` of those the share whose dimension is known."""
    words = {name: len(prompt.text.split()) + 60 for name, prompt in prompts.items()}
    written = 1.15 if rewrite else 1.15 * (1 - given_share)
    told = "creval_rewrite" if rewrite and given_share else "creval_instruction"
    found = [StageEstimate("writer", written, words[told] + 150, 150)]
    if given_share and not rewrite and classified_share < 1:
        found.append(StageEstimate("writer", given_share * (1 - classified_share), words["creval_dimension"] + 200, 20))
    for metric in METRICS:
        found.append(StageEstimate("asker", 1.25, words[f"creval_{metric.lower()}"] + 100, 900))
    if blind:
        found.append(StageEstimate("checker", 1.3, words["creval_blind"] + 250, 500))
    return found


class CrevalSession(ValidatingSession):
    """Session whose replies are found again by every later start.

    All pipelines run again then, so a reply that did not come, and is not stored, must not move the
    attempt on: the same attempt is made once more, and then the image is left out.
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


class SamplePipeline:
    """What is done with each picture; `models` are named in the provenance, by role. `rejections`
    is all that was not good enough, also for pictures that came to nothing."""

    def __init__(
        self, prompts: Mapping[str, Prompt], models: Mapping[str, str], *, rewrite: bool = False, blind: bool = True
    ) -> None:
        self.prompts, self.models, self.rewrite, self.blind = prompts, models, rewrite, blind
        self.sources: Mapping[str, SourceImage] = {}
        self.rejections: dict[str, list[Rejection]] = {}

    async def make(self, item: ValidatingSession) -> SampleDraft:
        """An instruction for a picture, and questions in every metric."""
        session, name = CrevalSession(item.session, item.retries), item.session.item.id
        rejected = self.rejections[name] = []
        made = await self._write_instruction(session, self.sources[name], rejected)
        sheets = {metric: QuestionSet(metric) for metric in METRICS}
        attempts = session.retries + 1
        for metric in ("IF", "VC"):
            await self._write_questions(session, sheets, sheets[metric], made, attempts)
        if self.blind:
            await self._check_blind(session, sheets, made)
        await self._write_questions(session, sheets, sheets["VQ"], made, attempts)
        made.questions = {metric: sheet.questions for metric, sheet in sheets.items()}
        return made

    async def _write_instruction(
        self, session: CrevalSession, source: SourceImage, rejections: list[Rejection]
    ) -> SampleDraft:
        """The instruction: as it was given, sharpened, or new."""
        if source.given_instruction and not self.rewrite:
            if faults := find_given_violations(source.given_instruction):
                raise GenerationFailedError(f"the given instruction: {faults[0].message}")
            dimension = source.dimension or await self._classify_dimension(session, source.given_instruction)
            return SampleDraft(source.given_instruction, dimension, {"by": "given"}, rejections)
        prompt = self.prompts["creval_rewrite" if source.given_instruction else "creval_instruction"]
        open_ = not source.dimension
        kind = f"{_CHOOSE}\n{describe_all_dimensions()}" if open_ else describe_dimension(source.dimension)
        shown = (
            format_dimension_examples(CLASS_DIMENSIONS, 1) if open_ else format_dimension_examples([source.dimension])
        )
        attempt = 0

        def read(reply: str) -> SampleDraft:
            nonlocal attempt
            attempt += 1
            written = None if is_refusal(reply) else parse_instruction(reply)
            faults = (
                find_instruction_violations(written, source.given_instruction) if written else explain_unreadable(reply)
            )
            if written is not None and not faults:
                named = source.dimension or match_one_of(written.dimension, CLASS_DIMENSIONS)
                if named:
                    facts = self._build_provenance("writer", prompt, reply, attempt)
                    facts |= {"given": source.given_instruction} if source.given_instruction else {}
                    return SampleDraft(written.text, named, facts, rejections)
                faults = [RuleViolation("dimension", "its dimension is none of those named", written.text)]
            rejections.extend(Rejection("instruction", attempt, fault) for fault in faults)
            raise InvalidReplyError(summarise_violations(faults), format_retry_request(faults))

        return await session.generate_until_valid(
            "writer",
            "instruction",
            prompt,
            read,
            instruction=source.given_instruction,
            dimension=kind,
            examples=shown,
            format=instruction_reply_format(CLASS_DIMENSIONS if open_ else (), bool(source.given_instruction)),
        )

    async def _classify_dimension(self, session: CrevalSession, instruction: str) -> str:
        """The dimension of an instruction that came without."""

        def read(reply: str) -> str:
            if name := match_one_of(reply, CLASS_DIMENSIONS):
                return name
            fault = RuleViolation("dimension", "that names none of the dimensions, or more than one", reply[:200])
            raise InvalidReplyError(summarise_violations([fault]), format_retry_request([fault]))

        return await session.generate_until_valid(
            "writer",
            "dimension",
            self.prompts["creval_dimension"],
            read,
            instruction=instruction,
            dimension=describe_all_dimensions(),
            format=dimension_reply_format(CLASS_DIMENSIONS),
        )

    async def _write_questions(
        self,
        session: CrevalSession,
        question_sets: Mapping[str, QuestionSet],
        question_set: QuestionSet,
        draft: SampleDraft,
        attempts: int,
        violations: Sequence[RuleViolation] = (),
        minimum: int = MIN_QUESTIONS,
    ) -> None:
        """Ask for a metric's questions until nothing is wrong with them, or as often as is
        allowed. With fewer than `minimum` there is no sample."""
        prompt = self.prompts[f"creval_{question_set.metric.lower()}"]
        taken = [text for other in question_sets.values() if other is not question_set for text in other.texts]
        gone = [fault.text for fault in violations if fault.text]
        for _ in range(attempts):
            try:
                reply = await session.generate(
                    "asker",
                    f"{question_set.metric} questions",
                    prompt,
                    question_set.attempts,
                    instruction=draft.instruction,
                    taken=format_bullets(taken),
                    reason=format_retry_request(violations, question_set.texts),
                    format=question_reply_format(question_set.metric),
                )
            except GenerationFailedError:
                if len(question_set.questions) < minimum:
                    raise
                return
            question_set.attempts += 1
            facts = self._build_provenance("asker", prompt, reply, question_set.attempts)
            # Asked for others in the place of some, models write as many as at first.
            wanted = len({fault.text for fault in violations if fault.text})
            room = None
            if question_set.questions and violations:
                room = max(wanted, MIN_QUESTIONS - len(question_set.questions))
            violations = question_set.add_reply(reply, draft.instruction, [*taken, *gone], facts, room)
            stage = f"{question_set.metric} question"
            draft.rejections += [Rejection(stage, question_set.attempts, fault) for fault in violations if fault.text]
            if len(question_set.questions) < MIN_QUESTIONS:
                few = f"there are only {len(question_set.questions)} good questions, and {MIN_QUESTIONS} are needed"
                violations = [*violations, RuleViolation("count", few, "")]
            if not violations:
                return
        if len(question_set.questions) < minimum:
            raise GenerationFailedError(f"{question_set.metric} questions: {summarise_violations(violations)}")

    async def _check_blind(
        self, session: CrevalSession, question_sets: Mapping[str, QuestionSet], draft: SampleDraft
    ) -> None:
        """Ask a second model about the source alone. What it flags is asked for once more; where
        there are enough without it is dropped, and otherwise kept with its flag."""
        checked = [question_sets[metric] for metric in _FLAG_VIOLATIONS]
        flagged = await self._find_flagged(session, [(sheet, 0) for sheet in checked], 0)
        begun = {}
        for sheet in checked:
            mine = flagged[sheet.metric]
            sheet.questions = [asked for asked in sheet.questions if asked not in mine]
            begun[sheet.metric] = len(sheet.questions)
            if mine:
                faults = [_FLAG_VIOLATIONS[sheet.metric]._replace(text=asked.text) for asked in mine]
                enough = MIN_QUESTIONS - len(mine)
                await self._write_questions(session, question_sets, sheet, draft, 1, faults, enough)
        fresh = [(sheet, begun[sheet.metric]) for sheet in checked]
        again = await self._find_flagged(session, fresh, 1)
        for sheet in checked:
            late, mine = again[sheet.metric], flagged[sheet.metric]
            flag = _FLAG_VIOLATIONS[sheet.metric]
            sheet.questions = [asked for asked in sheet.questions if asked not in late]
            missing = max(0, MIN_QUESTIONS - len(sheet.questions))
            sheet.questions += [asked.with_provenance(flag=flag.rule) for asked in (mine + late)[:missing]]
            draft.rejections += [
                Rejection(f"{sheet.metric} question", int(str(asked.provenance["try"])), flag._replace(text=asked.text))
                for asked in (mine + late)[missing:]
            ]

    async def _find_flagged(
        self, session: CrevalSession, parts: Sequence[tuple[QuestionSet, int]], attempt: int
    ) -> dict[str, list[KeptQuestion]]:
        """Of the questions from a place on in each sheet, those with the wrong answer on the
        source. What is answered is noted with each."""
        found: dict[str, list[KeptQuestion]] = {sheet.metric: [] for sheet, _ in parts}
        places = [(sheet, at) for sheet, first in parts for at in range(first, len(sheet.questions))]
        if not places:
            return found
        labels = [f"Q{number}" for number in range(1, len(places) + 1)]
        asked = [
            Question(label, sheet.metric, sheet.questions[at].text)
            for label, (sheet, at) in zip(labels, places, strict=True)
        ]
        lines = "\n".join(f"{question.id}: {question.text}" for question in asked)
        try:
            prompt = self.prompts["creval_blind"]
            form = ReplyFormat(_YES_NO.reply_format(labels), _YES_NO.json_schema(labels))
            reply = await session.generate("checker", "blind", prompt, attempt, questions=lines, format=form)
        except GenerationFailedError:  # a question without a second opinion is still a question
            reply = ""
        for verdict, (sheet, at) in zip(parse_reply(reply, asked, labels), places, strict=True):
            said = None if verdict.value is None else _YES_NO.choices[int(verdict.value)]
            question = sheet.questions[at]
            question = sheet.questions[at] = question.with_provenance(on_source=said or UNANSWERED)
            wanted = question.answer if sheet.metric == "VC" else _opposite_answer(question.answer)
            if said is not None and said != wanted:
                found[sheet.metric].append(question)
        return found

    def _build_provenance(self, role: str, prompt: Prompt, reply: str, attempt: int) -> dict[str, object]:
        """Where something comes from."""
        digest = hashlib.blake2b(reply.encode("utf-8", "replace"), digest_size=8).hexdigest()
        by = self.models[role]
        return {"by": by, "prompt": prompt.version, "reply": digest, "try": attempt}


def _opposite_answer(answer: str) -> str:
    return "No" if answer == "Yes" else "Yes"
