"""Formatting of numbers and words, and escaping of untrusted text."""

from __future__ import annotations

import re

from creval.core.schema import Digits

DEFAULT_DIGITS = Digits()
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LATEX_ESCAPES = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After a row's end, LaTeX would read these as options.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}


def escape_control(text: str) -> str:
    """Escape control characters, so that a terminal shows them instead of obeying them.

    >>> escape_control("red\\x1b[31m")
    'red\\\\x1b[31m'
    """
    return _CONTROL_CHARACTERS.sub(lambda match: repr(match[0])[1:-1], text)


def escape_markdown(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return re.sub(r"([\\`*_|<>\[\]$~&])", r"\\\1", escape_control(text))


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX_ESCAPES.get(char, char) for char in escape_control(text))


def format_value(number: float | None, digits: Digits = DEFAULT_DIGITS, sign: str = "") -> str:
    return "–" if number is None else _format_rounded(number, digits.value, sign)


def _format_rounded(number: float, digits: int, sign: str) -> str:
    # Adding 0.0 removes the sign of a negative zero.
    return f"{round(number, digits) + 0.0:{sign}.{digits}f}"


def format_interval(low: float | None, high: float | None, digits: Digits = DEFAULT_DIGITS, sign: str = "") -> str:
    if low is None or high is None:
        return ""
    return f"[{_format_rounded(low, digits.ends, sign)}, {_format_rounded(high, digits.ends, sign)}]"


def format_measurement(name: str, metric: str) -> str:
    """Return the display name of a measurement.

    >>> format_measurement("imaging/PF", "PF")
    'imaging, for PF'
    """
    image_metric = name.partition("/")[0]
    return image_metric if image_metric == metric else f"{image_metric}, for {metric}"


def end_sentence(text: str) -> str:
    """Append a full stop, unless the text ends with a sentence's punctuation."""
    return text if text.endswith((".", "!", "?", "”")) else f"{text}."


def pluralise(number: int, noun: str) -> str:
    """Return a number with its noun: `1 sample`, `2,712 samples`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_count(number: float) -> str:
    """Return a large number: `2,712`, `1.2 M`."""
    return f"{number:,.0f}" if number < 1e6 else f"{number / 1e6:,.1f} M"


def format_bytes(number: float) -> str:
    """Return a size in bytes: `512 kB`, `1.9 GB`."""
    for unit, step in (("GB", 1e9), ("MB", 1e6)):
        if number >= step:
            return f"{number / step:.1f} {unit}"
    return f"{number / 1e3:.0f} kB"


def format_duration(seconds: float) -> str:
    """Return a duration: `8 s`, `2 min 20 s`, `3 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def format_seconds(number: float) -> str:
    """Return a short duration: `0.12 s`, `8.4 s`, `2 min 20 s`."""
    return format_duration(number) if number >= 60 else f"{number:.2g} s"


def format_money(dollars: float) -> str:
    """Return an amount of US dollars: `1,234.50 USD`, with four decimals below 0.1 USD."""
    return f"{dollars:,.2f} USD" if dollars >= 0.1 or dollars == 0 else f"{dollars:.4f} USD"
