from __future__ import annotations

from creval.core.formatting import (
    end_sentence,
    escape_control,
    escape_latex,
    escape_markdown,
    format_interval,
    format_value,
)
from creval.reporting.numbers import format_coverage, format_estimate
from creval.stats.scorecard import Difference, ScoreEstimate


def test_control_characters_in_names_are_escaped() -> None:
    assert escape_control("a\x1b[31mred\x07\r\n") == "a\\x1b[31mred\\x07\\r\\n"
    assert escape_control("‮evil") == "\\u202eevil"
    assert escape_control("C抬ig虇dem & Bilgin") == "C抬ig虇dem & Bilgin"


def test_names_are_escaped_for_tables() -> None:
    assert escape_markdown("a|b*c_d<script>") == "a\\|b\\*c\\_d\\<script\\>"
    assert escape_markdown("$x$ ~~a~~ &lt;") == "\\$x\\$ \\~\\~a\\~\\~ \\&lt;"
    assert escape_latex("[2pt]*") == "{[}2pt{]}{*}"
    assert escape_latex("a_b & 50% {x} ~ ^ \\") == (
        r"a\_b \& 50\% \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )


def test_only_what_is_complete_is_called_complete() -> None:
    assert format_coverage(ScoreEstimate(1, None, None, 10, 10)) == "100 %"
    assert format_coverage(ScoreEstimate(1, None, None, 9_999, 10_000)) == "99.9 %"
    assert format_coverage(ScoreEstimate(None, None, None, 0, 0)) == "none"


def test_numbers() -> None:
    assert (format_value(None), format_value(78.966)) == ("–", "78.97")
    assert (format_value(-1e-16), format_value(-1e-16, sign="+")) == ("0.00", "+0.00")
    assert (format_interval(None, 1), format_interval(77.61, 80.1)) == ("", "[77.6, 80.1]")
    assert (
        format_estimate(Difference(0.731, -0.26, 1.74, first="A", second="B", samples=9), sign="+")
        == "+0.73 [-0.3, +1.7]"
    )
    assert format_estimate(Difference(None, first="A", second="B", samples=0), sign="+") == "–"


def test_a_sentence_ends_once() -> None:
    assert [end_sentence(text) for text in ("a", "a.", "a?", "a!")] == ["a.", "a.", "a?", "a!"]
