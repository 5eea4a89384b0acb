"""Tests of `creval edit` with each remote provider: 200 samples, faults, and kills."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from creval.core.images import open_image
from creval.store.lookup import RunLookup
from miniature import write_miniature
from tests.commands import creval
from tests.editors.asking import KEY, MODELS, PATHS
from tests.editors.servers import (
    BFL,
    MADE,
    Answer,
    Chances,
    DashScope,
    Google,
    OpenAI,
    Provider,
    Seedream,
    as_json,
    cut,
    error,
    image,
    slow,
)
from tests.processes import Running
from tests.serving import serving

AT_ONCE, SHARE = 16, 0.2
SERVERS: dict[str, type[Provider]] = {
    "openai": OpenAI,
    "google": Google,
    "bfl": BFL,
    "dashscope": DashScope,
    "seedream": Seedream,
}
BROKEN = base64.b64encode(MADE[: len(MADE) // 2]).decode()
REFUSALS: dict[str, Answer] = {
    "openai": error(400, {"error": {"code": "moderation_blocked", "message": "Not this one."}}),
    "google": as_json({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
    "bfl": as_json({"id": "task", "status": "Content Moderated", "result": None}),
    "dashscope": error(400, {"code": "DataInspectionFailed", "message": "Not this one."}),
    "seedream": error(400, {"error": {"code": "InputImageSensitiveContentDetected", "message": "Not this one."}}),
}
TRUNCATED: dict[str, Answer] = {
    "openai": as_json({"data": [{"b64_json": BROKEN}]}),
    "google": as_json(Google().reply({"inlineData": {"mimeType": "image/png", "data": BROKEN}})),
    "seedream": as_json({"data": [{"b64_json": BROKEN}]}),
}


def faulty(kind: str) -> Provider:
    """Return a server with a fifth of faulty responses, and of faulty files if it serves files."""
    server = SERVERS[kind]()
    page = web.Response
    bad = [
        error(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"}),
        error(500, {"error": {"message": "oops"}}),
        slow(2.0),
        cut(),
        lambda _: page(text="<p>Sorry</p>", content_type="text/html"),
    ]
    if isinstance(server, BFL):
        server.looks = Chances([REFUSALS[kind]], SHARE / 5, 3)
    else:
        bad.append(REFUSALS[kind])
    if kind in TRUNCATED:
        bad.append(TRUNCATED[kind])
    else:
        files = [image(MADE[:40]), image(b"<p>", "text/html"), cut(MADE[:20], "image/png")]
        server.results = Chances(files, SHARE, 2)
    server.queue = Chances(bad, SHARE, 1)
    return server


def command(kind: str, folder: Path, out: Path, base: str) -> list[str]:
    spec = f"{kind}:{MODELS[kind]}@{base}{PATHS[kind]}"
    return [
        "edit",
        str(folder / "bench"),
        "--editor",
        spec,
        "--out",
        str(out),
        "--concurrency",
        str(AT_ONCE),
        "--timeout",
        "1",
        "--attempts",
        "8",
        "--max-unanswered",
        "20",
        "--price",
        "0.01",
        "--json",
    ]


@pytest.fixture(scope="module", params=[60, pytest.param(200, marks=pytest.mark.slow)])
def samples(request: pytest.FixtureRequest) -> int:
    count: int = request.param
    return count


@pytest.fixture(scope="module")
def folder(samples: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_miniature(tmp_path_factory.mktemp("remote"), samples=samples, models={})


@pytest.mark.parametrize("kind", SERVERS)
def test_every_edit_is_done_or_has_a_reason(
    kind: str, samples: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, out = faulty(kind), tmp_path / "M"
    monkeypatch.setenv("CREVAL_API_KEY", KEY)
    killed_at = (0.3,) if samples < 100 else (0.2, 0.45, 0.7)
    with serving(server.app()) as base:
        server.base = base
        told = command(kind, folder, out, base)
        kills = 0
        for share in killed_at:
            running = Running(*told)
            running.wait_while(lambda share=share: server.sold < share * samples)  # type: ignore[misc]
            kills += running.is_running
            running.kill()
        assert kills == len(killed_at)
        done = creval(*told)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        sold = server.sold
        again = creval(*told)
    made = Counter(found["statuses"])
    assert made["done"] + made["refused"] == samples, found["reasons"]
    assert 1 <= made["refused"] <= 0.15 * samples
    assert all("content filter" in reason["reason"] for reason in found["reasons"])
    for path in out.glob("mini_*.*"):
        assert open_image(path).size == (48, 32)
    with RunLookup(out) as kept:
        edits = {edit.key.sample: edit for edit in kept.all_edits()}
    assert len(edits) == samples
    for name, edit in edits.items():
        there = list(out.glob(f"{name}.*"))
        assert len(there) == (str(edit.status) == "done"), name
    # In-flight calls are paid again, and results whose file cannot be downloaded in three tries.
    spoilt = 0 if kind in TRUNCATED else 12
    assert sold <= made["done"] + kills * AT_ONCE + spoilt
    assert json.loads(again.stdout)["cached"] >= made["done"]
    assert KEY not in done.stdout + done.stderr
    for path in out.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
