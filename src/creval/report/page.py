"""A run as a page of HTML: one file, with its pictures inside, that opens anywhere."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from PIL import Image

from creval.core.images import ImageError, open_image
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.report import sentences, text
from creval.report.tables import columns, places
from creval.stats.scorecard import SAMPLE, Cell, Scorecard
from creval.store.run import Answer, Run

_SHOWN = 6  # samples
_SIDE = 220  # pixels of a thumbnail
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --good: #1a7f4b; --bad: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --good: #5fd39a; --bad: #ff8a7a; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .4rem .8rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
td small { display: block; opacity: .7; white-space: nowrap; }
.best { font-weight: 700; } .second { text-decoration: underline; }
.note { opacity: .75; font-size: .9rem; }
figure { display: inline-block; margin: 0 .6rem .6rem 0; text-align: center; }
figure img { width: 142px; height: auto; border-radius: 6px; display: block;
  border: 1px solid var(--line); }
figcaption { font-size: .85rem; }
.asked td { padding: .15rem .6rem; text-align: center; } .asked td:first-child { text-align: left; }
.yes { color: var(--good); } .no { color: var(--bad); } .open { opacity: .6; }
details { margin: .4rem 0 1.4rem; } summary { cursor: pointer; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
"""


def page(run: Run, card: Scorecard, resamples: int) -> str:
    """The scores of a run, and some of its samples with pictures and answers."""
    notes = [
        sentences.decided(card),
        sentences.basis(card, run.manifest, resamples, "bold best, underlined second"),
        sentences.strictness(card, int(run.manifest.get("problems", 0))),
        *sentences.voices(run, card),
    ]
    judge = run.manifest["judge"] or "measured"
    title = escape(text.visible(f"{run.manifest['benchmark']}, {judge}"))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src data:; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        '<p class="note">A report by creval.</p>',
        f"<p>{escape(notes[0])}</p>",
        *_table(card),
        *(f'<p class="note">{escape(note)}</p>' for note in notes[1:]),
        "<h2>Samples that tell models apart</h2>",
    ]
    for name in telling(run, card):
        parts += _sample(run, card, run.samples[name])
    return "\n".join([*parts, "</body></html>", ""])


def _table(card: Scorecard) -> Iterator[str]:
    heads = "".join(f"<th>{escape(column)}</th>" for column in columns(card))
    yield f'<div class="wide"><table><thead><tr><th>model</th>{heads}</tr></thead><tbody>'
    marks = {column: places(card, "overall", "overall", column, {}) for column in columns(card)}
    for system in card.systems:
        cells = "".join(
            _cell(card, card.cell(system, column), column, marks[column].get(system, 0))
            for column in columns(card)
        )
        yield f"<tr><td>{escape(text.visible(system))}</td>{cells}</tr>"
    yield "</tbody></table></div>"


def _cell(card: Scorecard, cell: Cell, column: str, place: int) -> str:
    digits = card.table.card.metric(column).digits
    mark = ("", ' class="best"', ' class="second"')[place]
    value = escape(text.value(cell.value, digits))
    ends = escape(text.interval(cell.low, cell.high, digits))
    return f"<td><span{mark}>{value}</span> <small>{ends} · {text.coverage(cell)}</small></td>"


def telling(run: Run, card: Scorecard) -> list[str]:
    """The samples in which models are furthest apart, of as many groups as there are."""
    ranking = card.table.card.ranking
    apart = {}
    for name in card.table.samples:
        values = [card.cell(system, ranking, name, SAMPLE).value for system in card.systems]
        there = [value for value in values if value is not None]
        apart[name] = max(there) - min(there) if there else -1.0
    finest = next((level.name for level in reversed(card.table.card.levels) if level.tagged), "")
    found: dict[str, list[str]] = {}
    for name in sorted(apart, key=lambda name: (-apart[name], name)):
        found.setdefault(run.samples[name].tags.get(finest, ""), []).append(name)
    turns = [(at, -apart[name], name) for names in found.values() for at, name in enumerate(names)]
    return [name for _, _, name in sorted(turns)[:_SHOWN]]


def _sample(run: Run, card: Scorecard, sample: Sample) -> Iterator[str]:
    ranking = card.table.card.ranking
    group = " · ".join(dict.fromkeys(sample.tags.values()))
    yield f"<section><h3>{escape(text.visible(sample.id))}</h3>"
    yield f'<p class="note">{escape(text.visible(group))}</p>'
    yield f"<p>{escape(text.visible(sample.instruction))}</p>"
    yield _figure(sample.source, "source")
    pictures = {key.system: path for key, path in reversed(run.edits(sample.id).items())}
    for system in card.systems:
        cell = card.cell(system, ranking, sample.id, SAMPLE)
        value = text.value(cell.value, card.table.card.metric(ranking).digits)
        yield _figure(pictures.get(system), f"{system}: {value}")
    yield from _answers(run, card, sample)
    yield "</section>"


def _answers(run: Run, card: Scorecard, sample: Sample) -> Iterator[str]:
    questions = [probe for probe in run.probes[sample.id] if isinstance(probe, Question)]
    if not questions:
        return
    given: dict[tuple[str, str], list[Answer]] = {}
    for answer in run.answers(sample=sample.id):
        given.setdefault((answer.edit.system, answer.probe), []).append(answer)
    heads = "".join(f"<th>{escape(text.visible(name))}</th>" for name in card.systems)
    yield f"<details><summary>{len(questions)} questions</summary>"
    yield '<div class="wide"><table class="asked"><thead>'
    yield f"<tr><th>question</th>{heads}</tr></thead><tbody>"
    for question in questions:
        wanted = f" ({question.reference})" if question.reference else ""
        words = f"{question.metric}: {text.visible(question.text)}{wanted}"
        cells = "".join(
            _answer(question, given.get((system, question.id), ())) for system in card.systems
        )
        yield f"<tr><td>{escape(words)}</td>{cells}</tr>"
    yield "</tbody></table></div></details>"


def _answer(question: Question, answers: Sequence[Answer]) -> str:
    said = ", ".join(answer.said or answer.status for answer in answers) or "not asked"
    why = " ".join(answer.explanation for answer in answers)
    known = {answer.said for answer in answers if answer.value is not None}
    kind = "open"
    if known and question.reference is not None:
        kind = "yes" if known == {question.reference} else "no"
    return (
        f'<td class="{kind}" title="{escape(text.visible(why))}">{escape(text.visible(said))}</td>'
    )


def _figure(path: Path | None, caption: str) -> str:
    words = f"<figcaption>{escape(text.visible(caption))}</figcaption>"
    if path is None:
        return f"<figure>no picture{words}</figure>"
    try:
        image = open_image(path)
    except ImageError:
        return f"<figure>cannot be opened{words}</figure>"
    image.thumbnail((_SIDE * 2, _SIDE * 2), Image.Resampling.LANCZOS)
    sent = io.BytesIO()
    image.save(sent, "JPEG", quality=80)
    data = base64.b64encode(sent.getvalue()).decode("ascii")
    return f'<figure><img alt="" src="data:image/jpeg;base64,{data}">{words}</figure>'
