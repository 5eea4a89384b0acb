"""The time to parse a text is linear in its length for every text.

All regular expressions are found in the package's source, and all parsers by their signature. Each is tested with
difficult texts: runs of one character, nested JSON, and near-matches of each expression.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import creval
from creval.building.complex_edit.chain_replies import read_sequence
from creval.building.complexbench.step_replies import read_step_checks
from creval.building.ice.templates import find_echoed_blanks
from creval.core.human_ratings import parse_rating_scale
from creval.core.probe import Question
from creval.core.scales import NamedChoice, get_scale
from creval.parsing.judge_replies import parse_reply
from creval.parsing.labels import strip_markup
from creval.parsing.reply_text import MAX_REPLY_CHARS
from creval.parsing.written_instructions import match_one_of
from creval.providers.openai_wire import parse_error_body

try:
    from re import _constants, _parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as _constants
    import sre_parse as _parser

ROOT = Path(creval.__file__).parent
# These only parse trusted text, such as SVG files by matplotlib or creval's own prompts.
OWN_TEXT = ("reporting.plots.files", "testing.", "touchstone.", "cli.help_text")
METHODS = ("match", "fullmatch", "search", "split", "sub", "subn", "findall", "finditer")

Reader = Callable[[str], object]


def modules() -> Iterator[str]:
    for module in pkgutil.walk_packages([str(ROOT)], "creval."):
        if not module.name.endswith("__main__"):
            yield module.name


def is_foreign(name: str) -> bool:
    return not name.removeprefix("creval.").startswith(OWN_TEXT)


@cache
def patterns() -> dict[str, tuple[re.Pattern[str], tuple[str, ...]]]:
    """Return each regular expression of the package by its location, with the methods that are called on it."""
    found: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {}
    used: dict[str, set[str]] = {}
    for name in filter(is_foreign, modules()):
        path = ROOT.joinpath(*name.split(".")[1:])
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner, method = node.func.value, node.func.attr
            if method not in METHODS:
                continue
            if isinstance(owner, ast.Name | ast.Attribute) and ast.unparse(owner) != "re":
                own = ast.unparse(owner).rpartition(".")[2]
                # A private name is only used in its module; a public one or an attribute may be used anywhere.
                used.setdefault(f"{name}.{own}" if own.isupper() and own[0] == "_" else own, set()).add(method)
            elif node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                flags = re.IGNORECASE if "IGNORECASE" in ast.unparse(node) or "re.I" in ast.unparse(node) else 0
                found[f"{name}:{node.lineno}"] = (re.compile(node.args[0].value, flags), (method,))
    for name in filter(is_foreign, modules()):
        try:
            module = importlib.import_module(name)
        except ImportError:  # an extra is not installed
            continue
        for key, value in vars(module).items():
            uses = used.get(f"{name}.{key}") or used.get(key) or {"match"}
            for at, pattern in enumerate(compiled(value)):
                if isinstance(pattern.pattern, str):
                    # Expressions without a method call are passed to functions that use `match`.
                    found.setdefault(f"{name}.{key}.{at}", (pattern, tuple(uses)))
    return found


def compiled(value: object) -> Iterator[re.Pattern[str]]:
    """Yield the expressions in a module's value: the value itself, its items, or attributes of creval's objects."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from compiled(item)
    elif type(value).__module__.startswith("creval.") and hasattr(value, "__dict__"):
        for item in vars(value).values():
            if isinstance(item, re.Pattern | list):
                yield from compiled(item)


RUNS = (
    "\n",
    " ",
    "\t",
    '"',
    "'",
    "“",
    "`",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\\",
    "0",
    "9",
    "*",
    "_",
    "|",
    "a",
    "é",
    "-",
    ".",
)
PIECES = (
    *(
        "\n\n",
        " \n",
        "\r\n",
        "**",
        "``` ",
        "a ",
        "a\n",
        "1. ",
        "9 ",
        "- ",
        "* \n",
        "| ",
        '"a" ',
        '"a": ',
        '": ',
        '\\"',
        "? ",
    ),
    *(
        '{"a":',
        '{"a":{',
        '{"',
        "{ ",
        "[[",
        '[{"',
        '{"answer": "Yes", ',
        '"answer": ',
        'answer: "',
        "Answer: Yes\n",
        "Yes. ",
    ),
    *(
        "yes, ",
        "no ",
        "the answer is ",
        "score: 7 ",
        "7/10 ",
        "on reflection, ",
        "actually, ",
        "wait ",
        "Q1: ",
        "Q1 ",
        "q",
    ),
    *(
        "<think>",
        "</think>",
        "<",
        "<a",
        "&",
        "i am ",
        "not the ",
        "add text ",
        "text ",
        "model ",
        "instruction:\n**\n\n",
        "x" * 40 + " ",
    ),
    *(
        "a-",
        "a_",
        "word's ",
        "‘a ",
        "«a",
        "「",
        "$",
        "retry in 9",
        "</style>",
        "http://",
        "(because ",
        "{{a}} ",
        "[SOURCE] ",
    ),
)


