"""Detection of verdicts in running text, such as "Wait, the answer is no." or "On reflection, 3/10."

These verdicts are never used as answers. They show that a reply contradicts the answer that it gives elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

_MARKS = str.maketrans({"*": "", "`": "", "_": " ", "#": " ", "…": "...", "“": '"', "”": '"', "。": ". "})
_MAX_MARKS = 30  # combining marks in a row
# Invisible characters: zero-width ones and direction marks.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_STRUCK_OUT = re.compile(r"~~[^~\n]{1,400}~~")
# A quoted key of JSON that stands outside of an object.
_KEY = re.compile(r"[\"']([a-z_ ]{2,30})[\"']\s?(?=:)", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z]{1,20}>", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{([^{}\n]{0,100})\}")
# Quotations, such as the text on a sign or another person's words.
_QUOTATION = re.compile(
    r"\"[^\"\n]{0,400}\"|«[^«»\n]{0,400}»|「[^「」\n]{0,400}」|‘[^‘’\n]{0,400}’|(?<!\w)'[^'\n]{1,400}'(?!\w)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|(?<=[a-z][.!?])(?=[A-Z])|\n")
_LINE_MARK = re.compile(
    r"^(?:[-•(\[ ]{0,4}[0-9]{1,3}[.):\]]{1,2} (?=\S)|[ >=/|→⇒✓✔✅✗✘❌-]{1,6}(?=[^\s>=/|→⇒✓✔✅✗✘❌-]))", re.MULTILINE
)
_QUESTION_LABEL = re.compile(r"\bq(?:uestion)? ?[.#-]?0{0,9}([0-9]{1,4})\b", re.IGNORECASE)
# Words that revise an earlier statement (retractions), and other words that introduce a verdict.
_RETRACTION = (
    r"(?:no,? )?(?:wait|hold on|(?:update|edit)(?= ?:)|p\.?s|revised|revision|to be (?:precise|honest|clear|exact)"
    r"|in short|honestly|strictly speaking|technically|unfortunately|on the other hand|hmm{1,3}|actually|correction"
    r"|corrected|sorry|oops|rather|instead|i mean|in fact"
    r"|(?:scratch|strike) that|on (?:reflection|second thoughts?|closer (?:look|inspection))"
    r"|upon (?:reflection|closer (?:look|inspection))|looking (?:again|closer|more closely)|after all"
    r"|i (?:was wrong|change my mind)|my mistake|make (?:that|it)|let me correct (?:that|this|myself))"
)
_LEAD = rf"(?:{_RETRACTION}|no|so|but|or|and|then|thus|hence|therefore|well|overall|finally|in (?:conclusion|summary))"
_GAP = r"[,:;.\s-]{1,4}"
_SUBJECT = (
    r"(?:(?:答案|更正|结论|评分|得分|分数|回答|答え|답)[^.!?\n]{0,20}?[是为:는은は]"
    r"|\b(?:respuesta|antwort|réponse|risposta|resposta|ответ)\b[^.!?\n]{0,40}?(?:\b(?:es|ist|est|è|é)\b|[:=—-])"
    r"|\b(?:answer|verdict|score|rating|grade|conclusion|decision|correction|judge?ment"
    r"|q(?:uestion)? ?[.#-]?[0-9]{1,4}|final(?= ?[:=]| is\b| should\b))s?\b[^.!?\n]{0,60}?"
    r"(?:\bis(?:n[’']t)?|(?<=\w)['’]s\b|\bare|\bwas|[:：=]|->|→|\s[–-](?=\s)|\bbecomes?|\bremains?|\bstays?"
    r"|\b(?:should|must|has to|ought to) (?:be|have been|read)))\s?"
)
_STATEMENT = (
    r"\b(?:(?:it|this|that) (?:should|must) (?:be|have been)|(?:score|rating|grade) of"
    r"|(?:chang|correct|revis|updat|amend)\w* [^.!?\n]{1,40}? to|change to"
    r"|i(?:['’]d|['’]ll| would| will| must| should| should have| have to| now)? (?:think|believe|say|said"
    r"|meant|mean|go with|conclude|answer|answered|vote|choose|pick|settle (?:on|for)|give|rate)"
    r"|(?:make|give|rate|score) (?:it|this|that)|(?:its|(?:it|this|that)(?:['’]s| is))(?: an?)?"
    r"|(?:treat|mark|count|lower|reduce|raise) [^.!?\n]{0,40}?\b(?:as|to))\s"
)
_ADVERBS = (
    r"(?:(?:now|rather|actually|in fact|therefore|clearly|definitely|simply|still|just|thus|then|instead|really|not"
    r"|a|an|clear|firm|definite)"
    r"\s){0,3}"
)
# Text that can follow a verdict: "the answer is no because", but not "the answer is no longer".
_END = (
    r"(?=\s?(?:[.,;:!)\]}\"–—]|$|です|-\s|\((?!\w+\))"
    r"|(?:because|since|as|for|not|given|due|and|but|instead|here|now|then|rather|after|in|on|from|if|when|although|though)"
    r"\b))"
)
# "Not a 3", "which prevents a 10/10", "8 instead of 10".
_NEGATED = re.compile(
    r"(?:n[’']t|\b(?:avoid\w*|prevent\w*|short of|instead of|rather than|not|than|nor))"
    r"(?:\s(?:a|an|the|of|score|rating|grade|answer|perfect|full|verdict)){0,4}\s\"?$",
    re.IGNORECASE,
)
_MAX_NEGATION_CHARS = 40
_ANY_OTHER = "(another one)"
_ARROW = r"(?:->|=>|→|⇒)\s?"
_IS_RIGHT = r"\s(?:is|would be|seems)\s(?:the\s)?(?:more\s)?(?:correct|right|better|accurate|true)\b"
_IS_WRONG = (
    r"(?:\s(?:above|before))?\s(?:is|was|would be|seems)\s"
    r"(?:(?:in|not (?:the )?)(?:correct|right|accurate|true)|false|wrong|mistaken|(?:a |my )?(?:mistake|error))\b"
)
# A condition: "if the hat were blue, the answer would be no".
_UNCONDITIONAL = r"^(?![^\n]{0,400}\b(?:if|unless|were|had|otherwise|without)\b)[^.!?\n]{0,200}?"
_TAKEN_BACK = re.compile(
    r"\b(?:my|the|this|that|above|previous|earlier) (?:answer|verdict|score|rating|reply|response|json)(?: above)?"
    r" (?:is|was) (?:wrong|incorrect|mistaken|not (?:right|correct))\b"
    r"|\b(?:my|the|this|that|above|previous|earlier) (?:answer|verdict|reply|response)(?: above)?"
    r" (?:is|was|should be|must be) (?:reversed|inverted|flipped|changed|the (?:other way around|opposite))\b"
    r"|\b(?:ignore|disregard|discard|forget|reverse|invert|flip)"
    r" (?:(?:the|my|this|that) (?:above|previous|first|earlier|answer|json|verdict)|what i (?:said|wrote|answered))\b"
    r"|\bi (?:take (?:that|it|this) back|retract\b|mean(?:t)? the opposite|(?:now )?disagree with (?:the above|my))"
    r"|(?:^|[.!?:;] )(?:sorry,? |no,? |wait,? )?i was wrong[.!]",
    re.IGNORECASE | re.MULTILINE,
)


class StatedVerdict(NamedTuple):
    """A verdict in a sentence: the number of the question, if the sentence names one, and the verdict's words."""

    question: str | None
    words: str


