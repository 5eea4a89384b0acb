"""Questions of a metric while they are generated, and the texts of repeated requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from creval.building.creval.rules import RuleViolation, find_question_violations, is_same_question
from creval.parsing.text_checks import is_refusal
from creval.parsing.written_questions import parse_questions

_MAX_QUESTIONS = 100  # parsed questions of a reply; limited because each is compared with all others


@dataclass(frozen=True)
class KeptQuestion:
    """An accepted question and its provenance."""

    text: str
    answer: str
    weight: int
    reason: str
    provenance: Mapping[str, object]

    def with_provenance(self, **facts: object) -> KeptQuestion:
        """Return the same question with additional provenance."""
        return replace(self, provenance={**self.provenance, **facts})


@dataclass
class QuestionSet:
    """Accepted questions of a metric, and the number of replies so far."""

    metric: str
    questions: list[KeptQuestion] = field(default_factory=list)
    attempts: int = 0

    @property
    def texts(self) -> list[str]:
        return [question.text for question in self.questions]

    def add_reply(
        self,
        reply: str,
        instruction: str,
        other_questions: Sequence[str],
        provenance: Mapping[str, object],
        max_new: int | None,
    ) -> list[RuleViolation]:
        """Add the valid questions of a reply, at most `max_new`.

        Return the violations of questions that break a rule.
        """
        before = self.texts
        questions = parse_questions(reply)[:_MAX_QUESTIONS]
        violations = [] if questions else explain_unreadable(reply)
        for question in questions:
            if any(is_same_question(question.text, text) for text in before):
                continue  # models repeat accepted questions although the prompt forbids it
            if max_new is not None and len(self.questions) >= len(before) + max_new:
                break
            others = [*other_questions, *self.texts]
            if found := find_question_violations(question, self.metric, instruction, others):
                violations += found
                continue
            weight = int(question.weight or 1) if self.metric == "VC" else 1
            kept = KeptQuestion(question.text, question.answer or "", weight, question.reason, provenance)
            self.questions.append(kept)
        return violations


def explain_unreadable(reply: str) -> list[RuleViolation]:
    """Return the reason why a reply could not be parsed."""
    if is_refusal(reply):
        return [RuleViolation("declined", "you declined", reply[:200])]
    return [RuleViolation("form", "your reply does not have the form that is asked for", reply[:200])]


def format_bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def format_retry_request(violations: Sequence[RuleViolation], kept_texts: Sequence[str] = ()) -> str:
    """Return the text that tells a model why it is asked again, or "" if there are no violations."""
    if not violations:
        return ""
    lines = ["You are asked again, because of what you wrote before this cannot be used:"]
    lines += [f"- {one.text}: {one.message}" if one.text else f"- {one.message}" for one in violations]
    if kept_texts:
        lines += ["These are good and are kept; write none of them again, and nothing alike:"]
        lines += [format_bullets(kept_texts), "Write only what takes the place of the rest."]
    return "\n".join(lines)


def summarise_violations(violations: Sequence[RuleViolation]) -> str:
    """Return violations as the reason of a failure, on one line."""
    if violations and violations[0].rule == "declined":
        return f"the model declined: {violations[0].text}"
    # If there are several violations, the last one has the count of questions, which is the most useful.
    last = violations[-1]
    return f"{last.message}: {last.text}"[:200] if last.text else last.message
