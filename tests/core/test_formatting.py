from __future__ import annotations

from creval.core.formatting import interval, latex, markdown, value, visible
from creval.report.numbers import coverage, difference
from creval.stats.scorecard import Cell, Difference


def test_nothing_in_a_name_reaches_the_terminal_as_a_command() -> None:
    assert visible("a\x1b[31mred\x07\r\n") == "a\\x1b[31mred\\x07\\r\\n"
    assert visible("‮evil") == "\\u202eevil"
    assert visible("C抬ig虇dem & Bilgin") == "C抬ig虇dem & Bilgin"


def test_names_are_escaped_for_tables() -> None:
    assert markdown("a|b*c_d<script>") == "a\\|b\\*c\\_d\\<script\\>"
    assert markdown("$x$ ~~a~~ &lt;") == "\\$x\\$ \\~\\~a\\~\\~ \\&lt;"
    assert latex("[2pt]*") == "{[}2pt{]}{*}"
    assert latex("a_b & 50% {x} ~ ^ \\") == (
        r"a\_b \& 50\% \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )


def test_only_what_is_complete_is_called_complete() -> None:
    assert coverage(Cell(1, None, None, 10, 10)) == "100 %"
    assert coverage(Cell(1, None, None, 9_999, 10_000)) == "99.9 %"
    assert coverage(Cell(None, None, None, 0, 0)) == "none"


def test_numbers() -> None:
    assert (value(None), value(78.966)) == ("–", "78.97")
    assert (value(-1e-16), value(-1e-16, sign="+")) == ("0.00", "+0.00")
    assert (interval(None, 1), interval(77.61, 80.1)) == ("", "[77.6, 80.1]")
    assert difference(Difference("A", "B", 0.731, -0.26, 1.74, 9)) == "+0.73 [-0.3, +1.7]"
    assert difference(Difference("A", "B", None, None, None, 0)) == "–"
