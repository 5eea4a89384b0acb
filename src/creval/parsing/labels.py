"""Labels in model replies: their spellings, the fields that they name, and labelled lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from creval.core.files import replace_lone_surrogates
from creval.core.text_cache import cache_by_text

MAX_TEXT_CHARS = 2000  # longer texts are truncated
MAX_LINE_CHARS = 4000  # longer lines are not parsed
# Characters that models put around words: white space, Markdown, quotes.
MARKUP = " \t\r\n\ufeff*_`\"'“”‘’#>~"
_MARKS = " \t\r\n*_`"
_QUOTE_PAIRS = ('""', "“”", "''", "‘’")
_NOT_WORD = re.compile(r"[\W_]+")


@cache_by_text(1 << 23)
def normalise_text(text: str) -> str:
    """Return a text without case, white space and punctuation, for comparisons."""
    return _NOT_WORD.sub("", text.casefold())


def strip_markup(text: str, *, quotes: bool = False) -> str:
    """Return a text in one line, without surrounding Markdown.

    With `quotes`, surrounding commas and pairs of quotes are removed, too.

    >>> strip_markup('**"Add  a cat."**,', quotes=True)
    'Add a cat.'
    """
    if not quotes:
        return " ".join(text.strip(_MARKS).split())
    text = " ".join(replace_lone_surrogates(text).split())
    while True:
        shorter = text.strip(_MARKS + ",，;")
        if len(shorter) > 1 and shorter[0] + shorter[-1] in _QUOTE_PAIRS:
            inside = shorter[1:-1]
            if not any(mark in inside for mark in shorter[0] + shorter[-1]):
                shorter = inside
        if shorter == text:
            return text
        text = shorter


class FieldAliases:
    """Names of fields, and the labels by which models call each field.

    >>> FieldAliases(answer="answer finalanswer").find("Final Answer")
    'answer'
    """

    def __init__(self, *, max_label_chars: int = 40, **aliases: str) -> None:
        self._fields = {name: field for field, names in aliases.items() for name in names.split()}
        self._max_label_chars = max_label_chars

    def find(self, label: str) -> str | None:
        """Return the field that a label names, or None."""
        return self._fields.get(normalise_text(label)) if len(label) <= self._max_label_chars else None

    def select(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a JSON object under the fields that its keys name.

        Keys that are no known label are dropped.
        """
        return {field: value for key, value in record.items() if (field := self.find(key))}


class LabelledLine(NamedTuple):
    """A line of text. If it starts with a known label: the label's field, and the text after the label."""

    text: str
    field: str | None = None
    value: str = ""


# A label and its value, such as `- **Edit instruction (new):** ...`.
_LABELLED = re.compile(
    r"[\W_]*([^\W\d_]+(?:[ _][^\W\d_]+){0,2})\s{0,9}[0-9]{0,3}(?:\s{0,9}[(（][^()（）]{0,30}[)）])?"
    r"[\s*_`\"'”’]{0,20}[:：][\s*_`\"'“‘]*(.*)"
)


def labelled_lines(
    lines: Iterable[str],
    find_field: Callable[[str], str | None],
    *patterns: re.Pattern[str],
    max_chars: int = MAX_LINE_CHARS,
) -> Iterator[LabelledLine]:
    """Yield each line with the field and value of its label, if it has one.

    The first of `patterns` that matches a line splits it into label and value. A line of more than `max_chars`
    characters counts as a line without a label.
    """
    for line in lines:
        tried = (pattern.match(line) for pattern in patterns or (_LABELLED,))
        match = next(filter(None, tried), None) if len(line) <= max_chars else None
        field = find_field(match[1]) if match else None
        yield LabelledLine(line, field, match[2]) if match and field else LabelledLine(line)
