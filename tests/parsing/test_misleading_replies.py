"""Misleading replies, each with the correct reading, worked out by hand."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from creval.core.probe import Question
from creval.core.scales import NamedChoice, get_scale, scales
from creval.parsing.judge_replies import parse_reply

pytestmark = pytest.mark.attack

scales.register("better", NamedChoice("better", ("A", "B", "tie")))
YES_NO = Question("IF/1", "IF", "Is the hat red?")
NUMBER = YES_NO._replace(scale="0-10")
NAME = YES_NO._replace(scale="better")
YES = '{"Q1": {"explanation": "the hat is red", "answer": "Yes"}}'
SEVEN = '{"Q1": {"explanation": "a good edit", "answer": 7}}'
EXAMPLE = get_scale("yes/no").reply_format(["Q1"]).splitlines()[1]

# The reading is a value or a status: a(mbiguous), m(issing), u(nreadable), i(napplicable).
READINGS: dict[str, list[tuple[str, float | str]]] = {
    "the prompt's example is no answer": [
        (EXAMPLE, "m"),
        (f"```json\n{EXAMPLE}\n```", "m"),
        (f"Here is the format: {EXAMPLE}", "m"),
        (EXAMPLE.replace('"Yes"', '"No"'), "m"),
        (json.dumps(json.loads(EXAMPLE), indent=2), "m"),
        (get_scale("yes/no").reply_format(["Q1"]), "m"),
        (get_scale("yes/no").reply_format(["Q1", "Q2", "Q3"]), "m"),
        (f"{EXAMPLE}\n{YES}", 1.0),
        ('{"Q1": {"explanation": "...", "answer": "Yes"}}', "m"),
        ('{"Q1": {"explanation": "so", "answer": "Yes or No"}}', "u"),
        ('{"Q1": {"explanation": "so", "answer": "Yes/No"}}', "u"),
        ('{"Q1": {"explanation": "so", "answer": "<Yes or No>"}}', "u"),
        ('Reply with the answer alone and nothing else. The answer is "Yes" or "No".', "u"),
        ('Every answer is "Yes" or "No".', "u"),
        ("Q1: Is the hat red?", "u"),
        ("Q1: Yes or No", "u"),
    ],
    "a correction behind JSON": [
        (f"{YES}\nCorrection: the answer is No", "a"),
        (f"{YES}\nCorrection: the answer is Yes", 1.0),
        (f"{YES}\nCorrection: No", "a"),
        (f"{YES}\nWait, the answer is no.", "a"),
        (f"{YES}\nActually, no.", "a"),
        (f"{YES}\nOn second thought, the answer should be No.", "a"),
        (f"{YES}\nI change my answer to No.", "a"),
        (f"```json\n{YES}\n```\nFinal answer: **No**", "a"),
        (f"```json\n{YES}\n```\nFinal answer: **Yes**", 1.0),
        (f"{YES}\nThe correct answer to Q1 is No.", "a"),
        (f"{YES}\nQ1: No", "a"),
        (f"{YES}\nQ1 should be No.", "a"),
        (f'{YES}\nThe answer is "No".', "a"),
        (f"{YES}\nHmm, looking again, no.", "a"),
        (f"{YES} Scratch that: No.", "a"),
        (f"{YES}\nMake that a no.", "a"),
        (f"My first impression: the answer is No.\n{YES}", "a"),
        (f"{YES}\n{YES.replace('Yes', 'No')}", "a"),
        (f"{YES}\n{YES}", 1.0),
        ('{"answer": "Yes", "correction": "No"}', "a"),
        ('{"answer": "Yes", "correction": "the answer is no"}', "a"),
        ('{"answer": "Yes", "corrected_answer": "No"}', "a"),
        ('{"answer": "Yes", "answer": "No"}', "a"),
        ('{"answer": "Yes", "final_answer": "Yes"}', 1.0),
        ('{"answer": ["Yes", "No"]}', "a"),
    ],
    "a second verdict in other words": [
        *[
            (f"{YES}\n{words}", "a")
            for words in (
                "=> No",
                "→ No",
                "> No",
                "// No",
                "\\boxed{No}",
                "~~Yes~~ **No**",
                "<answer>No</answer>",
                "Q1 No",
                "(Q1) No",
                "Yes -> No",
                "Change to No",
                "It's a no.",
                "That is a no from me.",
                "I vote no.",
                "I must answer No.",
                "I should have answered No.",
                "My answer is therefore a clear no.",
                "My final is No",
                "Please treat Q1 as No",
                "No is the correct answer.",
                "No would be more accurate.",
                "The answer is not yes.",
                "The answer isn't Yes.",
                "更正：No",
                "答案应为 No。",
                "The answer is ＮＯ.",
                "The answer is N\u200bo.",
            )
        ],
        ("Yes（No）", "a"),
        ("Yes。答案是 No。", "a"),
    ],
    "a second verdict in other words for yes and no": [
        *[
            (f"{YES}\n{words}", "a")
            for words in (
                "Nope.",
                "False.",
                "The answer is negative.",
                "Answer: N",
                "Answer: 0",
                "Verdict: fail",
                "Certainly not.",
                "No, it is not.",
                "It isn't.",
                "Nein.",
                "La respuesta es no.",
                "Ответ: нет",
                "答案是否。",
                "不是",
                "いいえ",
                "아니요",
                "❌",
                "✗ No",
                "Not applicable.",
            )
        ],
        *[(f"{YES}\n{words}", 1.0) for words in ("Yep.", "True.", "Oui.", "是", "✅", "It is not a problem.")],
        ("Yes. Nope.", "a"),
        ("Q1: Yes\nNope.", "a"),
        ("No. Correct.", "a"),
        ("No. Correct colours are missing.", 0.0),
        ("Yes. It is not blurred.", 1.0),
        ("Yes. The hat is red, not incorrect.", 1.0),
    ],
    "a second verdict in a longer sentence": [
        *[
            (f"{YES}\n{words}", "a")
            for words in (
                "Not a yes.",
                "I'd say no... actually yes",
                "No - the hat is blue.",
                "No, the hat is blue.",
                "No because the hat is blue",
                "I think no.",
                "It's no.",
                "The answer's no.",
                "Thus the answer would be no.",
                "Technically no.",
                "No no no",
                "[No]",
                '"answer": "No"',
                "Yes is incorrect.",
                '"Yes" is not the right answer.',
                'My "Yes" above is a mistake.',
                "I take that back.",
                "I meant the opposite.",
                "Forget what I said above.",
                "The above answer is reversed.",
            )
        ],
        (f"{YES}\nNot a no.", 1.0),
        (f"{YES}\nI think no other hat is there.", 1.0),
        (f'{YES}\n"No" is wrong.', 1.0),
        (f"{YES}\nThe opposite wall is white.", 1.0),
    ],
    "an answer that is taken back": [
        *[
            (f"{YES}\n{words}", "a")
            for words in (
                "I was wrong.",
                "Correction: the answer above is wrong.",
                "My answer is incorrect.",
                "Ignore the above.",
            )
        ],
        (f"{YES}\nIgnore the background.", 1.0),
        (f"{YES}\nThe score in the image is wrong.", 1.0),
        (f'{YES}\nThe sign says "I was wrong."', 1.0),
    ],
    "a second verdict under another key": [
        *[
            (json.dumps({"answer": "Yes", key: "No"}), "a")
            for key in (
                "second_answer",
                "actual answer",
                "initial_answer",
                "final",
                "finalVerdict",
                "decision",
                "conclusion",
                "result",
                "judgment",
                "revised",
                "answer_2",
            )
        ],
        ('{"answer": "Yes", "final": "Yes"}', 1.0),
        ('{"answer": "Yes", "result": "no other change"}', 1.0),
        ('{"answer": "Yes", "correct": false}', 1.0),
        ('{"correct_answer": "No", "model_answer": "Yes", "is_correct": false}', 1.0),
        ('{"expected answer": "No", "answer": "Yes"}', 1.0),
        ('{"Q1": "Yes", "Q1_final": "No"}', "a"),
        ('{"Q1": "Yes", "Q1 (corrected)": "No"}', "a"),
        ('{"Q1": {"answer": "Yes"}, "correction": {"Q1": "No"}}', "a"),
        ('{"Q1": {"answer": "Yes"}, "corrections": {"Q1": {"answer": "No"}}}', "a"),
        ('{"Q1": {"answer": "Yes"}, "corrections": ["Q1: No"]}', "a"),
        ('{"Q1": {"answer": "Yes"}, "corrections": []}', 1.0),
        ('{"Q1": {"correction": "Yes"}}', "m"),
    ],
    "the prompt's example in other letters": [
        ('{"Q1": {"explanation": "What in the images decides it.", "answer": "Yes"}}', "m"),
        ('{"Q1": {"explanation": "<what in the images decides it>", "answer": "Yes"}}', "m"),
        ('{"Q1": {"explanation": "", "answer": "Yes"}}', 1.0),
    ],
    "words behind JSON that correct nothing": [
        (f"{YES}\nIt's a no-brainer.", 1.0),
        (f"{YES}\nThe final image has no flaws.", 1.0),
        (f"{YES}\nI hope this helps. There is no doubt about it.", 1.0),
        (f"{YES}\nThe answer is no longer in doubt.", 1.0),
        (f'{YES}\nThe sign in the image reads "The answer is No."', 1.0),
        (f'{YES}\nOn the hat stands "No."', 1.0),
        (f"{YES}\nThe user may ask: is the answer no?", 1.0),
        (f"{YES}\nIf the hat were blue, the answer would be no.", 1.0),
        (f"{YES}\nNo other changes are visible.", 1.0),
        (f"{YES}\nThe answer is not no.", 1.0),
        (f"Sure, no problem!\n{YES}", 1.0),
    ],
    "a bare answer and a second one": [
        ("Yes... Wait, the answer is no.", "a"),
        ("Yes… wait, no.", "a"),
        ("Yes. On reflection, no.", "a"),
        ("Yes, but the brim is blue, so no.", "a"),
        ("Yes. Hold on, no, it is blue.", "a"),
        ("Yes\n\nThe final answer is No.", "a"),
        ("Yes – no", "a"),
        ("Yes, no", "a"),
        ("Yes and no.", "u"),
        ("Yes. Sorry, I meant no.", "a"),
        ("Yes. I'd say no.", "a"),
        ("Yes (the answer to Q1 is no)", "a"),
        ("No. It should be yes.", "a"),
        ("No, no, wait: yes.", "a"),
        ("Answer: Yes\nAnswer: No", "a"),
        ("Answer: Yes\nOn closer inspection the hat is blue, so the answer is no.", "a"),
        ("Q1: Yes\nCorrection for Q1: No", "a"),
    ],
    "a bare answer and words that are no second one": [
        ("Yes, there are no flaws.", 1.0),
        ("Yes. No other hat is there.", 1.0),
        ('Yes. The sign says "No."', 1.0),
        ("Yes. The sign says “the answer is no”.", 1.0),
        ("Yes. The sign says 'no.'", 1.0),
        ("Yes. The answer is yes.", 1.0),
        ("Yes. There is no longer a cap.", 1.0),
        ("No. There is no hat, and no cap.", 0.0),
        ("No, no hat is there.", 0.0),
        ("Yes.\n\nReasons:\n1. No, nothing is distorted.\n2. No noise.", 1.0),
    ],
    "a reply that was cut off": [
        ('{"Q1": {"explanation": "the sign says "answer": "Yes" and', "m"),
        ('{"Q1": {"explanation": "the sign says \'answer\': \'Yes\', and', "m"),
        ('{"Q1": {"explanation": "the sign says \\"answer\\": \\"Yes\\" and', "m"),
        ('{"Q1": {"explanation": "it is red", "answer": "Yes', "m"),
        ('{"Q1": {"explanation": "it is red", "answer": "Yes"', "m"),
        ('{"Q1": {"explanation": "it is red", "answer": "Yes"}', "m"),
        ('{\n  "Q1": {\n    "explanation": "red",\n    "answer": "Yes"\n', "m"),
        ('```json\n{"explanation": "one says\n"answer": "Yes"\nbut', "m"),
        ('{"answer": "Yes"', "m"),
    ],
    "an answer inside an explanation": [
        ('{"explanation": {"answer": "No"}, "answer": "Yes"}', 1.0),
        ('{"explanation": {"answer": "No"}}', "m"),
        ('{"reasoning": [{"answer": "No"}], "answer": "Yes"}', 1.0),
        ('{"analysis": {"answer": "No"}, "answer": "Yes"}', 1.0),
        ('{"thinking": {"verdict": "No"}, "answer": "Yes"}', 1.0),
        ('{"explanation": "he says {\\"answer\\": \\"No\\"}", "answer": "Yes"}', 1.0),
        ('{"explanation": "I first thought the answer is No.", "answer": "Yes"}', 1.0),
        ('{"explanation": "the sign says "answer": "No" in red", "answer": "Yes"}', 1.0),
        ('{"explanation": "the sign says "answer": "No" in red"}', "m"),
        ('{"explanation": "it says {"answer": "No"} here", "answer": "Yes"}', "a"),
        ('{"explanation": "it says: {"answer": "No"} here", "answer": "Yes"}', "a"),
    ],
    "thoughts before the answer": [
        (f"<think>The answer is No.</think>\n{YES}", 1.0),
        (f"The answer is No, I think.\n</think>\n{YES}", 1.0),
        ('{"Q1": {"explanation": "the sign says </think>", "answer": "Yes"}}', 1.0),
        ('{"Q1": {"explanation": "it says <think>", "answer": "Yes"}}', 1.0),
        ('<think>{"answer": "No"}</think>Yes', 1.0),
        ('{"answer": "No"}</think>{"answer": "Yes"}', 1.0),
        *[
            (f"{start}The answer is No.{end}\n{YES}", 1.0)
            for start, end in (
                ("<THINK>", "</THINK>"),
                ("<thought>", "</thought>"),
                ("[THINK]", "[/THINK]"),
                ("◁think▷", "◁/think▷"),
            )
        ],
        ("◁think▷Yes", "m"),
        ("<think>Yes", "m"),
        ("<think>Q1: No</think>", "m"),
    ],
}
NUMBERS: list[tuple[str, float | str]] = [
    ("Score: 7/10. On reflection 3/10.", "a"),
    ("7. On reflection, 3.", "a"),
    *[(f"Q1: {number}", "u") for number in ("-7", "−7", ".7", "<7", "≤7", ">7", "~7", "1.7")],
    ("Q1 -7", "u"),
    ("Score: .7", "u"),
    ('{"Q1": ">7"}', "u"),
    ("Q1: **7**", 7.0),
    ("Q1 - 7", 7.0),
    ("- Q1: 7", 7.0),
    ('{"answer": 7, "score": 3}', "a"),
    ('{"answer": 7, "rating": "7/10"}', 7.0),
    ('{"Q1": 7, "average_score": 6}', 7.0),
    (f"{SEVEN}\nfinal: 3", "a"),
    (f"{SEVEN}\n-> 3", "a"),
    (f"{SEVEN}\n7 → 3", "a"),
    (f"{SEVEN}\n3 is more accurate.", "a"),
    (f"{SEVEN}\nI'll settle on 3.", "a"),
    (f"{SEVEN}\nStep 3 is correct.", 7.0),
    (f"{SEVEN}\nIt is a 3-legged stool.", 7.0),
    ("7/10\n\nI would now give it a 3.", "a"),
    ("7. The score should be 6.", "a"),
    ("7. The score should be 7.", 7.0),
    ("7, as 3 hats are there.", 7.0),
    ('7. The text reads "3/10".', 7.0),
    ("7. That prevents a 10/10.", 7.0),
    ("7. I gave it a 7 and not a 9.", 7.0),
    (f"{SEVEN}\nCorrection: 3", "a"),
    (f"{SEVEN}\nOverall score: 3/10", "a"),
    (f"{SEVEN}\nOverall score: 7/10", 7.0),
    (f"{SEVEN}\n1. The hat is red.\n2. It fits.", 7.0),
    *[
        (f"{SEVEN}\n{words}", "a")
        for words in (
            "Three.",
            "The score is three.",
            "Three out of ten",
            "I'd give 3",
            "Score - 3",
            "3 points",
            "评分：3分",
            "[3]",
            "7 is wrong.",
        )
    ],
    (f"{SEVEN}\nSeven out of ten.", 7.0),
    (f"{SEVEN}\nThree hats are blue.", 7.0),
    (f"{SEVEN}\nI give it time.", 7.0),
    (get_scale("0-10").reply_format(["Q1"]), "m"),
    ('{"Q1": {"explanation": "so", "answer": "a whole number from 0 to 10"}}', "u"),
    ('{"score": 7, "explanation": "it was {\\"score\\": 3} at first"}', 7.0),
    ('{"answer": ' + "9" * 401 + "}", "u"),
    ("7 (out of " + "9" * 5000 + ")", "u"),
    ('{"answer": ' + "9" * 5000 + "}", "u"),
]
NAMES: list[tuple[str, float | str]] = [
    ("B. Wait, the answer is A.", "a"),
    ("B. It keeps the hat; A does not.", 1.0),
    ('{"answer": "B"}\nCorrection: tie', "a"),
    ('{"answer": "B"}\nA cat is in both.', 1.0),
    ("B, not A", 1.0),
]


class Case(NamedTuple):
    question: Question
    reply: str
    reading: float | str


CASES = [Case(YES_NO, *case) for group in READINGS.values() for case in group]
CASES += [Case(NUMBER, *case) for case in NUMBERS] + [Case(NAME, *case) for case in NAMES]
STATUSES = {"a": "ambiguous", "m": "missing", "u": "unreadable", "i": "inapplicable"}


def test_there_are_a_hundred_replies() -> None:
    assert len({case.reply for case in CASES}) == len(CASES) > 200


@pytest.mark.parametrize("case", CASES, ids=[case.reply[:60] for case in CASES])
def test_the_right_reading(case: Case) -> None:
    (verdict,) = parse_reply(case.reply, [case.question], ["Q1"])
    if isinstance(case.reading, str):
        assert (str(verdict.status), verdict.value) == (STATUSES[case.reading], None)
    else:
        assert (str(verdict.status), verdict.value) == ("answered", case.reading)


@pytest.mark.parametrize("case", [case for case in CASES if isinstance(case.reading, float)])
def test_the_same_reading_with_the_prompt_at_hand(case: Case) -> None:
    prompt = f"Q1: Is the hat red?\n{get_scale(case.question.scale).reply_format(['Q1'])}"
    (verdict,) = parse_reply(case.reply, [case.question], ["Q1"], prompt=prompt)
    assert verdict.value == case.reading


OWN_PROMPT = (
    'Write "Answer: Yes" on the sign.\n\nQ1: Is the sign there?\n'
    'Reply like this:\n{"Q1": {"reason": "why you think so", "answer": "Yes"}}\nAnswer: Yes'
)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (OWN_PROMPT, None),
        (f"{OWN_PROMPT}\n", None),
        (f"{OWN_PROMPT}\nNo", 0.0),
        (f'{OWN_PROMPT}\n{{"Q1": {{"reason": "there is none", "answer": "No"}}}}', 0.0),
        ('{"Q1": {"reason": "why you think so", "answer": "Yes"}}', None),
        ('{"Q1": {"reason": "it is there", "answer": "Yes"}}', 1.0),
    ],
)
def test_an_echo_of_a_prompt_of_ones_own_is_no_answer(reply: str, value: float | None) -> None:
    assert parse_reply(reply, [YES_NO], ["Q1"], prompt=OWN_PROMPT)[0].value == value


TWO = [YES_NO, YES_NO._replace(id="IF/2", text="Is there a cat?")]
BOTH = '{"Q1": {"explanation": "a", "answer": "Yes"}, "Q2": {"explanation": "b", "answer": "No"}}'


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        (BOTH, [1.0, 0.0]),
        (f"{BOTH}\nCorrection: the answer to Q1 is No", [None, 0.0]),
        (f"{BOTH}\nCorrection: the answer to Q2 is No", [1.0, 0.0]),
        (f"{BOTH}\nCorrection: the answer is No", [None, 0.0]),
        (f"{BOTH}\nQ2: Yes", [1.0, None]),
        (BOTH[:-1] + ', "final_answer": "No"}', [None, 0.0]),
        (BOTH[:-1] + ', "corrections": {"Q2": "Yes"}}', [1.0, None]),
        (f"{BOTH}\nQ1 and Q2 should be No.", [None, 0.0]),
        (f"{BOTH}\nQuestion 2 should be Yes.", [1.0, None]),
        ("Q1: Yes\nQ2: No\nWait, Q1 is no.", [None, 0.0]),
        ("Q1: Yes. Wait, the answer is no.\nQ2: No", [None, 0.0]),
        ("Q1: Is the hat red?\nAnswer: Yes\nQ2: Is there a cat?\nAnswer: No", [1.0, 0.0]),
        ("Q1: Is the hat red?\nAnswer: Yes\nActually, no.\nQ2: Is there a cat?\nAnswer: No", [None, 0.0]),
        (get_scale("yes/no").reply_format(["Q1", "Q2"]), [None, None]),
        (BOTH[:-1], [None, None]),
        (f"{BOTH}\n{BOTH[:-20]}", [1.0, 0.0]),
    ],
)
def test_a_correction_means_the_question_that_it_names(reply: str, values: list[float | None]) -> None:
    assert [verdict.value for verdict in parse_reply(reply, TWO, ["Q1", "Q2"])] == values


def test_a_reply_that_is_too_long_counts_as_cut_off() -> None:
    (verdict,) = parse_reply(YES + " " * 200_000, [YES_NO])
    assert (str(verdict.status), verdict.explanation) == ("missing", "the reply has more than 200,000 characters")
