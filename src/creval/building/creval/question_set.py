"""The questions of a metric while they are being made, and the words that ask for better ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from creval.building.creval.rules import RuleViolation, find_question_violations, is_same_question
from creval.parsing.text_checks import is_refusal
from creval.parsing.written_questions import parse_questions

_MAX_QUESTIONS = 100  # questions of a reply that are looked at; each is compared with all others


@dataclass(frozen=True)
class KeptQuestion:
    """A question that is kept, and where it comes from."""

    text: str
    answer: str
    weight: int
    reason: str
    provenance: Mapping[str, object]

    def with_provenance(self, **facts: object) -> KeptQuestion:
        """Return the same question with more said of where it comes from."""
        return replace(self, provenance={**self.provenance, **facts})


@dataclass
class QuestionSet:
    """The questions of a metric while they are being made."""

    metric: str
    questions: list[KeptQuestion] = field(default_factory=list)
    attempts: int = 0

    @property
    def texts(self) -> list[str]:
        return [asked.text for asked in self.questions]

    def add_reply(
        self,
        reply: str,
        instruction: str,
        other_questions: Sequence[str],
        provenance: Mapping[str, object],
        max_new: int | None,
    ) -> list[RuleViolation]:
        """Keep the good questions of a reply, at most `max_new`; return what is wrong with the others."""
        before = self.texts
        questions = parse_questions(reply)[:_MAX_QUESTIONS]
        faults = [] if questions else explain_unreadable(reply)
        for question in questions:
            if any(is_same_question(question.text, text) for text in before):
                continue  # told not to, models still write down what is kept already
            if max_new is not None and len(self.questions) >= len(before) + max_new:
                break
            others = [*other_questions, *self.texts]
            if wrong := find_question_violations(question, self.metric, instruction, others):
                faults += wrong
                continue
            weight = int(question.weight or 1) if self.metric == "VC" else 1
            kept = KeptQuestion(question.text, question.answer or "", weight, question.reason, provenance)
            self.questions.append(kept)
        return faults


def explain_unreadable(reply: str) -> list[RuleViolation]:
    """Return why nothing could be read from a reply."""
    if is_refusal(reply):
        return [RuleViolation("declined", "you declined", reply[:200])]
    return [RuleViolation("form", "your reply does not have the form that is asked for", reply[:200])]


def format_bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def format_retry_request(violations: Sequence[RuleViolation], kept_texts: Sequence[str] = ()) -> str:
    """Return what tells a model why it is asked again; nothing where it is not."""
    if not violations:
        return ""
    lines = ["You are asked again, because of what you wrote before this cannot be used:"]
    lines += [f"- {fault.text}: {fault.message}" if fault.text else f"- {fault.message}" for fault in violations]
    if kept_texts:
        lines += ["These are good and are kept; write none of them again, and nothing alike:"]
        lines += [format_bullets(kept_texts), "Write only what takes the place of the rest."]
    return "\n".join(lines)


def summarise_violations(violations: Sequence[RuleViolation]) -> str:
    """Return the reason for giving up, in a line."""
    if violations and violations[0].rule == "declined":
        return f"the model declined: {violations[0].text}"
    # Where several are wrong, the count says most.
    fault = violations[-1]
    return f"{fault.message}: {fault.text}"[:200] if fault.text else fault.message
