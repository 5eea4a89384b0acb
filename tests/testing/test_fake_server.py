"""The rehearsal server answers whatever creval asks, the same for the same seed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from creval.core.probe import Question
from creval.core.scales import CONTRACTS, Contract
from creval.core.verdict import Status
from creval.parsing.answers import read_reply
from creval.parsing.instructions import instruction_request, read_instruction
from creval.parsing.questions import question_request, read_questions
from creval.testing.fake_creval import FORMS, REFUSAL
from creval.testing.fake_server import FakeServer, read_asked


def body(contract: Contract, *, bare: bool = False, **more: Any) -> dict[str, Any]:
    labels = ["Q1", "Q2"][: 1 if bare else 2]
    wanted = contract.bare_request() if bare else contract.request(labels)
    text = "\n".join(f"{label}: Is it {label}?" for label in labels) + f"\n\n{wanted}"
    url = "data:image/png;base64,AAAA"
    content = [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": text},
    ]
    return {"model": "m", "messages": [{"role": "user", "content": content}], **more}


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_it_answers_on_every_scale(contract: Contract) -> None:
    asked = body(contract, n=2)
    reply = FakeServer(seed=1).answer(asked, read_asked(asked))
    assert len(reply["choices"]) == 2
    questions = [Question(f"IF/{n}", "IF", f"Is it Q{n}?", contract.name) for n in (1, 2)]
    for choice in reply["choices"]:
        verdicts = read_reply(choice["message"]["content"], questions, ["Q1", "Q2"])
        assert [verdict.status for verdict in verdicts] == [Status.ANSWERED] * 2


def test_the_same_seed_gives_the_same_answers() -> None:
    def said(seed: int) -> list[str]:
        server = FakeServer(seed=seed)
        asked = body(CONTRACTS["0-10"], n=20)
        return [c["message"]["content"] for c in server.answer(asked, read_asked(asked))["choices"]]

    assert said(1) == said(1)
    assert said(1) != said(2)
    assert len(set(said(1))) > 5


def test_a_bare_answer_with_its_probabilities() -> None:
    asked = body(CONTRACTS["yes/no"], bare=True, logprobs=True, top_logprobs=20)
    choice = FakeServer().answer(asked, read_asked(asked))["choices"][0]
    assert choice["message"]["content"] in ("Yes", "No")
    (place,) = choice["logprobs"]["content"]
    assert {option["token"] for option in place["top_logprobs"]} == {"Yes", "No"}


def test_what_is_never_answered() -> None:
    asked = body(CONTRACTS["yes/no"])
    choice = FakeServer(never="it Q2").answer(asked, read_asked(asked))["choices"][0]
    assert list(json.loads(choice["message"]["content"])) == ["Q1"]


def test_any_other_text_gets_an_answer_too() -> None:
    plain = {"messages": [{"role": "user", "content": "Hello?"}]}
    choice = FakeServer().answer(plain, read_asked(plain))["choices"][0]
    assert choice["message"]["content"]


def written(text: str, **more: Any) -> str:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [picture, {"type": "text", "text": text}]
    asked = {"messages": [{"role": "user", "content": content}]}
    return str(
        FakeServer(**more).answer(asked, read_asked(asked))["choices"][0]["message"]["content"]
    )


def test_it_writes_what_building_asks_for() -> None:
    replies = [written(f"{at} {question_request('VC')}") for at in range(200)]
    counts = [len(read_questions(reply)) for reply in replies]
    assert sum(count >= 6 for count in counts) > 170
    assert min(counts) == 0, "a refusal, now and then"
    assert len({reply[:6] for reply in replies}) > len(FORMS) / 2
    told = [read_instruction(written(f"{at} {instruction_request()}")) for at in range(50)]
    assert sum(one is not None for one in told) > 40
    asked = '{} Sharpen: write "OPEN" on it. ' + instruction_request(added=True)
    told = [read_instruction(written(asked.replace("{}", str(at), 1))) for at in range(50)]
    added = [one for one in told if one is not None and len(one.attributes) in (0, 2, 3)]
    assert sum('"OPEN"' in one.text for one in added) > 35
    assert written(question_request("IF")) == written(question_request("IF"))
    assert written(question_request("IF"), declines=1.0) == REFUSAL


def test_of_a_source_alone_it_knows_what_is_true() -> None:
    asked = CONTRACTS["yes/no"].request(["Q1", "Q2"])
    said = written(f"Q1: Is the head now red?\nQ2: Is the head in one piece?\n\n{asked}")
    assert [entry["answer"] for entry in json.loads(said).values()] == ["No", "Yes"]
