"""Complex-Edit's instructions for anyone's pictures: a sequence of atomic edits, each made short,
then the first two, three ... of them put together (arXiv 2504.13143, section 2).

C1 is the first atomic instruction; Ci merges the first i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from creval.building import text_rules
from creval.building.complex_edit import replies
from creval.building.complex_edit.operations import described
from creval.calls.text_generation import Expected
from creval.calls.validated_text import NotAcceptedError, RejectedError, Scribe, load_text
from creval.parsing.text_checks import quotes
from creval.prompts import Prompt

ROLES = ("writer", "reviser")
"""The writer thinks up sequences, warmly; the same model as reviser shortens and compounds."""
_ATOMIC = text_rules.length(3, 60)
_A_STEP = 60  # words of a compound instruction for each of its steps


class Texts(NamedTuple):
    """The three prompts."""

    sequence: Prompt
    simplify: Prompt
    compound: Prompt


def load_texts(folder: str | None = None) -> Texts:
    return Texts(
        load_text("complexedit_sequence", folder, "operations", "count"),
        load_text("complexedit_simplify", folder, "instruction"),
        load_text("complexedit_compound", folder, "instructions"),
    )


def stages(steps: int) -> list[Expected]:
    """What a picture takes, before anything is asked."""
    return [
        Expected("writer", 1, 750, 90 * steps),
        Expected("reviser", steps, 270, 40, pictures=0),
        Expected("reviser", steps - 1, 380 + 12 * steps, 60 + 15 * steps),
    ]


async def write_chain(scribe: Scribe, texts: Texts, steps: int) -> dict[str, Any]:
    """One picture's atomic and compound instructions, as they stand in a row's `edit`."""
    atomic = await scribe.insist(
        "writer", "sequence", texts.sequence, lambda text: _sequence(text, steps),
        count=f"{steps}", operations=described(), format=replies.SEQUENCE_FORMAT,
    )  # fmt: skip
    sequence = [await _shorter(scribe, texts.simplify, one) for one in atomic]
    compound = [{"compound_instruction": sequence[0]["instruction"], "reasoning": ""}]
    for count in range(2, steps + 1):
        compound.append(await _compounded(scribe, texts.compound, sequence[:count], compound[-1]))
    return {"sequence": sequence, "compound": compound}


def _sequence(text: str, steps: int) -> list[replies.Atomic]:
    found = replies.read_sequence(text)
    if len(found) != steps:
        raise RejectedError(
            f"count: {len(found)} edits with an operation from the list could be read; {steps} are "
            "needed"
        )
    seen: set[str] = set()
    for number, one in enumerate(found, 1):
        if reason := text_rules.broken(one.instruction, length=_ATOMIC):
            raise RejectedError(f"edit {number}: {reason}")
        if one.instruction.casefold() in seen:
            raise RejectedError(f"edit {number}: duplicate: it says what another one says")
        seen.add(one.instruction.casefold())
    return found


async def _shorter(scribe: Scribe, prompt: Prompt, atomic: replies.Atomic) -> dict[str, str]:
    """An instruction as short as it can be. Where no shorter one is accepted, it stays."""
    operation, said, why = atomic
    kept = {"name": operation, "instruction": said, "before": said, "reason": why}

    def read(text: str) -> str:
        found = replies.read_simplified(text)
        if found is None:
            raise RejectedError("format: it cannot be read whether a shorter one is needed")
        if not found.needed:
            return said
        if len(found.instruction) >= len(said):
            raise RejectedError("simplification: it is not shorter")
        reason = text_rules.broken(
            found.instruction, length=text_rules.length(2, 60),
            lost_words=text_rules.keeps(quotes(said)),
        )  # fmt: skip
        if reason:
            raise RejectedError(reason)
        return found.instruction

    try:
        kept["instruction"] = await scribe.insist(
            "reviser", "simplify", prompt, read, show=(),
            instruction=said, format=replies.SIMPLIFY_FORMAT,
        )  # fmt: skip
    except NotAcceptedError as error:
        kept["unsimplified"] = str(error)
    return kept


async def _compounded(
    scribe: Scribe, prompt: Prompt, sequence: Sequence[dict[str, str]], last: dict[str, str]
) -> dict[str, str]:
    """All of a sequence as one instruction."""
    kept = [
        words
        for step in sequence
        if step["name"] == "Add Text"
        for words in quotes(step["instruction"])
        # What is removed or replaced later need not stand there any more.
        if not any(words in other["instruction"] for other in sequence if other is not step)
    ]

    def read(text: str) -> replies.Compound:
        found = replies.read_compound(text)
        if found is None:
            raise RejectedError("format: one instruction, and only one, is needed")
        reason = text_rules.broken(
            found.instruction,
            length=text_rules.length(3, _A_STEP * len(sequence)),
            list=text_rules.one_sentence_each,
            lost_words=text_rules.keeps(kept),
        )
        if reason:
            raise RejectedError(reason)
        if found.instruction.casefold() == last["compound_instruction"].casefold():
            raise RejectedError("nothing added: the last edit is not in it")
        return found

    listed = "\n".join(f"{at}. {step['instruction']}" for at, step in enumerate(sequence, 1))
    found = await scribe.insist(
        "reviser", f"compound C{len(sequence)}", prompt, read,
        instructions=listed, format=replies.COMPOUND_FORMAT,
    )  # fmt: skip
    return {"compound_instruction": found.instruction, "reasoning": found.reason}
