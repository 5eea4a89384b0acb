"""What a run's manifest says about its numbers."""

from __future__ import annotations

from creval.prompts import load_prompt
from creval.reporting.manifest_sentences import manifest_sentences, prompt_sentences

OURS = load_prompt("judge").version


def test_our_own_prompt_is_said_not_to_be_the_authors() -> None:
    (sentence,) = prompt_sentences("creval", [OURS])
    assert "with creval's own prompt, not with the authors'" in sentence
    assert "a published score" in sentence


def test_another_prompt_is_named_and_not_called_ours() -> None:
    (sentence,) = prompt_sentences("creval", ["judge@0123456789ab"])
    assert "another prompt than creval's own (judge@0123456789ab): if it is the authors'" in sentence
    (both,) = prompt_sentences("creval", ["judge@0123456789ab", OURS])
    assert "(judge@0123456789ab), and with creval's own: if it is the authors'" in both


def test_nothing_is_said_of_recorded_answers_and_of_protocols_without_such_a_difference() -> None:
    assert manifest_sentences({"benchmark": "creval", "answers_folder": "answers"}) == []
    assert prompt_sentences("viescore", ["viescore_quality@0123456789ab"]) == []


def test_the_saved_choice_is_said() -> None:
    manifest = {"benchmark": "creval", "scoring": {"subset": "paper", "models": ["A", "B"], "weights": {"IF": 0.5}}}
    assert manifest_sentences(manifest) == [
        "Saved with this run, and used where nothing else is given: subset paper; models A, B; weights IF=0.5."
    ]
