from __future__ import annotations

from creval.parsing.answer_entries import (
    AnswerEntry,
    find_json_entries,
    find_line_entries,
    normalise_label,
    quoted_explanations,
)


def test_spellings_of_one_label() -> None:
    for label in ("Q3", "q3", "3", "Question 3", "**Q3:**", "Q03", "Q.3", "question_3"):
        assert normalise_label(label) == "3"
    assert normalise_label("VC-a") == "vc-a"
    assert normalise_label(" ") is None


def test_the_reference_in_a_recorded_file_is_not_an_answer() -> None:
    found = find_json_entries('{"question_id": "Q1", "correct_answer": "Yes"}')
    assert (found.entries, found.has_json, found.sound) == ([], True, True)


def test_entries_keep_what_the_reply_says() -> None:
    reply = '{"Question": "Q2: Is it?", "explanation": "so", "answer": "No"}'
    entry = AnswerEntry("2", "Is it?", "No", "so")
    assert find_json_entries(reply)[:3] == ([entry], True, True)
    assert find_json_entries(reply.replace('"so",', '"so"'))[:3] == ([entry], True, False)


def test_a_number_in_a_question_is_no_label() -> None:
    ((entry,), *_) = find_json_entries('{"question": "3 cats on a mat?", "answer": "Yes"}')
    assert entry.number is None


def test_lines_need_a_label() -> None:
    def is_answer(text: str) -> bool:
        return text == "Yes"

    assert find_line_entries("Yes\nno label", is_answer) == []
    assert find_line_entries("Q4) Yes", is_answer) == [AnswerEntry("4", None, "Yes")]


def answers(reply: str) -> list[object]:
    return [entry.answer for entry in find_json_entries(reply).entries]


def test_an_answer_nested_in_an_explanation_is_not_an_answer() -> None:
    for name in ("explanation", "reason", "reasoning", "rationale", "Thinking Process", "analysis", "notes"):
        assert answers(f'{{"{name}": {{"answer": "No"}}, "answer": "Yes"}}') == ["Yes"]
        assert answers(f'{{"{name}": [{{"Q1": "No"}}, {{"answer": "No"}}], "answer": "Yes"}}') == ["Yes"]
        assert answers(f'{{"{name}": {{"Q1": {{"answer": "No"}}}}}}') == []


def test_an_answer_nested_in_a_question_or_a_number_is_not_an_answer() -> None:
    assert answers('{"question": {"answer": "No"}, "answer": "Yes"}') == ["Yes"]
    assert answers('{"id": {"answer": "No"}, "answer": "Yes"}') == ["Yes"]


def test_answers_nested_in_an_answer_or_a_score() -> None:
    assert answers('{"answer": ["Yes", "No"]}') == ["Yes", "No"], "to all questions, in order"
    assert answers('{"answer": {"Q1": "Yes", "Q2": "No"}}') == ["Yes", "No"]
    assert answers('{"answer": [{"answer": "Yes"}, {"answer": "No"}]}') == ["Yes", "No"]
    assert answers('{"answer": [{"answer": "Yes"}, "No"]}') == ["Yes"], "which question the other answers is unclear"
    assert answers('{"score": {"Q1": 3, "Q2": 4}}') == [3, 4]


def test_a_score_in_broken_json_is_an_answer_if_there_is_no_other() -> None:
    assert answers('{"explanation": "so" "score": 3}') == ["3"]
    assert answers('{"explanation": "so" "score": 3, "answer": "Yes"}') == ["Yes"]


def test_answers_nested_too_deep_are_left_out() -> None:
    assert answers('{"a": ' * 15 + '{"answer": "Yes"}' + "}" * 15) == ["Yes"]
    assert answers('{"a": ' * 30 + '{"answer": "Yes"}' + "}" * 30) == []


def test_a_key_inside_a_text_of_broken_json_is_not_a_key() -> None:
    assert answers('{"explanation": "one says "answer": "No" there", "answer": "Yes"}') == ["Yes"]
    assert answers('{"explanation": "so" "answer": "Yes"}') == ["Yes"]
    assert answers('{"explanation": "so"\n"answer": "Yes"\n}') == ["Yes"]


def test_an_object_that_is_not_closed_has_no_answer() -> None:
    found = find_json_entries('{"answer": "Yes"} {"explanation": "so", "answer": "No"')
    assert [entry.answer for entry in found.entries] == ["Yes"]
    assert not found.sound


def test_text_outside_of_json_is_kept() -> None:
    assert find_json_entries('So: {"answer": "Yes"} and\n{"answer": "No" "a": 1} done').prose.split() == [
        "So:",
        "and",
        "done",
    ]


def test_explanations_in_a_prompt() -> None:
    prompt = 'Reply with:\n{"Q1": {"explanation": "what \\"it\\" shows", "answer": "Yes"}, "Q2": {"reason": "..."}}'
    assert quoted_explanations(prompt) == {'what "it" shows', "..."}
