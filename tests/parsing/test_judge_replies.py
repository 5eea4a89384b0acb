"""Parsing of judges' replies: accepted formats, and replies that leave a question unanswered."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.probe import Question
from creval.core.verdict import VerdictStatus
from creval.parsing.judge_replies import parse_reply

TEXTS = ("Is the cat red?", "Is there a hat?", "Are there {two} dogs?")
QUESTIONS = [Question(f"IF/{n}", "IF", text, label=f"Q{n}") for n, text in enumerate(TEXTS, 1)]


def values(reply: str, questions: list[Question] = QUESTIONS) -> list[float | None]:
    return [verdict.value for verdict in parse_reply(reply, questions)]


def statuses(reply: str, questions: list[Question] = QUESTIONS) -> list[str]:
    return [str(verdict.status) for verdict in parse_reply(reply, questions)]


def entry(n: int, answer: str, explanation: str = "because") -> str:
    text = f"Q{n}: {TEXTS[n - 1]}"
    return json.dumps({"Question": text, "explanation": explanation, "answer": answer}, indent=4)


ALL = [entry(1, "Yes"), entry(2, "No"), entry(3, "Yes")]
READ = [1.0, 0.0, 1.0]
WORDS = ((1, "Yes"), (2, "No"), (3, "Yes"))


@pytest.mark.parametrize(
    "reply",
    [
        "\n\n".join(ALL),
        "```json\n" + "\n".join(ALL) + "\n```",
        "\n".join(f"```json\n{one}\n```" for one in ALL),
        "[" + ",".join(ALL) + "]",
        "Here is what I see.\n" + ",\n".join(ALL) + "\nI hope this helps {you}.",
        "\n".join(ALL).replace("answer", "Answer").replace("explanation", "Explanation"),
        "\n".join(reversed(ALL)),
        json.dumps({"answers": [json.loads(one) for one in ALL]}),
        json.dumps({"explanation": "see below", "answer": [json.loads(one) for one in ALL]}),
        json.dumps({"Q1": "Yes", "Q2": "No", "Q3": "Yes"}),
        json.dumps({"Q1": {"answer": "Yes"}, "Q2": {"answer": "No"}, "Q3": {"answer": "Yes"}}),
        json.dumps([{"question_id": n, "answer": a} for n, a in WORDS]),
        json.dumps([{"question": TEXTS[n - 1], "answer": a} for n, a in WORDS]),
        "\n".join(json.dumps({f"Question {n}": TEXTS[n - 1], "answer": a}) for n, a in WORDS),
        json.dumps(["Yes", "No", "Yes"]),
        json.dumps([{"answer": "Yes"}, {"answer": "No"}, {"answer": "Yes"}]),
        json.dumps([{"id": n, "answer": a == "Yes"} for n, a in WORDS]),
        "Q1: Yes\nQ2: No\nQ3: Yes",
        "1. Yes\n2. No - there is none\n3. Yes.",
        "**Q1:** Yes\n**Q2:** No\n**Q3:** Yes",
        "- Q1 - Yes, it is.\n- Q2 - No.\n- Q3 - Yes.",
        "Q1: Is the cat red? Yes\nQ2: Is there a hat? **No**\nQ3: Are there {two} dogs? Yes",
        "Q1: Is the cat red?\nAnswer: Yes\n\nQ2: ...\nAnswer: No\n\nQ3: ...\nAnswer: Yes",
        "Question 1：Yes\nQuestion 2：No\nQuestion 3：Yes。",
        '```json\n["Yes", "No", "Yes"]\n```',
        "\ufeff" + "\n".join(ALL),
    ],
)
def test_forms_in_which_models_answer(reply: str) -> None:
    assert values(reply) == READ


def test_braces_quotes_and_answers_inside_explanations_do_not_matter() -> None:
    hostile = 'it says {"answer": "No"} and } and { and ``` and "Q1: No"'
    reply = "\n".join([entry(1, "Yes", hostile), entry(2, "No", hostile), entry(3, "Yes", hostile)])
    verdicts = parse_reply(reply, QUESTIONS)
    assert [verdict.value for verdict in verdicts] == READ
    assert verdicts[0].explanation == hostile


@pytest.mark.parametrize(
    "slip",
    [
        lambda one: one.replace('because",', 'because"'),
        lambda one: one.replace('because",', 'because";'),
        lambda one: one.replace('because",', "because',"),
        lambda one: one.replace('because",', "because”"),
        lambda one: one.replace("because", 'the text "Elegance" is missing'),
        lambda one: one.replace(' hat?"', ' hat", or a cap?"'),
    ],
)
def test_slips_of_punctuation_are_read_over(slip: object) -> None:
    assert callable(slip)
    broken = slip(ALL[1])
    with pytest.raises(ValueError, match=r"."):
        json.loads(broken)
    assert values("\n".join([ALL[0], broken, ALL[2]])) == READ


def test_a_reply_cut_off_answers_only_what_is_complete() -> None:
    whole = "\n".join(ALL)
    for length in range(len(whole)):
        for value, expected in zip(values(whole[:length]), READ, strict=True):
            assert value in (None, expected)
    assert values(whole[: whole.rindex("Yes")]) == [1.0, 0.0, None]
    assert statuses('{"Question": "Q1: x", "answer": "No')[0] == "missing"


def test_two_verdicts_for_one_question_are_none() -> None:
    assert statuses("\n".join([*ALL, entry(2, "Yes")])) == ["answered", "ambiguous", "answered"]
    assert statuses('{"question_id": "Q1", "answer": "Yes", "answer": "No"}')[0] == "ambiguous"
    assert parse_reply("\n".join([*ALL, entry(2, "Yes")]), QUESTIONS)[1].raw_answer == "No | Yes"
    assert values("\n".join([*ALL, entry(2, "No")])) == READ, "a repeated answer is one answer"


def test_not_applicable_is_unanswered_and_quoted() -> None:
    verdict = parse_reply("\n".join([ALL[0], entry(2, "Not applicable"), ALL[2]]), QUESTIONS)[1]
    assert (verdict.status, verdict.value) == (VerdictStatus.INAPPLICABLE, None)
    assert verdict.raw_answer == "Not applicable"


def test_answers_without_labels_go_by_order_only_where_there_is_one_for_each() -> None:
    assert values(json.dumps([{"answer": "Yes"}, {"answer": "No"}])) == [None, None, None]
    assert values('Choices: ["Yes", "No", "Yes"]') == [None, None, None]


def test_a_label_and_a_wording_that_contradict_each_other_answer_nothing() -> None:
    crossed = json.dumps({"Question": f"Q1: {TEXTS[1]}", "answer": "Yes"})
    assert values(crossed) == [None, None, None]
    swapped = json.dumps([{"Question": f"Q{n}: {TEXTS[m]}", "answer": "Yes"} for n, m in ((1, 1), (2, 0), (3, 2))])
    assert values(swapped) == [None, None, 1.0]


def test_repeated_labels_go_by_order_or_by_wording() -> None:
    twice = [*QUESTIONS, *(q._replace(id=f"IF/{n}") for n, q in enumerate(QUESTIONS, 4))]
    in_order = "\n".join([*ALL, entry(1, "No"), entry(2, "No"), entry(3, "No")])
    assert values(in_order, twice) == [*READ, 0.0, 0.0, 0.0]
    assert values("\n".join(ALL), twice) == READ * 2, "equal texts are the same question"
    assert values("Q1: Yes", twice) == [None] * 6


def test_an_empty_question_is_unaskable_not_unanswered() -> None:
    empty = [QUESTIONS[0], QUESTIONS[1]._replace(text="")]
    assert statuses(ALL[0], empty) == ["answered", "unaskable"]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Yes.", 1.0),
        ("No, the cat is blue.", 0.0),
        ('{"answer": "Yes", "explanation": "it is"}', 1.0),
        ('{"Answer": "No"}', 0.0),
        ("Q1: Yes", 1.0),
        ("I cannot help with that.", None),
        ("Yes and no.", None),
        ('{"answer": "Yes"} {"answer": "No"}', None),
        ('{"question_id": "Q2", "answer": "Yes"}', None),
        ("", None),
    ],
)
def test_one_question_alone_may_be_answered_bare(reply: str, value: float | None) -> None:
    assert values(reply, QUESTIONS[:1]) == [value]


def test_labels_can_be_given() -> None:
    (verdict,) = parse_reply('{"question_id": "VC-3", "answer": "No"}', QUESTIONS[:1], ["VC-3"])
    assert verdict.value == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        '[{"id": 0, "answer": "Yes"}, {"id": 1, "answer": "No"}, {"id": 2, "answer": "Yes"}]',
        '{"Q2": {"answer": "No"}, "Q1": {"answer": "Yes"}, "Q3": {"answer": "Yes"}',
        '{"Q2": {"answer": "No"}, "Q1": {"answer": "Yes"}, "Q3": {"answer": "Yes"},}',
        "Q0: Yes\nQ1: No\nQ2: Yes",
        '{"Q1": "Yes", "answer": "No"}',
    ],
)
def test_labels_that_are_not_ours_or_were_lost_answer_nothing(reply: str) -> None:
    assert values(reply) == [None, None, None]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Yes.\n\nReasons:\n1. No, nothing is distorted.\n2. No noise.", 1.0),
        (json.dumps({"question": "Is the dog blue?", "answer": "No"}), None),
        (json.dumps({"question": TEXTS[0], "answer": "No"}), 0.0),
        ("No-brainer: yes", None),
        ("\ufeffYes", 1.0),
    ],
)
def test_one_question_with_a_verbose_reply(reply: str, value: float | None) -> None:
    assert values(reply, QUESTIONS[:1]) == [value]


# Valid and malformed parts of replies. None of them answers the second question.
PIECES = st.sampled_from(
    [
        *(entry(n, word) for n in (1, 3) for word in ("Yes", "No", "Not applicable", "maybe")),
        "Q1: Yes\n",
        "Q3: No\n",
        "1. No, it is not.\n",
        "{",
        "}",
        "[",
        "]",
        ",",
        "```json\n",
        "```",
        '{"question_id": "Q1", "answer": "Yes"',
        '"answer": "No"',
        '"Question": "Q2: ',
        "Yes",
        "No",
        '{"id": 9, "answer": "Yes"}',
        "\n",
        " ",
        "Choices: Yes, No\n",
        "Answer:",
    ]
)


@given(st.lists(PIECES, max_size=12))
def test_no_reply_made_of_pieces_answers_what_they_do_not(pieces: list[str]) -> None:
    reply = "".join(pieces)
    first, second, third = parse_reply(reply, QUESTIONS)
    for verdict, told in ((first, "1"), (third, "3")):
        assert (verdict.value is not None) == (verdict.status is VerdictStatus.ANSWERED)
        if verdict.value is not None:
            assert any(told in piece and verdict.raw_answer[:2] in piece for piece in pieces) or (
                any("Answer:" in piece for piece in pieces)
            )
    if '"Question": "Q2: ' not in pieces:
        assert second.value is None


@given(st.text())
def test_any_text_is_read(reply: str) -> None:
    for verdict in parse_reply(reply, QUESTIONS):
        assert (verdict.value is not None) == (verdict.status is VerdictStatus.ANSWERED)


NOISE = st.text(alphabet='{}[]",:;`\n \\QqAa12nswer', max_size=30)


@given(st.lists(NOISE, min_size=4, max_size=4))
def test_noise_around_answers_never_turns_one_into_its_opposite(noise: list[str]) -> None:
    reply = "".join(a + b for a, b in zip(noise, [*ALL, ""], strict=True))
    for value, expected in zip(values(reply), READ, strict=True):
        assert value in (None, expected)


@given(st.permutations(range(3)), st.lists(st.booleans(), min_size=3, max_size=3))
def test_labelled_answers_can_be_in_any_order(order: list[int], right: list[bool]) -> None:
    entries = [entry(n + 1, "Yes" if right[n] else "No") for n in order]
    assert values("\n".join(entries)) == [float(answer) for answer in right]


@pytest.mark.parametrize(
    "reply",
    [
        "{" * 100_000,
        "[" * 100_000,
        '{"a":' * 50_000,
        "{ " * 100_000,
        '"' * 100_000,
        " " * 200_000 + "x",
        '{"' + " " * 100_000 + '": 1}',
        "Q" * 100_000,
        "1" * 100_000,
        '{"answer": ' + "9" * 10_000 + "}",
        "?" * 100_000,
        "answer" + " " * 100_000,
        '{"answer": "\\ud800"}',
        "\x00\ud800",
    ],
)
def test_hostile_replies_are_cheap(reply: str) -> None:
    start = time.process_time()
    assert values(reply) == [None, None, None]
    assert values(reply, QUESTIONS[:1]) == [None]
    assert time.process_time() - start < 10


def test_an_answer_line_that_contradicts_the_first_word_makes_it_two_answers() -> None:
    asked = [Question("IF/1", "IF", "Is it red?")]
    (verdict,) = parse_reply("Yes, I can help with that.\nAnswer: No", asked)
    assert verdict.status is VerdictStatus.AMBIGUOUS
    (verdict,) = parse_reply("Yes.\nAnswer: Yes", asked)
    assert verdict.value == 1.0
