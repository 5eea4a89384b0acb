"""Tests of FLUX: a task is started, stored and polled, and its image is downloaded."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from yarl import URL

from creval.editors.base import EditorOptions
from creval.editors.remote.bfl import BFLEditor
from creval.providers.http import HttpEndpoint
from tests.editors.asking import KEY, Pocket, ask, fault, make_job
from tests.editors.servers import BFL, MADE, error, image, jpeg, redirect
from tests.serving import serving


def test_a_task_is_kept_before_it_is_waited_for(tmp_path: Path) -> None:
    server = BFL(states=("Pending", "Pending", "Ready"))
    settings = {"safety_tolerance": 2, "output_format": "jpeg"}
    asked = ask("bfl", server, make_job(tmp_path), settings=settings)
    (body,) = server.bodies
    assert base64.b64decode(body.pop("input_image")) == jpeg((60, 40))
    assert body == {
        "model": "flux-kontext-pro",
        "prompt": "Make it “red”.",
        "seed": 11,
        "output_format": "jpeg",
        "safety_tolerance": 2,
    }
    assert server.headers[0]["x-key"] == KEY
    assert [look["x-key"] for look in server.looked] == [KEY] * 3
    assert not any("key" in name.casefold() for name in server.fetched[0])
    assert asked.ticket.all == [f"{server.base}/v1/get_result?id=task-1"]
    assert asked.one.content == MADE
    facts = asked.one.metadata
    assert (facts["task"], facts["seed"], facts["revised_prompt"]) == ("task-1", 7, "Make it red.")


def test_references_have_numbers(tmp_path: Path) -> None:
    server = BFL()
    asked = ask("bfl", server, make_job(tmp_path, references=2, mask=True))
    names = {name for name in server.bodies[0] if name.startswith("input_image")}
    assert names == {"input_image", "input_image_2", "input_image_3"}
    assert "takes no mask" in asked.editor.notes[0]


def test_a_stored_task_is_polled_without_a_new_request(tmp_path: Path) -> None:
    server = BFL()
    with serving(server.app()) as base:
        ticket = Pocket(f"{base}/v1/get_result?id=old")
        asked = ask("bfl", server, make_job(tmp_path), ticket=ticket)
    assert asked.one.content == MADE
    assert server.bodies == []
    assert {look["id"] for look in server.looked} == {"old"}
    assert asked.one.metadata["resumed"] is True


def test_another_host_that_is_looked_at_gets_no_key(tmp_path: Path) -> None:
    other, server = BFL(), BFL()
    with serving(other.app()) as elsewhere:
        other.base = server.polling_base = elsewhere
        asked = ask("bfl", server, make_job(tmp_path))
    assert asked.one.content == MADE
    assert len(other.looked) == 2
    assert not any(KEY in value for look in other.looked for value in look.values())


def test_the_key_is_sent_only_to_hosts_of_the_provider() -> None:
    official = BFLEditor(HttpEndpoint("bfl:m", "m", "https://api.bfl.ai/v1", KEY, "K"), EditorOptions())
    own = HttpEndpoint("bfl:m", "m", "http://h:1/v1", KEY, "K")
    mine = BFLEditor(own, EditorOptions(), custom_url=True)
    assert official._may_receive_key(URL("https://api.eu2.bfl.ai/v1/get_result?id=1"))
    for where in ("http://api.eu2.bfl.ai/", "https://bfl.ai.evil.org/", "https://evilbfl.ai/"):
        assert not official._may_receive_key(URL(where))
    assert mine._may_receive_key(URL("http://h:1/v1/get_result"))
    assert not mine._may_receive_key(URL("http://h:2/v1/get_result"))
    assert not mine._may_receive_key(URL("https://api.eu2.bfl.ai/"))
    assert official.price is None


def test_money_by_credits(tmp_path: Path) -> None:
    asked = ask("bfl", BFL(), make_job(tmp_path), provided=True, model="flux-kontext-max")
    assert asked.editor.price == 0.08
    assert asked.one.cost == 0.04, "the reply reports four credits"
    editor = asked.editor
    assert isinstance(editor, BFLEditor)
    assert editor._cost(4.5) == pytest.approx(0.045)
    assert editor._cost(None) == editor._cost(True) == editor._cost(-1) == 0.08
    for claim in (0, 29e8, 10**400, float("nan"), "4", 900):
        assert editor._cost(claim) == 0.08, "an implausible cost is ignored"


@pytest.mark.parametrize("state", ["Request Moderated", "Content Moderated"])
def test_refusals(state: str, tmp_path: Path) -> None:
    ticket = Pocket()
    found = fault("bfl", BFL(states=("Pending", state)), make_job(tmp_path), ticket=ticket)
    assert (found.kind, found.retryable) == ("content filter", False)
    assert state in str(found)
    assert ticket.task_id == ""


def test_a_failed_or_unknown_task_is_requested_again(tmp_path: Path) -> None:
    server, ticket = BFL(states=("Error",)), Pocket()
    found = fault("bfl", server, make_job(tmp_path), ticket=ticket)
    assert (found.kind, found.retryable) == ("task failed", True)
    assert ticket.task_id == ""
    server.states = ["Ready"]
    assert ask("bfl", server, make_job(tmp_path), ticket=ticket).one.content == MADE
    assert len(server.bodies) == 2
    for lost in (BFL(states=("Task not found",)), BFL()):
        lost.looks = [] if lost.states[0] == "Task not found" else [error(404, {})] * 9
        ticket = Pocket()
        found = fault("bfl", lost, make_job(tmp_path), ticket=ticket)
        assert (found.kind, found.retryable, ticket.task_id) == ("task lost", True, "")


def test_a_task_that_is_not_known_at_once_is_looked_at_again(tmp_path: Path) -> None:
    server = BFL(states=("Task not found", "Pending", "Ready"))
    assert ask("bfl", server, make_job(tmp_path)).one.content == MADE


def test_failed_polls_are_repeated(tmp_path: Path) -> None:
    server, ticket = BFL(), Pocket()
    server.looks = [error(500, {}), error(429, {}, {"Retry-After": "0"}), error(503, {})]
    assert ask("bfl", server, make_job(tmp_path), ticket=ticket).one.content == MADE
    server.looks = [error(500, {})] * 20
    found = fault("bfl", server, make_job(tmp_path))
    assert (found.kind, found.retryable, found.billed) == ("server error 500", True, False)


def test_a_task_that_is_not_done_in_time_stays_kept(tmp_path: Path) -> None:
    ticket = Pocket()
    server = BFL(states=("Pending",))
    found = fault("bfl", server, make_job(tmp_path), ticket=ticket, timeout=0.3)
    assert (found.kind, found.retryable, found.billed) == ("timeout", True, False)
    assert ticket.task_id == f"{server.base}/v1/get_result?id=task-1"


def test_an_image_that_is_gone_means_a_new_task(tmp_path: Path) -> None:
    server, ticket = BFL(), Pocket()
    server.results = [error(403, {})]
    found = fault("bfl", server, make_job(tmp_path), ticket=ticket)
    assert (found.kind, found.retryable, ticket.task_id) == ("no result", True, "")


def test_a_damaged_image_is_downloaded_again(tmp_path: Path) -> None:
    server = BFL()
    server.results = [image(MADE[:60]), image(b"{}", "application/json")]
    assert ask("bfl", server, make_job(tmp_path)).one.content == MADE
    assert len(server.bodies) == 1


def test_polls_do_not_follow_redirects(tmp_path: Path) -> None:
    other, server = BFL(), BFL()
    with serving(other.app()) as elsewhere:
        server.looks = [redirect(f"{elsewhere}/v1/get_result?id=1")]
        with pytest.raises(Exception, match="redirects"):
            ask("bfl", server, make_job(tmp_path))
    assert other.looked == []


def test_too_many_tasks_at_once(tmp_path: Path) -> None:
    server = BFL(error(429, {"detail": "exceeded the limit of 24 active tasks"}))
    found = fault("bfl", server, make_job(tmp_path))
    assert (found.kind, found.overloaded, found.retryable) == ("rate limit", True, True)
