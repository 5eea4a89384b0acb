"""The questions of a metric while they are being made, and the words that ask for better ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from creval.building.creval.rules import Context, Fault, alike, question_faults
from creval.parsing.questions import Written, read_questions
from creval.parsing.text_checks import declined


@dataclass(frozen=True)
class Asked:
    """A question that is kept, and where it comes from."""

    text: str
    answer: str
    weight: int
    reason: str
    made: Mapping[str, object]

    def noted(self, **facts: object) -> Asked:
        """The same with more said of where it comes from."""
        return replace(self, made={**self.made, **facts})


@dataclass
class Sheet:
    """The questions of a metric while they are being made."""

    metric: str
    kept: list[Asked] = field(default_factory=list)
    tries: int = 0

    @property
    def texts(self) -> list[str]:
        return [asked.text for asked in self.kept]

    def take(
        self, reply: str, to: Context, facts: Mapping[str, object], room: int | None
    ) -> list[Fault]:
        """Put down the good questions of a reply, as many as there is room for; what is wrong with
        the others."""
        before = self.texts
        questions = read_questions(reply)
        faults = [] if questions else unread(reply)
        for question in questions:
            if any(alike(question.text, text) for text in before):
                continue  # told not to, models still write down what is kept already
            if room is not None and len(self.kept) >= len(before) + room:
                break
            wrong = question_faults(question, to._replace(others=[*to.others, *self.texts]))
            if wrong:
                faults += wrong
            else:
                self.kept.append(_kept(question, self.metric, facts))
        return faults


def _kept(question: Written, metric: str, facts: Mapping[str, object]) -> Asked:
    weight = int(question.weight or 1) if metric == "VC" else 1
    return Asked(question.text, question.answer or "", weight, question.reason, facts)


def unread(reply: str) -> list[Fault]:
    """Why nothing could be read from a reply."""
    if declined(reply):
        return [Fault("declined", "you declined", reply[:200])]
    return [Fault("form", "your reply does not have the form that is asked for", reply[:200])]


def listed(texts: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def asked_again(faults: Sequence[Fault], kept: Sequence[str] = ()) -> str:
    """What tells a model why it is asked again; nothing where it is not."""
    if not faults:
        return ""
    lines = ["You are asked again, because of what you wrote before this cannot be used:"]
    lines += [f"- {fault.text}: {fault.sentence}" if fault.text else f"- {fault.sentence}"
              for fault in faults]  # fmt: skip
    if kept:
        lines += ["These are good and are kept; write none of them again, and nothing alike:"]
        lines += [listed(kept), "Write only what takes the place of the rest."]
    return "\n".join(lines)


def why(faults: Sequence[Fault]) -> str:
    """The reason for giving up, in a line."""
    if faults and faults[0].rule == "declined":
        return f"the model declined: {faults[0].text}"
    # Where several are wrong, the count says most.
    fault = faults[-1]
    return f"{fault.sentence}: {fault.text}"[:200] if fault.text else fault.sentence
