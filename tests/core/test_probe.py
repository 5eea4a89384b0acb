from __future__ import annotations

from creval.core.call import CallKey
from creval.core.edit_record import EditKey


def test_the_same_request_has_the_same_digest_and_any_other_another() -> None:
    ask = CallKey("openai:gpt-4o", EditKey("Bagel", "a"), ("IF/1", "IF/2"), "prompt", ("d1", "d2"))
    same = CallKey("openai:gpt-4o", EditKey("Bagel", "a"), ("IF/1", "IF/2"), "prompt", ("d1", "d2"))
    assert ask.digest == same.digest
    others = [
        ask._replace(caller="openai:gpt-4"),
        ask._replace(subject=EditKey("Bagel", "b")),
        ask._replace(subject=EditKey("Bagel", "a", 1)),
        ask._replace(parts=("IF/1",)),
        ask._replace(prompt="other"),
        ask._replace(images=("d2", "d1")),
        ask._replace(parameters={"temperature": 0}),
        ask._replace(repeat=1),
        ask._replace(variant="swapped"),
        ask._replace(parts=("IF/1",), prompt="IF/2"),
    ]
    assert len({ask.digest, *(other.digest for other in others)}) == len(others) + 1


def test_the_order_of_parameters_does_not_matter() -> None:
    ask = CallKey("j", EditKey("m", "s"), ())
    first = ask._replace(parameters={"a": 1, "b": 2})
    assert first.digest == ask._replace(parameters={"b": 2, "a": 1}).digest