class VerdictFinder:
    """Finder of verdicts on one answer scale in running text.

    - `token`: regular expression that matches a verdict, with one group.
    - `own_line`: a verdict that stands alone counts only at the end of its line. Set this for numbers, because list
      items start with numbers.
    - `everywhere`: regular expressions of phrases that are a verdict in any context, with one group each.
    - `clauses`: regular expression of further words that are a verdict if a clause consists of nothing else.
    - `after_subject`: regular expression of further words that are a verdict after "Answer:".
    - `meaning`: function that returns the verdict for a matched text.
    - `opposites`: the opposite of each verdict, since "not a yes" states a no.
    """

    def __init__(
        self,
        token: str,
        *,
        own_line: bool = False,
        everywhere: Sequence[str] = (),
        clauses: str = "",
        after_subject: str = "",
        meaning: Callable[[str], str] = str,
        opposites: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        value = rf"\"?{token}\"?"
        begin = r"(?:^|[.!?]\s)[\[(]?" if own_line else r"(?:^|[.!?;:,(\[{–—]\s?|\s-\s)"
        end = r"[\])]?\s?[.;!]?\s?$" if own_line else r"(?=\s?(?:[.;!)\]}]|$))"
        clause = rf"{begin}[,:;.\s-]{{0,4}}(?:{_LEAD}{_GAP}){{0,5}}"
        patterns = [
            rf"{clause}(?:not (?:an? )?)?{token}{end}",  # a clause that is only a verdict
            rf"\b{_RETRACTION}{_GAP}(?:{_LEAD}{_GAP}){{0,3}}{value}{_END}",
            rf"{_SUBJECT}{_ADVERBS}{value}{_END}",
            rf"{_STATEMENT}{_ADVERBS}{value}{_END}",
            rf"^\W{{0,3}}q(?:uestion)? ?[0-9]{{1,4}}\W{{1,4}}{value}{end}",
            rf"{_ARROW}{value}{_END}",
            rf"{begin}{value}{_IS_RIGHT}",
            rf"{_UNCONDITIONAL}\b(?:answer|verdict|score|rating)\b would be\s{_ADVERBS}{value}{_END}",
            rf"(?<!\"){token},?\s(?:wait|actually|sorry|rather|hold on|i mean)\b",
            *([rf"{clause}({clauses}){end}"] if clauses else []),
            *([rf"\b(?:answer|verdict)\s?[:=]\s?\"?({after_subject}){_END}"] if after_subject else []),
            *everywhere,
        ]
        self._patterns = [re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in patterns]
        # The opposite: '"Yes" is wrong'.
        self._wrong = re.compile(rf"(?:{begin}|\b(?:answer|verdict|my|the)\s){value}{_IS_WRONG}", re.IGNORECASE)
        # The first word of a line that goes on: "No, the hat is blue." In a list it may be part of the reasons.
        self._opening = re.compile(rf"^{token}(?:\s?[,–—]\s|\s-\s|\s(?:because|since)\b)", re.IGNORECASE | re.MULTILINE)
        words = "|".join(filter(None, (token, clauses)))
        self._verdict = re.compile("|".join(filter(None, (words, after_subject))), re.IGNORECASE)
        self._hint = re.compile(rf"{words}|\b(?:answer|verdict)\s?[:=]", re.IGNORECASE)
        self._own_line, self._meaning, self._opposites = own_line, meaning, opposites

    def find(self, text: str) -> list[StatedVerdict]:
        """Return the verdicts that a text states outside quotations."""
        text = _normalise(text)
        if not self._hint.search(text):
            return []
        lines = remove_quotations(text, self._is_verdict)
        openings = () if self._own_line else self._opening.finditer(lines)
        plain = _LINE_MARK.sub("", lines)
        return [StatedVerdict(None, self._meaning(match[1])) for match in openings] + [
            StatedVerdict(label, words)
            for sentence in _SENTENCE_END.split(plain)
            for words in dict.fromkeys(self._in_sentence(sentence))
            for label in _QUESTION_LABEL.findall(sentence) or [None]
        ]

    def _is_verdict(self, words: str) -> bool:
        return self._verdict.fullmatch(words.strip(" .,!")) is not None

    def _in_sentence(self, sentence: str) -> Iterator[str]:
        for pattern in self._patterns:
            for match in pattern.finditer(sentence):
                start, words = match.start(1), self._meaning(match[1])
                if not _NEGATED.search(sentence[max(0, start - _MAX_NEGATION_CHARS) : start]):
                    yield words
                elif opposite := self._opposites.get(words):
                    yield opposite
        for match in self._wrong.finditer(sentence):
            if opposite := self._opposites.get(self._meaning(match[1]), _ANY_OTHER if self._own_line else ""):
                yield opposite


def takes_back(text: str) -> bool:
    """Return whether a text retracts an answer without giving another one. Quotations are ignored."""
    return _TAKEN_BACK.search(remove_quotations(text)) is not None


def _normalise(text: str) -> str:
    """Return a text in Unicode normal form NFKC, without invisible characters."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _limit_marks(_INVISIBLE.sub("", text)))


def _limit_marks(text: str) -> str:
    """Drop combining marks beyond 30 in a row. Normalisation takes quadratic time in their number.

    The limit is that of Unicode's stream-safe text format.
    """
    kept = []
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MAX_MARKS:
            kept.append(char)
    return "".join(kept)


def remove_quotations(text: str, is_verdict: Callable[[str], bool] = lambda _: False) -> str:
    """Return a text without Markdown, repeated white space and quotations. A quotation that is a verdict is kept."""

    def replace(quotation: re.Match[str]) -> str:
        words = quotation[0][1:-1]
        return f'"{words.strip(" .,!")}"' if is_verdict(words) else '""'

    text = _BOXED.sub(r" \1 ", _TAG.sub(" ", _STRUCK_OUT.sub(" ", _KEY.sub(r"\1", _normalise(text)))))
    lines = (" ".join(line.split()) for line in text.translate(_MARKS).splitlines())
    return _QUOTATION.sub(replace, "\n".join(line for line in lines if line))
