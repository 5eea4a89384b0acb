"""Complex-Edit's instructions for any images (arXiv 2504.13143, section 2).

A model writes a sequence of atomic instructions. Each is simplified. Then the first two, three ... of them are merged
into compound instructions: C1 is the first atomic instruction, and Ci merges the first i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from creval.benchmarks.complex_edit.atomic_operations import describe_operations
from creval.building import text_rules
from creval.building.complex_edit import chain_replies
from creval.calls.text_generation import StageEstimate
from creval.calls.validated_text import (
    InvalidReplyError,
    RetriesExhaustedError,
    ValidatingSession,
    load_prompt_with_places,
)
from creval.parsing.text_checks import find_quotes
from creval.prompts import Prompt

ROLES = ("writer", "reviser")
"""The writer writes sequences with a high temperature. The reviser, the same model, simplifies and merges them."""
_ATOMIC_LENGTH = text_rules.length_rule(3, 60)
_WORDS_PER_STEP = 60  # words of a compound instruction for each of its steps


def load_complex_edit_prompts(folder: str | None = None) -> dict[str, Prompt]:
    places = {"sequence": ("operations", "count"), "simplify": ("instruction",), "compound": ("instructions",)}
    return {name: load_prompt_with_places(f"complexedit_{name}", folder, *needs) for name, needs in places.items()}


def estimate_complex_edit_stages(steps: int) -> list[StageEstimate]:
    """Return the estimated calls for one image."""
    return [
        StageEstimate("writer", 1, 750, 90 * steps),
        StageEstimate("reviser", steps, 270, 40, images=0),
        StageEstimate("reviser", steps - 1, 380 + 12 * steps, 60 + 15 * steps),
    ]


async def write_chain(session: ValidatingSession, prompts: Mapping[str, Prompt], steps: int) -> dict[str, Any]:
    """Write one image's atomic and compound instructions, in the form of a row's `edit`."""
    atomic = await session.generate_until_valid(
        "writer",
        "sequence",
        prompts["sequence"],
        lambda text: _parse_sequence(text, steps),
        count=f"{steps}",
        operations=describe_operations(),
        format=chain_replies.SEQUENCE_FORMAT,
    )
    sequence = [await _simplify(session, prompts["simplify"], one) for one in atomic]
    compound = [{"compound_instruction": sequence[0]["instruction"], "reasoning": ""}]
    for count in range(2, steps + 1):
        compound.append(await _write_compound(session, prompts["compound"], sequence[:count], compound[-1]))
    return {"sequence": sequence, "compound": compound}


def _parse_sequence(text: str, steps: int) -> list[chain_replies.AtomicInstruction]:
    found = chain_replies.read_sequence(text)
    if len(found) != steps:
        raise InvalidReplyError(
            f"count: {len(found)} edits with an operation from the list could be read; {steps} are needed"
        )
    seen: set[str] = set()
    for number, one in enumerate(found, 1):
        if reason := text_rules.find_violation(one.instruction, length=_ATOMIC_LENGTH):
            raise InvalidReplyError(f"edit {number}: {reason}")
        if one.instruction.casefold() in seen:
            raise InvalidReplyError(f"edit {number}: duplicate: another edit has the same instruction")
        seen.add(one.instruction.casefold())
    return found


async def _simplify(
    session: ValidatingSession, prompt: Prompt, atomic: chain_replies.AtomicInstruction
) -> dict[str, str]:
    """Return an atomic instruction in a shorter form, or unchanged if no shorter form is accepted."""
    operation, original, why = atomic
    step = {"name": operation, "instruction": original, "before": original, "reason": why}

    def read(text: str) -> str:
        found = chain_replies.read_simplified(text)
        if found is None:
            raise InvalidReplyError("format: the reply does not say clearly whether a shorter instruction is needed")
        if not found:
            return original
        if len(found) >= len(original):
            raise InvalidReplyError("simplification: the instruction is not shorter than before")
        lost_words = text_rules.kept_quotes_rule(find_quotes(original))
        return text_rules.require_valid(found, length=text_rules.length_rule(2, 60), lost_words=lost_words)

    try:
        step["instruction"] = await session.generate_until_valid(
            "reviser",
            "simplify",
            prompt,
            read,
            image_paths=(),
            instruction=original,
            format=chain_replies.SIMPLIFY_FORMAT,
        )
    except RetriesExhaustedError as error:
        step["unsimplified"] = str(error)
    return step


async def _write_compound(
    session: ValidatingSession, prompt: Prompt, sequence: Sequence[dict[str, str]], previous: dict[str, str]
) -> dict[str, str]:
    """Return one instruction that merges a sequence of atomic instructions."""
    quotes = [
        words
        for step in sequence
        if step["name"] == "Add Text"
        for words in find_quotes(step["instruction"])
        # A later step may remove or replace the text.
        if not any(words in other["instruction"] for other in sequence if other is not step)
    ]

    def read(text: str) -> chain_replies.CompoundInstruction:
        found = chain_replies.read_compound(text)
        if found is None:
            raise InvalidReplyError("format: one instruction, and only one, is needed")
        text_rules.require_valid(
            found.instruction,
            length=text_rules.length_rule(3, _WORDS_PER_STEP * len(sequence)),
            list=text_rules.step_list_reason,
            lost_words=text_rules.kept_quotes_rule(quotes),
        )
        if found.instruction.casefold() == previous["compound_instruction"].casefold():
            raise InvalidReplyError("nothing added: the last edit is not in the instruction")
        return found

    listed = "\n".join(f"{at}. {step['instruction']}" for at, step in enumerate(sequence, 1))
    found = await session.generate_until_valid(
        "reviser", f"compound C{len(sequence)}", prompt, read, instructions=listed, format=chain_replies.COMPOUND_FORMAT
    )
    return {"compound_instruction": found.instruction, "reasoning": found.reason}
