from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.parsing.text_checks import (
    contains_refusal,
    count_words,
    damage_reason,
    dominant_script,
    find_quotes,
    is_refusal,
    leftover_markup_reason,
    remove_quotes,
)


def test_words_and_scripts() -> None:
    assert count_words("A cat's well-kept 2 lamps.") == 5
    assert count_words("把猫变成灯") == 3
    assert dominant_script("Is it 红?") == "LATIN"
    assert dominant_script("123") == ""


def test_quotes_are_found() -> None:
    said = find_quotes("Write \"TEA & CO\" and 'it's' over “Ende”, 「茶」 on the dog's bowl")
    assert said[0] == "TEA & CO"
    assert said[-2:] == ["Ende", "茶"]
    assert remove_quotes("Does 'a' read “IS IT?” to the boys' dog's eyes") == ("Does   read   to the boys' dog's eyes")


@pytest.mark.parametrize(
    "text",
    [
        "Add a kite.",
        "Write “AAAAAAAAAH” and 'no no no' there.",
        "A café's 1000000 very very soft lights ....... at dusk",
        "Schreibe „Donaudampfschiffahrt“ an die Wand",
        "这个红红的灯笼在左边的窗户旁边上面还有一个很长很长很长的没有空格的句子因为中文不需要空格",
        "ทำให้ท้องฟ้าเป็นสีแดงและเพิ่มดวงจันทร์สีเหลืองดวงใหญ่ไว้ทางด้านซ้ายของภาพ",
        "A bubble with 🕵️‍♂️ and é",
    ],
)
def test_whole_texts_are_whole(text: str) -> None:
    assert (damage_reason(text), leftover_markup_reason(text)) == ("", "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("the the the kite", "repeated"),
        ("Aaaaaaa kite", "repeated"),
        ("a kite !!!!!!!!", "repeated"),
        ("the catâ€™s ear", "damaged characters"),
        ("caf\ufffd", "damaged characters"),
        ("a ???? kite", "damaged characters"),
        ("a kite\u202e", "damaged characters"),
        ("a \ue000 kite", "damaged characters"),
        ("a \ud800 kite", "damaged characters"),
        ("Addakitetotheskyandmakeitredandverylong", "longer than 30"),
    ],
)
def test_damage_is_named(text: str, reason: str) -> None:
    assert reason in damage_reason(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"instruction": 1}',
        "{{thing}}",
        "```add",
        "Make it **red**",
        "<b>red</b>",
        "<|end|>",
        "a\\nb",
        "\\u2019s",
        "[[a]]",
        "TEA &amp; CO",
        "[insert object]",
        "'a': 'b'",
    ],
)
def test_leftovers_of_a_form(text: str) -> None:
    assert "contains markup" in leftover_markup_reason(text)


def test_refusals() -> None:
    assert is_refusal("I’m sorry, I can’t.")
    assert is_refusal("抱歉，我不能")
    assert not is_refusal("Turn the sorry cat into a lamp.")
    assert not is_refusal("Turn the cat into one that says that it is an AI. I cannot say more.")
    assert contains_refusal("A person is shown. As an AI I cannot do this")
    assert not contains_refusal("Write “I can't wait” on the sorry cat's bowl.")


@given(st.text())
def test_checks_hold_for_any_text(text: str) -> None:
    assert count_words(f"{text} word") == count_words(text) + 1
    assert all(quote and quote in text for quote in find_quotes(text))
    assert "damaged characters" in damage_reason(f"{text}\ufffd")
    assert "contains markup" in leftover_markup_reason(f"{text}```")
    assert is_refusal(f"I am sorry. {text}")
    assert contains_refusal(f"I am sorry. {text}")
    assert not is_refusal(f"A {text}")


@pytest.mark.parametrize("text", ["'" * 20_000, "“" * 20_000, "a " * 20_000, "<" * 20_000])
def test_hostile_text_is_cheap(text: str) -> None:
    began = time.perf_counter()
    assert isinstance(damage_reason(text) + leftover_markup_reason(text), str)
    assert time.perf_counter() - began < 1
