from __future__ import annotations

from creval.parsing.answer_entries import AnswerEntry, find_json_entries, find_line_entries, normalise_label


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
