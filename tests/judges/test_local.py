"""Judges in this process, with a tiny model of random weights in the real format."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import EncodedImage
from creval.core.scales import get_scale
from creval.judges.base import JudgeRequest, JudgeResponse
from creval.judges.local import LocalJudge
from creval.providers.call_errors import CallError
from tests.judges.tiny import write_tiny_model

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
YES_NO = get_scale("yes/no")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def image(colour: str) -> EncodedImage:
    content = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(content, "PNG")
    return EncodedImage(colour, "image/png", content.getvalue(), 40, 30)


def request(text: str = "Is it red?", choices: int = 1) -> JudgeRequest:
    return JudgeRequest([image("red"), image("blue")], text, YES_NO, ["Q1"], range(choices))


def answers(judge: LocalJudge, requests: list[JudgeRequest]) -> list[JudgeResponse]:
    async def run() -> list[JudgeResponse]:
        await judge.open()
        try:
            return list(await asyncio.gather(*(judge.ask(one) for one in requests)))
        finally:
            await judge.close()

    return asyncio.run(run())


def local(model: Path, **parameters: Any) -> LocalJudge:
    return LocalJudge(f"hf:{model}", str(model), parameters={"max_tokens": 6} | parameters)


def test_batched_answers_equal_single_ones(model: Path) -> None:
    texts = ["Is it red?", "Is there exactly one hat in the picture, and is it blue?", "No?"]
    together = answers(local(model, batch_size=3), [request(text) for text in texts])
    alone = [answers(local(model, batch_size=1), [request(text)])[0] for text in texts]
    assert [answer.completions[0].text for answer in together] == [answer.completions[0].text for answer in alone]
    assert [answer.tokens_in for answer in together] == [answer.tokens_in for answer in alone]
    assert all(0 < (answer.tokens_out or 0) <= 6 for answer in together)


def test_sampled_completions_differ(model: Path) -> None:
    (answer,) = answers(local(model, temperature=2.0), [request(choices=6)])
    assert len(answer.completions) == 6
    assert len({choice.text for choice in answer.completions}) > 1


def test_log_probabilities(model: Path) -> None:
    judge = LocalJudge("hf:tiny", str(model), parameters={"max_tokens": 3}, logprobs=True)
    ((choice,),) = [answer.completions for answer in answers(judge, [request()])]
    assert choice.logprobs
    for position in choice.logprobs:
        assert len(position.alternatives) == 20
        assert sum(pow(2.718281828, value) for _, value in position.alternatives) <= 1.0001
        # The most probable token was chosen.
        assert position.token == position.alternatives[0][0]


def test_batches_shrink_if_memory_is_short(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = local(model, batch_size=4)
    whole = LocalJudge._generate

    def scarce(self: LocalJudge, requests: Any) -> Any:
        if len(requests) > 1:
            raise RuntimeError("CUDA out of memory. Tried to allocate")
        return whole(self, requests)

    monkeypatch.setattr(LocalJudge, "_generate", scarce)
    assert len(answers(judge, [request() for _ in range(4)])) == 4
    assert "batch size reduced to 1" in judge.notes[-1]


def test_a_failing_request_does_not_fail_the_others(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LocalJudge._generate

    def picky(self: LocalJudge, requests: Any) -> Any:
        if any("bad" in one.text for one in requests):
            raise RuntimeError("shape mismatch")
        return whole(self, requests)

    async def run(judge: LocalJudge) -> list[Any]:
        await judge.open()
        asked = [judge.ask(request(text)) for text in ("one", "bad", "three", "four", "five")]
        try:
            return list(await asyncio.gather(*asked, return_exceptions=True))
        finally:
            await judge.close()

    monkeypatch.setattr(LocalJudge, "_generate", picky)
    found = asyncio.run(run(local(model)))
    assert [isinstance(one, CallError) for one in found] == [False, True, False, False, False]


def test_an_error_of_the_model_is_a_call_error(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("shape mismatch")

    monkeypatch.setattr(LocalJudge, "_generate", broken)
    with pytest.raises(CallError, match="shape mismatch"):
        answers(local(model), [request()])


def test_wrong_models_and_parameters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="cannot be loaded"):
        answers(LocalJudge("hf:nowhere", str(tmp_path)), [request()])
    with pytest.raises(CrevalError, match="did you mean 'batch_size'"):
        LocalJudge("hf:x", "x", parameters={"batchsize": 2})
    with pytest.raises(CrevalError, match="batch_size"):
        LocalJudge("hf:x", "x", parameters={"batch_size": 0})