def hostile(length: int) -> Iterator[tuple[str, str]]:
    """Yield names and texts of a length: runs and repeated pieces, with and without the start of an answer."""
    for piece in (*RUNS, *PIECES):
        body = piece * (length // len(piece))
        yield repr(piece), body + "\0"
        yield f'"{{"answer": "Yes" + {piece!r}', f'{{"explanation": "{body}'
    for opening in ("Yes. ", "1. ", "Q1: ", "| ", "- ", '"answer": "Yes', "answer", "3", "“"):
        for run in ("\n", " ", "0", "*", '"', "x ", ". ", "\n\n", ", "):
            yield f"{opening!r} + {run!r}", opening + run * (length // len(run)) + "\0"


def near_matches(pattern: re.Pattern[str], length: int) -> Iterator[tuple[str, str]]:
    """Yield texts that match an expression up to a long repeat and then fail, and long runs of common characters."""
    for run in ("\n", " ", "0", "a", "*", '"', "\\", "a ", "{"):
        yield f"run {run!r}", run * (length // len(run)) + "\0"
    for at, (before, run) in enumerate(repeats(_parser.parse(pattern.pattern, pattern.flags))):
        body = run * (length // max(1, len(run)))
        yield f"repeat {at}: {before!r} {run!r}", before + body + "\0"
        yield f"repeats {at}: {before!r} {run!r}", (before + run * 3) * (length // max(1, len(before + run * 3)))


def repeats(parsed: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield, for each unbounded repeat in an expression, a text that matches the part before it, and the repeat."""
    for operation, argument in parsed:
        name = str(operation)
        if "REPEAT" in name:
            low, high, inner = argument
            sample = sample_of(inner)
            if high is _constants.MAXREPEAT or high >= 20:
                yield from ((before, run) for run in characters_of(inner) or [sample])
            yield from repeats(inner, before)
            before += sample * max(low, 1 if sample else 0)
        elif name == "SUBPATTERN":
            yield from repeats(argument[-1], before)
            before += sample_of(argument[-1])
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from repeats(branch, before)
            before += sample_of(argument[1][0])
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from repeats(argument[1], before)
        else:
            before += sample_of([(operation, argument)])


def characters_of(parsed: Any) -> list[str]:
    """Return some characters of a character class; empty if the expression is not one."""
    if len(parsed) != 1 or str(parsed[0][0]) != "IN" or str(parsed[0][1][0][0]) == "NEGATE":
        return []
    found = [character_in([item]) for item in parsed[0][1]]
    return list(dict.fromkeys(["\n", *found] if " " in found else found))[:4]


def sample_of(parsed: Any) -> str:
    """Return a text that an expression matches, at least nearly."""
    text = ""
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            text += chr(argument)
        elif name == "NOT_LITERAL":
            text += "a" if chr(argument) != "a" else "b"
        elif name == "ANY":
            text += "a"
        elif name == "IN":
            text += character_in(argument)
        elif "REPEAT" in name:
            text += sample_of(argument[2]) * max(1, min(argument[0], 3))
        elif name == "SUBPATTERN":
            text += sample_of(argument[-1])
        elif name == "BRANCH":
            text += sample_of(argument[1][0])
    return text


CLASSES = {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_DIGIT": "a"}


def character_in(items: Any) -> str:
    if str(items[0][0]) == "NEGATE":
        return next((mark for mark in "a 7." if not re.match(rebuilt(items[1:]), mark)), "a")
    operation, argument = items[0]
    if str(operation) == "LITERAL":
        return chr(argument)
    if str(operation) == "RANGE":
        return chr(argument[0])
    return CLASSES.get(str(argument), ".")


def rebuilt(items: Any) -> str:
    """Return the source of a character class."""
    parts = []
    for operation, argument in items:
        if str(operation) == "LITERAL":
            parts.append(re.escape(chr(argument)))
        elif str(operation) == "RANGE":
            parts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
        else:
            letter = str(argument).removeprefix("CATEGORY_").removeprefix("NOT_")[0].lower()
            parts.append("\\" + (letter.upper() if "NOT_" in str(argument) else letter))
    return f"[{''.join(parts)}]"


SIZES = (500, 2_000, 8_000)
FLOOR = 0.004  # seconds; shorter times are not compared
MOST = 9.0  # allowed ratio of times for a text four times as long; quadratic time has the ratio 16


def seconds(read: Reader, text: str, repeats: int = 1) -> float:
    best = float("inf")
    for _ in range(repeats):
        began = time.thread_time()  # CPU time, which depends little on the machine's load
        read(text)
        best = min(best, time.thread_time() - began)
    return best


def slow(read: Reader, texts: Callable[[int], Iterator[tuple[str, str]]], sizes: tuple[int, ...] = SIZES) -> list[str]:
    """Return the kinds of text for which the time grows faster than the length."""
    found = []
    longest = dict(texts(sizes[-1]))
    by_size = [dict(texts(size)) for size in sizes[:-1]] + [longest]
    for kind in longest:
        before = seconds(read, by_size[0][kind])
        for size, group in zip(sizes[1:], by_size[1:], strict=True):
            taken = seconds(read, group[kind])
            # Measure again: load can make a single time long, but not the shortest of several.
            if taken > FLOOR and taken > MOST / 4 * before:
                taken = seconds(read, group[kind], 4)
                before = seconds(read, by_size[sizes.index(size) - 1][kind], 4)
                if taken > FLOOR and taken > MOST * before:
                    found.append(f"{kind}: {1000 * before:.1f} ms, then {1000 * taken:.1f} ms")
                    break
            before = taken
    return found


USES: dict[str, Callable[[re.Pattern[str]], Reader]] = {
    "match": lambda pattern: pattern.match,
    "fullmatch": lambda pattern: pattern.fullmatch,
    "search": lambda pattern: lambda text: [None for _ in pattern.finditer(text)],
}


def test_every_regular_expression_takes_linear_time() -> None:
    assert len(patterns()) > 120
    problems = []
    for where, (pattern, methods) in patterns().items():
        for use in {method if method in USES else "search" for method in methods}:
            if found := slow(USES[use](pattern), lambda length, p=pattern: near_matches(p, length)):  # type: ignore[misc]
                problems.append(f"{where} ({use}): {pattern.pattern[:100]!r}: {found[0]}")
    assert not problems, "\n".join(problems)


QUESTIONS = [Question(f"IF/{n}", "IF", text) for n, text in enumerate(("Is it red?", "Is there a hat?"), 1)]
NUMBERS = [question._replace(scale="0-10") for question in QUESTIONS]
READERS: dict[str, Reader] = {
    "one yes/no question": lambda text: parse_reply(text, QUESTIONS[:1]),
    "two yes/no questions": lambda text: parse_reply(text, QUESTIONS, prompt="Q1: Is it red?"),
    "two numbers": lambda text: parse_reply(text, NUMBERS),
    "yes/no": get_scale("yes/no").parse_answer,
    "number": get_scale("0-10").parse_answer,
    "name": NamedChoice("n", ("A", "B", "tie")).parse_answer,
    "strip_markup": lambda text: strip_markup(text, quotes=True),
    "match_one_of": lambda text: match_one_of(text, ["Identity", "Material"]),
    "step checks": lambda text: read_step_checks(text, 2),
    "sequence": read_sequence,
    "echoed blanks": lambda text: find_echoed_blanks(text, "Put {a thing} on {a place} and {b}."),
    "error body": lambda text: parse_error_body(text.encode()),
    "rating scale": lambda text: _quiet(parse_rating_scale, text),
}


def _quiet(read: Reader, text: str) -> None:
    with suppress(Exception):
        read(text)


def parsers() -> dict[str, Reader]:
    """Return all public functions of the package that parse one text, and `READERS`."""
    found = dict(READERS)
    for package in ("parsing", "building", "providers", "core", "metrics", "benchmarks", "prompts", "web"):
        for name in (name for name in modules() if name.startswith(f"creval.{package}.")):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            for key, function in vars(module).items():
                if not inspect.isfunction(function) or function.__module__ != name or key.startswith("_"):
                    continue
                parameters = list(inspect.signature(function).parameters.values())
                if not parameters or parameters[0].annotation != "str" or parameters[0].name not in TEXTS:
                    continue
                if all(other.default is not other.empty or other.kind is other.VAR_KEYWORD for other in parameters[1:]):
                    found[f"{name}.{key}"] = lambda text, f=function: _quiet(f, text)  # type: ignore[misc]
    return found


TEXTS = {"text", "reply", "instruction", "whole", "said", "written_name", "label", "rest", "broken", "prompt", "stem"}


@pytest.mark.parametrize("name", sorted(parsers()))
def test_every_parser_takes_linear_time(name: str) -> None:
    assert slow(parsers()[name], hostile, (1_000, 4_000)) == []


def test_a_reply_of_the_greatest_length_is_read_quickly() -> None:
    for piece in ("\n", '{"a":', "Yes. ", ", "):
        for opening in ("Yes. ", '{"explanation": "'):
            text = opening + piece * ((MAX_REPLY_CHARS - len(opening)) // len(piece))
            taken = seconds(lambda reply: parse_reply(reply, QUESTIONS[:1], prompt="Q1: Is it red?"), text)
            assert taken < 2.0, (opening, piece)


def test_a_reply_of_combining_marks_is_read_quickly() -> None:
    reply = "Yes a" + "\u0301" * 95_000 + "\u0316" * 95_000
    assert seconds(lambda text: parse_reply(text, QUESTIONS[:1], prompt="Q1: Is it red?"), reply) < 2.0


@pytest.mark.parametrize("pattern", [r"(?:[.!?\n]|^)[\s*_]*(yes|no)", r"a\s*b?\s*c", r"a\s*,?\s*\Z"])
def test_expressions_that_take_the_square_of_the_time_are_found(pattern: str) -> None:
    compiled_pattern = re.compile(pattern)
    assert slow(USES["search"](compiled_pattern), lambda length: near_matches(compiled_pattern, length), (1_000, 4_000))
