"""Tests of notes from a run's manifest."""

from __future__ import annotations

from creval.prompts import load_prompt
from creval.reporting.manifest_sentences import manifest_sentences, prompt_sentences

OURS = load_prompt("judge").version


def test_the_shipped_prompt_is_not_the_authors_prompt() -> None:
    (sentence,) = prompt_sentences("creval", [OURS])
    assert "with creval's own prompt, not with the authors' prompt" in sentence
    assert "a published score" in sentence


def test_a_custom_prompt_is_named() -> None:
    (sentence,) = prompt_sentences("creval", ["judge@0123456789ab"])
    assert "with a custom prompt (judge@0123456789ab). If it is the authors' prompt" in sentence
    (both,) = prompt_sentences("creval", ["judge@0123456789ab", OURS])
    assert "(judge@0123456789ab), and with creval's own prompt. If it is the authors' prompt" in both


def test_no_note_for_recorded_answers_and_protocols_with_the_authors_prompt() -> None:
    assert manifest_sentences({"benchmark": "creval", "answers_folder": "answers"}) == []
    assert prompt_sentences("viescore", ["viescore_quality@0123456789ab"]) == []


def test_saved_scoring_options_are_listed() -> None:
    manifest = {"benchmark": "creval", "scoring": {"subset": "paper", "models": ["A", "B"], "weights": {"IF": 0.5}}}
    assert manifest_sentences(manifest) == [
        "Scoring options saved with this run, used by default: subset paper; models A, B; weights IF=0.5."
    ]
