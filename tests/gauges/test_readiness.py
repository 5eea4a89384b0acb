"""Whether a gauge can run here, and what is to be done."""

from __future__ import annotations

import pytest

from creval.core.card import Metric
from creval.gauges.card import GaugeCard, ModelCard
from creval.gauges.readiness import readiness

VALUE = (Metric("x", ""),)
HUB = ModelCard("x", "org/model", 4550, "MIT", "https://example.org")


def test_a_formula_is_ready() -> None:
    assert readiness(GaugeCard("x", "", VALUE, "")) == (True, ())


def test_what_is_not_installed_is_named() -> None:
    card = GaugeCard("x", "", VALUE, "", models=(HUB,), extra="local", packages=("no_such", "json"))
    ready, to_do = readiness(card)
    assert not ready
    assert to_do == (
        "pip install 'creval[local]' (for no_such)",
        "downloads org/model (4.5 GB) at first use",
    )


def test_what_is_downloaded_or_given(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    card = GaugeCard("x", "", VALUE, "", models=(HUB,))
    assert readiness(card) == (True, ("downloads org/model (4.5 GB) at first use",))
    assert readiness(card, {"x": "/my/folder"}) == (True, ())
    monkeypatch.setattr("creval.gauges.readiness.on_disk", lambda *_: "/somewhere")
    assert readiness(card) == (True, ())


def test_what_must_be_given() -> None:
    head = ModelCard("head", "head.pth", 6, "AGPL-3.0", "https://example.org", "given")
    card = GaugeCard("x", "", VALUE, "", models=(head,))
    ready, (line,) = readiness(card)
    assert not ready
    assert line == "give --gauge head=FILE: head.pth (6 MB) from https://example.org"
    assert readiness(card, {"head": "head.pth"}) == (True, ())
    optional = GaugeCard("x", "", VALUE, "", models=(ModelCard("b", "", 0, "", "", "optional"),))
    assert readiness(optional) == (True, ())
