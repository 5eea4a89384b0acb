"""Judges opened by name: provider, address and key."""

from __future__ import annotations

import pytest

from creval.core.errors import CrevalError
from creval.judges.base import Judge, JudgeOptions
from creval.judges.chat import ChatJudge
from creval.judges.judge_spec import open_judges, panel_members
from creval.providers.catalog import CHAT_PROVIDERS, find_list_price
from creval.providers.pricing import Price

KEY = "sk-very-secret-123"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in CHAT_PROVIDERS.values():
        monkeypatch.setenv(provider.key_env, KEY)
    monkeypatch.delenv("CREVAL_API_KEY", raising=False)


def one(spec: str, **options: object) -> ChatJudge:
    (judge,) = open_judges(spec, JudgeOptions(**options))  # type: ignore[arg-type]
    assert isinstance(judge, ChatJudge)
    return judge


def test_a_provider_is_chosen_by_name() -> None:
    judge = one("openai:gpt-4o")
    assert (judge.url, judge.model) == ("https://api.openai.com/v1", "gpt-4o")
    assert judge.price == Price(2.5, 10)
    assert judge.vision.name == "gpt-4o"
    assert one("openrouter:anthropic/claude-sonnet-4.5").vision.name == "claude"
    assert one("google:gemini-2.5-flash").url.endswith("/v1beta/openai")


def test_a_custom_server_gets_no_providers_key() -> None:
    judge = one("openai:Qwen/Qwen2.5-VL-7B@http://localhost:8000/v1/")
    assert (judge.model, judge.url) == ("Qwen/Qwen2.5-VL-7B", "http://localhost:8000/v1")
    assert judge._endpoint.key == ""
    assert judge.price is None
    assert judge.supports_n
    full = one("openai:m@http://h:1/v1/chat/completions")
    assert full.url == "http://h:1/v1"


def test_the_key_is_read_from_the_named_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", " k1 ")
    assert one("openai:m@http://h/v1", key_env="MINE")._endpoint.key == "k1"
    monkeypatch.setenv("CREVAL_API_KEY", "k2")
    assert one("openai:m@http://h/v1")._endpoint.key == "k2"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(CrevalError, match="environment variable OPENAI_API_KEY"):
        one("openai:gpt-4o")
    monkeypatch.setenv("OPENAI_API_KEY", "smart “quotes”")
    with pytest.raises(CrevalError, match="invalid in a key"):
        one("openai:gpt-4o")


def test_no_key_is_stored_or_shown() -> None:
    judge = one("openai:gpt-4o")
    assert KEY not in repr(dict(judge.manifest_entry))
    assert KEY not in judge.name


def test_an_at_sign_in_a_models_name_is_not_an_address() -> None:
    assert one("openai:claude-sonnet-4@20250514").model == "claude-sonnet-4@20250514"


def test_a_panel_has_several_judges() -> None:
    spec = "panel:openai:gpt-4o+google:gemini-2.5-flash+openai:a+b@http://h:1/v1"
    assert panel_members(spec) == ["openai:gpt-4o", "google:gemini-2.5-flash", "openai:a+b@http://h:1/v1"]
    judges: list[Judge] = open_judges(spec, JudgeOptions())
    assert [judge.model for judge in judges] == ["gpt-4o", "gemini-2.5-flash", "a+b"]
    for alone in ("panel:openai:gpt-4o", "panel:", "panel:openai:a+openai:a"):
        with pytest.raises(CrevalError, match="two or more different judges"):
            panel_members(alone)


def test_the_default_temperature_is_zero_or_one_with_repeats() -> None:
    assert one("openai:gpt-4o").manifest_entry["parameters"] == {"temperature": 0.0}
    assert one("openai:gpt-4o", repeat=5).manifest_entry["parameters"] == {"temperature": 1.0}
    chosen = one("openai:gpt-4o", repeat=5, temperature=0.3, parameters={"top_p": 1e-7})
    assert chosen.manifest_entry["parameters"] == {"temperature": 0.3, "top_p": 1e-7}
    assert one("openrouter:x/y").manifest_entry["parameters"]["max_tokens"] == 8192


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("", "give PROVIDER:MODEL"),
        ("gpt-4o", "give PROVIDER:MODEL"),
        ("openai:", "give PROVIDER:MODEL"),
        ("opnai:gpt-4o", "did you mean 'openai'"),
        ("openai:m@ftp://h/v1", "must begin with http"),
        ("openai:m@127.0.0.1:8000/v1", "must begin with http"),
        ("openai:m@localhost/v1", "must begin with http"),
        ("openai:m@host:8000", "must begin with http"),
        ("openai:m@api.example.com/v1", "must begin with http"),
        ("openai:m@http://user:pw@h/v1", "without a user"),
        ("openai:m@http://h/v1?key=1", "without a user"),
        ("openai:m@http://h:99999/v1", "is invalid"),
        ("openai:m@http:///v1", "without a user"),
        ("recorded:answers", "creval replay"),
    ],
)
def test_wrong_names_are_refused(spec: str, sentence: str) -> None:
    with pytest.raises(CrevalError, match=sentence):
        open_judges(spec, JudgeOptions())


def test_logprobs_of_a_provider_without_them_are_refused() -> None:
    with pytest.raises(CrevalError, match="anthropic returns no log-probabilities"):
        one("anthropic:claude-sonnet-4-5", logprobs=True)


def test_prices_are_found_without_vendor_and_date() -> None:
    assert find_list_price("openai/gpt-4o-2024-11-20") == Price(2.5, 10)
    assert find_list_price("claude-sonnet-4-5-20250929") == Price(3, 15)
    assert find_list_price("gpt-4o-audio-preview") is None
    assert find_list_price("mystery") is None
    assert Price(2.5, 10).cost(1_000_000, 100_000) == pytest.approx(3.5)


def test_one_key_is_not_sent_to_several_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "k")
    options = JudgeOptions(key_env="MINE")
    same = "panel:openai:a@http://h:1/v1+openai:b@http://h:1/v1"
    assert len(open_judges(same, options)) == 2
    for spec in ("panel:openai:a@http://h:1/v1+openai:b@http://i:1/v1", "panel:openai:gpt-4o+openai:b@http://i:1/v1"):
        with pytest.raises(CrevalError, match="different providers or addresses"):
            open_judges(spec, options)
