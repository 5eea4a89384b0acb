"""Folders of rehearsed edits are kept apart from those of real models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from creval.analysis.published_scores import publications
from creval.editors.editor_spec import EDITOR_PROVIDERS
from creval.editors.remote.base import RemoteEditor
from creval.store.readonly import read_stored_manifest
from creval.testing.fake_chat_server import FakeServer
from creval.testing.fake_faults import FAULT_KINDS
from tests.commands import creval
from tests.editors.asking import MODELS
from tests.editors.servers import OpenAI
from tests.serving import serving


@pytest.fixture
def server() -> FakeServer:
    """The server of `creval fake-server`."""
    return FakeServer(marked=True, seed=3)


@pytest.fixture
def url(server: FakeServer) -> Iterator[str]:
    with serving(server.app()) as address:
        yield f"{address}/v1"


@pytest.mark.parametrize("kind", EDITOR_PROVIDERS)
def test_a_run_with_faults_of_all_kinds_is_completed(
    kind: str, server: FakeServer, url: str, miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RemoteEditor, "poll_interval", 0.01)
    refusals = ("timeout", "refusal", "content filter")
    server.fault_rate, server.fault_kinds = 0.3, [fault for fault in FAULT_KINDS if fault not in refusals]
    editor, attempts = f"rehearsal:{kind}:{MODELS[kind]}@{url}", ("--attempts", "20", "--limit", "6")
    done = creval("edit", miniature, "--editor", editor, "--out", tmp_path / "m", *attempts, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["statuses"] == {"done": 6}


def test_a_folder_has_rehearsed_or_real_edits_only(url: str, miniature: Path, tmp_path: Path) -> None:
    def edit(editor: str, out: str) -> tuple[int, str]:
        done = creval("edit", miniature, "--editor", editor, "--out", tmp_path / out, "--limit", "2")
        return done.returncode, done.stderr

    with serving(OpenAI().app()) as real:
        assert edit(f"rehearsal:openai:m@{url}", "rehearsed")[0] == 0
        assert edit(f"openai:m@{real}/v1", "real")[0] == 0
        for editor, out in ((f"openai:m@{real}/v1", "rehearsed"), (f"rehearsal:openai:m@{url}", "real")):
            status, said = edit(editor, out)
            assert status == 2
            assert "was created with the editor" in said.replace("\n", " ")
    both = [tmp_path / "rehearsed", tmp_path / "real"]
    judged = creval("judge", miniature, "--edits", *both, "--judge", f"rehearsal:m@{url}", "--run", tmp_path / "run")
    assert judged.returncode == 2
    assert "rehearsed was created by creval's rehearsal server" in judged.stderr.replace("\n", " ")
    assert not (tmp_path / "run").exists()

    def judge(edits: Path) -> tuple[int, str]:
        given = ("--judge", f"rehearsal:m@{url}", "--run", tmp_path / "run", "--limit", "2")
        done = creval("judge", miniature, "--edits", edits, *given)
        return done.returncode, done.stderr.replace("\n", " ")

    assert judge(both[0])[0] == 0
    status, said = judge(both[1])
    assert status == 2
    assert "rehearsed edits and those of real models need separate runs" in said
    assert judge(both[0])[0] == 0, "the run can be continued"


def test_a_rehearsed_model_is_not_set_beside_published_numbers() -> None:
    publication = publications()["creval"]
    assert publication.find_model("gpt-image-1") == "GPT-Image-1"
    assert publication.find_model("gpt-image-1+rehearsal") is None


def test_scores_show_that_a_model_was_rehearsed(url: str, miniature: Path, tmp_path: Path) -> None:
    editor, judge = f"rehearsal:bfl:flux-kontext-pro@{url}", f"rehearsal:m@{url}"
    edited = creval("edit", miniature, "--editor", editor, "--out", tmp_path / "flux", "--limit", "2")
    assert edited.returncode == 0, edited.stderr
    assert read_stored_manifest(tmp_path / "flux")["editor"] == editor
    renamed = f"flux-kontext-pro={tmp_path / 'flux'}"
    given = ("--judge", judge, "--run", tmp_path / "run", "--limit", "2")
    judged = creval("judge", miniature, "--edits", renamed, *given)
    assert judged.returncode == 0, judged.stderr
    scores = json.loads(creval("score", tmp_path / "run", "--json").stdout)
    assert list(scores["models"]) == ["flux-kontext-pro+rehearsal"]
    for command, *more in (
        ("rename", "flux-kontext-pro+rehearsal", "flux"),
        ("score", "--label", "flux-kontext-pro+rehearsal=flux"),
    ):
        changed = creval(command, tmp_path / "run", *more)
        assert changed.returncode == 2
        assert "are a rehearsal. Give a name that ends with +rehearsal" in changed.stderr.replace("\n", " ")
