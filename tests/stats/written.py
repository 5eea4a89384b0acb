"""Runs of CREval written answer by answer, with missing edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from creval.benchmarks.creval.release import CATEGORY_BY_DIMENSION, LEVELS
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import RunWriter
from creval.store.manifest import level_entry

QUESTIONS = (
    Question("IF/1", "IF", "Is the hat red?", "yes/no", "Yes", "Yes"),
    Question("VC/1", "VC", "Is it the same cat?", "yes/no", "Yes", "Yes", 3.0),
    Question("VC/2", "VC", "Has the window gone?", "yes/no", "No", "No"),
    Question("VQ/1", "VQ", "Is the picture sharp?", "yes/no", "Yes", "Yes"),
)
"""IF and VQ are one question each, VC two of the weights 3 and 1."""
REASONS = {
    EditStatus.REFUSED: "content filter: no",
    EditStatus.FAILED: "timeout",
    EditStatus.IMPOSSIBLE: "in the benchmark, s.png does not exist",
}
Answers = str | EditStatus | Sequence[str | EditStatus]
"""Answers to the questions about an edit (+ right, - wrong, ? unanswered, blank not asked), or the status of a missing
edit. A sequence has one entry per draw."""


def write(
    folder: Path,
    answers: Mapping[str, Mapping[str, Answers]],
    dimensions: Mapping[str, str],
    *,
    repeats: int = 1,
    manifest: Mapping[str, object] | None = None,
) -> Path:
    """Write a run of samples in these dimensions, with the same answers in each repeat."""
    samples = [
        Sample(name, "Do.", None, {"category": CATEGORY_BY_DIMENSION[of], "dimension": of})
        for name, of in dimensions.items()
    ]
    with RunWriter(folder) as store, store.transaction():
        levels = [level_entry(level) for level in LEVELS]
        named = {"benchmark": "creval", "protocol": "creval", "judge": "j", "levels": levels}
        store.put_manifest({**named, **(manifest or {})})
        store.put_samples([(sample, QUESTIONS) for sample in samples], {})
        for model, given in answers.items():
            for sample, said in given.items():
                draws = [said] if isinstance(said, str) else said
                for draw, one in enumerate(draws):
                    _put(store, EditKey(model, sample, draw), one, repeats)
    return folder


def _put(store: RunWriter, key: EditKey, said: str | EditStatus, repeats: int) -> None:
    if isinstance(said, EditStatus):
        store.put_edits([Edit(key, said, reason=REASONS.get(said, ""))])
        return
    store.put_edits([Edit(key, image=Path(f"{key.model}/{key.sample}.png"))])
    verdicts = list(_verdicts(said))
    if verdicts:
        store.put_replies(
            (
                CallKey("j", key, tuple(v.probe for v in verdicts), repeat=at),
                Reply(VerdictStatus.ANSWERED, "so"),
                verdicts,
            )
            for at in range(repeats)
        )


def _verdicts(signs: str) -> Iterator[Verdict]:
    for question, sign in zip(QUESTIONS, signs, strict=True):
        if sign == "?":
            yield Verdict(question.id, VerdictStatus.MISSING)
        elif sign != " ":
            value = float((question.reference == "Yes") == (sign == "+"))
            yield Verdict(question.id, VerdictStatus.ANSWERED, value, "Yes" if value else "No")
