"""Text in pictures, read by the real reader from pictures with drawn text."""

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
from creval.metrics.base import open_gauges
from creval.metrics.embeddings import Embeddings
from creval.metrics.inputs import Unmeasured
from creval.metrics.requested_text import Lettering, error_rate, lettering
from tests.metrics.evaluating import look
from tests.metrics.images import drawn

(GAUGE,) = open_gauges(["text"], {}).values()
READ = Embeddings()  # tests draw the same pictures, and reading takes a second


@pytest.fixture(autouse=True)
def reader() -> None:
    pytest.importorskip("rapidocr")
    pytest.importorskip("onnxruntime")


def measured(instruction: str, edit: Path, source: Path | None = None) -> Mapping[str, float]:
    return look(GAUGE, Sample("s", instruction, source), edit, READ)


def test_text_that_is_wanted(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "Grand Opening", "SALE 50")
    assert measured('Add the text "GRAND OPENING" to the sign.', edit) == {
        "text_there": 1.0, "text_error": 0.0,
    }  # fmt: skip
    found = measured('Write "Grand Opening" and "closed today" on the wall.', edit)
    assert found["text_there"] == 0.5
    assert 0.3 < found["text_error"] < 0.5
    assert measured('Write "SALE 60" on it.', edit) == {
        "text_there": 0.0, "text_error": pytest.approx(1 / 6),
    }  # fmt: skip


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
        with pytest.raises(Unmeasured, match="the source is needed to see what is gone"):
            measured(asked, before)


def test_what_was_never_there_cannot_go(tmp_path: Path) -> None:
    before = drawn(tmp_path / "a.png", "Grand Opening", "SALE 50")
    clean = drawn(tmp_path / "c.png")
    for asked, source in (
        ("Remove all text from the picture.", clean),
        ('Remove the word "SALE".', clean),
        ('Remove the word "CLOSED".', before),
    ):
        with pytest.raises(Unmeasured, match="what is to go cannot be read in the source"):
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
        with pytest.raises(Unmeasured, match="the mask marks no region"):
            look(GAUGE, replace(sample, mask=tmp_path / "empty.png"), before, READ)
    elsewhere = Sample("s", 'Remove the word "Opening".', before, mask=tmp_path / "mask.png")
    with pytest.raises(Unmeasured, match="cannot be read in the mask's region of the source"):
        look(GAUGE, elsewhere, before, READ)


def test_text_that_takes_the_place_of_another(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "CLOSED")
    asked = 'Change the sign from "OPEN" to "CLOSED".'
    other = drawn(tmp_path / "b.png", "OPEN")
    assert measured(asked, edit, other) == {"text_there": 1.0, "text_error": 0.0, "text_gone": 1.0}
    found = measured(asked, other, other)
    assert (found["text_there"], found["text_gone"]) == (0.0, 0.0)
    for source in (edit, None):  # what is wanted can be measured without what is gone
        with pytest.raises(Unmeasured) as caught:
            measured(asked, edit, source)
        assert caught.value.values == {"text_there": 1.0, "text_error": 0.0}


def test_the_measurement_may_say_what_is_meant(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "CLOSED")
    sample = Sample("s", "Make it so.")
    assert look(GAUGE, sample, edit, READ, wanted=["closed"])["text_there"] == 1.0
    sourced = replace(sample, source=edit)
    assert look(GAUGE, sourced, edit, READ, removed=["closed"]) == {"text_gone": 0.0}
    with pytest.raises(Unmeasured, match="names no text"):
        look(GAUGE, sample, edit, READ)


