"""CREval's first two stages for anyone's pictures: an instruction, then questions on it.

For each picture one model writes an instruction, another writes questions in three metrics, each by
a prompt of its own. What breaks a rule is asked for again, with the reasons. A second model answers
IF and VC questions on the source alone: what it finds true too early, or false already, goes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from creval.benchmarks.creval.release import CLASSES, FEWEST, METRICS
from creval.building.creval.dimensions import all_described, described, examples
from creval.building.creval.questions import Asked, Sheet, asked_again, listed, unread, why
from creval.building.creval.rules import (
    ATTRIBUTES,
    INSTRUCTION_RULES,
    LANGUAGE,
    Context,
    Fault,
    InstructionRule,
    instruction_faults,
    rewrite_rules,
)
from creval.building.creval.sources import Source
from creval.calls.text_generation import Desk, Expected, UnwrittenError
from creval.core.probe import Question
from creval.core.scales import contract_named
from creval.parsing.answers import read_reply
from creval.parsing.instructions import (
    Instruction,
    dimension_request,
    instruction_request,
    read_instruction,
    read_name,
)
from creval.parsing.questions import question_request
from creval.parsing.text_checks import declined
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
_YES_NO = contract_named("yes/no")
_FLAGS = {
    "IF": Fault("true before", "it is so already before the edit, as a second model sees it", ""),
    "VC": Fault("false before", "it is not so before the edit, as a second model sees it", ""),
}


@dataclass(frozen=True)
class Rejected:
    """What was written and is not kept: at which stage, in which try, and why."""

    stage: str
    attempt: int
    fault: Fault


@dataclass
class Made:
    """All that was made of a picture."""

    instruction: str
    dimension: str
    made: Mapping[str, object]
    rejected: list[Rejected]
    questions: dict[str, list[Asked]] = field(default_factory=dict)


def load_prompts(folder: str | Path | None) -> dict[str, Prompt]:
    """The texts for all stages; in each is a place for reasons to ask again."""
    found = {name: load_prompt(name, folder) for name in PROMPTS}
    for name, prompt in found.items():
        if "faults" not in prompt.places and name != "creval_blind":
            found[name] = prompt._replace(text=f"{prompt.text.rstrip()}\n\n{{{{faults}}}}")
    return found


def stages(prompts: Mapping[str, Prompt], *, given: float, rewrite: bool, blind: bool,
           placed: float) -> list[Expected]:  # fmt: skip
    """What the making takes for each picture, as a guess. `given` is the share of pictures that
    have an instruction, `placed` of those the share whose dimension is known."""
    words = {name: len(prompt.text.split()) + 60 for name, prompt in prompts.items()}
    written = 1.15 if rewrite else 1.15 * (1 - given)
    told = "creval_rewrite" if rewrite and given else "creval_instruction"
    found = [Expected("writer", written, words[told] + 150, 150)]
    if given and not rewrite and placed < 1:
        found.append(Expected("writer", given * (1 - placed), words["creval_dimension"] + 200, 20))
    for metric in METRICS:
        found.append(Expected("asker", 1.25, words[f"creval_{metric.lower()}"] + 100, 900))
    if blind:
        found.append(Expected("checker", 1.3, words["creval_blind"] + 250, 500))
    return found


class Making:
    """What is done with each picture; `models` are named in the provenance, by role. `rejected` is
    all that was not good enough, also for pictures that came to nothing."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        prompts: Mapping[str, Prompt],
        models: Mapping[str, str],
        *,
        rewrite: bool = False,
        blind: bool = True,
        retries: int = 2,
    ) -> None:
        self.sources, self.prompts, self.models = sources, prompts, models
        self.rewrite, self.blind, self.tries = rewrite, blind, retries + 1
        self.rejected: dict[str, list[Rejected]] = {}

    async def make(self, desk: Desk) -> Made:
        """An instruction for a picture, and questions in every metric."""
        rejected = self.rejected[desk.item.id] = []
        made = await self._instruct(desk, self.sources[desk.item.id], rejected)
        sheets = {metric: Sheet(metric) for metric in METRICS}
        for metric in ("IF", "VC"):
            await self._fill(desk, sheets, sheets[metric], made, self.tries)
        if self.blind:
            await self._check_blind(desk, sheets, made)
        await self._fill(desk, sheets, sheets["VQ"], made, self.tries)
        made.questions = {metric: sheet.kept for metric, sheet in sheets.items()}
        return made

    async def _instruct(self, desk: Desk, source: Source, rejected: list[Rejected]) -> Made:
        """The instruction: as it was given, sharpened, or new."""
        if source.given and not self.rewrite:
            told = Instruction(source.given)
            faults = instruction_faults(told, [rule for rule in INSTRUCTION_RULES if rule.given])
            if faults:
                raise UnwrittenError(f"the given instruction: {faults[0].sentence}")
            dimension = source.dimension or await self._place(desk, source.given)
            return Made(source.given, dimension, {"by": "given"}, rejected)
        prompt = self.prompts["creval_rewrite" if source.given else "creval_instruction"]
        open_ = not source.dimension
        kind = f"{_CHOOSE}\n{all_described()}" if open_ else described(source.dimension)
        shown = examples(CLASSES, 1) if open_ else examples([source.dimension])
        rules = _rules_for(source)
        faults = []
        for attempt in range(self.tries):
            reply = await self._ask(
                desk, "writer", "instruction", prompt, again=attempt, instruction=source.given,
                dimension=kind, examples=shown, faults=asked_again(faults),
                format=instruction_request(open_, added=bool(source.given)),
            )  # fmt: skip
            written = None if declined(reply) else read_instruction(reply)
            faults = unread(reply) if written is None else instruction_faults(written, rules)
            if written is not None and not faults:
                named = source.dimension or read_name(written.dimension, CLASSES)
                if named:
                    facts = self._facts("writer", prompt, reply, attempt)
                    facts |= {"given": source.given} if source.given else {}
                    return Made(written.text, named, facts, rejected)
                faults = [Fault("dimension", "its dimension is none of those named", written.text)]
            rejected += [Rejected("instruction", attempt + 1, fault) for fault in faults]
        raise UnwrittenError(f"instruction: {why(faults)}")

    async def _place(self, desk: Desk, instruction: str) -> str:
        """The dimension of an instruction that came without."""
        prompt, reply = self.prompts["creval_dimension"], ""
        fault = Fault("dimension", "that names none of the dimensions, or more than one", "")
        for attempt in range(self.tries):
            wrong = [fault._replace(text=reply[:200])] if attempt else []
            reply = await self._ask(
                desk, "writer", "dimension", prompt, again=attempt, instruction=instruction,
                dimension=all_described(), faults=asked_again(wrong), format=dimension_request(),
            )  # fmt: skip
            if name := read_name(reply, CLASSES):
                return name
        raise UnwrittenError(f"dimension: {fault.sentence}: {reply[:100]}")

    async def _fill(
        self,
        desk: Desk,
        sheets: Mapping[str, Sheet],
        sheet: Sheet,
        made: Made,
        tries: int,
        faults: Sequence[Fault] = (),
        enough: int = FEWEST,
    ) -> None:
        """Ask for a metric's questions until nothing is wrong with them, or as often as is
        allowed. With fewer than `enough` there is no sample."""
        prompt = self.prompts[f"creval_{sheet.metric.lower()}"]
        taken = [text for other in sheets.values() if other is not sheet for text in other.texts]
        gone = [fault.text for fault in faults if fault.text]
        for _ in range(tries):
            try:
                reply = await self._ask(
                desk,     "asker", f"{sheet.metric} questions", prompt, again=sheet.tries,
                    instruction=made.instruction, taken=listed(taken),
                    faults=asked_again(faults, sheet.texts), format=question_request(sheet.metric),
                )  # fmt: skip
            except UnwrittenError:
                if len(sheet.kept) < enough:
                    raise
                return
            facts = self._facts("asker", prompt, reply, sheet.tries)
            sheet.tries += 1
            # Asked for others in the place of some, models write as many as at first.
            wanted = len({fault.text for fault in faults if fault.text})
            room = max(wanted, FEWEST - len(sheet.kept)) if sheet.kept and faults else None
            to = Context(sheet.metric, made.instruction, [*taken, *gone])
            faults = sheet.take(reply, to, facts, room)
            stage = f"{sheet.metric} question"
            made.rejected += [Rejected(stage, sheet.tries, fault) for fault in faults if fault.text]
            if len(sheet.kept) < FEWEST:
                few = f"there are only {len(sheet.kept)} good questions, and {FEWEST} are needed"
                faults = [*faults, Fault("count", few, "")]
            if not faults:
                return
        if len(sheet.kept) < enough:
            raise UnwrittenError(f"{sheet.metric} questions: {why(faults)}")

    async def _check_blind(self, desk: Desk, sheets: Mapping[str, Sheet], made: Made) -> None:
        """Ask a second model about the source alone. What it flags is asked for once more; where
        there are enough without it is dropped, and otherwise kept with its flag."""
        checked = [sheets[metric] for metric in _FLAGS]
        flagged = await self._flagged(desk, [(sheet, 0) for sheet in checked], 0)
        begun = {}
        for sheet in checked:
            mine = flagged[sheet.metric]
            sheet.kept = [asked for asked in sheet.kept if asked not in mine]
            begun[sheet.metric] = len(sheet.kept)
            if mine:
                faults = [_FLAGS[sheet.metric]._replace(text=asked.text) for asked in mine]
                enough = FEWEST - len(mine)
                await self._fill(desk, sheets, sheet, made, 1, faults, enough)
        fresh = [(sheet, begun[sheet.metric]) for sheet in checked]
        again = await self._flagged(desk, fresh, 1)
        for sheet in checked:
            late, mine = again[sheet.metric], flagged[sheet.metric]
            flag = _FLAGS[sheet.metric]
            sheet.kept = [asked for asked in sheet.kept if asked not in late]
            missing = max(0, FEWEST - len(sheet.kept))
            sheet.kept += [asked.noted(flag=flag.rule) for asked in (mine + late)[:missing]]
            made.rejected += [
                Rejected(f"{sheet.metric} question", int(str(asked.made["try"])),
                         flag._replace(text=asked.text))
                for asked in (mine + late)[missing:]
            ]  # fmt: skip

    async def _flagged(
        self, desk: Desk, parts: Sequence[tuple[Sheet, int]], attempt: int
    ) -> dict[str, list[Asked]]:
        """Of the questions from a place on in each sheet, those with the wrong answer on the
        source. What is answered is noted with each."""
        found: dict[str, list[Asked]] = {sheet.metric: [] for sheet, _ in parts}
        places = [(sheet, at) for sheet, first in parts for at in range(first, len(sheet.kept))]
        if not places:
            return found
        labels = [f"Q{number}" for number in range(1, len(places) + 1)]
        asked = [Question(label, sheet.metric, sheet.kept[at].text)
                 for label, (sheet, at) in zip(labels, places, strict=True)]  # fmt: skip
        lines = "\n".join(f"{question.id}: {question.text}" for question in asked)
        try:
            reply = await self._ask(
                desk, "checker", "blind", self.prompts["creval_blind"], attempt,
                questions=lines, format=_YES_NO.request(labels),
            )  # fmt: skip
        except UnwrittenError:  # a question without a second opinion is still a question
            reply = ""
        for verdict, (sheet, at) in zip(read_reply(reply, asked, labels), places, strict=True):
            said = None if verdict.value is None else _YES_NO.choices[int(verdict.value)]
            question = sheet.kept[at]
            question = sheet.kept[at] = question.noted(on_source=said or UNANSWERED)
            wanted = question.answer if sheet.metric == "VC" else _other(question.answer)
            if said is not None and said != wanted:
                found[sheet.metric].append(question)
        return found

    async def _ask(
        self, desk: Desk, role: str, stage: str, prompt: Prompt, again: int, **places: str
    ) -> str:
        """A model's words. Where none came, it is asked once more: a server may stumble once."""
        try:
            return await desk.ask(role, stage, prompt, again=again, show=None, **places)
        except UnwrittenError:
            if self.tries == 1:
                raise
            return await desk.ask(role, stage, prompt, again=again, show=None, **places)

    def _facts(self, role: str, prompt: Prompt, reply: str, attempt: int) -> dict[str, object]:
        """Where something comes from."""
        digest = hashlib.blake2b(reply.encode("utf-8", "replace"), digest_size=8).hexdigest()
        by = self.models[role]
        return {"by": by, "prompt": prompt.version, "reply": digest, "try": attempt + 1}


def _other(answer: str) -> str:
    return "No" if answer == "Yes" else "Yes"


def _rules_for(source: Source) -> list[InstructionRule]:
    """What an instruction must be like: new ones in English, others as they came."""
    if not source.given:
        return [*INSTRUCTION_RULES, LANGUAGE, ATTRIBUTES]
    return [*INSTRUCTION_RULES, *rewrite_rules(source.given)]
