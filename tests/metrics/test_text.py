"""Tests of text accuracy, with the real reader and images with drawn text."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.features import FeatureCache
from creval.metrics.metric_inputs import NotMeasurable
from creval.metrics.requested_text import RequestedText, character_error_rate, find_requested_text
from tests.metrics.evaluating import look
from tests.metrics.images import drawn

(GAUGE,) = open_image_metrics(["text"], {}).values()
READ = FeatureCache()  # tests draw the same images, and reading one takes a second


@pytest.fixture(autouse=True)
def reader() -> None:
    pytest.importorskip("rapidocr")
    pytest.importorskip("onnxruntime")


def measured(instruction: str, edit: Path, source: Path | None = None) -> Mapping[str, float]:
    return look(GAUGE, Sample("s", instruction, source), edit, READ)


def test_text_that_is_wanted(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "Grand Opening", "SALE 50")
    assert measured('Add the text "GRAND OPENING" to the sign.', edit) == {"text_there": 1.0, "text_error": 0.0}
    found = measured('Write "Grand Opening" and "closed today" on the wall.', edit)
    assert found["text_there"] == 0.5
    assert 0.3 < found["text_error"] < 0.5
    assert measured('Write "SALE 60" on it.', edit) == {"text_there": 0.0, "text_error": pytest.approx(1 / 6)}


def test_text_that_is_to_go(tmp_path: Path) -> None:
    before = drawn(tmp_path / "a.png", "Grand Opening", "SALE 50")
    after = drawn(tmp_path / "b.png", "Grand Opening")
    clean = drawn(tmp_path / "c.png")
    sale = 'Remove the word "SALE" from the sign.'
    assert measured(sale, before, before) == {"text_gone": 0.0}
    assert measured(sale, after, before) == {"text_gone": 1.0}
    everything = "Remove all text from the picture."
    assert measured(everything, before, before) == {"text_gone": 0.0}
    assert measured(everything, after, before) == {"text_gone": 0.5}
    assert measured(everything, clean, before) == {"text_gone": 1.0}
    for asked in (sale, everything):
        with pytest.raises(NotMeasurable, match="no source, which is needed to measure removed text"):
            measured(asked, before)


def test_text_missing_from_the_source_cannot_be_removed(tmp_path: Path) -> None:
    before = drawn(tmp_path / "a.png", "Grand Opening", "SALE 50")
    clean = drawn(tmp_path / "c.png")
    for asked, source in (
        ("Remove all text from the picture.", clean),
        ('Remove the word "SALE".', clean),
        ('Remove the word "CLOSED".', before),
    ):
        with pytest.raises(NotMeasurable, match="the text to remove cannot be read in the source"):
            measured(asked, source, source)
    both, sample = ["SALE", "CLOSED"], Sample("s", "", before)
    assert look(GAUGE, sample, before, READ, removed=both) == {"text_gone": 0.0}
    assert look(GAUGE, sample, clean, READ, removed=both) == {"text_gone": 1.0}


def test_text_that_is_to_go_where_the_mask_lets_edit(tmp_path: Path) -> None:
    before = drawn(tmp_path / "a.png", "Grand Opening", "SALE 50")
    after = drawn(tmp_path / "b.png", "Grand Opening")
    mask = Image.new("L", (320, 120))
    mask.save(tmp_path / "empty.png")
    mask.paste(255, (0, 60, 320, 120))
    mask.save(tmp_path / "mask.png")
    for asked in ("Remove the text in the masked part.", 'Remove the word "SALE".'):
        sample = Sample("s", asked, before, mask=tmp_path / "mask.png")
        assert look(GAUGE, sample, after, READ) == {"text_gone": 1.0}
        assert look(GAUGE, sample, before, READ) == {"text_gone": 0.0}
        with pytest.raises(NotMeasurable, match="the mask marks no region"):
            look(GAUGE, replace(sample, mask=tmp_path / "empty.png"), before, READ)
    elsewhere = Sample("s", 'Remove the word "Opening".', before, mask=tmp_path / "mask.png")
    with pytest.raises(NotMeasurable, match="cannot be read in the mask's region of the source"):
        look(GAUGE, elsewhere, before, READ)


def test_text_that_takes_the_place_of_another(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "CLOSED")
    asked = 'Change the sign from "OPEN" to "CLOSED".'
    other = drawn(tmp_path / "b.png", "OPEN")
    assert measured(asked, edit, other) == {"text_there": 1.0, "text_error": 0.0, "text_gone": 1.0}
    found = measured(asked, other, other)
    assert (found["text_there"], found["text_gone"]) == (0.0, 0.0)
    for source in (edit, None):  # wanted text can be measured even if removed text cannot
        with pytest.raises(NotMeasurable) as caught:
            measured(asked, edit, source)
        assert caught.value.values == {"text_there": 1.0, "text_error": 0.0}


def test_the_measurement_can_name_the_texts(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "CLOSED")
    sample = Sample("s", "Make it so.")
    assert look(GAUGE, sample, edit, READ, wanted=["closed"])["text_there"] == 1.0
    sourced = replace(sample, source=edit)
    assert look(GAUGE, sourced, edit, READ, removed=["closed"]) == {"text_gone": 0.0}
    with pytest.raises(NotMeasurable, match="names no text"):
        look(GAUGE, sample, edit, READ)


def test_empty_texts_are_no_full_marks(tmp_path: Path) -> None:
    edit, sample = drawn(tmp_path / "a.png", "CLOSED"), Sample("s", "Make it so.")
    with pytest.raises(NotMeasurable, match="are empty"):
        look(GAUGE, sample, edit, READ, wanted=["", " \u200b"], removed=[])
    assert look(GAUGE, sample, edit, READ, wanted=["", "open"])["text_there"] == 0.0


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ('Add the text "HELLO".', RequestedText(("HELLO",))),
        ("Write 'Don't panic' on it.", RequestedText(("Don't panic",))),
        ("A banner that reads “Happy Birthday”", RequestedText(("Happy Birthday",))),
        ("在招牌上写 text「营业中」", RequestedText(("营业中",))),
        ('Replace the words "A B" with "C D".', RequestedText(("C D",), ("A B",))),
        ('Replace the word "old" by the much larger word "new"', RequestedText(("new",), ("old",))),
        ('Erase "SALE" from the label.', RequestedText((), ("SALE",))),
        ('Remove the words "A", "B" and "C".', RequestedText((), ("A", "B", "C"))),
        ('Do not add the words "A" or "B".', RequestedText()),
        ('Change the word "A" to "B" and "C".', RequestedText(("B", "C"), ("A",))),
        ('Write "X" and remove the word "Y".', RequestedText(("X",), ("Y",))),
        ("Text: “Splash!” and “Wow”, both in blue.", RequestedText(("Splash!", "Wow"))),
        ("Add “Warm” at the left and “Start” at the right.", RequestedText(("Warm", "Start"))),
        ("Make it “pop out” of the frame.", RequestedText()),
        ("Use clear lines and replace real textures with soft blocks.", RequestedText()),
        ("A sign that says “Fresh,” please", RequestedText(("Fresh",))),
        ("Get rid of the watermark", RequestedText(all_removed=True)),
        ("Remove the cat next to the tree", RequestedText()),
        ('Paint it like "Starry Night"', RequestedText()),
        ("The dog's bowl isn't the cat's", RequestedText()),
        ("", RequestedText()),
        ('Remove the man without touching the text "KEEP".', RequestedText(("KEEP",))),
        ('Remove the logo but keep the words "KEEP".', RequestedText(("KEEP",))),
        ('Don’t remove the word "KEEP".', RequestedText(("KEEP",))),
        ('Do not change the sign from "OPEN" to "CLOSED".', RequestedText(("OPEN",))),
        ('Do not add the text "FOO".', RequestedText()),
        ('Do not add people, but write "FOO" on the wall.', RequestedText(("FOO",))),
        ('Remove the old paint and write "NEW" on it.', RequestedText(("NEW",))),
        ('A plain shirt without the words "OLD"', RequestedText((), ("OLD",))),
        ('The sign should no longer say "OLD".', RequestedText((), ("OLD",))),
        ("Remove the man without touching the text.", RequestedText()),
        ("Do not remove the caption.", RequestedText()),
        ("Remove all text without touching the man.", RequestedText(all_removed=True)),
        ("Keep the man and remove the text.", RequestedText(all_removed=True)),
        ("Remove the logo and keep the text.", RequestedText()),
        ('A card with the title "{{brand}}" and the label “[Name]”', RequestedText()),
        ('The text " " or "\u200b"', RequestedText()),
        ("Scene 1: “Hush!” as others chatter. Scene 2: “Silence”.", RequestedText(("Hush!", "Silence"))),
        ('Panel 2:- Dialogue: "No detail too small!"', RequestedText(("No detail too small!",))),
        ('Add speech: "The night awaits...".', RequestedText(("The night awaits",))),
        ("Sound effects like “Vroom!” and “Zoom!”", RequestedText(("Vroom!", "Zoom!"))),
        ("Packaging for a brand called “Daily C”: fresh.", RequestedText(("Daily C",))),
        ('A detective novel cover for "The Lost Legacy."', RequestedText(("The Lost Legacy",))),
        ("A character called “Chrono”, who smiles.", RequestedText()),
        ('An infographic titled “The Journey." Show steps.', RequestedText(("The Journey",))),
        ("Include the username “Graceful” at the top.", RequestedText(("Graceful",))),
        ('A box labeled "HEROES," please.', RequestedText(("HEROES",))),
        ('Change the words to "Best Dad" instead of "Best Mom".', RequestedText(("Best Dad",), ("Best Mom",))),
        ('Make the sign say "GO" rather than "STOP".', RequestedText(("GO",), ("STOP",))),
        ('Translate the sign "SALIDA" into English.', RequestedText((), ("SALIDA",))),
    ],
)
def test_requested_texts_of_an_instruction(instruction: str, expected: RequestedText) -> None:
    assert find_requested_text(instruction) == expected


@given(st.text(max_size=300))
def test_any_instruction_can_be_read(instruction: str) -> None:
    found = find_requested_text(instruction)
    assert all(text in instruction for text in (*found.wanted, *found.removed))


def test_a_long_instruction_is_read_at_once() -> None:
    begun = time.perf_counter()
    assert find_requested_text('keep "a" ' * 2_000) == RequestedText()
    assert time.perf_counter() - begun < 3, "it takes a tenth of a second, or half a minute if the time is quadratic"


def plain_distance(a: str, b: str) -> int:
    table = [[max(i, j) for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            table[i][j] = min(cost, table[i - 1][j] + 1, table[i][j - 1] + 1)
    return table[-1][-1]


@given(st.text("abc", min_size=1, max_size=6), st.text("abc", max_size=9))
def test_the_error_rate_is_that_of_the_best_part(wanted: str, read: str) -> None:
    parts = {read[i:j] for i in range(len(read) + 1) for j in range(i, len(read) + 1)}
    best = min(plain_distance(wanted, part) for part in parts)
    assert character_error_rate(wanted, read) == pytest.approx(best / len(wanted))


def test_case_spaces_and_width_do_not_count() -> None:
    assert character_error_rate("Grand Opening", "GRANDOPENING") == 0.0
    assert character_error_rate("ＡＢＣ", "abc") == 0.0
    assert character_error_rate("", "anything") == 0.0
    assert character_error_rate("abc", "") == 1.0
