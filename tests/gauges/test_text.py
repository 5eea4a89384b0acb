"""Text in pictures, read by the real reader from pictures with drawn text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from creval.core.sample import Sample
from creval.gauges.exhibit import Unmeasured
from creval.gauges.gauge import open_gauges
from creval.gauges.lettering import Lettering, error_rate, lettering
from tests.gauges.looking import look

(GAUGE,) = open_gauges(["text"], {}).values()


def drawn(path: Path, *lines: str) -> Path:
    image = Image.new("RGB", (640, 120 * max(1, len(lines))), (240, 235, 220))
    pen = ImageDraw.Draw(image)
    for at, line in enumerate(lines):
        pen.text((30, 30 + 110 * at), line, (20, 20, 60), font=ImageFont.load_default(56))
    image.save(path)
    return path


@pytest.fixture(autouse=True)
def reader() -> None:
    pytest.importorskip("rapidocr")
    pytest.importorskip("onnxruntime")


def measured(instruction: str, edit: Path, source: Path | None = None) -> Mapping[str, float]:
    return look(GAUGE, Sample("s", instruction, source), edit)


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
    assert measured('Remove the word "SALE" from the sign.', before) == {"text_gone": 0.0}
    assert measured('Remove the word "SALE" from the sign.', after) == {"text_gone": 1.0}
    everything = "Remove all text from the picture."
    assert measured(everything, before, before) == {"text_gone": 0.0}
    assert measured(everything, after, before) == {"text_gone": 0.5}
    assert measured(everything, clean, before) == {"text_gone": 1.0}
    with pytest.raises(Unmeasured, match="no text can be read in the source"):
        measured(everything, before, clean)
    with pytest.raises(Unmeasured, match="no source"):
        measured(everything, before)


def test_text_that_takes_the_place_of_another(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "CLOSED")
    asked = 'Change the sign from "OPEN" to "CLOSED".'
    assert measured(asked, edit) == {"text_there": 1.0, "text_error": 0.0, "text_gone": 1.0}
    other = drawn(tmp_path / "b.png", "OPEN")
    found = measured(asked, other)
    assert (found["text_there"], found["text_gone"]) == (0.0, 0.0)


def test_the_measurement_may_say_what_is_meant(tmp_path: Path) -> None:
    edit = drawn(tmp_path / "a.png", "CLOSED")
    sample = Sample("s", "Make it so.")
    assert look(GAUGE, sample, edit, wanted=["closed"], removed=["open"])["text_there"] == 1.0
    with pytest.raises(Unmeasured, match="names no text"):
        look(GAUGE, sample, edit)


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
    ],
)
def test_what_an_instruction_wants(instruction: str, expected: Lettering) -> None:
    assert lettering(instruction) == expected


@given(st.text(max_size=300))
def test_any_instruction_can_be_read(instruction: str) -> None:
    found = lettering(instruction)
    assert all(text in instruction for text in (*found.wanted, *found.removed))


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
