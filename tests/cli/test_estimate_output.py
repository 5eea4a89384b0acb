from __future__ import annotations

import json

import pytest

from creval.calls.cost_estimate import CostEstimate
from creval.cli import estimate_output


def judge(**more: object) -> CostEstimate:
    known: dict[str, object] = {"calls": 20, "cached": 4, "images": 40, "size": 3e6}
    known |= {"tokens_in": 9000.0, "tokens_out": 1000.0, "cost": 0.25, "seconds": 90.0}
    return CostEstimate(**{"judge": "openai:gpt-4o", **known, **more})  # type: ignore[arg-type]


def test_an_estimate_of_judges(capsys: pytest.CaptureFixture[str]) -> None:
    estimate_output.print_estimates([judge()], 16, json=False)
    shown, told = capsys.readouterr()
    heads, _, row = (line.split() for line in shown.splitlines() if line.strip())
    assert heads[:5] == ["judge", "calls", "cached", "images", "bytes"]
    assert row[:5] == ["openai:gpt-4o", "20", "4", "40", "3.0"]
    assert "0.25 USD" in shown
    assert "Time: 5 s per call, 16 calls at once." in told
    assert "price" not in told


def test_an_estimate_of_models_in_roles(capsys: pytest.CaptureFixture[str]) -> None:
    made = [judge(role="writer", size=0.0), judge(role="asker", size=0.0, cost=None)]
    estimate_output.print_estimates(made, 16, False, (1, "image"))
    shown, told = capsys.readouterr()
    assert "writer: openai:gpt-4o" in shown
    assert "bytes" not in shown, "sizes are unknown"
    assert "unknown" in shown
    assert told.startswith("For 1 image, with few retries. Time:")
    assert "No price is known for openai:gpt-4o. Give it with --price" in told


def test_an_estimate_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    estimate_output.print_estimates([judge()], 16, json=True)
    (told,) = json.loads(capsys.readouterr().out)["estimates"]
    assert (told["judge"], told["calls"], told["cost"]) == ("openai:gpt-4o", 20, 0.25)
    assert "role" not in told
    estimate_output.print_estimates([judge(role="writer")], 16, True, (12, "image"))
    found = json.loads(capsys.readouterr().out)
    assert (found["pictures"], found["estimates"][0]["role"]) == (12, "writer")


def test_an_estimate_in_one_line() -> None:
    line = estimate_output.format_estimates([judge(), judge(cached=0)])
    assert line == "40 calls (4 already answered), about 20,000 tokens, about 0.50 USD"
    assert estimate_output.format_estimates([judge(cost=None)]).endswith("10,000 tokens")
    half = estimate_output.format_estimates([judge(), judge(cost=None)])
    assert half.endswith(", at least 0.25 USD"), "one price is not known"
    free = judge(cost=None, tokens_in=0.0, tokens_out=0.0)
    assert estimate_output.format_estimates([judge(), free]).endswith(", about 0.25 USD")
    assert estimate_output.format_estimates([free]) == "20 calls (4 already answered)"


def test_thinking_is_counted_and_marked_as_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    estimate_output.print_estimates([judge(judge="openai:gpt-5", thinking=600)], 16, json=False)
    assert (
        "openai:gpt-5 reasons before it answers: 600 reasoning tokens per call are a guess" in capsys.readouterr().err
    )
    assert "tokens (thinking is a guess)" in estimate_output.format_estimates([judge(thinking=600)])
    assert "thinking" not in estimate_output.format_estimates([judge()])
    estimate_output.print_estimates([judge(thinking=600), judge()], 16, json=True)
    made = json.loads(capsys.readouterr().out)["estimates"]
    assert [one.get("thinking") for one in made] == [600, None]
