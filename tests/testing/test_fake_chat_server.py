"""The fake server answers all of creval's requests, with equal answers for equal seeds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from creval.core.probe import Question
from creval.core.scales import AnswerScale, NamedChoice, get_scale, scales
from creval.core.verdict import VerdictStatus
from creval.parsing.judge_replies import parse_reply
from creval.parsing.written_instructions import instruction_reply_format, parse_instruction
from creval.parsing.written_questions import parse_questions, question_reply_format
from creval.testing.fake_chat_server import FakeServer, parse_chat_request
from creval.testing.fake_creval import QUESTION_FORMATS, REFUSAL


def body(contract: AnswerScale, *, bare: bool = False, **more: Any) -> dict[str, Any]:
    labels = ["Q1", "Q2"][: 1 if bare else 2]
    wanted = contract.bare_reply_format() if bare else contract.reply_format(labels)
    text = "\n".join(f"{label}: Is it {label}?" for label in labels) + f"\n\n{wanted}"
    url = "data:image/png;base64,AAAA"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]
    return {"model": "m", "messages": [{"role": "user", "content": content}], **more}


@pytest.mark.parametrize("contract", [*map(get_scale, [*scales.names(), "1-5", "1-10"])], ids=lambda scale: scale.name)
def test_it_answers_on_every_scale(contract: AnswerScale) -> None:
    asked = body(contract, n=2)
    reply = FakeServer(seed=1).build_reply(asked, parse_chat_request(asked))
    assert len(reply["choices"]) == 2
    questions = [Question(f"IF/{n}", "IF", f"Is it Q{n}?", contract.name) for n in (1, 2)]
    for choice in reply["choices"]:
        verdicts = parse_reply(choice["message"]["content"], questions, ["Q1", "Q2"])
        assert [verdict.status for verdict in verdicts] == [VerdictStatus.ANSWERED] * 2


def test_it_answers_with_one_of_several_names() -> None:
    scale = NamedChoice("preference", ("A", "B", "about the same"))
    asked = body(scale, n=30)
    texts = [c["message"]["content"] for c in FakeServer().build_reply(asked, parse_chat_request(asked))["choices"]]
    assert {json.loads(text)["Q1"]["answer"] for text in texts} == {"A", "B", "about the same"}


def test_the_same_seed_gives_the_same_answers() -> None:
    def said(seed: int) -> list[str]:
        server = FakeServer(seed=seed)
        asked = body(get_scale("0-10"), n=20)
        return [c["message"]["content"] for c in server.build_reply(asked, parse_chat_request(asked))["choices"]]

    assert said(1) == said(1)
    assert said(1) != said(2)
    assert len(set(said(1))) > 5


def test_a_bare_answer_with_its_probabilities() -> None:
    asked = body(get_scale("yes/no"), bare=True, logprobs=True, top_logprobs=20)
    choice = FakeServer().build_reply(asked, parse_chat_request(asked))["choices"][0]
    assert choice["message"]["content"] in ("Yes", "No")
    (place,) = choice["logprobs"]["content"]
    assert {option["token"] for option in place["top_logprobs"]} == {"Yes", "No"}


def test_phrases_that_are_never_answered() -> None:
    asked = body(get_scale("yes/no"))
    choice = FakeServer(skipped_phrase="it Q2").build_reply(asked, parse_chat_request(asked))["choices"][0]
    assert list(json.loads(choice["message"]["content"])) == ["Q1"]


def test_any_other_text_gets_an_answer_too() -> None:
    plain = {"messages": [{"role": "user", "content": "Hello?"}]}
    choice = FakeServer().build_reply(plain, parse_chat_request(plain))["choices"][0]
    assert choice["message"]["content"]


def test_it_takes_a_schema() -> None:
    plain, schema = body(get_scale("yes/no")), {"name": "reply", "schema": {"type": "object"}}
    asked = {**plain, "response_format": {"type": "json_schema", "json_schema": schema}}
    assert parse_chat_request(asked) == parse_chat_request(plain)


def written(text: str, **more: Any) -> str:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [image, {"type": "text", "text": text}]
    asked = {"messages": [{"role": "user", "content": content}]}
    return str(FakeServer(**more).build_reply(asked, parse_chat_request(asked))["choices"][0]["message"]["content"])


def test_it_writes_what_building_asks_for() -> None:
    replies = [written(f"{at} {question_reply_format('VC')}") for at in range(200)]
    counts = [len(parse_questions(reply)) for reply in replies]
    assert sum(count >= 6 for count in counts) > 170
    assert min(counts) == 0, "some replies are refusals"
    assert len({reply[:6] for reply in replies}) > len(QUESTION_FORMATS) / 2
    told = [parse_instruction(written(f"{at} {instruction_reply_format()}")) for at in range(50)]
    assert sum(one is not None for one in told) > 40
    asked = '{} Sharpen: write "OPEN" on it. ' + instruction_reply_format(only_added=True)
    told = [parse_instruction(written(asked.replace("{}", str(at), 1))) for at in range(50)]
    added = [one for one in told if one is not None and len(one.attributes) in (0, 2, 3)]
    assert sum('"OPEN"' in one.text for one in added) > 35
    assert written(question_reply_format("IF")) == written(question_reply_format("IF"))
    assert written(question_reply_format("IF"), decline_rate=1.0) == REFUSAL


def test_of_a_source_alone_it_knows_what_is_true() -> None:
    asked = get_scale("yes/no").reply_format(["Q1", "Q2"])
    said = written(f"Q1: Is the head now red?\nQ2: Is the head in one piece?\n\n{asked}")
    assert [entry["answer"] for entry in json.loads(said).values()] == ["No", "Yes"]