def test_empty_texts_are_no_full_marks(tmp_path: Path) -> None:
    edit, sample = drawn(tmp_path / "a.png", "CLOSED"), Sample("s", "Make it so.")
    with pytest.raises(Unmeasured, match="are empty"):
        look(GAUGE, sample, edit, READ, wanted=["", " \u200b"], removed=[])
    assert look(GAUGE, sample, edit, READ, wanted=["", "open"])["text_there"] == 0.0


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ('Add the text "HELLO".', Lettering(("HELLO",))),
        ("Write 'Don't panic' on it.", Lettering(("Don't panic",))),
        ("A banner that reads “Happy Birthday”", Lettering(("Happy Birthday",))),
        ("在招牌上写 text「营业中」", Lettering(("营业中",))),
        ('Replace the words "A B" with "C D".', Lettering(("C D",), ("A B",))),
        ('Replace the word "old" by the much larger word "new"', Lettering(("new",), ("old",))),
        ('Erase "SALE" from the label.', Lettering((), ("SALE",))),
        ('Remove the words "A", "B" and "C".', Lettering((), ("A", "B", "C"))),
        ('Do not add the words "A" or "B".', Lettering()),
        ('Change the word "A" to "B" and "C".', Lettering(("B", "C"), ("A",))),
        ('Write "X" and remove the word "Y".', Lettering(("X",), ("Y",))),
        ("Text: “Splash!” and “Wow”, both in blue.", Lettering(("Splash!", "Wow"))),
        ("Add “Warm” at the left and “Start” at the right.", Lettering(("Warm", "Start"))),
        ("Make it “pop out” of the frame.", Lettering()),
        ("Use clear lines and replace real textures with soft blocks.", Lettering()),
        ("A sign that says “Fresh,” please", Lettering(("Fresh",))),
        ("Get rid of the watermark", Lettering(all_removed=True)),
        ("Remove the cat next to the tree", Lettering()),
        ('Paint it like "Starry Night"', Lettering()),
        ("The dog's bowl isn't the cat's", Lettering()),
        ("", Lettering()),
        ('Remove the man without touching the text "KEEP".', Lettering(("KEEP",))),
        ('Remove the logo but keep the words "KEEP".', Lettering(("KEEP",))),
        ('Don’t remove the word "KEEP".', Lettering(("KEEP",))),
        ('Do not change the sign from "OPEN" to "CLOSED".', Lettering(("OPEN",))),
        ('Do not add the text "FOO".', Lettering()),
        ('Do not add people, but write "FOO" on the wall.', Lettering(("FOO",))),
        ('Remove the old paint and write "NEW" on it.', Lettering(("NEW",))),
        ('A plain shirt without the words "OLD"', Lettering((), ("OLD",))),
        ('The sign should no longer say "OLD".', Lettering((), ("OLD",))),
        ("Remove the man without touching the text.", Lettering()),
        ("Do not remove the caption.", Lettering()),
        ("Remove all text without touching the man.", Lettering(all_removed=True)),
        ("Keep the man and remove the text.", Lettering(all_removed=True)),
        ("Remove the logo and keep the text.", Lettering()),
        ('A card with the title "{{brand}}" and the label “[Name]”', Lettering()),
        ('The text " " or "\u200b"', Lettering()),
        (
            "Scene 1: “Hush!” as others chatter. Scene 2: “Silence”.",
            Lettering(("Hush!", "Silence")),
        ),
        ('Panel 2:- Dialogue: "No detail too small!"', Lettering(("No detail too small!",))),
        ('Add speech: "The night awaits...".', Lettering(("The night awaits",))),
        ("Sound effects like “Vroom!” and “Zoom!”", Lettering(("Vroom!", "Zoom!"))),
        ("Packaging for a brand called “Daily C”: fresh.", Lettering(("Daily C",))),
        ('A detective novel cover for "The Lost Legacy."', Lettering(("The Lost Legacy",))),
        ("A character called “Chrono”, who smiles.", Lettering()),
        ('An infographic titled “The Journey." Show steps.', Lettering(("The Journey",))),
        ("Include the username “Graceful” at the top.", Lettering(("Graceful",))),
        ('A box labeled "HEROES," please.', Lettering(("HEROES",))),
        (
            'Change the words to "Best Dad" instead of "Best Mom".',
            Lettering(("Best Dad",), ("Best Mom",)),
        ),
        ('Make the sign say "GO" rather than "STOP".', Lettering(("GO",), ("STOP",))),
        ('Translate the sign "SALIDA" into English.', Lettering((), ("SALIDA",))),
    ],
)
def test_what_an_instruction_wants(instruction: str, expected: Lettering) -> None:
    assert lettering(instruction) == expected


@given(st.text(max_size=300))
def test_any_instruction_can_be_read(instruction: str) -> None:
    found = lettering(instruction)
    assert all(text in instruction for text in (*found.wanted, *found.removed))


def test_a_long_instruction_is_read_at_once() -> None:
    begun = time.perf_counter()
    assert lettering('keep "a" ' * 2_000) == Lettering()
    assert time.perf_counter() - begun < 3, "a tenth of a second, and half a minute if quadratic"


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
    assert error_rate(wanted, read) == pytest.approx(best / len(wanted))


def test_case_spaces_and_width_do_not_count() -> None:
    assert error_rate("Grand Opening", "GRANDOPENING") == 0.0
    assert error_rate("ＡＢＣ", "abc") == 0.0
    assert error_rate("", "anything") == 0.0
    assert error_rate("abc", "") == 1.0
