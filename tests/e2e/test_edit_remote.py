"""Tests of `creval edit` with each remote provider: 200 samples, faults, and kills."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from creval.core.images import open_image
from creval.store.lookup import RunLookup
from miniature import write_miniature
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
from tests.serving import serving

SAMPLES, AT_ONCE, SHARE = 200, 16, 0.2
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
        server.looks = Chances([REFUSALS[kind]], SHARE / 7, 3)
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
        sys.executable,
        "-m",
        "creval",
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_miniature(tmp_path_factory.mktemp("remote"), samples=SAMPLES, models={})


@pytest.mark.parametrize("kind", SERVERS)
def test_every_edit_is_done_or_has_a_reason(kind: str, folder: Path, tmp_path: Path) -> None:
    server, out = faulty(kind), tmp_path / "M"
    environment = {**os.environ, "CREVAL_API_KEY": KEY}
    with serving(server.app()) as base:
        server.base = base
        told = command(kind, folder, out, base)
        kills = 0
        for goal in (40, 90, 140):
            with subprocess.Popen(told, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as on:
                while on.poll() is None and server.sold < goal:
                    time.sleep(0.002)
                kills += on.poll() is None
                on.kill()
        assert kills == 3
        done = subprocess.run(told, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        sold = server.sold
        again = subprocess.run(told, env=environment, capture_output=True, text=True)
    made = Counter(found["statuses"])
    assert made["done"] + made["refused"] == SAMPLES, found["reasons"]
    assert 1 <= made["refused"] <= 30
    assert all("content filter" in reason["reason"] for reason in found["reasons"])
    for path in out.glob("mini_*.*"):
        assert open_image(path).size == (48, 32)
    with RunLookup(out) as kept:
        edits = {edit.key.sample: edit for edit in kept.all_edits()}
    assert len(edits) == SAMPLES
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
