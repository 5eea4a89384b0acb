"""Verdicts that are stated in running text, such as "Wait, the answer is no." or "On reflection, 3/10."

They never answer a question. They show that a reply which answers it elsewhere says two things.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_MARKS = str.maketrans({"*": "", "`": "", "_": " ", "#": " ", "…": "...", "“": '"', "”": '"', "\ufeff": ""})
# What is quoted: the words on a sign, or of somebody else.
_QUOTATION = re.compile(
    r"\"[^\"\n]{0,400}\"|«[^«»\n]{0,400}»|「[^「」\n]{0,400}」|‘[^‘’\n]{0,400}’|(?<!\w)'[^'\n]{1,400}'(?!\w)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|(?<=[a-z][.!?])(?=[A-Z])|\n")
_LIST_NUMBER = re.compile(r"^[-•(\[ ]{0,4}[0-9]{1,3}[.):\]]{1,2} (?=\S)", re.MULTILINE)
_QUESTION_LABEL = re.compile(r"\bq(?:uestion)? ?[.#-]?0{0,9}([0-9]{1,4})\b", re.IGNORECASE)
# Words with which a writer comes back to what was said, and others that lead to a verdict.
_RETRACTION = (
    r"(?:no,? )?(?:wait|hold on|hmm{1,3}|actually|correction|corrected|sorry|oops|rather|instead|i mean|in fact"
    r"|(?:scratch|strike) that|on (?:reflection|second thoughts?|closer (?:look|inspection))"
    r"|upon (?:reflection|closer (?:look|inspection))|looking (?:again|closer|more closely)|after all"
    r"|i (?:was wrong|change my mind)|my mistake|make (?:that|it)|let me correct (?:that|this|myself))"
)
_LEAD = rf"(?:{_RETRACTION}|so|but|or|and|then|thus|hence|therefore|well|overall|finally|in (?:conclusion|summary))"
_GAP = r"[,:;.\s-]{1,4}"
_SUBJECT = (
    r"\b(?:answer|verdict|score|rating|grade|conclusion|decision|correction|judge?ment"
    r"|q(?:uestion)? ?[.#-]?[0-9]{1,4})s?\b[^.!?\n]{0,60}?"
    r"(?:\bis|\bare|\bwas|[:：=]|->|→|\bbecomes?|\bremains?|\bstays?"
    r"|\b(?:should|must|has to|ought to) (?:be|have been|read))\s?"
)
_STATEMENT = (
    r"\b(?:(?:it|this|that) (?:should|must) (?:be|have been)|(?:score|rating|grade) of"
    r"|(?:chang|correct|revis|updat|amend)\w* [^.!?\n]{1,40}? to"
    r"|i(?:'d| would)? (?:say|said|meant|mean|go with|conclude)|(?:make|give|rate|score) (?:it|this|that))\s"
)
_ADVERBS = (
    r"(?:(?:now|rather|actually|in fact|therefore|clearly|definitely|simply|still|just|thus|then|instead|really|a|an)"
    r"\s){0,3}"
)
# Behind a verdict that is one: "the answer is no because", not "the answer is no longer".
_END = (
    r"(?=\s?(?:[.,;:!)\]}\"–—]|$|-\s|\((?!\w+\))"
    r"|(?:because|since|as|for|not|given|due|and|but|instead|here|now|then|rather|after|in|on|if|when|although|though)"
    r"\b))"
)
# "Not a 3", "which prevents a 10/10", "8 instead of 10".
_NEGATED = re.compile(
    r"\b(?:avoid\w*|prevent\w*|short of|instead of|rather than|not|than|nor)"
    r"(?:\s(?:a|an|the|of|score|rating|grade|answer|perfect|full|verdict)){0,4}\s\"?$",
    re.IGNORECASE,
)
_MAX_NEGATION_CHARS = 40


class StatedVerdict(NamedTuple):
    """A verdict in a sentence: the number of the question that the sentence names, if any, and what it says."""

    question: str | None
    words: str


class VerdictFinder:
    """Finds verdicts of one scale in running text.

    `token` is the pattern of a verdict, with one group; `own_line` says that one without further words has to end its
    line, as numbers do, which lists begin with; `everywhere` is a pattern that is a verdict wherever it stands.
    """

    def __init__(self, token: str, *, own_line: bool = False, everywhere: str = "") -> None:
        value = rf"\"?{token}\"?"
        begin = r"(?:^|[.!?]\s)" if own_line else r"(?:^|[.!?;:,(–—]\s?|\s-\s)"
        end = r"\s?[.;!]?\s?$" if own_line else r"(?=\s?(?:[.;!)]|$))"
        patterns = [
            rf"{begin}[,:;.\s-]{{0,4}}(?:{_LEAD}{_GAP}){{0,5}}{token}{end}",  # a clause that is nothing else
            rf"\b{_RETRACTION}{_GAP}(?:{_LEAD}{_GAP}){{0,3}}{value}{_END}",
            rf"{_SUBJECT}{_ADVERBS}{value}{_END}",
            rf"{_STATEMENT}{_ADVERBS}{value}{_END}",
            rf"(?<!\"){token},?\s(?:wait|actually|sorry|rather|hold on|i mean)\b",
            *([everywhere] if everywhere else []),
        ]
        self._patterns = [re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in patterns]
        self._token = re.compile(token, re.IGNORECASE)

    def find(self, text: str) -> list[StatedVerdict]:
        """Return what a text states outside of quotations."""
        if not self._token.search(text):
            return []
        plain = _LIST_NUMBER.sub("", remove_quotations(text, self._is_verdict))
        return [
            StatedVerdict(label, words)
            for sentence in _SENTENCE_END.split(plain)
            for words in dict.fromkeys(self._in_sentence(sentence))
            for label in _QUESTION_LABEL.findall(sentence) or [None]
        ]

    def _is_verdict(self, words: str) -> bool:
        return self._token.fullmatch(words.strip(" .,!")) is not None

    def _in_sentence(self, sentence: str) -> Iterator[str]:
        for pattern in self._patterns:
            for match in pattern.finditer(sentence):
                start = match.start(1)
                if not _NEGATED.search(sentence[max(0, start - _MAX_NEGATION_CHARS) : start]):
                    yield match[1]


def remove_quotations(text: str, is_verdict: Callable[[str], bool] = lambda _: False) -> str:
    """Return a text without Markdown, runs of white space, and what is quoted, save a verdict alone in quotes."""

    def replace(quotation: re.Match[str]) -> str:
        words = quotation[0][1:-1]
        return f'"{words.strip(" .,!")}"' if is_verdict(words) else '""'

    lines = (" ".join(line.split()) for line in text.translate(_MARKS).splitlines())
    return _QUOTATION.sub(replace, "\n".join(line for line in lines if line))
