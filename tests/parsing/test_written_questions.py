"""Parsing of written questions and instructions in every format, without guessing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creval.parsing.labels import normalise_text
from creval.parsing.written_instructions import WrittenInstruction, match_one_of, parse_instruction
from creval.parsing.written_questions import WrittenQuestion, parse_questions
from creval.testing.fake_creval import BARE_INSTRUCTION_FORMATS, INSTRUCTION_FORMATS, QUESTION_FORMATS, REFUSAL

WORD = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzäé猫'-0123456789"), min_size=1).filter(
    lambda word: word[0].isalpha() and word[-1].isalnum()
)
SAID = st.lists(
    st.one_of(
        WORD,
        WORD.map(lambda word: f'"{word}"'),
        WORD.map(lambda word: f"{word},"),
        WORD.map(lambda word: f"({word})"),
        st.just("a|b"),
        st.just("“Why?”"),
    ),
    min_size=1,
    max_size=12,
)
TEXT = st.builds(
    lambda first, words, mark: f"{first} {' '.join(words)} there{mark}",
    st.sampled_from(["Is", "Does", "Are", "Has", "Can"]),
    SAID,
    st.sampled_from(["?", "？"]),
)
REASON = st.lists(WORD, min_size=1, max_size=6).map(lambda words: f"It shows {' '.join(words)}.")
QUESTION = st.builds(
    WrittenQuestion,
    TEXT,
    st.sampled_from(["Yes", "No"]),
    st.one_of(st.none(), st.sampled_from([1.0, 2.0, 3.0])),
    REASON,
)


@pytest.mark.parametrize("name", QUESTION_FORMATS)
@given(st.lists(QUESTION, min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_what_is_written_is_read_back(name: str, questions: list[WrittenQuestion]) -> None:
    form = QUESTION_FORMATS[name]
    read = parse_questions(form.render(questions))
    if not form.has_reasons:
        questions = [question._replace(reason="") for question in questions]
    assert read == questions


TOLD_TEXT = st.lists(WORD, min_size=4, max_size=40).map(lambda words: f"Turn {' '.join(words)}.")


@pytest.mark.parametrize("name", [*INSTRUCTION_FORMATS, *BARE_INSTRUCTION_FORMATS])
@given(st.builds(WrittenInstruction, TOLD_TEXT, st.just("Surreal Fantasy"), st.just(("red", "big"))))
def test_an_instruction_is_read(name: str, told: WrittenInstruction) -> None:
    read = parse_instruction({**INSTRUCTION_FORMATS, **BARE_INSTRUCTION_FORMATS}[name](told))
    assert read is not None
    assert read.text == told.text
    if name in INSTRUCTION_FORMATS:
        assert read.dimension == told.dimension


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "Q1:",
            "\n",
            "?",
            "**",
            "Answer: Yes",
            "Answer：No",
            "{",
            "}",
            '{"question": "',
            '"',
            "|",
            "| Question |\n",
            "1. ",
            "- ",
            "Weight: 2",
            "Instruction:",
            "[",
            "]",
            "yes",
            "(3)",
            "```",
            '"answer": "Yes"',
            ",",
            ":",
            "问题1：",
            "是",
            "Is it red? Yes",
            "Is it red",
            "\\u0041",
        ]
    ),
)


@given(st.lists(PIECES, max_size=25).map("".join))
@settings(max_examples=300, deadline=None)
def test_parsed_questions_occur_in_the_reply(text: str) -> None:
    found = parse_questions(text)
    said = normalise_text(text)
    for question in found:
        assert question.text
        if "\\" not in text:
            assert normalise_text(question.text) in said
        if question.answer in ("Yes", "No"):
            words = {"Yes": ("yes", "是", "对", "true"), "No": ("no", "否", "不", "false")}
            assert any(word in text.casefold() for word in words[question.answer])
        if question.weight is not None:
            assert f"{question.weight:g}"[0] in text
    told = parse_instruction(text)
    if told is not None and "\\" not in text:
        assert normalise_text(told.text) in said


@pytest.mark.parametrize(
    "text",
    [
        "{" * 50_000,
        "[" * 50_000,
        '{"question":' * 20_000,
        "Q1:" * 50_000,
        "?" * 50_000,
        "|" * 50_000,
        "- " * 50_000,
        "**" * 50_000,
        ("a " * 3000 + "? Yes\n") * 20,
        "instruction " * 20_000 + ":",
        "\n\n".join(['"x"'] * 20_000),
        "\n" * 50_000,
        " " * 50_000,
        "\r" * 50_000,
        "\n\r" * 25_000 + "x",
        "(" + " " * 19_000 + "x",
    ],
)
def test_hostile_text_is_cheap(text: str) -> None:
    began = time.process_time()
    parse_questions(text)
    parse_instruction(text)
    assert time.process_time() - began < 1.5


def test_texts_that_are_no_questions_are_ignored() -> None:
    said = (
        "What must change? The cat becomes a lamp.\n\n1. Who is it? The cat, a tabby.\n"
        "2. The cat keeps its collar.\n- Should the collar stay?\n\nWould you like more questions?"
    )
    assert parse_questions(said) == []
    assert parse_questions(REFUSAL) == []


def test_two_answers_are_none() -> None:
    (question,) = parse_questions("Q1: Is it red?\nAnswer: Yes\nAnswer: No")
    assert question.answer == "Yes | No"
    assert parse_instruction("Instruction: Make it red.\nInstruction: Make it blue.") is None
    assert parse_instruction("First thought.\n\nSecond thought.") is None


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Q1: Is it red? Yes", WrittenQuestion("Is it red?", "Yes")),
        ("Q1. Is it red? → No (weight = 2)", WrittenQuestion("Is it red?", "No", 2.0)),
        ("1. Is it red? (Yes, 3)", WrittenQuestion("Is it red?", "Yes", 3.0)),
        ("**1. Is it red?**\nYes", WrittenQuestion("Is it red?", "Yes")),
        ('{"Q1": "Is it red?", "answer": true}', WrittenQuestion("Is it red?", "Yes")),
        ('{"Is it red?": "No"}', WrittenQuestion("Is it red?", "No")),
        (
            '{"question": "Q2: Is it red?", "answer": "** Yes", "weight": "3 points"}',
            WrittenQuestion("Is it red?", "Yes", 3.0),
        ),
        ('[{"question": "Is it red?", "answer": "Yes"}, {"question": "Is it gr', WrittenQuestion("Is it red?", "Yes")),
        ("Question: Is it red?\nExpected answer: no.\nImportance: 1", WrittenQuestion("Is it red?", "No", 1.0)),
        ("**Question 1 (Weight: 3):** Is it red?\n**Answer:** Yes", WrittenQuestion("Is it red?", "Yes", 3.0)),
        (
            "1. **Question:** Is it red?\n   **Answer:** Yes\n   **Weight:** 2 (a detail)",
            WrittenQuestion("Is it red?", "Yes", 2.0),
        ),
        ("Q1: Is it red? [Yes/No]\nAnswer: Yes", WrittenQuestion("Is it red?", "Yes")),
        ("Q1. Is it red?\nA1. No", WrittenQuestion("Is it red?", "No")),
        ("Q1：是红色的吗？答案：是，权重：3", WrittenQuestion("是红色的吗？", "Yes", 3.0)),
        ("Q1: Is it red?\nAnswer: It depends", WrittenQuestion("Is it red?", "It depends")),
    ],
)
def test_forms_that_models_have_used(said: str, read: WrittenQuestion) -> None:
    assert parse_questions(said) == [read]


def test_one_name_of_several() -> None:
    names = ["Surreal Fantasy", "Commercial Design"]
    assert match_one_of("It is **surreal fantasy**, I think.", names) == "Surreal Fantasy"
    assert match_one_of("Surreal Fantasy or Commercial Design", names) is None
    assert match_one_of("None of them.", names) is None


@pytest.mark.parametrize(
    "said",
    [
        "**Editing Instruction:**\nTurn it red.",
        "> Turn it red.",
        "1. Turn it red.",
        "Turn it red.\n\nWord count: 3",
        '"instruction": "Turn it red."',
        "“Turn it red.”",
        "Instruction (3 words): Turn it red.",
        "Sure:\n\n```\nTurn it red.\n```",
    ],
)
def test_instructions_in_forms_that_models_have_used(said: str) -> None:
    told = parse_instruction(said)
    assert told is not None
    assert told.text == "Turn it red."
